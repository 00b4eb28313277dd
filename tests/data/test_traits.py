"""The table of traits agrees with the values, with the libraries it names, and with the codes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.test_values import SCALARS, values
from tidelog.data import types
from tidelog.data.traits import traits
from tidelog.data.values import BadValue, Value, from_text, order_key
from tidelog.engine.local.codes.codec import Codec, is_direct
from tidelog.tables.arrow import arrow_type


def each_with(count: int) -> st.SearchStrategy[tuple[types.Item, list[Value]]]:
    def some(type_: types.Item) -> st.SearchStrategy[tuple[types.Item, list[Value]]]:
        return st.tuples(st.just(type_), st.lists(values(type_), min_size=count, max_size=count))

    return st.sampled_from(SCALARS).flatmap(some)


@given(each_with(1))
def test_values_are_of_the_class_that_is_named(typed: tuple[types.Item, list[Value]]) -> None:
    type_, (value,) = typed
    assert type(value) is traits(type_).python


@given(each_with(1))
def test_the_arrow_type_holds_every_value(typed: tuple[types.Item, list[Value]]) -> None:
    type_, (value,) = typed
    held = str(value) if traits(type_).is_wide else value
    assert pa.array([held], arrow_type(type_))[0].as_py() == held or value != value


@given(each_with(2))
def test_codes_of_direct_types_are_in_the_order_of_the_values(
    typed: tuple[types.Item, list[Value]],
) -> None:
    type_, (x, y) = typed
    if is_direct(type_):
        codec = Codec()
        codes = codec.encode(type_, x), codec.encode(type_, y)
        keys = order_key(type_, x), order_key(type_, y)
        assert (codes[0] < codes[1]) == (keys[0] < keys[1])


@pytest.mark.parametrize("type_", SCALARS, ids=str)
def test_an_option_has_the_traits_of_its_item(type_: types.Item) -> None:
    assert traits(types.Option(type_)) == traits(type_)


@pytest.mark.parametrize("type_", SCALARS, ids=str)
def test_an_example_of_a_date_or_time_can_be_read(type_: types.Item) -> None:
    if isinstance(type_, types.Date | types.Timestamp):
        from_text(type_, traits(type_).example)
    with pytest.raises(BadValue):
        from_text(types.DATE, "31.12.2024")
