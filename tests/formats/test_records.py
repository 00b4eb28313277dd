"""Delimited text means the same in a session and in a pipeline, however its lines come in batches.

The oracle goes through a text character by character; it shares no code with what it checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sizes import size
from tally import tally
from tidelog.data import types
from tidelog.errors import DataError
from tidelog.formats.assembly import OPEN_END, Delimited
from tidelog.formats.checking import PROBLEM, RAW, Form, Layout, check_batches
from tidelog.formats.delimited import CSV, TABS, Dialect, read_delimited
from tidelog.formats.records import Records, ends_open
from tidelog.program.declared import Column, Relation, Role

PIECES = [
    b'"',
    b'""',
    b",",
    b"\t",
    b"\r",
    b"\n",
    b"\r\n",
    b"a",
    b"\\",
    b" ",
    b"\xff",
    "é".encode(),
    b"\xef\xbb\xbf",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=24).map(b"".join)
ROWS = st.lists(
    st.sampled_from([b"a", b"", b'""', b'"x,y"', b'"l\nm"', b'"C:\\"', b'"q""q"', b'5"']), max_size=4
)
LIKELY = st.tuples(st.lists(ROWS, max_size=6), st.sampled_from([b"\n", b"\r\n", b"\r"])).map(
    lambda made: b"".join(b",".join(row) + made[1] for row in made[0])
)
MANY = size(200, 20_000)


class _Oracle:
    """Records as (cells, is_open); a cell is None if there is nothing."""

    def __init__(self, text: str, mark: str, quotes: bool) -> None:
        self.text, self.mark, self.quotes, self.place = text, mark, quotes, 0

    def records(self) -> Iterator[tuple[list[str | None], bool]]:
        while self.place < len(self.text):
            cells: list[str | None] = []
            while True:
                cell, is_open = self._cell()
                cells.append(cell)
                if is_open or self.place >= len(self.text) or self.text[self.place] != self.mark:
                    break
                self.place += 1
            self._line_end()
            yield cells, is_open

    def _line_end(self) -> None:
        if self.text[self.place : self.place + 2] == "\r\n":
            self.place += 2
        elif self.place < len(self.text):
            self.place += 1

    def _cell(self) -> tuple[str | None, bool]:
        found, was_quoted = "", False
        if self.quotes and self.text[self.place : self.place + 1] == '"':
            was_quoted = True
            self.place += 1
            while True:
                if self.place >= len(self.text):
                    return found, True
                if self.text[self.place] == '"':
                    self.place += 1
                    if self.text[self.place : self.place + 1] != '"':
                        break
                found += self.text[self.place]
                self.place += 1
        while self.place < len(self.text) and self.text[self.place] not in (self.mark, "\r", "\n"):
            found += self.text[self.place]
            self.place += 1
        return (found if found or was_quoted else None), False


def by_oracle(content: bytes, width: int, dialect: Dialect) -> list[list[str | None] | None]:
    """The cells of each record, None for a bad one."""
    made: list[list[str | None] | None] = []
    text = content.decode(errors="surrogateescape")
    for cells, is_open in _Oracle(text, dialect.delimiter, dialect.quotes).records():
        is_blank = cells == [None]
        if is_blank and width != 1:
            continue
        has_utf8 = all(c is None or not any("\udc80" <= x <= "\udcff" for x in c) for c in cells)
        made.append(cells if len(cells) == width and has_utf8 and not is_open else None)
    return made


@given(content=TEXTS | LIKELY, width=st.integers(1, 3), dialect=st.sampled_from([CSV, TABS]))
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@example(content=b"\xef\xbb\xbfa", width=1, dialect=CSV)
@example(content=b',"",', width=3, dialect=CSV)
def test_a_text_is_the_records_that_its_characters_make(content: bytes, width: int, dialect: Dialect) -> None:
    tally("random texts read as records")
    records = Records(content, [f"c{i}" for i in range(width)], dialect)
    wanted = by_oracle(content, width, dialect)
    found = [list(row.values()) for row in records.cells.to_pylist()]
    assert len(found) == len(wanted)
    for number, cells in enumerate(wanted):
        assert (number in records.problems) == (cells is None), number
        assert found[number] == ([None] * width if cells is None else cells)
    text = content.decode(errors="surrogateescape")
    last = list(_Oracle(text, dialect.delimiter, dialect.quotes).records())
    assert ends_open(content, dialect) == any(is_open for _, is_open in last)


# -- sessions and pipelines


EDGE = Relation("R", (Column("a", types.STRING), Column("b", types.Option(types.STRING))), Role.INPUT)
PLACE = ("file", "block", "row")


def in_session(content: bytes, *, header: bool) -> list[tuple[Any, ...]] | str:
    """The rows, or the problem."""
    try:
        table = read_delimited(EDGE, content, "f.csv", CSV, header=header)
    except DataError as error:
        return error.problem
    return [tuple(row.values()) for row in table.to_pylist()]


def lines_of(content: bytes) -> list[bytes]:
    """The lines that Spark finds in a file."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    return content.removesuffix(b"\n").split(b"\n") if content else []


