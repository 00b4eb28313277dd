"""The examples of the documentation do what the text says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tidelog.errors import Severity
from tidelog.program.draft import check
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
STORIES = [
    "tutorial.md",
    "exercises.md",
    "how-to",
    "coming-from",
]  # whose blocks build on each other: test_guides
BLOCK = re.compile(r'^```(\w+)(?: title="[^"]+")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


def _blocks(language: str, *, stories: bool = True) -> list[object]:
    found: list[object] = []
    for page in PAGES:
        if not stories and page.relative_to(ROOT).parts[1:2] and page.relative_to(ROOT).parts[1] in STORIES:
            continue
        for number, match in enumerate(BLOCK.finditer(page.read_text())):
            if match[1] == language:
                found.append(pytest.param(match[2], id=f"{page.relative_to(ROOT)}-{number}"))
    return found


@pytest.mark.parametrize("code", _blocks("python", stories=False))
def test_a_python_example_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("documentation_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # functions are known by their module
    exec(compile(code, module.__name__, "exec"), module.__dict__)


@pytest.mark.parametrize("text", _blocks("tidelog"))
def test_a_program_is_right_and_well_laid_out(text: str) -> None:
    assert [d for d in check(text) if d.severity is Severity.ERROR] == []
    assert print_program(parse(text)) == text


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
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:[^"]*"', pages) == []
