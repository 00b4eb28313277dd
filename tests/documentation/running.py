"""A page that is being read and tried out: its files, code and commands in order, with the output shown."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import duckdb
import pytest
from IPython.core.interactiveshell import InteractiveShell

import tidelog
from documentation.blocks import ROOT, Block
from documentation.commands import expect, expect_valid, run_console, run_shell
from tidelog import pipeline
from tidelog.errors import Severity
from tidelog.pipeline.expecting import expect_relations
from tidelog.program.draft import check
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

__all__ = ["Reading"]

_GOLDEN: Final = ROOT / "tests" / "golden" / "diagnostics"
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


class Reading:
    """`new_module` makes the module of code; pages that tell a story have one for all of it."""

    def __init__(self, new_module: Callable[[], ModuleType], *, is_story: bool) -> None:
        self.new_module = new_module
        self.is_story = is_story
        self.module = new_module()
        self.printed: str | None = None

    def read(self, block: Block) -> None:
        """Do what a block says."""
        if block.file is not None:
            path = Path(block.file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        printed, self.printed = self.printed, None
        match block.kind:
            case "python":
                self.printed = self._run(block)
            case "console":
                (expect_valid if block.reason else self._console)(block.text)
            case "text" if block.title is None:
                assert printed is not None, "a text is what the block before it prints, or has a title"
                assert block.follows, "the text of an output comes right after the block that prints it"
                expect(block.text, printed)
            case "text-error" | "tidelog-error":
                _expect_golden(block)
            case "tidelog":
                _check_program(block)
            case "toml" if block.reason is None:
                _check_pipeline(block)
            case "sql":
                self.printed = _queried(block.text)
            case "sh" if block.reason is None:
                run_shell(block.text)
            case "ipython":
                self.printed = _cell(block.text)

    def _run(self, block: Block) -> str | None:
        code = compile(block.text, f"line {block.line}", "exec")
        if block.reason is not None:
            return None
        if not self.is_story:
            self.module = self.new_module()
        with redirect_stdout(StringIO()) as out:
            exec(code, self.module.__dict__)
        return out.getvalue()

    def _console(self, text: str) -> None:
        run_console(text, self.module.__dict__.get("during_watch", []))


def _expect_golden(block: Block) -> None:
    """The program of an error code, or what is printed for it, is that of its golden case."""
    code = block.section.partition(":")[0]
    name = "program.dl" if block.kind == "tidelog-error" else "expected.txt"
    text = (_GOLDEN / code / name).read_text()
    assert block.text.strip() in text, f"{code}: not from {name} of its golden case"


def _check_program(block: Block) -> None:
    found = check(block.text, block.file or "<text>")
    assert [d for d in found if d.severity is Severity.ERROR] == []
    assert print_program(parse(block.text)) == block.text


def _check_pipeline(block: Block) -> None:
    """A whole pipeline is checked with its program, and a part of one as a part."""
    content: dict[str, Any] = tomllib.loads(block.text)
    with pytest.MonkeyPatch.context() as patch:
        for name in _VARIABLE.findall(block.text):
            patch.setenv(name, "value")
        spec = pipeline.spec_from({"program": "program.dl", "store": "store", **content}, folder=Path.cwd())
    if "program" in content:
        expect_relations(spec, tidelog.open(spec.program).program)


def _queried(text: str) -> str:
    """The answer of DuckDB, as the page shows it: a row on each line."""
    with duckdb.connect() as db:
        rows = db.execute(text).fetchall()
    return "\n".join(map(str, rows))


def _cell(text: str) -> str:
    os.environ.setdefault("IPYTHONDIR", str(Path.cwd()))
    shell: Any = InteractiveShell.instance(history_manager=None)
    with redirect_stdout(StringIO()) as out:
        shell.run_cell(text, store_history=False).raise_error()
    return out.getvalue()
