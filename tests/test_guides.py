"""Pages that tell a story do what they say: their files, code and commands, in order, with the output shown.

A block with a title is a file. A `text` block right after a `python` block is what that prints, and the lines
after a command in a `console` block are what the command prints; `…` stands for anything. The blocks of a
page share their names and a folder.
"""

from __future__ import annotations

import re
import shlex
import sys
import types
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidelog.cli import main

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [
    DOCS.parent / "README.md",
    DOCS / "tutorial.md",
    DOCS / "exercises.md",
    *sorted((DOCS / "how-to").glob("*.md")),
    *sorted((DOCS / "coming-from").glob("*.md")),
]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    title: str | None
    text: str
    follows: bool
    """Whether nothing but blank lines is between this block and the one before."""


def _blocks(page: Path) -> Iterator[Block]:
    text, end = page.read_text(), 0
    for match in BLOCK.finditer(text):
        yield Block(match[1], match[2], match[3], not text[end : match.start()].strip())
        end = match.end()


def _expect(shown: str, printed: str) -> None:
    """`printed` is what is shown, where an ellipsis stands for anything."""
    pattern = ".*".join(re.escape(part.rstrip(" ")) for part in shown.strip().split("…"))
    lines = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    assert re.fullmatch(pattern, lines, re.DOTALL), f"shown:\n{shown}\nprinted:\n{printed}"


def _run_commands(text: str) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        name, *arguments = shlex.split(command)
        assert name == "tidelog", f"{command}: only commands of Tidelog can be run here"
        result = CliRunner().invoke(main, arguments, prog_name="tidelog")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        _expect(shown, result.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_a_page_does_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("documentation_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # functions are known by their module
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    printed = ""
    for block in _blocks(page):
        if block.title is not None:
            path = tmp_path / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "python":
            with redirect_stdout(StringIO()) as out:
                exec(compile(block.text, module.__name__, "exec"), module.__dict__)
            printed = out.getvalue()
        elif block.language == "console":
            _run_commands(block.text)
        elif block.language == "text" and block.follows:
            _expect(block.text, printed)
