"""The REPL without a terminal, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidelog
from tidelog.cli.repl.commands import execute
from tidelog.cli.repl.console import Console
from tidelog.cli.repl.showing import Line
from tidelog.cli.repl.statements import statements
from tidelog.errors import TidelogError

__all__ = ["Repl"]


class Repl:
    """A console with what it said since the last call."""

    def __init__(self, program: str = "", path: Path | None = None, **options: Any) -> None:
        text = None if path is not None else program
        self.db = tidelog.open(path, text=text, **options)
        self.said: list[Line] = []
        self.console = Console(self.db, self.said.append, execute)

    def __call__(self, text: str) -> list[str]:
        self.said.clear()
        for statement in statements(text, "<input>"):
            self.console.execute(statement)
        return [line for said in self.said for line in said.text.split("\n")]

    def fails(self, text: str, problem: str) -> TidelogError:
        """Execute a text that raises an error and changes nothing."""
        before = self._state()
        with pytest.raises(TidelogError) as caught:
            self(text)
        assert problem in str(caught.value)
        assert self._state() == before
        return caught.value

    def _state(self) -> object:
        views = self.db.snapshot()
        return views.commit, self.console.rules, {n: sorted(v, key=repr) for n, v in views.items()}
