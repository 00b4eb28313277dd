"""The rows that an atom asks for, such as `Reach("a", x)`: for questions about rows in text."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.errors import ProgramError, SessionError, Source
from tidelog.program.draft import Draft
from tidelog.program.model import Program
from tidelog.program.traversal import variables
from tidelog.program.typed import Binary, Bind, Match, Test, Var
from tidelog.proofs.calculator import Calculator
from tidelog.proofs.model import Failed
from tidelog.session.facts import Fact, Facts
from tidelog.syntax import tree
from tidelog.syntax.parser import read_body
from tidelog.syntax.variables import literal_variables

__all__ = ["matching_rows", "missing_row"]


def matching_rows(text: str, query: Callable[[str], Facts], program: Program) -> tuple[str, list[Fact]]:
    """The relation of an atom and its rows that match, sorted; `query` answers queries.

    ProgramError or SessionError if the text is not an atom of the program.
    """
    atom = _atom(text, program)
    used = {v.name for v in literal_variables(atom)}
    name = next(n for n in ("row", *(f"row_{i}" for i in range(len(used) + 1))) if n not in used)
    found = query(f"{name} in {text}")
    place = found.columns.index(name)
    rows = {tuple(getattr(row[place], field) for field in row[place]._fields) for row in found}
    return atom.relation, sorted(rows, key=repr)


def missing_row(text: str, program: Program) -> tuple[str, tuple[object, ...]]:
    """The relation of an atom and its row, with `...` for its variables.

    ProgramError or SessionError if the text is not an atom of the program with constants and variables.
    """
    _atom(text, program)
    query = Draft(program).query(text)
    (body,) = query.rule.bodies
    calculator = Calculator({**program.functions, **query.functions})
    known: dict[str, object] = {}
    atom: Match | None = None
    for literal in body:
        match literal:
            case Match():
                atom = literal
            case Bind(Var(name), value) | Test(Binary("==", Var(name), value)) if not any(variables(value)):
                known[name] = calculator.value(value, {})
            case _:
                raise _unclear(text)
    assert atom is not None
    names = [t.name for t in atom.terms if isinstance(t, Var) and t.name not in known]
    if len(names) > len(set(names)) or any(isinstance(v, Failed) for v in known.values()):
        raise _unclear(text)
    row = (known.get(getattr(t, "name", ""), getattr(t, "value", ...)) for t in atom.terms)
    return atom.relation, tuple(row)


def _atom(text: str, program: Program) -> tree.Atom:
    body, problems = read_body(Source("<query>", text, prefixes=program.names.prefixes))
    if problems:
        raise ProgramError(problems)
    match body:
        case (tree.Atom(delay=0, is_prime=False) as atom,):
            return atom
        case _:
            raise SessionError(f'expected one atom, such as `Reach("a", x)`, not `{text}`')


def _unclear(text: str) -> SessionError:
    return SessionError(f"no row matches `{text}`; to see why not, give constants, and `_` for any value")
