"""Tables and codes: column by column the same as value by value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from tables.facts import SCALARS, TYPES, contents, patiently, relation, rows, texts, typed_rows
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row
from tidelog.engine.local.codes.arrow import decode_table, encode_table
from tidelog.engine.local.codes.codec import NONE, Codec
from tidelog.engine.local.codes.interning import Dictionary
from tidelog.errors import DataError
from tidelog.tables.arrow import schema
from tidelog.tables.given import to_table

LEAST = -(2**63)


def _storable(columns: list[Type], given_rows: list[Row]) -> list[Row]:
    """Without the one number that an option cannot hold in this engine."""
    held_in_64 = (types.Option(types.INT), types.Option(types.Signed(64)))
    return [
        row
        for row in given_rows
        if not any(t in held_in_64 and v == LEAST for t, v in zip(columns, row, strict=True))
    ]


@patiently
@given(typed_rows)
def test_a_table_is_encoded_as_its_values_are_one_by_one(typed: tuple[list[Type], list[Row]]) -> None:
    columns, given_rows = typed[0], _storable(*typed)
    codec, of = Codec(), relation(*columns)
    codes = encode_table(codec, of, to_table(of, given_rows))
    one_by_one = [[codec.encode(t, row[i]) for row in given_rows] for i, t in enumerate(columns)]
    assert codes.shape == (len(columns), len(given_rows))
    assert codes.dtype == np.int64
    assert codes.flags.c_contiguous
    assert codes.tolist() == one_by_one


@patiently
@given(typed_rows)
def test_decoding_gives_back_what_was_encoded(typed: tuple[list[Type], list[Row]]) -> None:
    columns, given_rows = typed[0], _storable(*typed)
    codec, of = Codec(), relation(*columns)
    table = decode_table(codec, of, encode_table(codec, of, to_table(of, given_rows)))
    table.validate(full=True)
    assert table.schema == schema(of)
    assert contents(of, table) == texts(columns, given_rows)


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_chunks_and_slices_are_encoded_as_the_whole_is(type_: Type) -> None:
    drawn: list[Row] = []

    @patiently
    @given(rows([type_], max_size=20))
    def collect(some: list[Row]) -> None:
        drawn.extend(some)

    collect()
    of, codec = relation(type_), Codec()
    kept = _storable([type_], drawn)
    table = to_table(of, kept)
    cut = len(kept) // 3
    pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut, 0), table.slice(cut)])
    codes = encode_table(codec, of, table)
    assert np.array_equal(encode_table(codec, of, pieces), codes)
    assert np.array_equal(encode_table(codec, of, table.slice(cut)), codes[:, cut:])


def test_equal_floats_have_one_code() -> None:
    of = relation(types.DOUBLE)
    odd = np.array([0x7FF8000000000001, -1, 0x7FF8000000000000, LEAST, 0], np.int64).view(np.float64)
    codes = encode_table(Codec(), of, pa.table({"c0": odd}, schema=schema(of)))[0]
    assert codes[0] == codes[1] == codes[2]
    assert codes[3] == codes[4] == 0


def test_missing_values_have_the_code_of_none_whatever_lies_beneath() -> None:
    of = relation(types.Option(types.INT))
    beneath = pa.array(np.array([5, 7]), mask=np.array([True, False]))
    table = pa.table([beneath], schema=schema(of))
    assert encode_table(Codec(), of, table).tolist() == [[NONE, 7]]


@pytest.mark.parametrize("item", [types.INT, types.Signed(64)], ids=str)
def test_the_number_whose_code_is_that_of_none_is_refused_in_an_option(item: types.Item) -> None:
    of = relation(types.Option(item))
    with pytest.raises(
        DataError, match=r"relation R, column c0, row 2: -9223372036854775808 cannot be stored"
    ):
        encode_table(Codec(), of, to_table(of, [(None,), (1,), (LEAST,)]))
    plain = relation(item)
    assert encode_table(Codec(), plain, to_table(plain, [(LEAST,)])).tolist() == [[LEAST]]


@pytest.mark.parametrize("item", SCALARS, ids=str)
def test_a_column_of_nothing_but_none_needs_no_dictionary(item: types.Item) -> None:
    codec, of = Codec(), relation(types.Option(item))
    codes = encode_table(codec, of, to_table(of, [(None,), (None,)]))
    assert codes.tolist() == [[NONE, NONE]]
    assert decode_table(codec, of, codes).column(0).to_pylist() == [None, None]


def test_a_relation_without_columns_keeps_its_rows() -> None:
    codec, of = Codec(), relation()
    codes = encode_table(codec, of, to_table(of, [(), ()]))
    assert codes.shape == (0, 2)
    assert decode_table(codec, of, codes).num_rows == 2


def test_sixty_four_columns() -> None:
    codec, of = Codec(), relation(*[types.STRING] * 64)
    row = tuple(f"v{i}" for i in range(64))
    table = decode_table(codec, of, encode_table(codec, of, to_table(of, [row])))
    assert contents(of, table) == [row]


def test_tables_do_not_see_later_changes_of_the_codes() -> None:
    codec, of = Codec(), relation(types.INT, types.TIMESTAMP, types.DOUBLE, types.Decimal(5, 2))
    codes = np.zeros((4, 3), np.int64)
    table = decode_table(codec, of, codes)
    before = contents(of, table)
    codes[:] = 1
    assert contents(of, table) == before


def test_a_dictionary_that_grows_is_decoded_as_far_as_it_has_grown() -> None:
    codec, of = Codec(), relation(types.BIGINT)

    def there_and_back(values: list[int]) -> list[int]:
        codes = encode_table(codec, of, to_table(of, [(value,) for value in values]))
        return [int(str(text)) for (text,) in contents(of, decode_table(codec, of, codes))]

    many = [10**30 + i for i in range(1000)]
    assert there_and_back(many) == many
    assert there_and_back([5, many[3]]) == [5, many[3]]
    assert len(codec.dictionary(types.BIGINT).column) == 1000  # two values do not pay for moving it
    assert there_and_back([*many, 6]) == [*many, 6]


def test_many_values_are_interned_as_one_by_one() -> None:
    single, bulk = Dictionary(), Dictionary()
    for batch in (["b", "a", "b"], ["a", "c"], [], ["c", "d", "b", "d"]):
        assert bulk.intern_many(batch).tolist() == [single.code(value) for value in batch]
    assert bulk.values == single.values == ["b", "a", "c", "d"]
