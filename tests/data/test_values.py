"""Values: one canonical form, one order, one text that reads back."""

from __future__ import annotations

import decimal
import math
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import NAN, BadValue, Value, canonical, from_text, joins, order_key, to_text

SCALARS: tuple[types.Item, ...] = (
    types.BOOL,
    types.INT,
    types.BIGINT,
    types.Bit(1),
    types.Bit(128),
    types.Signed(8),
    types.FLOAT,
    types.DOUBLE,
    types.Decimal(3, 3),
    types.Decimal(10, 2),
    types.Decimal(38, 0),
    types.STRING,
    types.BYTES,
    types.DATE,
    types.TIMESTAMP,
    types.DURATION,
)


def raw_values(type_: types.Item) -> st.SearchStrategy[object]:
    """Python values that stand for values of a type, in more than one way where there are several."""
    match type_:
        case types.Bool():
            return st.booleans()
        case types.Float():
            return st.floats(width=32)
        case types.Double():
            return st.floats() | st.integers(-(2**70), 2**70)
        case types.Decimal(precision, scale):
            numbers = st.integers(1 - 10**precision, 10**precision - 1)
            return numbers.map(lambda n: decimal.Decimal((int(n < 0), _digits(n), -scale)))
        case types.String():
            return st.text()
        case types.Bytes():
            return st.binary()
        case types.Date():
            return st.dates()
        case types.Timestamp():
            zones = st.sampled_from((None, UTC, timezone(timedelta(hours=-5, minutes=30))))
            moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1))  # noqa: DTZ001
            return st.builds(lambda moment, zone: moment.replace(tzinfo=zone), moments, zones)
        case types.Duration():
            most = timedelta(microseconds=2**63 - 1)
            return st.timedeltas(-most, most)
        case _:
            return st.integers(*types.int_range(type_) or (None, None))


def _digits(number: int) -> tuple[int, ...]:
    return tuple(int(d) for d in str(abs(number)))


def values(type_: types.Item) -> st.SearchStrategy[Value]:
    return raw_values(type_).map(lambda raw: canonical(type_, raw))


scalars = st.sampled_from(SCALARS)
typed_values = scalars.flatmap(lambda t: st.tuples(st.just(t), values(t)))


# the first text ever drawn takes a second, for the tables of Unicode


# -- laws


@given(typed_values)
def test_a_canonical_value_is_its_own_canonical_form(typed: tuple[Type, Value]) -> None:
    type_, value = typed
    again = canonical(type_, value)
    assert again is value or again == value
    assert type(again) is type(value)
    assert hash(again) == hash(value)


@given(typed_values)
def test_the_text_of_a_value_reads_back_as_that_value(typed: tuple[Type, Value]) -> None:
    type_, value = typed
    again = from_text(type_, to_text(type_, value))
    assert joins(again, value)
    assert to_text(type_, again) == to_text(type_, value)


@given(typed_values)
def test_an_option_reads_and_writes_as_its_item_does(typed: tuple[types.Item, Value]) -> None:
    type_, value = typed
    text = to_text(types.Option(type_), value)
    assert text == to_text(type_, value)
    if text != "none":
        assert joins(from_text(types.Option(type_), text), value)


@given(scalars.flatmap(lambda t: st.tuples(st.just(t), st.lists(values(t)))))
def test_the_order_is_total_and_agrees_with_sameness(typed: tuple[Type, list[Value]]) -> None:
    type_, items = typed
    ordered = sorted(items, key=lambda v: order_key(type_, v))
    for a, b in pairwise(ordered):
        below, above = order_key(type_, a) < order_key(type_, b), order_key(type_, b) < order_key(type_, a)
        assert not above
        assert below != joins(a, b)


@given(scalars.flatmap(lambda t: st.tuples(st.just(t), st.lists(values(t), min_size=3, max_size=3))))
def test_the_order_is_transitive(typed: tuple[Type, list[Value]]) -> None:
    type_, items = typed
    a, b, c = (order_key(type_, v) for v in items)
    assert not (a <= b and b <= c) or a <= c


