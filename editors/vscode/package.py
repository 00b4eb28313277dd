"""Make the extension, one file that VS Code installs: `python editors/vscode/package.py [FOLDER]`.

It is a zip archive with the files of this folder and a manifest, so it needs neither npm nor a network.
Equal files make an equal archive.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

HERE = Path(__file__).parent
FILES = (
    "README.md",
    "connection.js",
    "extension.js",
    "language-configuration.json",
    "package.json",
    "syntaxes/tidelog.tmLanguage.json",
)
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="json" ContentType="application/json"/>
  <Default Extension="js" ContentType="application/javascript"/>
  <Default Extension="md" ContentType="text/markdown"/>
  <Default Extension="vsixmanifest" ContentType="text/xml"/>
</Types>
"""
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{displayName}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Categories>{categories}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md"/>
  </Assets>
</PackageManifest>
"""


def manifest(package: dict[str, Any]) -> str:
    quoted = {key: quoteattr(package[key]) for key in ("name", "version", "publisher")}
    plain = {key: package[key] for key in ("displayName", "description")}
    engine = quoteattr(package["engines"]["vscode"])
    return MANIFEST.format(**quoted, **plain, engine=engine, categories=",".join(package["categories"]))


def make(folder: Path) -> Path:
    """The archive, in a folder."""
    package = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    made = folder / f"{package['name']}-{package['version']}.vsix"
    contents = {"[Content_Types].xml": TYPES, "extension.vsixmanifest": manifest(package)}
    contents |= {f"extension/{name}": (HERE / name).read_text(encoding="utf-8") for name in FILES}
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return made


if __name__ == "__main__":
    print(make(Path(*sys.argv[1:2])))
