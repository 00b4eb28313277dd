"""Change events in Debezium's envelope: `op`, the row `before` and the row `after`.

| `op` | | events |
|---|---|---|
| `c`, `r` | created, or read by a snapshot | `after` is inserted |
| `u` | updated | `before` is deleted, if it is known, and `after` inserted |
| `d` | deleted | `before` is deleted |
| `m` | a message without a row | none |

An envelope may be in the field `payload` of another object, beside its `schema`; rows may be objects or texts
with JSON. A line without an envelope, which Kafka uses as a tombstone, is no event. What is wrong with an
event is its operation: a text that begins with `WRONG`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tidelog.formats.json_lines import read_object

__all__ = [
    "AFTER",
    "BEFORE",
    "DELETED",
    "INSERTED",
    "OP",
    "WRONG",
    "events_of",
    "field_of",
    "missing",
    "problem_of",
]

OP: Final = "#op"
INSERTED: Final = "1"
DELETED: Final = "-1"
WRONG: Final = "#wrong: "
BEFORE: Final = "before"
AFTER: Final = "after"
_GAINED: Final = ("c", "r", "u")
_LOST: Final = ("u", "d")


def problem_of(op: object) -> str:
    """Why there are no events for an operation, for people."""
    if op == "t":
        return "the table was truncated, which names no rows; read the table again, as a source"
    return f"the operation is {op!r}; Debezium's are c, r, u, d and m"


def field_of(row: dict[str, Any], name: str) -> Any:
    """The value of a field; in a name such as `source.lsn`, of a field of a field. None if there is none."""
    if name in row or "." not in name:
        return row.get(name)
    first, _, rest = name.partition(".")
    inner = row.get(first)
    return field_of(inner, rest) if isinstance(inner, dict) else None


def events_of(
    envelope: dict[str, Any], sequence: Sequence[str], *, has_key: bool
) -> Iterator[dict[str, Any]]:
    """The events of an envelope: rows with their operation (`OP`) and the values by which they are
    ordered."""
    payload = envelope.get("payload", envelope) if "op" not in envelope else envelope
    if payload is None or payload == {}:
        return
    if not isinstance(payload, dict) or "op" not in payload:
        yield {OP: f"{WRONG}the line is no envelope of Debezium: the field op is missing"}
        return
    around = {**envelope, **payload}  # offsets are beside the payload
    order = {f"#sequence{i}": field_of(around, name) for i, name in enumerate(sequence)}
    yield from ({**row, **order} for row in _rows(payload, has_key=has_key))


def _rows(payload: dict[str, Any], *, has_key: bool) -> Iterator[dict[str, Any]]:
    op = payload["op"]
    before, after = _row(payload.get(BEFORE)), _row(payload.get(AFTER))
    if op == "m":
        return
    if op not in (*_GAINED, *_LOST):
        yield {OP: WRONG + problem_of(op)}
        return
    if op in _LOST and (before is not None or op == "d" or not has_key):
        yield {**before, OP: DELETED} if before is not None else {OP: f"{WRONG}{missing(BEFORE)}"}
    if op in _GAINED:
        yield {**after, OP: INSERTED} if after is not None else {OP: f"{WRONG}{missing(AFTER)}"}


def missing(part: str) -> str:
    """Why an event without one of its rows is bad."""
    if part == AFTER:
        return "the row after the change is missing"
    return (
        "the row before the change is missing; let the database write it "
        "(REPLICA IDENTITY FULL in PostgreSQL), or give key and sequence"
    )


def _row(value: object) -> dict[str, Any] | None:
    if isinstance(value, str):
        return read_object(value.encode())
    return value if isinstance(value, dict) else None
