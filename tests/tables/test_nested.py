"""Structured values in Arrow columns: nothing is lost, in any form that users hold them, by either path."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.structured import COLOR, NUMBERS, PAYLOAD, POINT, TREE, constructor, named, raw_forms, typed_columns
from tables.facts import named as relation_of
from tables.facts import patiently
from tidelog.data import types
from tidelog.data.order import in_order
from tidelog.data.structs import FrozenMap, struct_class
from tidelog.data.traits import traits
from tidelog.data.types import Type
from tidelog.data.values import Value, canonical, to_text
from tidelog.errors import DataError
from tidelog.tables import fitting
from tidelog.tables.arrow import arrow_type, relation_from_schema, schema, type_of
from tidelog.tables.columns import column_of, values_of
from tidelog.tables.given import relation_from_data, to_table


def fitted(type_: Type, data: object) -> list[Value]:
    """The values of one column of data, once they are in a table."""
    table = to_table(relation_of(p=type_), data)
    assert table.schema == schema(relation_of(p=type_))
    table.validate(full=True)
    return values_of(type_, table["p"])


def quickly(type_: Type, array: Any) -> list[Value]:
    """The values of an Arrow array that must not become Python values on the way."""
    found = fitting._fast(type_, pa.chunked_array([array]))
    assert found is not None
    return values_of(type_, found)


# -- laws


@patiently
@given(typed_columns())
def test_values_survive_the_trip_to_arrow_and_back(typed: tuple[Type, list[Value]]) -> None:
    type_, items = typed
    array = column_of(type_, items)
    array.validate(full=True)
    assert array.type == arrow_type(type_)
    assert _texts(type_, values_of(type_, array)) == _texts(type_, items)
    assert values_of(type_, array.slice(1)) == values_of(type_, array)[1:]


def _texts(type_: Type, items: list[Value]) -> list[str]:
    return [to_text(type_, v) for v in items]


@patiently
@given(typed_columns())
def test_options_survive_the_trip_too(typed: tuple[types.Item, list[Value]]) -> None:
    type_, items = typed
    option = types.Option(type_)
    some = [x for item in items for x in (None, item)]
    array = column_of(option, some)
    array.validate(full=True)
    assert _texts(option, values_of(option, array)) == _texts(option, some)
    assert _texts(option, fitted(option, pa.table({"p": array}))) == _texts(option, some)


@patiently
@given(typed_columns())
def test_columns_of_the_type_fit_it_by_either_path(typed: tuple[Type, list[Value]]) -> None:
    type_, items = typed
    array = pa.chunked_array([column_of(type_, items)])
    slow = fitting.fit_values(type_, fitting._values(type_, array))
    assert _texts(type_, values_of(type_, slow)) == _texts(type_, items)
    fast = fitting._fast(type_, array)
    assert fast is None or _texts(type_, values_of(type_, fast)) == _texts(type_, items)
    assert fast is not None or _has_sets_that_arrow_cannot_sort(type_) or not items


def _has_sets_that_arrow_cannot_sort(type_: Type) -> bool:
    def hard(t: Type) -> bool:
        item = types.present(t)
        known = types.is_structured(item) or types.is_float(item) or traits(item).is_wide
        return known or isinstance(t, types.Option)

    here = (isinstance(type_, types.Set) and hard(type_.item)) or (
        isinstance(type_, types.Map) and hard(type_.key)
    )
    return here or (
        not types.is_recursive(type_) and any(map(_has_sets_that_arrow_cannot_sort, types.parts(type_)))
    )


@patiently
@given(typed_columns())
def test_rows_of_python_values_fit(typed: tuple[Type, list[Value]]) -> None:
    type_, items = typed
    assert _texts(type_, fitted(type_, [(v,) for v in items])) == _texts(type_, items)
    assert _texts(type_, fitted(type_, [{"p": v} for v in items])) == _texts(type_, items)


@patiently
@given(st.data())
def test_every_form_of_a_value_fits(data: st.DataObject) -> None:
    type_, items = data.draw(typed_columns())
    raw = [data.draw(raw_forms(type_, v)) for v in items]
    assert _texts(type_, fitted(type_, [(v,) for v in raw])) == _texts(type_, items)


@patiently
@given(typed_columns())
def test_json_text_fits(typed: tuple[Type, list[Value]]) -> None:
    type_, items = typed
    if types.is_structured(type_):
        texts = pa.array(_texts(type_, items), pa.string())
        assert _texts(type_, fitted(type_, pa.table({"p": texts}))) == _texts(type_, items)


@pytest.mark.parametrize(
    "type_", [PAYLOAD, POINT, COLOR, NUMBERS, TREE, types.Tuple((types.INT, PAYLOAD))], ids=str
)
def test_the_traits_say_what_the_arrow_type_is(type_: types.Item) -> None:
    assert str(arrow_type(type_)) == traits(type_).arrow


# -- forms

PORTS = types.Map(types.STRING, types.Bit(16))
IPV4, ARP, OTHER = (struct_class(PAYLOAD, name) for name in ("IPv4", "ARP", "Other"))
XY = struct_class(POINT, "Point")


@dataclass
class Row:
    p: Any


def test_a_union_is_a_struct_of_a_tag_and_the_structs_of_its_constructors() -> None:
    table = to_table(relation_of(p=PAYLOAD), [(IPV4(1, 2),), ({"ARP": {"op": 1}},), ("Other",)])
    assert table["p"].to_pylist() == [
        {"tag": "IPv4", "IPv4": {"src": 1, "dst": 2}, "ARP": None},
        {"tag": "ARP", "IPv4": None, "ARP": {"op": 1}},
        {"tag": "Other", "IPv4": None, "ARP": None},
    ]
    assert fitted(PAYLOAD, table) == [IPV4(1, 2), ARP(1), OTHER()]
    assert fitted(PAYLOAD, table.to_pandas()) == [IPV4(1, 2), ARP(1), OTHER()]
    assert fitted(PAYLOAD, pl.from_arrow(table)) == [IPV4(1, 2), ARP(1), OTHER()]
    assert fitted(PAYLOAD, [Row(IPV4(1, 2))]) == [IPV4(1, 2)]


def test_fields_are_found_by_name_in_any_order_and_missing_ones_are_none() -> None:
    swapped = pa.array([{"y": 2, "x": 1}, {"y": None, "x": 3}])
    assert quickly(POINT, swapped) == [XY(1, 2), XY(3, None)]
    assert quickly(POINT, pa.array([{"x": 1}])) == [XY(1, None)]
    without = pa.array([{"tag": "IPv4", "IPv4": {"dst": 2, "src": 1}}, {"tag": "Other", "IPv4": None}])
    assert quickly(PAYLOAD, without) == [IPV4(1, 2), OTHER()]


def test_lists_of_every_kind_are_vecs() -> None:
    vec = types.Vec(types.INT)
    for kind in (
        pa.list_(pa.int8()),
        pa.large_list(pa.int64()),
        pa.list_(pa.int64(), 2),
        pa.list_view(pa.int32()),
    ):
        assert quickly(vec, pa.array([[1, 2], [3, 4]], kind)) == [(1, 2), (3, 4)]
        assert quickly(vec, pa.array([[0, 0], [1, 2], [3, 4]], kind).slice(1)) == [(1, 2), (3, 4)]
        assert quickly(types.Option(vec), pa.array([[1, 2], None], kind)) == [(1, 2), None]
    assert fitted(vec, pd.DataFrame({"p": [np.array([1, 2]), [3]]})) == [(1, 2), (3,)]
    assert fitted(vec, pl.DataFrame({"p": [[1, 2], []]})) == [(1, 2), ()]


def test_sets_are_sorted_and_their_elements_are_distinct() -> None:
    texts = pa.array([["b", "a", "b"], [], ["c"]])
    assert quickly(types.Set(types.STRING), texts) == [frozenset("ab"), frozenset(), frozenset("c")]
    table = to_table(relation_of(p=types.Set(types.STRING)), pa.table({"p": texts}))
    assert table["p"].to_pylist() == [["a", "b"], [], ["c"]]


def test_maps_are_sorted_by_key() -> None:
    kind = pa.map_(pa.string(), pa.int32())
    array = pa.array([[("b", 1), ("a", 2)], [], [("c", 3)]], kind)
    assert quickly(PORTS, array) == [{"a": 2, "b": 1}, {}, {"c": 3}]
    assert quickly(PORTS, array.slice(2)) == [{"c": 3}]
    assert quickly(types.Option(PORTS), pa.array([[("b", 1)], None], kind)) == [{"b": 1}, None]
    table = to_table(relation_of(p=PORTS), pa.table({"p": array}))
    assert table["p"].to_pylist()[0] == [{"key": "a", "value": 2}, {"key": "b", "value": 1}]
    assert fitted(PORTS, table) == [{"a": 2, "b": 1}, {}, {"c": 3}]
    assert fitted(PORTS, [({"b": 1},)]) == [FrozenMap({"b": 1})]


def test_categories_and_enums_are_constructors_without_fields() -> None:
    colors = [canonical(COLOR, c) for c in ("Red", "Blue", "Red")]
    assert fitted(COLOR, pd.DataFrame({"p": pd.Categorical(["Red", "Blue", "Red"])})) == colors
    enum = pl.Series("p", ["Red", "Blue", "Red"], dtype=pl.Enum(["Red", "Green", "Blue"]))
    assert fitted(COLOR, pl.DataFrame([enum])) == colors
    assert quickly(COLOR, pa.array(["Red", "Blue", "Red"]).dictionary_encode()) == colors
    unions = [canonical(types.Vec(COLOR), ["Red"])]
    assert quickly(types.Vec(COLOR), pa.array([["Red"]])) == unions


def test_recursive_values_are_json_in_bytes_or_nested_dicts() -> None:
    tree = canonical(TREE, {"value": "a", "children": [{"value": "b", "children": []}]})
    table = to_table(relation_of(p=TREE), [(tree,)])
    assert table["p"].to_pylist() == [b'{"value":"a","children":[{"value":"b","children":[]}]}']
    assert fitted(TREE, table) == [tree]
    nested = pa.array([{"value": "a", "children": [{"value": "b", "children": []}]}])
    assert fitted(TREE, pa.table({"p": nested})) == [tree]


def test_durations_come_in_every_unit() -> None:
    span = [timedelta(hours=1), timedelta(microseconds=-5)]
    assert fitted(types.DURATION, pd.DataFrame({"p": pd.Series(span)})) == span
    assert fitted(types.DURATION, pl.DataFrame({"p": span})) == span
    assert fitted(types.DURATION, {"p": np.array([3600, 0], "timedelta64[s]")}) == [
        timedelta(hours=1),
        timedelta(0),
    ]
    assert (
        fitted(types.DURATION, [(pd.Timedelta("1h"),), (np.timedelta64(60, "m"),)])
        == [timedelta(hours=1)] * 2
    )
    missing = pd.DataFrame({"p": pd.Series([span[0], None])})
    assert fitted(types.Option(types.DURATION), missing) == [span[0], None]


def test_numbers_of_libraries_are_found_at_every_depth() -> None:
    deep = types.Vec(types.Tuple((types.INT, types.Option(types.TIMESTAMP))))
    moment = pd.Timestamp("2024-01-01", tz="UTC")
    found = fitted(deep, [([(np.int64(1), moment), (np.int32(2), pd.NaT)],)])
    assert found == [((1, moment.to_pydatetime()), (2, None))]
    assert fitted(types.Vec(types.BIGINT), pa.table({"p": [[Decimal(2**70)]]})) == [(2**70,)]


def test_no_python_object_per_row_on_the_good_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("a value was converted by itself")

    monkeypatch.setattr(fitting, "fit_values", refuse)
    table = to_table(relation_of(p=PAYLOAD), pa.table({"p": column_of(PAYLOAD, [IPV4(1, 2), OTHER()])}))
    assert table.num_rows == 2


# -- what does not fit


def refusal(type_: Type, data: object) -> str:
    with pytest.raises(DataError) as caught:
        to_table(relation_of(p=type_), data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("type_", "data", "message"),
    [
        (
            PAYLOAD,
            [(OTHER(),), ({"IPv4": {"src": 1, "dst": "x"}},)],
            "row 1: IPv4.dst: 'x' is not of type bit<32>",
        ),
        (
            PAYLOAD,
            pa.table({"p": [{"tag": "Other"}, {"tag": "IPv4"}]}),
            "relation R, column p, row 1: IPv4.src: missing field of type bit<32>",
        ),
        (POINT, pa.table({"p": [{"x": 1, "z": 2}]}), "row 0: extra field z; Point has x, y"),
        (POINT, pa.table({"p": [{"y": 1}]}), "row 0: x: missing field of type int"),
        (
            types.Vec(types.INT),
            pa.table({"p": [[1], [2, None]]}),
            "row 1: [1]: a missing value is not of type int",
        ),
        (types.Vec(types.Bit(8)), pa.table({"p": [[1], [2, 256]]}), "row 1: [1]: 256 does not fit bit<8>"),
        (
            PORTS,
            pa.table({"p": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))}),
            "two values",
        ),
        (COLOR, pa.table({"p": ["Red", "Pink"]}), "row 1: 'Pink' is not JSON"),
        (POINT, [(7,)], "row 0: 7 is not of type Point; give a dict, or a dataclass"),
        (POINT, [(None,)], "a missing value is not of type Point; declare the column option<Point>"),
        (TREE, pa.table({"p": [b"{"]}), "is not JSON"),
        (TREE, pa.table({"p": [b"\xff"]}), "is not valid UTF-8"),
        (types.DURATION, pd.DataFrame({"p": [pd.Timedelta(1, "ns")]}), "finer than a microsecond"),
        (types.DURATION, [(pd.Timedelta(1, "ns"),)], "finer than a microsecond"),
        (types.DURATION, [(np.timedelta64(1, "M"),)], "no fixed length"),
        (types.DURATION, [(5,)], "5 is not of type duration; give a datetime.timedelta"),
        (types.Vec(types.DOUBLE), [([2**53 + 1],)], "cannot be represented exactly as double"),
    ],
)
def test_what_does_not_fit_is_reported_by_row_and_path(type_: Type, data: object, message: str) -> None:
    assert message in refusal(type_, data)


# -- types from data


def test_lists_and_maps_have_types_of_their_own() -> None:
    assert type_of(pa.list_(pa.int8())) == types.Vec(types.Option(types.INT))
    assert type_of(pa.map_(pa.string(), pa.float64())) == types.Map(types.STRING, types.Option(types.DOUBLE))
    assert type_of(pa.duration("ns")) == types.DURATION
    of = relation_from_data("R", pa.table({"a": [[1], []], "b": [[[None, 1]], None]}))
    assert [str(c.type) for c in of.columns] == ["vec<int>", "option<vec<vec<option<int>>>>"]


def test_a_struct_needs_a_declared_type_which_the_error_shows() -> None:
    inner = pa.struct([pa.field("lat", pa.float64(), nullable=False)])
    place = pa.struct([pa.field("city", pa.string()), pa.field("at", pa.list_(inner))])
    with pytest.raises(DataError) as caught:
        relation_from_schema("R", pa.schema([pa.field("place", place, nullable=False)]))
    assert str(caught.value) == (
        "relation R, column place: a struct needs a declared type; add this to the program, and declare the "
        "relation with a column `place: Place`:\n"
        "    typedef At = At{lat: double}\n"
        "    typedef Place = Place{city: option<string>, at: option<vec<option<At>>>}"
    )


def test_the_order_of_a_set_in_a_column_is_that_of_its_values() -> None:
    points = types.Set(POINT)
    value = canonical(points, [(2, 1), (1, None), (1, 0)])
    listed = to_table(relation_of(p=points), [(value,)])["p"].to_pylist()[0]
    assert [tuple(d.values()) for d in listed] == [v._values for v in in_order(POINT, value)]


def test_a_generic_type_is_laid_out_by_its_arguments() -> None:
    pair = named(
        "Pair", constructor("Pair", first=types.INT, second=types.STRING), args=(types.INT, types.STRING)
    )
    assert str(arrow_type(pair)) == "struct<first: int64 not null, second: string not null>"
