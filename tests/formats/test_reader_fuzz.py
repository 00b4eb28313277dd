"""Whatever is in a file of facts, its reader gives rows or a short DataError: no traceback, no flood."""

from __future__ import annotations

import io
import random
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from sizes import size
from tally import tally
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import DataError
from tidelog.formats.files import read_facts, write_facts
from tidelog.program.declared import Column, Relation, Role
from tidelog.tables.given import to_table

ROUNDS = size(150, 20_000)
LONGEST = 11_000  # characters of a message

TRIPLES = Relation("T", tuple(Column(n, types.STRING) for n in "spo"), Role.INPUT)
KINDS: tuple[Type, ...] = (
    types.INT,
    types.STRING,
    types.Option(types.DOUBLE),
    types.Decimal(9, 2),
    types.DATE,
    types.BYTES,
)
MIXED = Relation("M", tuple(Column(f"c{i}", kind) for i, kind in enumerate(KINDS)), Role.INPUT)
ROWS: list[tuple[Any, ...]] = [
    (1, "a", 1.5, Decimal("1.25"), date(2024, 2, 29), b"\xff"),
    (-(2**63), 'say "é",\n', None, Decimal("-0.01"), date(1970, 1, 1), b""),
    (0, "", float("nan"), Decimal(0), date(9999, 12, 31), b"a"),
]
NT = b'<http://a> <http://b> "c\\n\\u00e9"@en .\n_:x <http://b> "1"^^<http://i> . # end\n\n'
TTL = b'@prefix e: <http://e/> .\ne:a e:b "c", """d\ne""" ; a [ e:p ( 1 2.5 true ) ] .\n'
# what readers once could not take
KEPT = [
    (".csv", b"c0,c1,c2,c3,c4,c5\r1,a,,1,2024-01-01,ff\r"),
    (".csv", b'"'),
    (".csv", b'c0,c1,c2,c3,c4,c5\n"",'),
    (".csv", b"\xef\xbb\xbf\xef\xbb\xbfc0"),
    (".csv", b"c0,c1,c2,c3,c4,c5\n" + b"9" * 5_000 + b",a,,1,2024-01-01,\n"),
    (".csv", b"c0,c1,c2,c3,c4,c5\n" + b"x" * 1_000_000 + b",a,,1,2024-01-01,\n"),
    (".csv", b"x" * 1_000_000),
    (".csv", b"," * 100_000),
    (".csv", b"c0,c1,c2,c3,c4,c5\n" + b"," * 100_000),
    (".csv", b"c0,c1,c2,c3,c4,c5\n1,a,1e999999999,1e999999999,2024-01-01,\n"),
    (".tsv", b"x" * 1_000_000),
    (".jsonl", b'{"c0": ' + b"9" * 100_000 + b"}"),
    (".jsonl", b'{"c0": 1e999999999, "c3": 1e999999999}'),
    (".jsonl", b'{"c0": "' + b"x" * 1_000_000 + b'"}'),
    (".jsonl", b'{"' + b"x" * 1_000_000 + b'": 1}'),
    (".jsonl", b'{"c0": ' + b"[" * 100_000),
    (".jsonl", b'{"c0": NaN, "c1": {"a": [1]}, "c2": true}'),
    (".nt", b"x" * 1_000_000),
    (".nt", b"<" + b"x" * 1_000_000),
    (".ttl", b"@prefix e: <" + b"x" * 1_000_000),
    (".ttl", b"[" * 100_000),
]


def sample(extension: str, folder: Path) -> tuple[Relation, bytes]:
    if extension in (".nt", ".ttl"):
        return TRIPLES, NT if extension == ".nt" else TTL
    file = folder / f"sample{extension}"
    rows = [row for row in ROWS if extension not in (".tsv", ".facts") or "\n" not in row[1]]
    write_facts(to_table(MIXED, rows), file)
    return MIXED, file.read_bytes()


