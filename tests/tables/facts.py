"""Relations and facts of every type, for the tests of what goes in and out."""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row, Value, canonical, to_text
from tidelog.program.declared import Column, Relation, Role

SCALARS: tuple[types.Item, ...] = (
    types.BOOL,
    types.INT,
    types.BIGINT,
    types.Bit(1),
    types.Bit(12),
    types.Bit(32),
    types.Bit(63),
    types.Bit(64),
    types.Bit(65),
    types.Bit(128),
    types.Signed(1),
    types.Signed(8),
    types.Signed(33),
    types.Signed(64),
    types.Signed(128),
    types.FLOAT,
    types.DOUBLE,
    types.Decimal(3, 3),
    types.Decimal(18, 2),
    types.Decimal(19, 2),
    types.Decimal(38, 0),
    types.Decimal(38, 38),
    types.STRING,
    types.BYTES,
    types.DATE,
    types.TIMESTAMP,
    types.DURATION,
)
TYPES: tuple[Type, ...] = (*SCALARS, *(types.Option(t) for t in SCALARS))

# the first text ever drawn takes a second, for the tables of Unicode
patiently = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def relation(*columns: Type, name: str = "R") -> Relation:
    return Relation(name, tuple(Column(f"c{i}", t) for i, t in enumerate(columns)), Role.INPUT)


def named(**columns: Type) -> Relation:
    return Relation("R", tuple(Column(n, t) for n, t in columns.items()), Role.INPUT)


def _scalars(type_: types.Item) -> st.SearchStrategy[Any]:
    match type_:
        case types.Bool():
            return st.booleans()
        case types.Float():
            return st.floats(width=32)
        case types.Double():
            return st.floats()
        case types.Decimal(precision, scale):
            numbers = st.integers(1 - 10**precision, 10**precision - 1)
            exact = decimal.Context(prec=80)
            return numbers.map(lambda n: decimal.Decimal(n).scaleb(-scale, exact))
        case types.String():
            return st.text() | st.sampled_from(
                ("none", "true", '"', "a,b", "\r\n", " x ", "c0", "()", "\ufeff")
            )
        case types.Bytes():
            return st.binary()
        case types.Date():
            return st.dates()
        case types.Timestamp():
            return st.datetimes(timezones=st.just(UTC)) | st.just(datetime(1, 1, 1, tzinfo=UTC))
        case types.Duration():
            most = timedelta(microseconds=2**63 - 1)
            return st.timedeltas(-most, most) | st.sampled_from((-most, most, timedelta(0)))
        case _:
            low, high = types.int_range(type_) or (-(10**50), 10**50)
            return st.integers(low, high) | st.sampled_from((low, high))


def values(type_: Type) -> st.SearchStrategy[Value]:
    """Canonical values, `none` included where it is one."""
    if isinstance(type_, types.Option):
        item = type_.item
        raw = _scalars(item)
        if types.int_range(item) == (-(2**63), 2**63 - 1):
            raw = raw.filter(lambda number: number != -(2**63))  # whose code stands for none
        return st.none() | raw.map(lambda value: canonical(type_, value))
    return _scalars(type_).map(lambda raw: canonical(type_, raw))


def rows(columns: Sequence[Type], max_size: int = 8) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(*(values(t) for t in columns)), max_size=max_size)


typed_columns = st.lists(st.sampled_from(TYPES), min_size=1, max_size=4)
typed_rows = typed_columns.flatmap(lambda ts: st.tuples(st.just(ts), rows(ts)))


def texts(columns: Sequence[Type], data: Iterable[Sequence[object]]) -> list[tuple[str | None, ...]]:
    """Rows in a form in which sameness is `==`, NaN and all: the texts of their values."""
    return [
        tuple(None if v is None else to_text(t, canonical(t, v)) for t, v in zip(columns, row, strict=True))
        for row in data
    ]


def contents(of: Relation, table: Any) -> list[tuple[str | None, ...]]:
    """The rows of a table of the relation, as texts; numbers that Arrow holds as text are texts already."""
    assert table.schema.names == [c.name for c in of.columns]
    columns = [_column(c.type, table.column(i)) for i, c in enumerate(of.columns)]
    return list(zip(*columns, strict=True))


def _column(type_: Type, column: Any) -> list[str | None]:
    listed = column.to_pylist()
    if column.type == "string":
        return [None if v is None else str(v) for v in listed]
    return [None if v is None else to_text(type_, canonical(type_, v)) for v in listed]