def in_pipeline(
    content: bytes, cuts: list[int], blocks: list[int], *, header: bool, whole: bool
) -> list[dict[str, Any]]:
    """Rows as a task finds them, in batches and in blocks that begin at these lines."""
    lines = lines_of(content)
    rows = [
        {"value": line, "file": "f", "block": sum(b <= i for b in blocks if b > 0), "row": i}
        for i, line in enumerate(lines)
    ]
    schema = pa.schema(
        [("value", pa.binary()), ("file", pa.string()), ("block", pa.int64()), ("row", pa.int64())]
    )
    edges = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    batches = [pa.RecordBatch.from_pylist(rows[start:end], schema) for start, end in pairwise(edges)]
    form = Delimited(CSV, ("a", "b"), header, has_whole_files=whole)
    layout = Layout(EDGE, Form.CELLS, ("a", "b"), None, PLACE, form)
    target = pa.schema(
        [
            ("a", pa.string()),
            ("b", pa.string()),
            (PROBLEM, pa.string()),
            (RAW, pa.string()),
            *list(schema)[1:],
        ]
    )
    made = pa.Table.from_batches(check_batches(layout, target, iter(batches)), target)
    listed: list[dict[str, Any]] = made.to_pylist()
    return listed


NUMBERS = st.lists(st.integers(1, 12), max_size=4)


@given(content=TEXTS | LIKELY, cuts=NUMBERS, blocks=NUMBERS, header=st.booleans())
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@example(content=b'"a\n"', cuts=[1], blocks=[], header=False)
def test_a_file_means_the_same_in_a_session_and_in_a_pipeline(
    content: bytes, cuts: list[int], blocks: list[int], header: bool
) -> None:
    tally("random texts read in sessions and pipelines")
    content = b"a,b\n" + content if header else content
    session = in_session(content, header=header)
    rows = in_pipeline(content, cuts, blocks, header=header, whole=True)
    bad = [row for row in rows if row[PROBLEM] is not None]
    good = [(row["a"], row["b"]) for row in rows if row[PROBLEM] is None]
    if isinstance(session, str):
        assert bad[0][PROBLEM] == session
        assert bad[0]["row"] is not None
    else:
        assert not bad
        assert good == session
    parts = in_pipeline(content, cuts, blocks, header=header, whole=False)
    if not any(row[PROBLEM] == OPEN_END for row in parts):  # else the files are read whole
        assert parts == rows


@pytest.mark.parametrize("content", [b"b,a\nx,y\n", b"x,y\n", b"\n", b"a\n", b"\xff,b\n"])
def test_a_file_with_another_header_is_no_bad_row_but_a_mistake(content: bytes) -> None:
    (first, *_) = in_pipeline(content, [], [], header=True, whole=True)
    assert first[PROBLEM].startswith("#header: the first line ")
