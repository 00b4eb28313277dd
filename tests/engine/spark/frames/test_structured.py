"""Structured values in frames: they come back as they were, and are keys of joins and groups."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from data.structured import COLOR, NUMBERS, PAYLOAD, POINT
from tables.facts import named
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import canonical, to_text
from tidelog.errors import DataError
from tidelog.formats.files import read_facts
from tidelog.program.typed import Constant
from tidelog.tables.arrow import schema
from tidelog.tables.casting import cast_table
from tidelog.tables.columns import values_of
from tidelog.tables.given import to_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

COLUMNS: dict[str, tuple[Type, list[object]]] = {
    "span": (types.DURATION, [timedelta(0), timedelta(microseconds=-1), timedelta(microseconds=2**63 - 1)]),
    "point": (POINT, [(1, 2), (1, None), (0, 5)]),
    "maybe": (types.Option(POINT), [None, (1, None), (2, 2)]),
    "payload": (PAYLOAD, [{"IPv4": (2**32 - 1, 2)}, {"ARP": [7]}, "Other"]),
    "color": (COLOR, ["Red", "Green", "Blue"]),
    "numbers": (NUMBERS, ["Nil", {"Cons": (1, "Nil")}, {"Cons": (2, {"Cons": (1, "Nil")})}]),
    "pair": (types.Tuple((types.Bit(64), types.STRING)), [(2**64 - 1, "a'b"), (0, ""), (1, "ü")]),
    "list": (types.Vec(types.Option(types.Bit(8))), [[1, None], [], [255]]),
    "set": (types.Set(types.STRING), [["b", "a"], [], ["c"]]),
    "map": (types.Map(types.INT, PAYLOAD), [{2: "Other", 1: {"ARP": [1]}}, {}, {3: "Other"}]),
    "deep": (types.Vec(types.Vec(POINT)), [[[(1, 2)], []], [], [[(3, None)]]]),
}
OF = named(**{name: type_ for name, (type_, _) in COLUMNS.items()})
ROWS = list(zip(*(values for _, values in COLUMNS.values()), strict=True))


@pytest.fixture
def held(spark: SparkSession) -> Any:
    return import_module("tidelog.engine.spark.frames.checkpoints").Checkpoints(spark)


def texts(table: Any) -> list[list[str]]:
    """The rows of a table of the relation, in order of their texts."""
    exact = cast_table(table.rename_columns([c.name for c in OF.columns]), schema(OF))
    columns = [[to_text(c.type, v) for v in values_of(c.type, exact[c.name])] for c in OF.columns]
    return sorted(map(list, zip(*columns, strict=True)))


def test_rows_come_back_from_frames_and_are_found_by_their_values(held: Any) -> None:
    layout = import_module("tidelog.engine.spark.frames.layout")
    literal = import_module("tidelog.engine.spark.joins.native").literal
    table = to_table(OF, ROWS)
    checkpoint = held.table(OF.types, table)
    assert texts(checkpoint.frame.toArrow()) == texts(table)
    kinds = [kind for _, kind in checkpoint.frame.dtypes]
    assert kinds == [layout.spark_type(t) for t in OF.types]
    questions = [
        f"count_if(c{i} <=> {literal(Constant(canonical(c.type, value), c.type))})"
        for i, c in enumerate(OF.columns)
        for value in COLUMNS[c.name][1]
    ]
    assert set(checkpoint.frame.selectExpr(*questions).collect()[0]) == {1}


def test_structured_columns_are_keys_of_joins_and_groups(held: Any) -> None:
    matching = import_module("tidelog.engine.spark.joins.matching")
    whole, part = held.table(OF.types, to_table(OF, ROWS)), held.table(OF.types, to_table(OF, ROWS[1:]))
    assert matching.same(whole.frame, part.frame, OF.types).count() == 2
    assert matching.without(whole.frame, part.frame, OF.types).count() == 1
    again = whole.frame.unionAll(part.frame)
    assert again.groupBy(*again.columns).count().where("count = 2").count() == 2


def test_frames_of_users_are_taken_in_with_maps_and_fields_in_any_order(
    spark: SparkSession, held: Any
) -> None:
    take_in = import_module("tidelog.engine.spark.ingest").take_in
    of = named(p=POINT, m=types.Map(types.STRING, types.INT), c=COLOR, d=types.DURATION)
    given = spark.sql(
        "select named_struct('y', 2, 'x', 1) as p, map('b', 1, 'a', 2) as m, 'Red' as c, "
        "interval '1' hour as d"
    )
    rows = take_in(of, given, held).frame.toArrow().to_pylist()
    entries = [{"key": "a", "value": 2}, {"key": "b", "value": 1}]
    assert rows == [{"c0": {"x": 1, "y": 2}, "c1": entries, "c2": "Red", "c3": timedelta(hours=1)}]
    bad = spark.sql(
        "select named_struct('x', cast(null as int)) as p, map('b', 1) as m, 'Red' as c, "
        "interval '1' hour as d"
    )
    with pytest.raises(DataError, match="column p: x: a missing value is not of type int"):
        take_in(of, bad, held)


def test_tables_become_frames_of_users(spark: SparkSession) -> None:
    publish = import_module("tidelog.engine.spark.frames.arrow").publisher(spark)
    frame = publish(to_table(OF, ROWS))
    assert frame.columns == list(COLUMNS)
    assert frame.where("payload.IPv4.dst = 2").count() == 1
    assert texts(pa.table(frame.toArrow())) == texts(to_table(OF, ROWS))


def test_files_of_text_hold_json(spark: SparkSession, tmp_path: Path) -> None:
    with_texts = import_module("tidelog.pipeline.sinks.texts").with_texts
    of = named(id=types.INT, p=PAYLOAD, n=types.Option(NUMBERS), d=types.DURATION)
    table = to_table(
        of,
        [(1, {"IPv4": (1, 2)}, {"Cons": (1, "Nil")}, timedelta(hours=1)), (2, "Other", None, timedelta(0))],
    )
    frame = import_module("tidelog.engine.spark.frames.arrow").publisher(spark)(table)
    flat = with_texts(frame, of, "csv").orderBy("id").toArrow().to_pylist()
    assert flat[0] == {
        "id": 1,
        "p": '{"IPv4":{"src":1,"dst":2}}',
        "n": '{"Cons":{"head":1,"tail":"Nil"}}',
        "d": "3600s",
    }
    assert flat[1] == {"id": 2, "p": '"Other"', "n": None, "d": "0s"}
    kinds = dict(with_texts(frame, of, "json").dtypes)
    assert (kinds["p"][:6], kinds["n"], kinds["d"]) == ("struct", "string", "string")
    assert with_texts(frame, of, "parquet") is frame
    for form, extension in (("csv", ".csv"), ("json", ".json")):
        folder = tmp_path / form
        rows = with_texts(frame, of, form).orderBy("id").coalesce(1)
        rows.write.format(form).options(header="true", escape='"').save(str(folder))
        (file,) = folder.glob("part-*")
        again = read_facts(of, file.rename(folder / f"all{extension}"))
        assert [to_text(PAYLOAD, v) for v in values_of(PAYLOAD, again["p"])] == [flat[0]["p"], flat[1]["p"]]