@given(scalars, st.text())
def test_a_text_is_read_or_refused_but_never_crashes(type_: Type, text: str) -> None:
    try:
        value = from_text(type_, text)
    except BadValue:
        return
    assert joins(canonical(type_, value), value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_is_written_with_the_fewest_digits_that_single_precision_needs(number: float) -> None:
    text = to_text(types.FLOAT, canonical(types.FLOAT, number))
    digits = text.split("e")[0].replace(".", "").replace("-", "").strip("0")
    assert len(digits) <= 9
    assert struct.pack("<f", float(text) + 0.0) == struct.pack("<f", number + 0.0)


# -- single cases


def test_nan_is_one_value_that_joins_itself_and_comes_last() -> None:
    value = canonical(types.DOUBLE, -math.nan)
    assert value is NAN
    assert joins(value, canonical(types.DOUBLE, float("nan")))
    assert order_key(types.DOUBLE, math.inf) < order_key(types.DOUBLE, value)


def test_minus_zero_is_zero() -> None:
    assert math.copysign(1, float(str(canonical(types.DOUBLE, -0.0)))) == 1
    assert str(canonical(types.Decimal(3, 2), decimal.Decimal("-0.00"))) == "0.00"


def test_none_joins_nothing_and_comes_first() -> None:
    assert not joins(None, None)
    option = types.Option(types.INT)
    assert order_key(option, None) < order_key(option, -(2**63))


def test_all_38_digits_of_a_decimal_are_kept() -> None:
    number = decimal.Decimal("-12345678901234567890123456789012345678")
    assert canonical(types.Decimal(38, 0), number) == number


def test_a_moment_is_kept_in_utc() -> None:
    moment = datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1)))
    assert to_text(types.TIMESTAMP, canonical(types.TIMESTAMP, moment)) == "2023-12-31T23:30:00Z"


def test_a_bigint_has_no_largest_text() -> None:
    number = -(7**9000)
    text = to_text(types.BIGINT, number)
    assert len(text) > 7000
    assert from_text(types.BIGINT, text) == number


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (types.INT, 2**63),
        (types.INT, True),
        (types.INT, 1.0),
        (types.INT, None),
        (types.Bit(8), 256),
        (types.Bit(8), -1),
        (types.Signed(8), 128),
        (types.FLOAT, 1e39),
        (types.DOUBLE, 10**400),
        (types.Decimal(3, 1), decimal.Decimal("100")),
        (types.Decimal(3, 1), decimal.Decimal("0.01")),
        (types.Decimal(3, 1), decimal.Decimal("NaN")),
        (types.Decimal(3, 1), 1.5),
        (types.STRING, "\ud800"),
        (types.BYTES, "00"),
        (types.DATE, datetime(2024, 1, 1, tzinfo=UTC)),
        (types.TIMESTAMP, date(2024, 1, 1)),
    ],
)
def test_a_value_of_another_type_or_size_is_refused(type_: Type, value: object) -> None:
    with pytest.raises(BadValue):
        canonical(type_, value)


@pytest.mark.parametrize("type_", [types.INT, types.FLOAT, types.Decimal(3, 1), types.BOOL, types.STRING])
def test_a_number_too_long_to_write_is_refused_in_few_words(type_: Type) -> None:
    with pytest.raises(BadValue, match="a number of 16610 bits"):
        canonical(type_, 10**5000)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (types.BOOL, "True"),
        (types.INT, ""),
        (types.INT, " 1"),
        (types.INT, "1_000"),
        (types.INT, "１"),
        (types.INT, "1e3"),
        (types.BIGINT, "1" * 5000 + "x1"),
        (types.DOUBLE, "nan"),
        (types.DOUBLE, "inf"),
        (types.DOUBLE, "1e999"),
        (types.FLOAT, "1e39"),
        (types.Decimal(3, 1), "sNaN1"),
        (types.Decimal(3, 1), "0.05"),
        (types.BYTES, "0"),
        (types.BYTES, "00\n11"),
        (types.DATE, "2024-02-30"),
        (types.DATE, "2024-W05-3"),
        (types.DATE, "2024-2-3"),
        (types.TIMESTAMP, "yesterday"),
    ],
)
def test_a_text_that_is_not_of_the_type_is_refused(type_: Type, text: str) -> None:
    with pytest.raises(BadValue):
        from_text(type_, text)
