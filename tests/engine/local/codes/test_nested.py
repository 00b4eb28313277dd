"""Arrow columns of structured values: column by column the same as value by value."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow import parquet

from data.structured import COLOR, NUMBERS, PAYLOAD, POINT, typed_columns
from tables.facts import named, patiently
from tidelog.data import types
from tidelog.data.types import Item
from tidelog.data.values import Value, canonical
from tidelog.engine.local.codes.arrow import decode_table, encode_table
from tidelog.engine.local.codes.codec import Codec
from tidelog.errors import DataError
from tidelog.tables.arrow import arrow_type, schema
from tidelog.tables.columns import values_of
from tidelog.tables.given import to_table


@patiently
@given(typed_columns())
def test_a_column_is_encoded_as_its_values_are_and_decoded_to_them(column: tuple[Item, list[Value]]) -> None:
    item, values = column
    for type_, held in ((item, values), (types.Option(item), [*values, None, *values])):
        relation = named(p=type_)
        table = to_table(relation, {"p": held})
        codec = Codec()
        codes = encode_table(codec, relation, table)
        assert codes.tolist() == [[codec.encode(type_, v) for v in held]]
        assert codec.decode_column(type_, codes[0]) == held
        decoded = decode_table(codec, relation, codes)
        decoded.validate(full=True)
        assert decoded.schema == schema(relation)
        assert values_of(type_, decoded["p"]) == held
        assert decoded.to_pylist() == table.to_pylist()


@patiently
@given(typed_columns())
def test_what_is_missing_has_parts_that_files_take(column: tuple[Item, list[Value]]) -> None:
    item, values = column
    for held in ([None], [None, *values, None]):
        relation, codec = named(p=types.Option(item)), Codec()
        table = to_table(relation, {"p": held})
        decoded = decode_table(codec, relation, encode_table(codec, relation, table))
        for made in (table, decoded):
            file = io.BytesIO()
            parquet.write_table(made, file)
            assert parquet.read_table(file).to_pylist() == made.to_pylist()


@pytest.mark.parametrize("type_", [PAYLOAD, POINT, COLOR, NUMBERS, types.Vec(types.STRING)], ids=str)
def test_slices_and_chunks_are_encoded_as_the_whole_is(type_: Item) -> None:
    texts: dict[Item, list[object]] = {
        PAYLOAD: [{"IPv4": {"src": 1, "dst": 2}}, "Other", {"ARP": {"op": 3}}],
        POINT: [{"x": 1, "y": None}, {"x": 2, "y": 3}, {"x": 1, "y": None}],
        COLOR: ["Red", "Blue", "Red"],
        NUMBERS: ["Nil", {"Cons": {"head": 1, "tail": "Nil"}}, "Nil"],
        types.Vec(types.STRING): [["a", "b"], [], ["b"]],
    }
    values = [canonical(type_, v) for v in texts[type_]] * 3
    relation, codec = named(p=type_), Codec()
    whole = to_table(relation, {"p": values})
    expected = encode_table(codec, relation, whole)[0].tolist()
    for start in range(len(values)):
        assert encode_table(codec, relation, whole.slice(start, 4))[0].tolist() == expected[start : start + 4]
    chunked = pa.concat_tables([whole.slice(2), whole.slice(0, 2)])
    assert encode_table(codec, relation, chunked)[0].tolist() == expected[2:] + expected[:2]


def test_the_number_that_stands_for_none_is_refused_inside_a_value() -> None:
    relation = named(p=POINT)
    column = pa.array([{"x": 1, "y": -(2**63)}], arrow_type(POINT))
    with pytest.raises(DataError, match="stands for none"):
        encode_table(Codec(), relation, pa.Table.from_arrays([column], schema=schema(relation)))
