"""A session as text: the program, and the asserted facts as statements, which `:load` reads again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import assert_never

from tidelog.data import types
from tidelog.data.order import in_order
from tidelog.data.types import Type
from tidelog.data.values import Row, Value
from tidelog.errors import SessionError
from tidelog.program.describe import describe_program
from tidelog.program.text import constant_tree
from tidelog.program.typed import PythonFunction, Relation, RelationKind
from tidelog.session import Session
from tidelog.session.facts import WholeFacts
from tidelog.syntax import tree
from tidelog.syntax.inline import print_expression
from tidelog.syntax.quoting import written_relation

__all__ = ["python_functions", "saved_text", "write_text"]


def saved_text(db: Session) -> str:
    """Every declaration, rule and asserted fact. The rows of streams are those of a commit, and left out."""
    views = db.snapshot()
    parts = [describe_program(db.program)]
    for view in views.values():
        facts = sorted(f"+{_fact(view.relation, row)}." for row in _asserted(view))
        parts.append("\n".join(facts))
    return "\n\n".join(part for part in parts if part) + "\n"


def _asserted(view: WholeFacts) -> Iterator[Row]:
    match view.relation.kind:
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
