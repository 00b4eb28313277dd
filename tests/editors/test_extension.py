"""The extension of VS Code: one archive with everything that its description names."""

from __future__ import annotations

import importlib.util
import json
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import tidelog

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"


def packaged(folder: Path) -> Path:
    spec = importlib.util.spec_from_file_location("package", FOLDER / "package.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.make(folder)
    assert isinstance(made, Path)
    return made


def test_the_archive_has_all_that_it_names(tmp_path: Path) -> None:
    with zipfile.ZipFile(packaged(tmp_path)) as archive:
        names = set(archive.namelist())
        package = json.loads(archive.read("extension/package.json"))
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
        scripts = [archive.read(n).decode() for n in names if n.endswith(".js")]
    contributed = package["contributes"]
    paths = [
        contributed["grammars"][0]["path"],
        contributed["languages"][0]["configuration"],
        package["main"],
    ]
    assert {f"extension/{p.removeprefix('./')}" for p in paths} <= names
    required = {r for script in scripts for r in re.findall(r'require\("(.*?)"\)', script)}
    assert required == {"vscode", "child_process", "./connection"}
    assert {a.get("Path") for a in manifest.iter() if a.get("Path")} <= names
    files = {str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*") if p.suffix in (".js", ".json", ".md")}
    assert {f"extension/{name}" for name in files} <= names


def test_it_has_the_version_of_the_package_and_is_the_same_each_time(tmp_path: Path) -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    assert package["version"] == tidelog.__version__
    assert packaged(tmp_path).read_bytes() == packaged(tmp_path).read_bytes()


def test_it_starts_the_server_by_a_command_that_exists() -> None:
    from click.testing import CliRunner

    from tidelog.cli import main

    package = json.loads((FOLDER / "package.json").read_text())
    command = package["contributes"]["configuration"]["properties"]["tidelog.command"]["default"]
    assert command[0] == "tidelog"
    assert CliRunner().invoke(main, [*command[1:], "--help"]).exit_code == 0
