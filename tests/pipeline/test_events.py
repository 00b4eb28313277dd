"""Streams of change events: operations, Debezium's envelopes, late and repeated events."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.test_sequences import expected
from sizes import size
from tidelog import pipeline
from tidelog.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """input relation Row(k: int, v: option<string>, n: int)
output relation Shown(k: int, v: option<string>)
Shown(k, v) :- Row(k, v, _).
"""


class Feed:
    """A folder in which events appear, and a pipeline that follows it."""

    def __init__(self, folder: Path, spark: SparkSession, **stream: object) -> None:
        self.folder = folder
        self.spark = spark
        (folder / "p.dl").write_text(PROGRAM)
        (folder / "in").mkdir()
        stream = {"path": "in", "format": "json", **stream}
        tables = {"program": "p.dl", "store": "store", "streams": {"Row": stream}, "quarantine": "bad"}
        self.spec = pipeline.spec_from(tables, folder=folder)

    def arrive(self, name: str, *lines: object) -> None:
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        (self.folder / "new").write_text(text)
        (self.folder / "new").rename(self.folder / "in" / name)

    def follow(self) -> list[pipeline.Outcome]:
        told: list[pipeline.Outcome] = []
        pipeline.stream(self.spec, spark=self.spark, once=True, report=told.append)
        return told

    def shown(self) -> set[tuple[Any, ...]]:
        return set(pipeline.stored_session(self.spec)["Shown"])


def row(k: int, v: str | None) -> dict[str, Any]:
    return {"k": k, "v": v, "n": k}


def test_operations_have_the_meaning_that_sign_map_gives_them(tmp_path: Path, spark: SparkSession) -> None:
    signs = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
    feed = Feed(tmp_path, spark, sign="_change_type", sign_map=signs)
    feed.arrive("a", *({**row(k, "x"), "_change_type": "insert"} for k in (1, 2)))
    feed.arrive(
        "b",
        {**row(1, "x"), "_change_type": "update_preimage"},
        {**row(1, "y"), "_change_type": "update_postimage"},
        {**row(2, "x"), "_change_type": "delete"},
        {**row(3, "x"), "_change_type": "upsert"},
    )
    told = feed.follow()
    assert feed.shown() == {(1, "y")}
    assert (
        "the sign is 'upsert'; sign_map has insert, update_postimage, delete, update_preimage; add it"
        in str(told[-1])
    )


def envelope(op: str, before: Any, after: Any, at: int) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": {"lsn": at}}


@pytest.mark.parametrize("seed", range(size(2, 25)))
def test_envelopes_that_come_late_and_again_end_in_the_right_state(
    seed: int, tmp_path: Path, spark: SparkSession
) -> None:
    dice = random.Random(seed)
    feed = Feed(tmp_path, spark, envelope="debezium", key="k", sequence="source.lsn")
    lines: list[Any] = []
    events: dict[int, list[Any]] = {}
    now: dict[int, dict[str, Any]] = {}
    for at in range(30):
        k = dice.randrange(4)
        before = now.pop(k, None)
        if before is not None and dice.random() < 0.3:
            keys_only = {"k": k, "v": None, "n": None}
            lines.append(envelope("d", dice.choice([before, keys_only]), None, at))
            events[at] = [(k, None, at, -1)]
            continue
        now[k] = row(k, dice.choice(["a", "b", None]))
        moved = dice.choice([before, None])
        line = envelope("c" if before is None else "u", moved, now[k], at)
        texts = {"before": moved and json.dumps(moved), "after": json.dumps(now[k])}
        lines.append(dice.choice([line, {"schema": {}, "payload": line}, {**line, **texts}]))
        events[at] = [(k, now[k]["v"], at, 1)]
    order = [*range(30), *dice.sample(range(30), 10)]
    dice.shuffle(order)
    done: list[Any] = []
    for part in range(2):
        for file in range(2):
            chosen = order[part * 20 + file * 10 :][:10]
            feed.arrive(f"{part}-{file}", *(lines[at] for at in chosen), "", {"op": "m"}, {"payload": None})
            done += [event for at in chosen for event in events[at]]
        feed.follow()
        assert feed.shown() == expected(done)


def test_envelopes_as_structs_or_texts_in_files_of_spark(tmp_path: Path, spark: SparkSession) -> None:
    fields = "struct<k: int, v: string, n: int>"
    forms: list[tuple[str, Callable[[Any], Any]]] = [(fields, lambda r: r), ("string", json.dumps)]
    for form, part in forms:
        folder = tmp_path / form[:6]
        folder.mkdir()
        stream = {"format": "parquet", "path": "in/*.parquet", "envelope": "debezium"}
        feed = Feed(folder, spark, **stream, key="k", sequence={"ts_ms": "int"})
        rows = [
            ("c", None, part(row(1, "a")), 1),
            ("u", None, part(row(1, "b")), 4),
            ("u", part(row(1, "a")), part(row(1, "late")), 3),
            ("c", None, part(row(2, "a")), 2),
            ("d", part({"k": 2, "v": None, "n": None}), None, 5),
            ("t", None, None, 6),
            (None, None, None, 7),
        ]
        schema = f"op string, before {form}, after {form}, ts_ms long"
        spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(str(folder / "in"))
        told = feed.follow()
        assert feed.shown() == {(1, "b")}
        assert "the table was truncated" in str(told[-1])
        assert told[-1].sources["Row"].bad == 1


def test_what_does_not_go_together_is_reported(tmp_path: Path, spark: SparkSession) -> None:
    for stream, problem in (
        ({"key": "k"}, "sequence: is missing"),
        ({"sequence": "at"}, "key: is missing"),
        ({"sign_map": {"i": 2}, "sign": "op"}, "sign_map.i: is 2; write 1 for inserted rows"),
        ({"sign_map": {"i": 1}}, "sign_map: says what the texts of a column mean; name that column"),
        ({"envelope": "debezium", "sign": "op"}, "envelope: has the operation of each event; remove sign"),
        ({"envelope": "canal"}, "envelope: is 'canal'; write one of debezium"),
        ({"sequence": {"at": "uuid"}, "key": "k"}, "sequence.at: is 'uuid'; write one of int"),
        ({"watermark": "at"}, "watermark: belongs to a source"),
    ):
        spec = {
            "program": "p.dl",
            "store": "s",
            "streams": {"Row": {"path": "in", "format": "json", **stream}},
        }
        with pytest.raises(PipelineError, match=problem.replace(".", r"\.")):
            pipeline.spec_from(spec, folder=tmp_path)
    with pytest.raises(PipelineError, match=r"sources\.Row\.sign: belongs to a stream"):
        pipeline.spec_from(
            {"program": "p", "store": "s", "sources": {"Row": {"path": "a.json", "sign": "op"}}},
            folder=tmp_path,
        )
    (tmp_path / "f").mkdir()
    feed = Feed(tmp_path / "f", spark, key="id", sequence="at")
    with pytest.raises(
        PipelineError, match=r"streams\.Row\.key: unknown column id of Row; the columns are k, v"
    ):
        feed.follow()
