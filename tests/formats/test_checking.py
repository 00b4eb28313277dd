"""Rows are checked one by one, and each bad one is told; what is good is what reads as a whole."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import facts
from tables.facts import TYPES, patiently, relation
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import DataError
from tidelog.formats.assembly import Delimited
from tidelog.formats.checking import PROBLEM, RAW, Form, Layout, check_batches
from tidelog.formats.delimited import CSV, read_delimited
from tidelog.formats.json_lines import read_lines, write_lines
from tidelog.program.declared import Column, Relation, Role
from tidelog.tables.arrow import schema
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, difference


def target(of: Relation, *, sign: bool = False) -> Any:
    names = [pa.field(SIGN, pa.int8())] if sign else []
    names += [pa.field(PROBLEM, pa.string()), pa.field(RAW, pa.string())]
    return pa.schema([*(f.with_nullable(True) for f in schema(of)), *names])


def check(layout: Layout, **columns: list[Any]) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pydict(columns)
    wanted = target(layout.relation, sign=layout.sign is not None)
    made = pa.Table.from_batches(check_batches(layout, wanted, iter([batch])), wanted)
    listed: list[dict[str, Any]] = made.to_pylist()
    return listed


EDGE = Relation("Edge", (Column("src", types.STRING), Column("km", types.INT)), Role.INPUT)
CELLS = Layout(EDGE, Form.CELLS, ("a", "b"), delimited=Delimited(CSV, ("a", "b"), header=False))
LINES = Layout(EDGE, Form.JSON, ("a", "b"))


def test_cells_are_read_and_bad_ones_told() -> None:
    rows = check(CELLS, value=[b"x,1", b",2", b"y,two", b"z,"])
    assert [(r["src"], r["km"]) for r in rows[:2]] == [("x", 1), ("", 2)]
    assert [r[PROBLEM] is None for r in rows] == [True, True, False, False]
    assert rows[2][PROBLEM].startswith("column km: 'two' is not a number")
    assert rows[3][PROBLEM].startswith("column km: an empty cell is not of type int")
    assert rows[2][RAW] == "y,two"


def test_a_record_that_is_bad_is_told_as_it_is() -> None:
    rows = check(CELLS, value=[b"x,1", b"y,2,3", b"\xff,1", b'"a', b"", b'b",7', b'"z,1', b"y,2"])
    assert [r[RAW] for r in rows] == [None, "y,2,3", "\\xff,1", None, '"z,1\ny,2\n']
    assert rows[1][PROBLEM] == "3 cells; expected 2: a, b"
    assert rows[2][PROBLEM] == "b'\\xff' is not UTF-8; save the file in that encoding"
    assert (rows[3]["src"], rows[3]["km"]) == ("a\n\nb", 7)
    assert "close the quote" in rows[4][PROBLEM]


def test_typed_values_are_made_to_fit() -> None:
    small = Relation("S", (Column("n", types.Option(types.Bit(8))),), Role.INPUT)
    rows = check(Layout(small, Form.VALUES, ("n",)), n=[1, None, 256])
    assert [r["n"] for r in rows] == [1, None, None]
    assert rows[2][PROBLEM].startswith("column n: 256 does not fit bit<8>")
    assert rows[1][PROBLEM] is None


def test_lines_of_json_are_read_and_bad_ones_told() -> None:
    lines = ['{"a": "x", "b": 1, "more": 2}', "", '{"a": "x", "b": "1"}', '{"a": null, "b": 1}', "[", "  "]
    rows = check(LINES, value=lines)
    assert (rows[0]["src"], rows[0]["km"]) == ("x", 1)
    assert [r[RAW] for r in rows] == [None, *lines[2:5]]
    assert [r[PROBLEM] and r[PROBLEM].split(":")[0] for r in rows] == [
        None,
        "column km",
        "column src",
        "the line is not valid JSON",
    ]


def test_signs_say_whether_a_row_comes_or_goes() -> None:
    signs = ["+", "-", "1", "-1", "+1", "x", None]
    form = Delimited(CSV, ("s", "b", "a"), header=True)
    lines = ["s,b,a", *(f"{sign or ''},1,x" for sign in signs)]
    layout = Layout(EDGE, Form.CELLS, ("a", "b"), "s", delimited=form)
    rows = check(layout, value=[line.encode() for line in lines])
    assert [r[SIGN] for r in rows] == [1, -1, 1, -1, 1, None, None]
    assert [r[PROBLEM] is None for r in rows] == [True] * 5 + [False] * 2
    lines = ['{"a": "x", "b": 1, "s": 1}', '{"a": "x", "b": 1, "s": "-"}', '{"a": "x", "b": 1}']
    assert [r[SIGN] for r in check(Layout(EDGE, Form.JSON, ("a", "b"), "s"), value=lines)] == [1, -1, None]


def test_a_relation_without_columns_has_a_row_for_each() -> None:
    nothing = Relation("Flag", (), Role.INPUT)
    assert len(check(Layout(nothing, Form.JSON, ()), value=["{}", "{}"])) == 2


THREE = Relation("T", tuple(Column(n, types.STRING) for n in "spo"), Role.INPUT)


def test_triples_are_read_line_by_line() -> None:
    lines = [
        "<a> <b> <c> .",
        "# a comment",
        "",
        '_:x <b> "\\"q\\" \\u00e9"@en-gb.',
        "<a> <b> .",
        '<a> <b> "c" . # d',
    ]
    good = [line for line in lines if line != "<a> <b> ."]
    for given_lines in (lines, good):  # one by one where something is wrong, else all at once
        rows = check(Layout(THREE, Form.TRIPLES, ("value",)), value=given_lines)
        fine = [r for r in rows if r[PROBLEM] is None]
        assert [r["o"] for r in fine] == ["<c>", '"\\"q\\" é"@en-gb', '"c"']
        assert [r[RAW] for r in rows if r not in fine] == ["<a> <b> ."] * (given_lines is lines)


@pytest.mark.parametrize(
    "line",
    [
        "a <b> <c> .",
        "<a> <b> <c>",
        '<a> "b" <c> .',
        "<a> <b> c .",
        '<a> <b> "c" d .',
        "<a> <b> <c> . <d> <e> <f> .",
    ],
)
def test_what_is_no_triple_is_told(line: str) -> None:
    (row,) = check(Layout(THREE, Form.TRIPLES, ("value",)), value=[line])
    assert row[PROBLEM]
    assert row[RAW] == line


# -- laws


@given(data=st.data(), columns=st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
@patiently
def test_good_rows_are_read_as_files_are_read(data: st.DataObject, columns: list[Type]) -> None:
    r = relation(*columns)
    table = to_table(r, data.draw(facts.rows(columns)))
    lines = b"".join(write_lines(table)).decode().removesuffix("\n").split("\n")
    made = check(Layout(r, Form.JSON, tuple(c.name for c in r.columns)), value=lines or [""])
    assert all(row[PROBLEM] is None for row in made)
    kept = [target(r).field(c.name) for c in r.columns]
    columns_ = [_column([row[f.name] for row in made], f.type) for f in kept]
    back = pa.Table.from_arrays(columns_, schema=pa.schema(kept)).cast(schema(r))
    assert not difference(table, back).num_rows


def _column(values: list[Any], type_: Any) -> Any:
    """An Arrow array; PyArrow refuses to convert durations near the bounds."""
    if not pa.types.is_duration(type_):
        return pa.array(values, type_)
    unit = timedelta(microseconds=1)
    return pa.array([None if v is None else v // unit for v in values], pa.int64()).cast(type_)


CELL = st.sampled_from(["", "1", "-7", "x", "1.5", "true", "2024-01-02", "null", "é", " 1"])


@given(cells=st.lists(CELL, min_size=1, max_size=6), type_=st.sampled_from(TYPES))
@patiently
def test_a_row_is_good_iff_a_file_of_it_alone_is(cells: list[str], type_: Type) -> None:
    r = relation(type_)
    layout = Layout(r, Form.CELLS, ("c0",), delimited=Delimited(CSV, ("c0",), header=False))
    made = check(layout, value=[cell.encode() for cell in cells])
    for cell, row in zip(cells, made, strict=True):
        content = f"c0\n{cell}\n" if cell else 'c0\n""\n'
        try:
            read_delimited(r, content.encode(), "file", dialect=CSV)
            is_good = True
        except DataError:
            is_good = False
        if cell or not isinstance(type_, types.Option):  # a quoted empty cell is a text, an empty one is none
            assert (row[PROBLEM] is None) == is_good, (cell, row)


@given(values=st.lists(st.sampled_from([None, 1, 2**70, 1.5, "x", "1", True, []]), min_size=1, max_size=6))
@patiently
def test_a_line_is_good_iff_a_file_of_it_alone_is(values: list[Any]) -> None:
    r = relation(types.INT)
    lines = [json.dumps({"c0": value}) for value in values]
    for line, row in zip(lines, check(Layout(r, Form.JSON, ("c0",)), value=lines), strict=True):
        try:
            read_lines(r, line.encode(), "file")
            is_good = True
        except DataError:
            is_good = False
        assert (row[PROBLEM] is None) == is_good, row
