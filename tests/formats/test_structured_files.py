"""Structured values in files: what is written reads back, and what does not fit is reported by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow import parquet

from data.structured import COLOR, NUMBERS, PAYLOAD, POINT, TREE, typed_columns
from tables.facts import named, patiently
from tidelog.data import types
from tidelog.data.structs import struct_class
from tidelog.data.types import Type
from tidelog.data.values import Value, canonical, to_text
from tidelog.errors import DataError
from tidelog.formats.assembly import LINE
from tidelog.formats.checking import PROBLEM, Form, Layout, check_batches
from tidelog.formats.files import read_facts, write_facts
from tidelog.tables.arrow import schema
from tidelog.tables.columns import values_of
from tidelog.tables.given import to_table

PACKET = named(id=types.INT, p=PAYLOAD)
IPV4, ARP, OTHER = (struct_class(PAYLOAD, name) for name in ("IPv4", "ARP", "Other"))
ROWS = [(1, IPV4(1, 2)), (2, ARP(7)), (3, OTHER())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("structured")


@pytest.mark.parametrize("extension", [".csv", ".jsonl", ".parquet", ".arrow"])
@patiently
@given(typed=typed_columns(max_size=3))
def test_what_is_written_reads_back(
    folder: Path, extension: str, typed: tuple[types.Item, list[Value]]
) -> None:
    type_, items = typed
    of = named(n=types.INT, p=type_, q=types.Option(type_))
    rows = [(i, v, None if i % 2 else v) for i, v in enumerate(items)]
    file = folder / f"facts{extension}"
    write_facts(to_table(of, rows), file, of)
    again = read_facts(of, file)
    assert [to_text(type_, v) for v in values_of(type_, again["p"])] == [to_text(type_, v) for v in items]
    assert [v is None for v in values_of(types.Option(type_), again["q"])] == [r[2] is None for r in rows]


def test_json_lines_are_nested_and_csv_has_json_cells(tmp_path: Path) -> None:
    write_facts(to_table(PACKET, ROWS), tmp_path / "f.jsonl", PACKET)
    assert (tmp_path / "f.jsonl").read_text() == (
        '{"id": 1, "p": {"IPv4":{"src":1,"dst":2}}}\n'
        '{"id": 2, "p": {"ARP":{"op":7}}}\n'
        '{"id": 3, "p": "Other"}\n'
    )
    write_facts(to_table(PACKET, ROWS), tmp_path / "f.csv", PACKET)
    assert (tmp_path / "f.csv").read_text() == (
        'id,p\n1,"{""IPv4"":{""src"":1,""dst"":2}}"\n2,"{""ARP"":{""op"":7}}"\n3,"""Other"""\n'
    )


def read(tmp_path: Path, of: Any, name: str, content: str) -> Any:
    (tmp_path / name).write_text(content)
    return read_facts(of, tmp_path / name)


def test_people_write_structured_values_in_other_ways(tmp_path: Path) -> None:
    lines = '{"id": 1, "p": {"tag": "IPv4", "dst": 2, "src": 1}}\n{"id": 2, "p": "{\\"ARP\\": [7]}"}\n'
    table = read(tmp_path, PACKET, "f.jsonl", lines)
    assert values_of(PAYLOAD, table["p"]) == [IPV4(1, 2), ARP(7)]
    table = read(tmp_path, PACKET, "f.csv", 'id,p\n3,Other\n4,"{""IPv4"": {""dst"": 2, ""src"": 1}}"\n')
    assert values_of(PAYLOAD, table["p"]) == [OTHER(), IPV4(1, 2)]
    spans = read(tmp_path, named(t=types.DURATION), "d.csv", "t\n90 minutes\n5400s\n")
    assert spans["t"][0] == spans["t"][1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "f.csv",
            'id,p\n1,"{""IPv4"":{""src"":1,""dst"":""x""}}"\n',
            "f.csv:2: .*IPv4.dst: 'x' is not of",
        ),
        ("f.csv", "id,p\n1,7\n", "f.csv:2: .*7 is not of type Payload"),
        ("f.csv", "id,p\n1,{\n", "f.csv:2: .*is not JSON"),
        ("f.csv", "id,p\n1,\n", "an empty cell is not of type Payload"),
        (
            "f.jsonl",
            '{"id":1,"p":{"IPv4":{"src":1}}}\n',
            "f.jsonl:1: .*IPv4.dst: missing field",
        ),
        (
            "f.jsonl",
            '{"id":1,"p":{"IPv4":{"src":1,"dst":2,"ttl":3}}}\n',
            "IPv4: extra field ttl; IPv4 has",
        ),
        ("f.jsonl", '{"id":1,"p":{"IPv4":{"src":1.5,"dst":2}}}\n', "IPv4.src: 1.5 is not of type bit<32>"),
        ("f.jsonl", '{"id":1,"p":null}\n', "a missing value is not of type Payload"),
    ],
)
def test_errors_name_the_line_and_the_path(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, PACKET, name, content)


# -- Parquet files of others


def _parquet(path: Path, values: list[Any], kind: Any) -> Path:
    parquet.write_table(pa.table({"p": pa.array(values, kind)}), path)
    return path


def test_fields_of_parquet_files_may_be_in_another_order_or_missing_if_optional(tmp_path: Path) -> None:
    of = named(p=POINT)
    swapped = pa.struct([("y", pa.int32()), ("x", pa.int16())])
    file = _parquet(tmp_path / "a.parquet", [{"y": 2, "x": 1}, {"y": None, "x": 3}], swapped)
    assert values_of(POINT, read_facts(of, file)["p"]) == [canonical(POINT, p) for p in ((1, 2), (3, None))]
    file = _parquet(tmp_path / "b.parquet", [{"x": 1}], pa.struct([("x", pa.int64())]))
    assert values_of(POINT, read_facts(of, file)["p"]) == [canonical(POINT, (1, None))]


def test_missing_and_extra_fields_of_parquet_files_are_errors(tmp_path: Path) -> None:
    of = named(p=types.Vec(POINT))
    file = _parquet(tmp_path / "a.parquet", [[], [{"y": 2}]], pa.list_(pa.struct([("y", pa.int64())])))
    with pytest.raises(
        DataError, match=r"a.parquet: relation R, column p, row 1: \[0\].x: missing field of type int"
    ):
        read_facts(of, file)
    kind = pa.list_(pa.struct([("x", pa.int64()), ("z", pa.int64())]))
    file = _parquet(tmp_path / "b.parquet", [[{"x": 1, "z": 2}]], kind)
    with pytest.raises(DataError, match=r"row 0: \[0\]: extra field z; Point has x, y"):
        read_facts(of, file)


# -- row by row


def _checked(of: Any, form: Form, batch: Any) -> tuple[list[Any], list[str | None]]:
    target = schema(of)
    fields = [f.with_nullable(True) for f in target]
    wide = pa.schema([*fields, pa.field(PROBLEM, pa.string()), pa.field("#raw", pa.string())])
    layout = Layout(of, form, tuple(c.name for c in of.columns))
    table = pa.Table.from_batches(check_batches(layout, wide, iter([batch])), wide)
    return table["p"].to_pylist(), table[PROBLEM].to_pylist()


def test_good_rows_are_kept_and_bad_ones_say_where() -> None:
    of = named(p=POINT)
    values = pa.RecordBatch.from_pydict({"p": [{"x": 1, "y": None}, {"x": None, "y": 1}]})
    found, problems = _checked(of, Form.VALUES, values)
    assert found == [{"x": 1, "y": None}, None]
    assert problems[0] is None
    assert str(problems[1]).startswith("column p: x: a missing value is not of type int")
    lines = pa.RecordBatch.from_pydict({LINE: [b'{"p": {"x": 1}}', b'{"p": {"x": "a"}}', b'{"p": [2, 3]}']})
    found, problems = _checked(of, Form.JSON, lines)
    assert found == [{"x": 1, "y": None}, None, {"x": 2, "y": 3}]
    assert problems == [None, "column p: x: 'a' is not of type int", None]


@pytest.mark.parametrize("type_", [PAYLOAD, COLOR, NUMBERS, TREE], ids=str)
def test_deep_and_small_types_have_empty_tables(tmp_path: Path, type_: Type) -> None:
    of = named(p=type_)
    for extension in (".csv", ".jsonl", ".parquet", ".arrow"):
        write_facts(to_table(of, []), tmp_path / f"f{extension}", of)
        assert read_facts(of, tmp_path / f"f{extension}").num_rows == 0
