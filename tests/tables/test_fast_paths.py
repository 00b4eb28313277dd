"""Whole columns at once or value by value: the same columns, or the same refusals."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables.facts import SCALARS, TYPES, patiently, values
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import to_text
from tidelog.formats import cells
from tidelog.tables import fitting
from tidelog.tables.fitting import Misfit


def outcome(fit: Callable[[Type, Any], Any], type_: Type, column: Any) -> tuple[object, ...]:
    """The texts that came out (NaN is not equal to itself), or the row that was refused."""
    try:
        fitted = fit(type_, column)
    except Misfit as bad:
        return ("refused", bad.row)
    return ("fits", str(fitted.type), [repr(v) for v in fitted.to_pylist()])


def both_ways(
    monkeypatch: pytest.MonkeyPatch, module: Any, fit: Callable[[Type, Any], Any], type_: Type, column: Any
) -> tuple[tuple[object, ...], tuple[object, ...]]:
    first = outcome(fit, type_, column)
    with monkeypatch.context() as patched:
        patched.setattr(module, "_fast", lambda *_: None)
        second = outcome(fit, type_, column)
    return first, second


whole = st.integers(-(2**63), 2**63 - 1) | st.sampled_from((-1, 0, 1, 7, 8, 255, 256, 2**24 + 1, 2**53 + 1))
digits = st.integers(-(10**6), 10**6).map(lambda n: decimal.Decimal(n).scaleb(-3))
moments = st.integers(-(10**18), 10**18) | st.sampled_from((0, 1000, 86_400_000, -62135596800 * 10**6))
GIVEN: tuple[tuple[Any, st.SearchStrategy[Any]], ...] = (
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint16(), st.integers(0, 2**16 - 1)),
    (pa.int64(), whole),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats() | whole.map(float)),
    (pa.decimal128(10, 3), digits),
    (
        pa.decimal128(38, 0),
        st.integers(1 - 10**38, 10**38 - 1).map(decimal.Decimal) | whole.map(decimal.Decimal),
    ),
    (pa.decimal256(60, 3), digits),
    (pa.string(), st.text() | whole.map(str) | st.sampled_from(("007", "-0", "+1", " 1"))),
    (pa.large_string(), st.text()),
    (pa.string_view(), st.text()),
    (pa.dictionary(pa.int8(), pa.string()), st.text()),
    (pa.binary(), st.binary()),
    (pa.large_binary(), st.binary()),
    (pa.binary(2), st.binary(min_size=2, max_size=2)),
    (pa.date32(), st.integers(-(10**6), 4 * 10**6)),
    (pa.date64(), st.integers(-(10**4), 10**4).map(lambda n: n * 86_400_000)),
    (pa.timestamp("s"), st.integers(-(10**12), 10**12)),
    (pa.timestamp("us", "Europe/Rome"), moments),
    (pa.timestamp("ns"), moments),
    (pa.duration("us"), st.integers(0, 10)),
    (pa.null(), st.none()),
)


@pytest.mark.parametrize(("arrow", "drawn"), GIVEN, ids=[str(arrow) for arrow, _ in GIVEN])
@patiently
@given(data=st.data())
def test_kernels_fit_what_values_fit(arrow: Any, drawn: st.SearchStrategy[Any], data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(TYPES))
    given_values = data.draw(st.lists(drawn | st.none() if data.draw(st.booleans()) else drawn, max_size=5))
    column = pa.chunked_array([pa.array(given_values, arrow), pa.array([], arrow)])
    with pytest.MonkeyPatch.context() as monkeypatch:
        fast, slow = both_ways(monkeypatch, fitting, fitting.fit_arrow, type_, column)
    assert fast == slow


@pytest.mark.parametrize("encode", [pc.dictionary_encode, pc.run_end_encode])
def test_wide_numbers_may_be_encoded(encode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    column = pa.chunked_array([encode(pa.array(["0", "7", "7"]))])
    fast, slow = both_ways(monkeypatch, fitting, fitting.fit_arrow, types.Signed(128), column)
    assert fast == slow
    assert fast[0] == "fits"


RAW = (
    st.decimals()
    | st.decimals(-(10**38), 10**38, places=2)
    | st.integers()
    | whole
    | st.floats()
    | st.booleans()
    | st.text()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.timezones())
)


@pytest.mark.parametrize("item", SCALARS, ids=str)
@patiently
@given(data=st.data())
def test_values_of_one_class_fit_as_they_do_one_by_one(item: types.Item, data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from((item, types.Option(item))))
    given_values = data.draw(st.lists(values(type_) | RAW, max_size=3))
    first = outcome(fitting.fit_values, type_, given_values)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fitting, "_CLASSES", {})
        patched.setattr(fitting, "_WHOLE", frozenset())
        assert outcome(fitting.fit_values, type_, given_values) == first


NUMBERS = st.from_regex(r"\A[-+]?[0-9]{1,21}(\.[0-9]{0,5})?([eE][-+]?[0-9]{1,3})?\Z")
STAMPS = st.from_regex(
    r"\A[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"([T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?(Z|\+01:00)?)?\Z"
)
ODD = st.sampled_from(
    ("", "none", "true", "True", "0x1f", " 1", "1 ", "NaN", "nan", "inf", "-Infinity", "1_0", "٣", "0b1")
)


@pytest.mark.parametrize("item", SCALARS, ids=str)
@patiently
@given(data=st.data())
def test_kernels_read_what_from_text_reads(item: types.Item, data: st.DataObject) -> None:
    own = values(item).map(lambda value: to_text(item, value))
    text = own | data.draw(st.sampled_from((own, NUMBERS, STAMPS, ODD)))
    type_ = data.draw(st.sampled_from((item, types.Option(item))))
    column = pa.chunked_array([data.draw(st.lists(text | st.none(), max_size=5))], pa.string())
    with pytest.MonkeyPatch.context() as monkeypatch:
        fast, slow = both_ways(monkeypatch, cells, cells.read_cells, type_, column)
    assert fast == slow
