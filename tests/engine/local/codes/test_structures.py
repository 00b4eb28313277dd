"""Codes of structured values: equal exactly for equal values, decoded to them, and ordered like them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from data.structured import NUMBERS, PAYLOAD, POINT, TREE, constructor, named, typed_columns
from tidelog.data import types
from tidelog.data.types import Item
from tidelog.data.values import Value, canonical, order_key
from tidelog.engine.local.codes.codec import NONE, Codec, is_direct
from tidelog.engine.local.codes.order import arrange_sequences
from tidelog.engine.local.codes.pools import lengths_to_starts
from tidelog.engine.local.codes.structures import Rows
from tidelog.engine.local.codes.terms import Terms

PAIR = named("Pair", constructor("Pair", first=types.INT, second=types.INT))


@given(typed_columns())
def test_decoding_gives_the_values_encoded_one_by_one_or_together(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    one_by_one, together = Codec(), Codec()
    codes = [one_by_one.encode(type_, v) for v in values]
    assert one_by_one.decode_listed(type_, codes) == values
    assert [one_by_one.decode(type_, c) for c in codes] == values
    column_codes = together.encode_column(type_, values)
    assert together.decode_column(type_, column_codes) == values
    assert together.encode_column(type_, values).tolist() == column_codes.tolist()
    assert [together.encode(type_, v) for v in values] == column_codes.tolist()


@given(typed_columns())
def test_codes_are_equal_exactly_for_equal_values(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    codes = Codec().encode_column(type_, values).tolist()
    for (v, c), (w, d) in product(zip(values, codes, strict=True), repeat=2):
        assert (v == w) == (c == d)


@given(typed_columns())
def test_a_value_is_found_exactly_if_it_was_encoded(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    codec = Codec()
    half = len(values) // 2
    codes = codec.encode_column(type_, values[:half]).tolist()
    assert [codec.find(type_, v) for v in values[:half]] == codes
    if types.is_structured(type_):
        for v in values[half:]:
            assert (codec.find(type_, v) is not None) == (v in values[:half]) or _is_inside(type_)


def _is_inside(type_: Item) -> bool:
    """Whether values may have been encoded as parts of others."""
    return types.is_recursive(type_)


@given(typed_columns(max_size=8))
def test_ranks_have_the_order_of_the_values(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    if not types.is_structured(type_) or is_direct(type_):
        return
    codec = Codec()
    codes = codec.encode_column(type_, values)
    dictionary = codec.dictionary(type_)
    by_rank = dictionary.decode(dictionary.ordered().tolist())
    assert by_rank == sorted(dictionary.values, key=lambda v: order_key(type_, v))
    distinct = np.unique(codes)
    some = dictionary.decode(distinct[dictionary.arrange(distinct)].tolist())
    assert some == sorted(dictionary.decode(distinct.tolist()), key=lambda v: order_key(type_, v))


@given(typed_columns(max_size=8))
def test_values_between_two_bounds_are_found_by_their_order(column: tuple[Item, list[Value]]) -> None:
    type_, values = column
    if not types.is_structured(type_) or is_direct(type_) or len(values) < 2:
        return
    low, high, *others = values
    codec = Codec()
    codec.encode_column(type_, others)
    dictionary = codec.dictionary(type_)
    found = dictionary.decode(dictionary.between(low, high).tolist())
    first, last = order_key(type_, low), order_key(type_, high)
    expected = [v for v in dictionary.values if first <= order_key(type_, v) <= last]
    assert found == sorted(expected, key=lambda v: order_key(type_, v))


def _terms(codec: Codec, type_: Item) -> Terms:
    found = codec.terms(type_)
    assert isinstance(found, Terms)
    return found


def test_many_terms_are_interned_as_columns_and_their_fields_gathered() -> None:
    terms = _terms(Codec(), PAIR)
    first, second = np.arange(100_000) % 317, np.arange(100_000) % 211
    codes = terms.make("Pair", [first, second], 100_000)
    assert len(terms) == len(set(zip(first.tolist(), second.tolist(), strict=True)))
    assert (terms.field(0, codes, 0) == first).all()
    assert (terms.field(0, codes, 1) == second).all()
    assert (terms.make("Pair", [first, second], 100_000) == codes).all()
    single = terms.make("Pair", [first[:1], second[:1]], 1)
    assert single.tolist() == codes[:1].tolist()


def test_a_column_with_one_entry_is_that_field_of_all_terms() -> None:
    terms = _terms(Codec(), PAYLOAD)
    codes = terms.make("IPv4", [np.arange(3), np.array([7])], 3)
    assert terms.field(0, codes, 1).tolist() == [7, 7, 7]
    assert terms.tag(codes).tolist() == [0, 0, 0]
    assert terms.tag(terms.make("Other", [], 2)).tolist() == [2, 2]


def test_collections_are_made_from_items_in_any_order() -> None:
    codec = Codec()
    numbers = codec.pool(types.Set(types.INT))
    rows = Rows(np.array([3, 1, 3, 1, 3]), np.array([0, 3, 5, 5]))
    codes = numbers.from_items(rows)
    assert numbers.decode(codes.tolist()) == [frozenset([1, 3]), frozenset([1, 3]), frozenset()]
    assert numbers.lengths(codes).tolist() == [2, 2, 0]
    assert numbers.items(codes).content.tolist() == [1, 3, 1, 3]
    texts = codec.part(types.STRING)
    words = codec.pool(types.Set(types.STRING))
    listed = texts.encode_many(["b", "a", "c"])
    (code,) = words.from_items(Rows(listed, np.array([0, 3]))).tolist()
    assert texts.decode_many(words.items(np.array([code])).content.tolist()) == ["a", "b", "c"]


def test_many_vecs_are_interned_and_have_the_items_they_were_made_of() -> None:
    pool = Codec().pool(types.Vec(types.INT))
    lengths = np.arange(5000) % 7
    items = np.arange(lengths.sum()) % 5
    codes = pool.from_items(Rows(items, lengths_to_starts(lengths)))
    assert (pool.lengths(codes) == lengths).all()
    assert (pool.items(codes).content == items).all()


def test_deep_values_are_encoded_and_decoded_without_recursion() -> None:
    value: object = {"Nil": {}}
    codec = Codec()
    (code,) = codec.encode_column(NUMBERS, [canonical(NUMBERS, value)]).tolist()
    terms = _terms(codec, NUMBERS)
    for i in range(20_000):
        (code,) = terms.make("Cons", [np.array([i]), np.array([code])], 1).tolist()
    found = codec.decode(NUMBERS, code)
    assert codec.find(NUMBERS, found) == code
    assert Codec().encode(NUMBERS, found) == 20_000
    longer = terms.make("Cons", [np.array([19_999]), np.array([code])], 1)
    assert terms.arrange(np.array([longer[0], code])).tolist() == [1, 0]


def test_none_inside_a_value_is_a_value_and_sorts_first() -> None:
    codec = Codec()
    values = [canonical(POINT, {"x": 1, "y": y}) for y in (5, None, -5)]
    codes = codec.encode_column(POINT, values)
    assert NONE not in codes.tolist()
    terms = _terms(codec, POINT)
    assert terms.field(0, codes, 1).tolist() == [5, NONE, -5]
    assert codes[terms.arrange(codes)].tolist() == codes[[1, 2, 0]].tolist()


@pytest.mark.parametrize("type_", [POINT, PAYLOAD, TREE, types.Vec(types.INT)])
def test_an_empty_dictionary_has_no_values_and_no_order(type_: types.Item) -> None:
    dictionary = Codec().dictionary(type_)
    assert dictionary.values == []
    assert dictionary.ordered().tolist() == []
    assert dictionary.decode([NONE]) == [None]


def test_sequences_are_arranged_item_by_item() -> None:
    sequences = [[1, 2], [1], [], [1, 2, 0], [-(2**63)], [1, 1, 9]]
    lengths = np.array(list(map(len, sequences)))
    starts = lengths_to_starts(lengths)[:-1]
    items = np.array([item for sequence in sequences for item in sequence])
    order = arrange_sequences(starts, lengths, items)
    assert [sequences[i] for i in order.tolist()] == sorted(sequences)
