"""The rows that an atom asks for, such as `Reach("a", x)`: for questions about rows in text."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.errors import ProgramError, SessionError, Source
from tidelog.session.facts import Fact, Facts
from tidelog.syntax import tree
from tidelog.syntax.parser import read_body
from tidelog.syntax.variables import literal_variables

__all__ = ["matching_rows"]


def matching_rows(text: str, query: Callable[[str], Facts]) -> tuple[str, list[Fact]]:
    """The relation of an atom and its rows that match, sorted; `query` answers queries.

    ProgramError or SessionError if the text is not an atom of the program.
    """
    body, problems = read_body(Source("<query>", text))
    if problems:
        raise ProgramError(problems)
    match body:
        case (tree.Atom(relation=relation, delay=0, is_prime=False) as atom,):
            pass
        case _:
            raise SessionError(f'expected one atom, such as `Reach("a", x)`, not `{text}`')
    used = {v.name for v in literal_variables(atom)}
    name = next(n for n in ("row", *(f"row_{i}" for i in range(len(used) + 1))) if n not in used)
    found = query(f"{name} in {text}")
    place = found.columns.index(name)
    rows = {tuple(getattr(row[place], field) for field in row[place]._fields) for row in found}
    return relation, sorted(rows, key=repr)
