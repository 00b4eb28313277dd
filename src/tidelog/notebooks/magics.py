"""The commands of notebooks: `%%tidelog` for cells of rules and facts, `%tidelog` for queries and pictures.

A cell belongs to the session in the variable `db`, or in the one that `--db` names, which is made when there
is none. What the same cell loaded when it ran before is replaced: its rules are removed in the transaction
that adds the new ones. Cells are known by the numbers that the notebook gives them, or by `--cell NAME`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

import tidelog
from tidelog.errors import TidelogError
from tidelog.notebooks import pictures
from tidelog.proofs.drawing import Drawing
from tidelog.session import Changes, Facts, Session
from tidelog.session.asking import matching_rows, missing_row
from tidelog.session.rules import SessionRule

__all__ = ["TidelogMagics", "load"]

_USAGE: Final = """%tidelog QUERY: the rows that match, as in %tidelog Reach("a", x)
%tidelog :COMMAND, one of
  :dependencies, :strata, :plan    pictures of the program
  :picture RELATION or QUERY       rows as a graph
  :why ATOM, :why-not ATOM         explanations; :proof ATOM draws one
  :relations                       all relations with their sizes
%%tidelog [--db NAME] [--new] [--cell NAME]: load the cell's declarations, rules and facts"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{_USAGE}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("%%tidelog", add_help=False)
    parser.add_argument("--db", default="db")
    parser.add_argument("--new", action="store_true")
    parser.add_argument("--cell")
    return parser


@magics_class
class TidelogMagics(Magics):
    """`_loaded` are the rules that each cell has loaded into a session."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._loaded: dict[tuple[int, str], list[SessionRule]] = {}
        self._names: dict[str, object] = shell.user_ns

    @no_var_expand
    @line_cell_magic
    def tidelog(self, line: str, cell: str | None = None) -> object:
        """Load a cell of rules, answer a query, or draw a picture; without arguments, say how."""
        try:
            if cell is not None:
                return self._load(line, cell)
            if not line.strip():
                print(_USAGE)
                return None
            return self._asked(line.strip())
        except TidelogError as error:
            print(f"error: {error}", file=sys.stderr)
            return None

    # -- cells

    def _load(self, line: str, text: str) -> Changes:
        given = _parser().parse_args(shlex.split(line))
        db = None if given.new else self._session(given.db)
        if db is None:
            db = tidelog.open()
            self._names[given.db] = db
        key = id(db), given.cell or self._cell()
        before = self._loaded.get(key, [])
        with db.transaction() as tx:
            for rule in set(before) & set(tx.rules):
                tx.remove_rule(rule)
            kept = set(tx.rules)
            loaded = tx.load(text, f"<cell {key[1]}>" if key[1] else "<cell>")
        if key[1]:
            self._loaded[key] = [rule for rule in loaded if rule not in kept]
        return tx.changes

    def _cell(self) -> str:
        """What the notebook calls the cell that is running; nothing if it does not say."""
        parent = getattr(self.shell, "parent_header", None) or {}
        get_parent: Callable[[], Any] | None = getattr(self.shell, "get_parent", None)
        message = get_parent() if get_parent is not None else parent
        found = message.get("metadata", {}).get("cellId", "") if isinstance(message, dict) else ""
        return str(found)

    def _session(self, name: str) -> Session | None:
        found = self._names.get(name)
        if found is not None and not isinstance(found, Session):
            raise UsageError(f"`{name}` is not a session; give another name with --db")
        return found

    # -- questions

    def _asked(self, line: str) -> object:
        name = "db"
        if line.startswith("--db "):
            _, name, line = (*line.split(maxsplit=2), "")[:3]
        db = self._session(name)
        if db is None:
            raise UsageError(f"there is no session `{name}`: run a cell that begins with %%tidelog first")
        if not line.startswith(":"):
            return db.query(line)
        command, _, rest = line[1:].partition(" ")
        return self._command(db, command, rest.strip())

    def _command(self, db: Session, command: str, rest: str) -> object:
        match command:
            case "dependencies":
                return pictures.dependencies(db)
            case "strata":
                return pictures.strata(db)
            case "plan":
                return pictures.plan(db)
            case "picture":
                return pictures.relation(_rows(db, rest))
            case "why":
                return _why(db, rest)
            case "why-not":
                return db.why_not(*missing_row(rest, db.program))
            case "proof":
                return pictures.explanation(_why(db, rest))
            case "relations":
                return db.snapshot()
            case _:
                raise UsageError(f"unknown command `:{command}`\n{_USAGE}")


def _rows(db: Session, text: str) -> Facts:
    return db[text] if text in db else db.query(text)


def _why(db: Session, text: str) -> Drawing:
    relation, rows = matching_rows(text, db.query, db.program)
    return db.why(relation, rows[0]) if rows else db.why_not(*missing_row(text, db.program))


def load(shell: InteractiveShell) -> None:
    """What `%load_ext tidelog` does."""
    shell.register_magics(TidelogMagics)