def mutated(content: bytes, dice: random.Random) -> bytes:
    """The content after a few random edits."""
    made = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(made) + 1)
        end = min(len(made), place + dice.choice([0, 1, 1, 2, 16]))
        match dice.randrange(5):
            case 0:
                made[place:end] = dice.randbytes(dice.randint(0, 3))
            case 1:
                made[place:end] = dice.choice(
                    [b'"', b",", b"\t", b"\r", b"\n", b"\\", b"\x00", b"\xff", b"{", b"<"]
                )
            case 2:
                made[place:place] = made[: dice.randrange(len(made) + 1)]
            case 3:
                del made[place:]
            case _:
                made[place:end] = dice.choice([b"9", b"-", b"e", b"x"]) * dice.choice([1, 30, 6_000])
    return bytes(made)


def expect_rows_or_an_error(relation: Relation, content: bytes, file: Path) -> None:
    file.write_bytes(content)
    try:
        table = read_facts(relation, file)
    except DataError as error:
        said = str(error)
        assert said.startswith(str(file)), content[:200]
        assert len(said) < LONGEST, content[:200]
    else:
        table.validate(full=True)
        assert len(table.column_names) == len(relation.columns)


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".nt", ".ttl", ".parquet", ".arrow"])
def test_readers_give_rows_or_a_short_error(tmp_path: Path, extension: str) -> None:
    relation, content = sample(extension, tmp_path)
    dice = random.Random(11)
    file = tmp_path / f"f{extension}"
    for _ in range(ROUNDS):
        expect_rows_or_an_error(relation, mutated(content, dice), file)
    tally("fuzzed files", ROUNDS)


@pytest.mark.parametrize(("extension", "content"), KEPT, ids=lambda v: repr(v)[:30])
def test_what_readers_once_could_not_take(tmp_path: Path, extension: str, content: bytes) -> None:
    relation = TRIPLES if extension in (".nt", ".ttl") else MIXED
    expect_rows_or_an_error(relation, content, tmp_path / f"f{extension}")


@pytest.mark.parametrize("extension", [".nt", ".ttl"])
def test_a_literal_that_the_parser_cannot_hold_is_an_error(tmp_path: Path, extension: str) -> None:
    for length in (10_000_000, 20_000_000):
        literal = b"x" * length
        (tmp_path / f"f{extension}").write_bytes(b'<http://a> <http://b> "' + literal + b'" .\n')
        if length < 16_777_216:
            table = read_facts(TRIPLES, tmp_path / f"f{extension}")
            assert len(table["o"][0].as_py()) == length + 2
            continue
        with pytest.raises(DataError, match="exceeds the limit of 16 MiB; shorten it"):
            read_facts(TRIPLES, tmp_path / f"f{extension}")


def test_columns_of_parquet_may_hold_anything(tmp_path: Path) -> None:
    strange = [
        pa.array([None, None, None], pa.null()),
        pa.array([[1], [], None], pa.list_(pa.int64())),
        pa.array([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int64())])),
        pa.array([b"\xff", b"", b"a"], pa.binary()),
        pa.array([1, 2, 3], pa.duration("ns")),
        pa.array(["x" * 10_000, "1", ""]),
    ]
    for column in strange:
        for name in ("c0", "c1", "c2", "c3", "c4", "c5"):
            columns = {f"c{i}": pa.array(values) for i, values in enumerate(zip(*ROWS, strict=True))}
            out = io.BytesIO()
            parquet.write_table(pa.table({**columns, name: column}), out)
            expect_rows_or_an_error(MIXED, out.getvalue(), tmp_path / "f.parquet")


def test_a_decimal_with_an_absurd_scale_is_an_error(tmp_path: Path) -> None:
    """Arrow ends the process when it converts such a column, which a flipped bit in a schema can make."""
    kind = pa.decimal128(9, 218_103_810)
    column = pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(bytes(16))])
    table = to_table(MIXED, ROWS[:1])
    file = tmp_path / "f.arrow"
    damaged = table.set_column(3, pa.field(table.column_names[3], kind, nullable=False), column)
    with pa.ipc.new_file(file, damaged.schema) as writer:
        writer.write_table(damaged)
    with pytest.raises(DataError, match="218103810 digits after the point"):
        read_facts(MIXED, file)
