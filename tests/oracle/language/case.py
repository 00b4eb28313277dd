"""A case: a program and a history of transactions, as data that can be shrunk and pasted into a test."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from tidelog.data.values import Row

__all__ = [
    "Action",
    "AddRule",
    "Case",
    "Clear",
    "Delete",
    "DeleteKeys",
    "Ending",
    "Insert",
    "RemoveRule",
    "Replace",
    "RuleText",
    "Step",
    "Upsert",
    "render",
]


@dataclass(frozen=True)
class RuleText:
    """A rule by its parts, so that literals can be left out; a fact has no body."""

    heads: tuple[str, ...]
    body: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        head = ", ".join(self.heads)
        return f"{head} :- {self.query}." if self.body else f"{head}."

    @property
    def query(self) -> str:
        return ", ".join(self.body)


@dataclass(frozen=True)
class Insert:
    relation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Delete:
    relation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Upsert:
    relation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class DeleteKeys:
    relation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Clear:
    relation: str


@dataclass(frozen=True)
class AddRule:
    rule: RuleText


@dataclass(frozen=True)
class RemoveRule:
    rule: RuleText


@dataclass(frozen=True)
class Replace:
    """Another program: all its declarations and rules."""

    declarations: tuple[str, ...]
    rules: tuple[RuleText, ...]


Action: TypeAlias = Insert | Delete | Upsert | DeleteKeys | Clear | AddRule | RemoveRule | Replace


@dataclass(frozen=True)
class Ending:
    """How a transaction ends: `preview` asks what it would change, `commit` makes it happen."""

    preview: bool = False
    commit: bool = True


@dataclass(frozen=True)
class Step:
    actions: tuple[Action, ...]
    ending: Ending = Ending()


@dataclass(frozen=True)
class Case:
    """`declarations` are relations and functions; `watched` relations have a subscriber from the start."""

    declarations: tuple[str, ...]
    rules: tuple[RuleText, ...]
    steps: tuple[Step, ...]
    watched: tuple[str, ...] = ()
    context: str = "default"  # the decimal context that sessions run under
    seed: int | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        return "\n".join([*self.declarations, *(r.text for r in self.rules)])


def render(value: object, indent: int = 0) -> str:
    """A case, or a part of one, as the Python text that makes it."""
    inner = " " * (indent + 4)
    if isinstance(value, tuple) and value and not _is_row(value):
        parts = "".join(f"{inner}{render(v, indent + 4)},\n" for v in value)
        return f"(\n{parts}{' ' * indent})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, RuleText):
        return f"RuleText({value.heads!r}, {value.body!r})"
    if isinstance(value, Ending):
        return f"Ending(preview={value.preview}, commit={value.commit})"
    if hasattr(value, "__dataclass_fields__"):
        shown = [f for f in fields(value) if f.name != "seed"]  # type: ignore[arg-type]
        parts = "".join(f"{inner}{f.name}={render(getattr(value, f.name), indent + 4)},\n" for f in shown)
        return f"{type(value).__name__}(\n{parts}{' ' * indent})"
    return repr(value)


def _is_row(value: tuple[object, ...]) -> bool:
    kinds = (bool, int, float, Decimal, str, bytes, date, timedelta, list, dict, type(None))
    return all(isinstance(v, kinds) for v in value) and not all(
        isinstance(v, str) and " " in v for v in value
    )


def _value(value: Any) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{{', '.join(f'{_value(k)}: {_value(v)}' for k, v in value.items())}}}"
        case timedelta():
            return f"timedelta(microseconds={value // timedelta(microseconds=1)})"
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case datetime():
            return f'datetime.fromisoformat("{value.isoformat()}")'
        case date():
            return f'date.fromisoformat("{value.isoformat()}")'
        case _:
            return repr(value)
