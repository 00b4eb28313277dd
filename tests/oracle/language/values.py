"""Values of every type, plain ones that collide and those at the edges; and how programs write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row, Value, canonical, to_text

__all__ = ["EVERY_TYPE", "Values", "bare", "constant", "quoted"]

Pool = tuple[tuple[Value, ...], tuple[Value, ...]]  # plain values, and edges


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


_POOLS: Final[Mapping[Type, Pool]] = {
    types.BOOL: ((False, True), ()),
    types.INT: ((0, 1, 2, 3, -1), (-(2**63), 2**63 - 1, 1 - 2**63, 2**53 + 1, 2**31, 1000)),
    types.BIGINT: ((0, 1, 2, -1), (2**64, -(2**70), 10**40, 2**63, -(2**63))),
    types.Bit(1): ((0, 1), ()),
    types.Bit(8): ((0, 1, 2, 3), (255, 128)),
    types.Bit(64): ((0, 1, 2), (2**64 - 1, 2**63)),
    types.Bit(128): ((0, 1, 2), (2**128 - 1, 2**64)),
    types.Signed(8): ((0, 1, -1, 2), (-128, 127)),
    types.Signed(64): ((0, 1, -1), (-(2**63), 2**63 - 1)),
    types.Signed(100): ((0, 1, -1), (-(2**99), 2**99 - 1)),
    types.FLOAT: ((0.0, 1.5, -2.0), (math.nan, math.inf, -math.inf, -0.0, 2.0**-149, 3.4028234663852886e38)),
    types.DOUBLE: (
        (0.0, 0.5, 1.0, -1.5),
        (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1),
    ),
    types.Decimal(5, 2): (
        (Decimal(0), Decimal("1.5"), Decimal("-0.25"), Decimal("2.00")),
        (Decimal("999.99"), Decimal("-999.99"), Decimal("-0.00"), Decimal("123.45")),
    ),
    types.Decimal(18, 0): ((Decimal(0), Decimal(1), Decimal(-2)), (Decimal(10**18 - 1), Decimal("1E+3"))),
    types.Decimal(38, 10): (
        (Decimal(0), Decimal("1.0000000001"), Decimal("-2.5")),
        (Decimal("9999999999999999999999999999.9999999999"), Decimal("1234567890123.0123456789")),
    ),
    types.STRING: (
        ("", "a", "b", "ab"),
        ("A", "😀", "é", "ß", "e\u0301", " a b ", "10", "none", "(", "\\", "${a}", '"', "\n", "\uffff"),
    ),
    types.BYTES: ((b"", b"a", b"\x00"), (b"\xff\xfe", b"a" * 20, b"\x00\x00")),
    types.DATE: (
        (date(1970, 1, 1), date(2024, 2, 29), date(2024, 3, 1)),
        (date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 10), date(1969, 12, 31)),
    ),
    types.TIMESTAMP: (
        (_moment("1970-01-01T00:00:00+00:00"), _moment("2024-02-29T13:14:15.000001+00:00")),
        (
            _moment("0001-01-01T00:00:00+00:00"),
            _moment("9999-12-31T23:59:59.999999+00:00"),
            _moment("1969-12-31T23:59:59.999999+00:00"),
            datetime(2024, 2, 29, 15, 14, 15, 1, timezone(timedelta(hours=2))),
        ),
    ),
}

EVERY_TYPE: Final[tuple[Type, ...]] = (*_POOLS, *(types.Option(t) for t in _POOLS))  # type: ignore[arg-type]


class Values:
    """A small domain for each type, drawn once for a case; `edgy` ones have edges in them."""

    def __init__(self, random: Random, *, edgy: bool) -> None:
        self.random = random
        self._edgy = edgy
        self._domains: dict[Type, list[Value]] = {}

    def domain(self, type_: Type) -> list[Value]:
        if type_ not in self._domains:
            plain, edges = _POOLS[type_.item if isinstance(type_, types.Option) else type_]
            if type_ in (types.Option(types.INT), types.Option(types.Signed(64))):
                edges = tuple(e for e in edges if e != -(2**63))  # `none` takes its place
            drawn = self.random.sample(plain, min(len(plain), self.random.choice([2, 3, 3, 4])))
            if edges and self._edgy:
                drawn += self.random.sample(edges, min(len(edges), self.random.choice([1, 1, 2])))
            self._domains[type_] = drawn + ([None] if isinstance(type_, types.Option) else [])
        return self._domains[type_]

    def value(self, type_: Type) -> Value:
        return self.random.choice(self.domain(type_))

    def row(self, columns: tuple[Type, ...]) -> Row:
        return tuple(self.value(t) for t in columns)


# -- in the language


def quoted(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "$": "\\$", "\uffff": "\\u{FFFF}", "\u0301": "\\u{301}"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'


def constant(type_: Type, value: Value) -> str:
    """An expression that has this type wherever it stands."""
    value = canonical(type_, value)
    match type_, value:
        case types.Option(), None:
            return f'(regex_extract("b", "a", 0) as {type_})'
        case types.Option(item), _:
            return f"some({constant(item, value)})"
        case (types.Bool() | types.String() | types.Bytes(), _):
            text = bare(type_, value)
            assert text is not None
            return text
        case types.Int(), int():
            return str(value) if value >= 0 else f"({value + 1} - 1)" if value == -(2**63) else f"({value})"
        case types.Double(), float() if math.isfinite(value) and "e" not in repr(value):
            return repr(value) if value >= 0 else f"({value!r})"
        case _:
            return f'("{to_text(type_, value)}" as {type_})'


def bare(type_: Type, value: Value) -> str | None:
    """How a value is written where its type is expected; None where that takes an expression."""
    value = canonical(type_, value)
    match type_:
        case types.Bool():
            return "true" if value else "false"
        case types.String():
            assert isinstance(value, str)
            return quoted(value)
        case types.Bytes():
            assert isinstance(value, bytes)
            return f'x"{value.hex()}"'
        case types.Date() | types.Timestamp():
            return None
        case types.Option(item):
            return None if value is None else bare(item, value)
        case types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.Decimal():
            return to_text(type_, value)
        case types.Float() | types.Double():
            assert isinstance(value, float)
            return to_text(type_, value) if math.isfinite(value) and abs(value) < 1e6 else None
