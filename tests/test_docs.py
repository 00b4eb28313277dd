"""The examples of the documentation do what the text says."""

from __future__ import annotations

import re
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
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


def _blocks(language: str) -> list[object]:
    found: list[object] = []
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text())):
            if match[1] == language:
                found.append(pytest.param(match[2], id=f"{page.relative_to(ROOT)}-{number}"))
    return found


@pytest.mark.parametrize("code", _blocks("python"))
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
