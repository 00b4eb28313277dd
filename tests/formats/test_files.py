"""Files of every format: what is written reads back, and what is wrong is named with its file and line."""

from __future__ import annotations

import decimal
import gzip
import math
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from sizes import size
from tables.facts import TYPES, contents, named, patiently, relation, rows, texts, typed_rows
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Row
from tidelog.errors import DataError
from tidelog.formats.files import EXTENSIONS, read_facts, write_facts
from tidelog.program.declared import Relation
from tidelog.tables.arrow import schema
from tidelog.tables.given import to_table

LOSSLESS = tuple(e for e in EXTENSIONS if e not in (".facts", ".tsv"))
PACKED = (".csv.gz", ".jsonl.gz", ".facts.gz")
EDGE = named(src=types.STRING, n=types.INT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def trip(of: Relation, given_rows: list[Row], path: Path) -> list[tuple[str | None, ...]]:
    write_facts(to_table(of, given_rows), path)
    table = read_facts(of, path)
    table.validate(full=True)
    assert table.schema == schema(of)
    return contents(of, table)


def _fits_tabs(type_: Type, value: object) -> bool:
    """Whether a file without quotes can hold a value."""
    if isinstance(type_, types.Option) and value in ("", b""):
        return False
    return not (isinstance(value, str) and set(value) & set("\t\r\n"))


# -- round trips


@pytest.mark.parametrize("extension", [*LOSSLESS, ".csv.gz", ".jsonl.gz"])
@patiently
@given(typed=typed_rows)
def test_what_is_written_reads_back(
    folder: Path, extension: str, typed: tuple[list[Type], list[Row]]
) -> None:
    columns, given_rows = typed
    assert trip(relation(*columns), given_rows, folder / f"facts{extension}") == texts(columns, given_rows)


@pytest.mark.parametrize("extension", [".facts", ".tsv", ".facts.gz"])
@patiently
@given(typed=typed_rows)
def test_tabs_give_back_what_they_can_hold(
    folder: Path, extension: str, typed: tuple[list[Type], list[Row]]
) -> None:
    columns, given_rows = typed
    kept = [r for r in given_rows if all(_fits_tabs(t, v) for t, v in zip(columns, r, strict=True))]
    assert trip(relation(*columns), kept, folder / f"tabs{extension}") == texts(columns, kept)


@pytest.mark.parametrize("type_", TYPES, ids=str)
@patiently
@given(data=st.data())
def test_one_column_of_each_type_reads_back_from_csv_and_json(
    folder: Path, type_: Type, data: st.DataObject
) -> None:
    given_rows = data.draw(rows([type_]))
    for extension in (".csv", ".json"):
        assert trip(relation(type_), given_rows, folder / f"one{extension}") == texts([type_], given_rows)


@pytest.mark.parametrize("extension", [*EXTENSIONS, *PACKED])
def test_no_rows(folder: Path, extension: str) -> None:
    assert trip(EDGE, [], folder / f"empty{extension}") == []


@pytest.mark.parametrize("extension", [*EXTENSIONS, *PACKED])
def test_a_relation_without_columns_keeps_its_rows(folder: Path, extension: str) -> None:
    for n in (0, 1, 3):
        write_facts(to_table(relation(), [()] * n), folder / f"unit{extension}")
        assert read_facts(relation(), folder / f"unit{extension}").num_rows == n


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_sixty_four_columns(folder: Path, extension: str) -> None:
    row = tuple(f"v{i}" for i in range(64))
    assert trip(relation(*[types.STRING] * 64), [row, row], folder / f"wide{extension}") == [row, row]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_rows_keep_their_order_across_many_batches(folder: Path, extension: str) -> None:
    given_rows: list[Row] = [(f"v{i * 7919 % 100_003}", i) for i in range(size(70_000, 150_000))]
    assert trip(EDGE, given_rows, folder / f"long{extension}") == [(s, str(n)) for s, n in given_rows]


# -- what the formats look like


def written(of: Relation, given_rows: list[Row], path: Path) -> str:
    write_facts(to_table(of, given_rows), path)
    return path.read_bytes().decode()


def test_csv_has_a_header_and_quotes_only_where_needed(tmp_path: Path) -> None:
    of = named(a=types.STRING, b=types.Option(types.STRING), c=types.BYTES)
    text = written(
        of, [("x", None, b"\xff"), ("", "", b""), ('say "a,b"', "line\nend", b"a")], tmp_path / "f.csv"
    )
    assert text == 'a,b,c\nx,,ff\n"","",""\n"say ""a,b""","line\nend",61\n'


def test_tabs_have_neither(tmp_path: Path) -> None:
    of = named(a=types.STRING, b=types.Option(types.INT), c=types.BOOL)
    assert (
        written(of, [('"x"', None, True), ("", 2, False)], tmp_path / "f.facts")
        == '"x"\t\ttrue\n\t2\tfalse\n'
    )


def test_json_writes_what_it_has_and_texts_for_the_rest(tmp_path: Path) -> None:
    columns = (
        types.INT,
        types.FLOAT,
        types.DOUBLE,
        types.Decimal(5, 2),
        types.BIGINT,
        types.DATE,
        types.TIMESTAMP,
    )
    moment = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    row = (1, 0.1, math.nan, decimal.Decimal("1.50"), 10**20, date(2020, 1, 2), moment)
    text = written(relation(*columns, types.Option(types.BYTES)), [(*row, None)], tmp_path / "f.json")
    assert text == (
        '{"c0": 1, "c1": 0.1, "c2": "NaN", "c3": "1.50", "c4": "100000000000000000000", "c5": "2020-01-02", '
        '"c6": "2020-01-02T03:04:05Z", "c7": null}\n'
    )


def test_equal_facts_make_equal_compressed_files(tmp_path: Path) -> None:
    for name in ("one.csv.gz", "two.csv.gz"):
        write_facts(to_table(EDGE, [("a", 1)]), tmp_path / name)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()


# -- reading what others write


def read(
    of: Relation, content: str | bytes, path: Path, *, header: bool = True
) -> list[tuple[str | None, ...]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return contents(of, read_facts(of, path, header=header))


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("src,n\na,1\nb,2\n", [("a", "1"), ("b", "2")]),
        ("n,src\n1,a\n2,b\n", [("a", "1"), ("b", "2")]),
        ('"n", src\r\n1,a\r\n', [("a", "1")]),
        ("src,n\ra,1\rb,2\r", [("a", "1"), ("b", "2")]),
        ("\ufeffsrc,n\na,1\n", [("a", "1")]),
        ("src,n", []),
        ("src,n\n\n", []),
        ("", []),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_csv_with_a_header(tmp_path: Path, content: str, wanted: list[tuple[str, ...]]) -> None:
    assert read(EDGE, content, tmp_path / "f.csv") == wanted


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("a,1\nb,2", [("a", "1"), ("b", "2")]),
        ("", []),
        ("\n", []),
        ("a,1\n\nb,2\n\n", [("a", "1"), ("b", "2")]),
        ("a,1\rb,2\r", [("a", "1"), ("b", "2")]),
        ("a,1\r\rb,2", [("a", "1"), ("b", "2")]),
        ('"a\nb",1\n', [("a\nb", "1")]),
        ('5" pipe,1\n', [('5" pipe', "1")]),
        ('"C:\\",1\n', [("C:\\", "1")]),
        ('"a ""b""",1\n', [('a "b"', "1")]),
        ('"a"b"c,1\n', [('ab"c', "1")]),
        (",1\n", [("", "1")]),
        ("none,+7\n", [("none", "7")]),
        ("a,007\n", [("a", "7")]),
        ("a\x00b,1\n", [("a\x00b", "1")]),
        ('"' + "x" * 9_000_000 + '",1\n', [("x" * 9_000_000, "1")]),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_csv_without_a_header(tmp_path: Path, content: str, wanted: list[tuple[str, ...]]) -> None:
    assert read(EDGE, content, tmp_path / "f.csv", header=False) == wanted


@pytest.mark.parametrize(
    ("first", "remedy"),
    [
        *[(first, ".*--no-header") for first in ("from,to", "a,b", "Src,Dst", "", '"src,dst')],
        *[(first, "rename the columns of the file") for first in ("src,other", "src")],
    ],
)
def test_a_first_line_that_does_not_name_the_columns_is_an_error(
    tmp_path: Path, first: str, remedy: str
) -> None:
    of = named(src=types.STRING, dst=types.STRING)
    with pytest.raises(DataError, match=rf"f.csv:1: .* must name the columns src, dst; {remedy}"):
        read(of, f"{first}\na,b\n", tmp_path / "f.csv")


def test_a_line_without_anything_is_a_row_where_a_row_is_one_cell(tmp_path: Path) -> None:
    content = "a\n\nb\n"
    assert read(named(s=types.STRING), content, tmp_path / "f.facts") == [("a",), ("",), ("b",)]
    options = read(named(s=types.Option(types.STRING)), f"s\n{content}", tmp_path / "f.csv")
    assert options == [("a",), (None,), ("b",)]


def test_a_text_that_starts_with_the_mark_of_an_encoding_keeps_it(tmp_path: Path) -> None:
    for extension in EXTENSIONS:
        assert trip(named(s=types.STRING), [("\ufeffa",)], tmp_path / f"f{extension}") == [("\ufeffa",)]


def test_numbers_are_read_as_the_language_reads_them(tmp_path: Path) -> None:
    assert read(named(x=types.DOUBLE), "x\n1\n-2.50\n1e3\nNaN\n-Infinity\n", tmp_path / "f.csv") == [
        ("1.0",),
        ("-2.5",),
        ("1000.0",),
        ("NaN",),
        ("-Infinity",),
    ]
    others = "x\nnan\n-nan\ninf\n+INF\n-inf\n-infinity\n"  # as C and Python write them
    words = ["NaN", "NaN", "Infinity", "Infinity", "-Infinity", "-Infinity"]
    for type_ in (types.DOUBLE, types.FLOAT, types.Option(types.DOUBLE)):
        assert read(named(x=type_), others, tmp_path / "f.csv") == [(word,) for word in words]
    assert read(named(x=types.Option(types.INT)), "x\n1\n\nnone\n", tmp_path / "f.csv") == [
        ("1",),
        (None,),
        (None,),
    ]
    for zone in ("", "Z", "+00:00"):
        moment = f"x\n2020-01-02T03:04:05.5{zone}\n"
        assert read(named(x=types.TIMESTAMP), moment, tmp_path / "f.csv") == [
            ("2020-01-02T03:04:05.500000Z",)
        ]


def test_json_of_others(tmp_path: Path) -> None:
    of = named(a=types.Option(types.INT), d=types.Decimal(38, 20), b=types.BIGINT, x=types.DOUBLE)
    long = "9" * 5000
    content = (
        '{"a": 1, "d": 0.12345678901234567890, "b": 12345678901234567890123, "x": 1}\r\n\n'
        f'{{"d": "1.5", "b": {long}, "x": 1.25e2}}\n{{"a": null, "d": 1, "b": "7", "x": "-Infinity"}}'
    )
    assert read(of, content, tmp_path / "f.jsonl") == [
        ("1", "0.12345678901234567890", "12345678901234567890123", "1.0"),
        (None, "1.50000000000000000000", long, "125.0"),
        (None, "1.00000000000000000000", "7", "-Infinity"),
    ]


def test_parquet_and_arrow_of_others(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([1, 2], pa.int16()), "src": pa.array(["a", "b"]).dictionary_encode()})
    parquet.write_table(table, tmp_path / "f.parquet")
    assert contents(EDGE, read_facts(EDGE, tmp_path / "f.parquet")) == [("a", "1"), ("b", "2")]
    with pa.OSFile(str(tmp_path / "f.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    assert contents(EDGE, read_facts(EDGE, str(tmp_path / "f.arrow"))) == [("a", "1"), ("b", "2")]


def test_a_compressed_file_and_an_extension_in_capitals(tmp_path: Path) -> None:
    assert read(EDGE, gzip.compress(b"a\t1\n"), tmp_path / "F.FACTS.GZ") == [("a", "1")]


# -- errors


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "f.csv",
            "src,n\na,1\nb,x\n",
            "f.csv:3: relation R, column n: 'x' is not a number; correct the cell",
        ),
        (
            "f.csv",
            'src,n\n"a\n\nb",1\n\nb,\n',
            "f.csv:6: relation R, column n: an empty cell is not of type int; fill it",
        ),
        (
            "f.csv",
            "from,to\na,1\n",
            "f.csv:1: .*from, to; a header must name the columns src, n; .*-header",
        ),
        ("f.csv", b"\xff,n\na,1\n", "f.csv:1: .*the first line is not UTF-8"),
        ("f.csv", "src,n\na, 1\n", "f.csv:2: .*' 1' is not a number; remove the surrounding whitespace"),
        ("f.csv", "src,n\na,0x10\n", "f.csv:2: .*'0x10' is not of type int"),
        ("f.csv", "src,n\na,99999999999999999999\n", "f.csv:2: .*does not fit int"),
        ("f.csv", "src,n,w\na,1,2\n", "f.csv:1: .*the file has extra columns: w; leave"),
        ("f.csv", "src,n,n\na,1,2\n", "f.csv:1: .*the file has extra columns: n"),
        ("f.csv", "src,n\na,1\nb,2,3\n", "f.csv:3: relation R: 3 cells; expected 2: src, n"),
        ("f.csv", 'src,n\n"x\ny",1\nb\n', "f.csv:4: relation R: 1 cell; expected 2: src, n"),
        ("f.csv", 'src,n\na,1\n"b,2\nc,3\n', "f.csv:3: relation R: unterminated string; close the quote"),
        (
            "f.csv",
            b"src,n\na,1\n\xff,2\n",
            "f.csv:3: relation R: b'\\\\xff' is not UTF-8; save the file in that encoding",
        ),
        ("f.facts", "a\t1\nb\tx\n", "f.facts:2: relation R, column n: 'x' is not"),
        ("f.facts", "a\t1\n\nb\n", "f.facts:3: relation R: 1 cell; expected 2"),
        (
            "f.jsonl",
            '{"src": "a", "n": 1}\n\n{"src": "a", "n": "1"}\n',
            "f.jsonl:3: .*column n: '1' is not of type int",
        ),
        ("f.jsonl", '{"src": 1.5, "n": 1}\n', "f.jsonl:1: .*column src: 1.5 is not a string"),
        ("f.jsonl", '{"src": "a", "n": 1.0}\n', "f.jsonl:1: .*column n: 1.0 is not of type int"),
        (
            "f.jsonl",
            '{"src": "a"}\n{"src": "a", "n": 1}',
            "f.jsonl:1: .*column n: a missing value is not of type int",
        ),
        ("f.jsonl", '{"src": "a", "n": 1, "w": 2}\n', "f.jsonl: relation R: the data has extra columns: w"),
        (
            "f.jsonl",
            '{"src": "a", "n": 1\n',
            "f.jsonl:1: relation R: the line is not valid JSON: Expecting ',' delimiter",
        ),
        (
            "f.json",
            '[{"src": "a", "n": 1}]\n',
            "f.json:1: .*the line is not a JSON object; write one object per line",
        ),
        ("f.json", b'{"src": "\xff"}\n', "f.json:1: .*the line is not UTF-8"),
        ("f.json", '{"src": "\\ud800", "n": 1}\n', "f.json:1: .*lone surrogate"),
        ("f.json", "[" * 100_000, "f.json:1: .*the line is not valid JSON: the text ends early"),
        ("f.parquet", "not parquet", "f.parquet: relation R: the file is corrupt or has another format"),
        ("f.arrow", "not arrow", "f.arrow: relation R: the file is corrupt or has another format"),
        ("f.csv.gz", "not gzip", "f.csv.gz: relation R: "),
        (
            "f.csv.gz",
            gzip.compress(b"a,1\n" * 1000, mtime=0)[:-9],
            "f.csv.gz: relation R: the file is corrupt",
        ),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_errors_name_file_line_column_and_value(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(EDGE, content, tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize(
    ("type_", "cell", "message"),
    [
        (types.BOOL, "True", "'True' is not of type bool; write it as true or false"),
        (types.DATE, "2020-02-30", "'2020-02-30' is not of type date; write it as 2024-12-31"),
        (types.DATE, "0000-01-01", "'0000-01-01' is not of type date"),
        (
            types.TIMESTAMP,
            "yesterday",
            "'yesterday' is not of type timestamp; write it as 2024-12-31T23:59:59Z",
        ),
        (types.BYTES, "xyz", "'xyz' is not of type bytes; write it as hexadecimal digits"),
        (types.DOUBLE, "1e400", "1e400 does not fit double"),
        (types.DOUBLE, "infinite", "'infinite' is not a number"),
        (
            types.DOUBLE,
            "NA",
            "'NA' is not a number; leave the cell empty if the value is missing, and declare the column",
        ),
        (
            types.INT,
            "null",
            "leave the cell empty if the value is missing, and declare the column option<int>",
        ),
        (
            types.Option(types.INT),
            "nan",
            "'nan' is not a number; leave the cell empty if the value is missing",
        ),
        (types.FLOAT, "1e39", "does not fit float"),
        (types.Decimal(5, 2), "1.234", "1.234 has more than 2 digits after the decimal point"),
        (types.Bit(4), "16", "16 does not fit bit<4>"),
        (types.Bit(128), "-1", "-1 does not fit bit<128>"),
        (types.BIGINT, "1_000", "'1_000' is not a number"),
        (types.Option(types.INT), "x", "'x' is not a number"),
    ],
    ids=str,
)
def test_cells_that_are_not_of_their_type(tmp_path: Path, type_: Type, cell: str, message: str) -> None:
    (tmp_path / "f.csv").write_text(f"x\n{cell}\n")
    with pytest.raises(DataError) as caught:
        read_facts(named(x=type_), tmp_path / "f.csv")
    assert str(caught.value).startswith(f"{tmp_path / 'f.csv'}:2: relation R, column x: ")
    assert message in str(caught.value)


def test_rows_of_binary_files_are_named_by_number(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"src": ["a", None], "n": [1, 2]}), tmp_path / "f.parquet")
    with pytest.raises(DataError, match=r"f\.parquet: relation R, column src, row 1: a missing value"):
        read_facts(EDGE, tmp_path / "f.parquet")


def test_lines_that_are_no_units(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"f\.facts:2: relation R: 'x' is not \(\)"):
        read(relation(), "()\nx\n", tmp_path / "f.facts")


def test_files_that_are_not_there_and_formats_that_nobody_has(tmp_path: Path) -> None:
    for name in ("none.csv", "none.parquet", "none.arrow"):
        with pytest.raises(DataError, match=rf"{name}: relation R: .*No such file"):
            read_facts(EDGE, tmp_path / name)
    for name in ("facts.xls", "facts", "facts.parquet.gz"):
        with pytest.raises(DataError, match=rf"{name}: unknown file extension; use one of \.csv"):
            read_facts(EDGE, tmp_path / name)
    with pytest.raises(DataError, match=r"No such file or directory"):
        write_facts(to_table(EDGE, []), tmp_path / "nowhere" / "f.csv")


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\rb"])
def test_tabs_refuse_what_they_cannot_hold(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        DataError, match=r"f\.facts: column s: .*: a tab-separated file cannot hold this text"
    ):
        write_facts(to_table(named(s=types.STRING), [(text,)]), tmp_path / "f.facts")
    with pytest.raises(DataError, match=r"write CSV or Parquet"):
        write_facts(to_table(named(s=types.Option(types.STRING)), [("",)]), tmp_path / "f.facts")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "f.facts"
    write_facts(to_table(EDGE, [("old", 1)]), path)
    with pytest.raises(DataError):
        write_facts(to_table(EDGE, [("new\t", 1)]), path)
    assert path.read_text() == "old\t1\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_the_permissions_of_its_file_too(tmp_path: Path) -> None:
    shape = relation(types.INT)
    (tmp_path / "data").mkdir()
    file, link = tmp_path / "data" / "real.csv", tmp_path / "out.csv"
    file.write_text("old")
    file.chmod(0o600)
    link.symlink_to(file)
    write_facts(to_table(shape, [(7,)]), link)
    assert link.is_symlink()
    assert contents(shape, read_facts(shape, file)) == [("7",)]
    assert file.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in file.parent.iterdir()] == ["real.csv"]


@pytest.mark.parametrize("form", [".csv", ".jsonl", ".arrow"])
def test_a_pipe_is_written_to_and_stays(tmp_path: Path, form: str) -> None:
    shape, pipe = relation(types.INT), tmp_path / f"pipe{form}"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(pipe.read_bytes)
        write_facts(to_table(shape, [(7,)]), pipe)
        file = tmp_path / f"read{form}"
        file.write_bytes(reading.result(timeout=30))
    assert pipe.is_fifo()
    assert contents(shape, read_facts(shape, file)) == [("7",)]


def test_a_device_is_written_to_and_stays() -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        return
    with pytest.raises(DataError, match="No space left on device"):
        write_facts(to_table(relation(types.INT), [(7,)]), full, form=".csv")
    assert full.is_char_device()
