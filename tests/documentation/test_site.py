"""The documentation as a site: its links lead somewhere, and it needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from documentation.blocks import PAGES, ROOT

LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text()):
        assert (page.parent / match[1]).exists(), match[1]


def test_the_site_builds_without_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "https_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = "".join(page.read_text() for page in (tmp_path / "site").rglob("*.html"))
    assert "<p>```" not in pages, "a fence that the site does not understand"
    assert "<p>|" not in pages, "a table that the site does not understand"
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:[^"]*"', pages) == []
