"""Changes as tables: signs of equal rows add up, also where columns are nested."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.structured import PAYLOAD, POINT, TREE, typed_columns
from tables.facts import named, patiently
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Value, to_text
from tidelog.tables.columns import values_of
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, difference, signed, total


@patiently
@given(typed_columns(), st.data())
def test_signs_of_equal_rows_add_up(typed: tuple[types.Item, list[Value]], data: st.DataObject) -> None:
    type_, items = typed
    of = named(p=type_)
    added = list(dict.fromkeys(items))
    removed = [v for v in added if data.draw(st.booleans())]
    change = pa.concat_tables(
        [signed(to_table(of, [(v,) for v in added]), 1), signed(to_table(of, [(v,) for v in removed]), -1)]
    )
    found = total(change)
    left = {to_text(type_, v) for v in added} - {to_text(type_, v) for v in removed}
    assert {to_text(type_, v) for v in values_of(type_, found["p"])} == left
    assert set(found[SIGN].to_pylist()) <= {1}
    assert found.schema == change.schema


@pytest.mark.parametrize(
    "type_", [types.Option(POINT), types.Option(PAYLOAD), types.Vec(POINT), TREE], ids=str
)
def test_the_difference_of_equal_tables_is_empty(type_: Type) -> None:
    raw: dict[str, list[object]] = {
        str(types.Option(POINT)): [(1, 2), (1, None), None],
        str(types.Option(PAYLOAD)): [{"IPv4": (1, 2)}, "Other", None],
        str(types.Vec(POINT)): [[(1, 2)], []],
        str(TREE): [("a", []), ("a", [("b", [])])],
    }
    table = to_table(named(p=type_), [(v,) for v in raw[str(type_)]])
    assert difference(table, table).num_rows == 0
    assert difference(table.slice(1), table)[SIGN].to_pylist() == [1]
    assert difference(table, table.slice(1))[SIGN].to_pylist() == [-1]
