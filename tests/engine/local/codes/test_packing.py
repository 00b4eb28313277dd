"""Packed types: their codes are in the order of the values, and mean the same however they are made."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.structured import COLOR, PAYLOAD, POINT, TREE, constructor, named
from data.test_values import values as scalar_values
from tables.facts import named as relation_of
from tidelog.data import types
from tidelog.data.types import Constructor, Item, Type
from tidelog.data.values import Value, canonical, order_key
from tidelog.engine.local.codes.arrow import decode_table, encode_table
from tidelog.engine.local.codes.codec import NONE, Codec, Codes, is_direct
from tidelog.engine.local.codes.packing import Packed, packing
from tidelog.tables.columns import column_of
from tidelog.tables.given import to_table

SMALL: tuple[types.Item, ...] = (
    types.BOOL,
    types.Bit(1),
    types.Bit(8),
    types.Bit(17),
    types.Signed(8),
    types.Signed(20),
    COLOR,
)
_NUMBERS = count()  # types with one name would have to be one type


@st.composite
def _packed_types(draw: st.DrawFn, depth: int = 1) -> Item:
    """A packed type, with at most 60 bits."""
    inner = (
        st.sampled_from(SMALL) if not depth else st.one_of(st.sampled_from(SMALL), _packed_types(depth - 1))
    )
    fields = draw(st.lists(st.one_of(inner, inner.map(types.Option)), min_size=0, max_size=3))
    if len(fields) >= 2 and draw(st.booleans()):
        made: Item = types.Tuple(tuple(fields))
    else:
        listed = [Constructor(f"C{depth}{i}", ()) for i in range(draw(st.integers(0, 3)))]
        first = constructor(f"F{depth}", **{f"f{i}": t for i, t in enumerate(fields)})
        made = named(f"T{next(_NUMBERS)}", *draw(st.permutations([first, *listed])))
    return made if packing(made) is not None else COLOR


def _value(draw: st.DrawFn, type_: Type) -> Value:
    match type_:
        case types.Option(item):
            return None if draw(st.booleans()) else _value(draw, item)
        case types.Tuple(items):
            return canonical(type_, [_value(draw, t) for t in items])
        case types.Named():
            chosen = draw(st.sampled_from(type_.constructors))
            fields = {f.name: _value(draw, f.type) for f in chosen.fields}
            return canonical(type_, {chosen.name: fields} if len(type_.constructors) > 1 else fields)
        case _:
            return draw(scalar_values(type_))


@st.composite
def columns(draw: st.DrawFn) -> tuple[Item, list[Value]]:
    """A packed type, and values of it."""
    type_ = draw(_packed_types())
    return type_, [_value(draw, type_) for _ in range(draw(st.integers(1, 5)))]


@given(columns())
def test_codes_mean_their_values_and_have_their_order(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    codec = Codec()
    codes = codec.encode_column(type_, values)
    assert is_direct(type_)
    assert codes.tolist() == [codec.encode(type_, v) for v in values]
    assert (codes >= 0).all()
    assert codec.decode_column(type_, codes) == values
    option = types.Option(type_)
    assert codec.decode_column(option, np.append(codes, NONE)) == [*values, None]
    assert codec.encode_column(option, [*values, None]).tolist() == [*codes.tolist(), NONE]
    for v, c in zip(values, codes.tolist(), strict=True):
        for w, d in zip(values, codes.tolist(), strict=True):
            assert (c < d) == (order_key(type_, v) < order_key(type_, w))
            assert (c == d) == (v == w)
    assert not codec.dictionaries


@given(columns())
def test_columns_of_arrow_are_packed_and_unpacked(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    for kind, held in ((type_, values), (types.Option(type_), [None, *values])):
        relation, codec = relation_of(p=kind), Codec()
        codes = encode_table(codec, relation, to_table(relation, {"p": held}))
        assert codes.tolist() == [[codec.encode(kind, v) for v in held]]
        decoded = decode_table(codec, relation, codes)
        decoded.validate(full=True)
        assert decoded["p"].combine_chunks().equals(column_of(kind, held))


@given(columns())
def test_values_are_made_of_their_fields_and_taken_apart(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    packed = packing(type_)
    assert packed is not None
    codes = Codec().encode_column(type_, values)
    assert packed.are_sound(codes)
    tags = packed.tag(codes)
    for number, slots in enumerate(packed.constructors):
        mine = codes[tags == number]
        fields = [packed.field(number, mine, i) for i in range(len(slots))]
        assert packed.make(packed.name(number), fields, len(mine)).tolist() == mine.tolist()
    again = packed.make_mixed(tags, lambda n, rows: _fields(packed, n, codes[rows]))
    assert again.tolist() == codes.tolist()


def _fields(packed: Packed, number: int, codes: Codes) -> list[Codes]:
    return [packed.field(number, codes, i) for i in range(len(packed.constructors[number]))]


def test_which_types_are_packed() -> None:
    assert packing(COLOR) is not None
    assert packing(types.Tuple((types.Bit(32), types.Bit(31)))) is not None
    assert packing(types.Tuple((types.Bit(32), types.Signed(31)))) is not None
    assert packing(types.Tuple((types.Bit(32), types.Option(types.Bit(31))))) is None
    assert packing(types.Tuple((types.Bit(32), types.Bit(32)))) is None
    for type_ in (PAYLOAD, POINT, TREE, types.Vec(types.BOOL), types.Tuple((types.BOOL, types.STRING))):
        assert packing(type_) is None


@pytest.mark.parametrize("codes", [[-1], [3], [1 << 62], [NONE]])
def test_codes_that_mean_no_value_are_noticed(codes: list[int]) -> None:
    color = packing(COLOR)
    assert color is not None
    assert color.are_sound(np.array([0, 1, 2], np.int64))
    assert not color.are_sound(np.array(codes, np.int64))
    nested = packing(types.Tuple((COLOR, types.Option(types.Signed(2)))))
    assert nested is not None
    assert not nested.are_sound(np.array([3 << 3], np.int64))
    assert not nested.are_sound(np.array([5], np.int64))
