"""A session as text: the program, and the asserted facts as statements, which `:load` reads again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import assert_never

from tidelog.data import types
from tidelog.data.order import in_order
from tidelog.data.short_names import WELL_KNOWN
from tidelog.data.types import Type
from tidelog.data.values import Row, Value
from tidelog.errors import ProgramError, SessionError
from tidelog.program.declared import Function, PythonFunction, Relation, RelationKind
from tidelog.program.describe import declared_functions, expanded
from tidelog.program.draft import Draft
from tidelog.program.model import Program
from tidelog.program.modules import resolve
from tidelog.program.text import (
    constant_tree,
    print_alias,
    print_function,
    print_index,
    print_relation,
    print_rule,
)
from tidelog.program.typed import Rule
from tidelog.session import Session
from tidelog.session.facts import WholeFacts
from tidelog.syntax import tree
from tidelog.syntax.inline import print_expression
from tidelog.syntax.parser import read
from tidelog.syntax.printer import print_item, print_line
from tidelog.syntax.quoting import written_relation

__all__ = ["python_functions", "saved_text", "write_text"]


def saved_text(db: Session) -> str:
    """Every declaration, rule and asserted fact. The rows of streams are those of a commit, and left out.

    SessionError if the program has no text that means the same.
    """
    program = db.program
    written = Written(program)
    parts = [
        [print_line(tree.Prefix(n, s)) for n, s in program.names.prefixes.items() if n not in WELL_KNOWN],
        [print_item(item) for item in program.types.values()],
        [print_alias(n, t) for n, t in program.aliases.items() if n not in program.types],
        [print_relation(r) for r in program.relations.values()],
        [print_index(i, program.relations[i.relation]) for i in program.indexes.values()],
        [written.function(f) for f in declared_functions(program) if isinstance(f, Function)],
        [print_item(item) for item in expanded(program)]
        + [print_item(item) for item in program.folds.values()],
        [written.rule(rule) for rule in program.rules.values()],
    ]
    text = "\n\n".join("\n".join(lines) for lines in parts if lines)
    _expect_same(text, program)
    for relation in program.relations.values():
        facts = sorted(f"+{_fact(relation, row)}.\n" for row in _asserted(relation, db[relation.name]))
        text += "\n\n" * bool(facts) + "".join(facts).removesuffix("\n")
    return f"{text}\n"


class Written:
    """The rules and functions of a program as they were written, with full names if they are of modules."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._items: dict[tuple[str, int], list[tree.Item]] = {}
        spans = [x.span for x in (*program.rules.values(), *program.functions.values()) if hasattr(x, "span")]
        for source in {span.source for span in spans if span.is_known}:
            found, problems = read(source)
            for item in () if problems else (*resolve(found, source, ())[0].items, *found.items):
                self._items.setdefault((item.span.source.name, item.span.start), []).append(item)

    def rule(self, rule: Rule) -> str:
        for item in self._items.get((rule.span.source.name, rule.span.start), ()):
            text = print_item(item)
            with suppress(ProgramError):
                if [r.id for r in Draft(self._program).read(text)] == [rule.id]:
                    return text
        return print_rule(rule)

    def function(self, function: Function) -> str:
        for item in self._items.get((function.span.source.name, function.span.start), ()):
            if isinstance(item, tree.Function) and item.name == function.name:
                return print_item(item)
        return print_function(function)


def _expect_same(text: str, program: Program) -> None:
    draft = Draft()
    for name, function in program.functions.items():
        if isinstance(function, PythonFunction):
            draft.register(function.call, name)
    try:
        draft.load(text, "<saved>")
    except ProgramError as error:
        raise SessionError(
            f"the program cannot be written as one text: {error.diagnostics[0].message}"
        ) from None
    if draft.rules.keys() != program.rules.keys() or draft.relations != program.relations:
        raise SessionError("the program cannot be written as one text: it would mean something else")


def _asserted(relation: Relation, view: WholeFacts) -> Iterator[Row]:
    match relation.kind:
        case RelationKind.SET:
            yield from view.given
        case RelationKind.MULTISET:
            for *row, weight in view.given:
                for _ in range(weight):
                    yield tuple(row)
        case RelationKind.STREAM:
            return
        case _:
            assert_never(view.relation.kind)


def _fact(relation: Relation, row: Row) -> str:
    values = (print_expression(_expression(t, v)) for t, v in zip(relation.types, row, strict=True))
    return f"{written_relation(relation.name)}({', '.join(values)})"


def _expression(type_: Type, value: Value) -> tree.Expr:
    """An expression for a value, where a value of this type is expected."""
    if value is None:
        return tree.NoneLiteral()
    match types.present(type_), value:
        case types.Tuple(items), tuple():
            return tree.TupleValue(tuple(map(_expression, items, value)))
        case types.Vec(item), tuple():
            return _listing(item, value)
        case types.Set(item), Set():
            return tree.Call("to_set", (_listing(item, in_order(item, value)),))
        case types.Map(key, item), Mapping():
            pairs = (tree.TupleValue((_expression(key, k), _expression(item, v))) for k, v in value.items())
            return tree.Call("to_map", (tree.VecLiteral(tuple(pairs)),))
        case types.Named() as named, _:
            fields = named.constructor(value._tag).fields  # type: ignore[union-attr]
            parts = (_expression(f.type, v) for f, v in zip(fields, value._values, strict=True))  # type: ignore[union-attr]
            return tree.Construct(value._tag, tuple(tree.Argument(p, None) for p in parts))  # type: ignore[union-attr]
        case scalar, _:
            return constant_tree(scalar, value)


def _listing(item: Type, values: object) -> tree.Expr:
    return tree.VecLiteral(tuple(_expression(item, v) for v in values))  # type: ignore[attr-defined]


def write_text(path: Path, text: str) -> int:
    """Write a file as a whole; returns the number of its lines."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise SessionError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return text.count("\n")


def python_functions(db: Session) -> list[str]:
    """The functions that a file cannot have."""
    return [n for n, f in db.program.functions.items() if isinstance(f, PythonFunction)]
