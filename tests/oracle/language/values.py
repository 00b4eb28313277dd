"""Values of every type, plain ones that collide and those at the edges; and how programs write them.

Structured values are drawn from the domains of their parts. In the rows of a case they have one of the forms
in which Python programs give them, so that a case can be pasted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any, Final

from tidelog.data import types
from tidelog.data.structs import Struct
from tidelog.data.types import Type
from tidelog.data.values import Row, Value, canonical, to_text

__all__ = ["EVERY_TYPE", "SMALL", "Values", "bare", "constant", "given", "quoted"]

Pool = tuple[tuple[Value, ...], tuple[Value, ...]]  # plain values, and edges


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


_POOLS: Final[Mapping[Type, Pool]] = {
    types.BOOL: ((False, True), ()),
    types.INT: ((0, 1, 2, 3, -1), (-(2**63), 2**63 - 1, 1 - 2**63, 2**53 + 1, 2**31, 1000)),
    types.BIGINT: ((0, 1, 2, -1), (2**64, -(2**70), 10**40, 2**63, -(2**63))),
    types.Bit(1): ((0, 1), ()),
    types.Bit(8): ((0, 1, 2, 3), (255, 128)),
    types.Bit(32): ((0, 1, 2), (2**32 - 1, 2**31)),
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
    types.DURATION: (
        (timedelta(0), timedelta(seconds=1), timedelta(minutes=90), timedelta(microseconds=-1)),
        (timedelta(days=3650), timedelta(microseconds=2**63 - 1), timedelta(microseconds=-(2**63) + 1)),
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

SMALL: Final[tuple[Type, ...]] = (types.BOOL, types.Bit(1), types.Bit(8), types.Signed(8), types.Bit(32))
EVERY_TYPE: Final[tuple[Type, ...]] = (*_POOLS, *(types.Option(t) for t in _POOLS))  # type: ignore[arg-type]


class Values:
    """A small domain for each type, drawn once for a case; `edgy` ones have edges in them."""

    def __init__(self, random: Random, *, edgy: bool) -> None:
        self.random = random
        self.edgy = edgy
        self._domains: dict[Type, list[Value]] = {}

    def domain(self, type_: Type) -> list[Value]:
        if types.is_structured(types.present(type_)):
            return self._structured_domain(type_)
        if type_ not in self._domains:
            plain, edges = _POOLS[type_.item if isinstance(type_, types.Option) else type_]
            if type_ in (types.Option(types.INT), types.Option(types.Signed(64))):
                edges = tuple(e for e in edges if e != -(2**63))  # `none` takes its place
            drawn = self.random.sample(plain, min(len(plain), self.random.choice([2, 3, 3, 4])))
            if edges and self.edgy:
                drawn += self.random.sample(edges, min(len(edges), self.random.choice([1, 1, 2])))
            self._domains[type_] = drawn + ([None] if isinstance(type_, types.Option) else [])
        return self._domains[type_]

    def value(self, type_: Type) -> Value:
        return self.random.choice(self.domain(type_))

    def row(self, columns: tuple[Type, ...]) -> Row:
        return self.given(columns, tuple(self.value(t) for t in columns))

    def given(self, columns: tuple[Type, ...], row: Row) -> Row:
        """A row as a program in Python gives it."""
        return tuple(given(self.random, t, v) for t, v in zip(columns, row, strict=True))

    def _structured_domain(self, type_: Type) -> list[Value]:
        if type_ not in self._domains:
            item = types.present(type_)
            drawn = {self._draw(item, 3) for _ in range(self.random.choice([3, 4, 6]))}
            listed = sorted(drawn, key=lambda v: to_text(item, v))
            self._domains[type_] = listed + ([None] if isinstance(type_, types.Option) else [])
        return self._domains[type_]

    def _draw(self, type_: Type, depth: int) -> Value:
        """A value; below some depth, a small one."""
        match type_:
            case types.Option(item) if types.is_structured(item):
                return None if depth <= 0 or self.random.random() < 0.3 else self._draw(item, depth)
            case types.Tuple(items):
                return canonical(type_, [self._draw(t, depth) for t in items])
            case types.Vec(item) | types.Set(item):
                return canonical(type_, [self._draw(item, depth - 1) for _ in range(self._count(depth))])
            case types.Map(key, value):
                keys = dict.fromkeys(self._draw(key, depth - 1) for _ in range(self._count(depth)))
                return canonical(type_, [(k, self._draw(value, depth - 1)) for k in keys])
            case types.Named():
                return self._draw_named(type_, depth)
            case _:
                return canonical(type_, self.value(type_))

    def _count(self, depth: int) -> int:
        return self.random.choice([0, 1, 1, 2, 3]) if depth > 0 else 0

    def _draw_named(self, type_: types.Named, depth: int) -> Value:
        shallow = [c for c in type_.constructors if not any(_mentions(f.type, type_) for f in c.fields)]
        chosen = self.random.choice(shallow if depth <= 0 and shallow else type_.constructors)
        fields = {f.name: self._draw(f.type, depth - 1) for f in chosen.fields}
        return canonical(type_, {chosen.name: fields} if len(type_.constructors) > 1 else fields)


def _mentions(type_: Type, wanted: Type) -> bool:
    return type_ == wanted or (
        not isinstance(type_, types.Named) and any(_mentions(t, wanted) for t in types.parts(type_))
    )


def given(random: Random, type_: Type, value: Value) -> Any:
    """A form in which Python programs give a value: structured ones as lists, dicts and names."""
    match type_, value:
        case _, None:
            return None
        case types.Option(item), _:
            return given(random, item, value)
        case types.Tuple(items), tuple():
            return [given(random, t, v) for t, v in zip(items, value, strict=True)]
        case types.Vec(item), tuple():
            return [given(random, item, v) for v in value]
        case types.Set(item), frozenset():  # sets are listed in another order in each process
            return [given(random, item, v) for v in sorted(value, key=lambda v: to_text(item, v))]
        case types.Map(key, inner), Mapping():
            pairs = [[given(random, key, k), given(random, inner, v)] for k, v in value.items()]
            plain = not any(isinstance(k, list | dict) for k, _ in pairs) and random.random() < 0.5
            return dict(pairs) if plain else pairs
        case types.Named(), Struct():
            return _given_named(random, type_, value)
        case _:
            return value


def _given_named(random: Random, type_: types.Named, value: Struct) -> Any:
    constructor = type_.constructor(value._tag)
    parts = zip(constructor.fields, value._asdict().values(), strict=True)
    fields = {f.name: given(random, f.type, v) for f, v in parts}
    if len(type_.constructors) == 1:
        return random.choice([fields, list(fields.values())])
    forms: list[Any] = [{value._tag: fields}, {"tag": value._tag, value._tag: fields}]
    forms.append({"tag": value._tag, **fields} if fields else value._tag)
    return random.choice(forms)


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
        case types.Tuple(items), tuple():
            return f"({', '.join(constant(t, v) for t, v in zip(items, value, strict=True))})"
        case types.Vec(item), tuple() if value:
            return f"[{', '.join(constant(item, v) for v in value)}]"
        case types.Map(key, inner), Mapping() if value:
            return f"[{', '.join(f'{constant(key, k)} -> {constant(inner, v)}' for k, v in value.items())}]"
        case types.Named(args=()), Struct():
            return _constructed(type_, value)
        case _:
            return f"({quoted(to_text(type_, value))} as {type_})"


def _constructed(type_: types.Named, value: Struct) -> str:
    """A value of a type without parameters, by its constructor."""
    fields = type_.constructor(value._tag).fields
    if not fields:
        return value._tag if len(type_.constructors) > 1 else f"{value._tag}{{}}"
    parts = [constant(f.type, v) for f, v in zip(fields, value._asdict().values(), strict=True)]
    if len(to_text(type_, value)) % 2:  # either form, and always the same for one value
        parts = [f".{f.name} = {part}" for f, part in zip(fields, parts, strict=True)]
    return f"{value._tag}{{{', '.join(parts)}}}"


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
        case types.Duration():
            assert isinstance(value, timedelta)
            seconds = value // timedelta(seconds=1)
            is_whole = timedelta(seconds=seconds) == value and seconds >= 0
            return f"{seconds} seconds" if is_whole else None
        case types.Date() | types.Timestamp():
            return None
        case types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            return None
        case types.Option(item):
            return None if value is None else bare(item, value)
        case types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.Decimal():
            return to_text(type_, value)
        case types.Float() | types.Double():
            assert isinstance(value, float)
            return to_text(type_, value) if math.isfinite(value) and abs(value) < 1e6 else None
