"""Outputs into which changes are merged have the rows of the results, after every run, for every reader."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from pipeline.places import SPEC, Place, Rows, expected
from sizes import size
from tidelog import pipeline
from tidelog.cli import main
from tidelog.errors import PipelineError
from tidelog.pipeline.expecting import expect_relations
from tidelog.pipeline.merged.layout import Merged, Part, folded, is_long, read_layout
from tidelog.program.draft import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MERGED = SPEC.replace('path = "out/Reach"\n', 'path = "out/Reach"\nmode = "merge"\n')
RUNS = size(3, 40)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, spec=MERGED)


def rows(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def by_duckdb(folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        found: list[tuple[Any, ...]] = connection.execute(pipeline.view(folder)).fetchall()
    return found


def read_by_all(folder: Path, spark: SparkSession) -> set[tuple[Any, ...]]:
    """The rows of a merged folder, which all readers must agree on."""
    found = rows(pipeline.read(folder))
    assert len(set(found)) == len(found)
    for others in (by_duckdb(folder), [tuple(row) for row in pipeline.read(folder, spark).collect()]):
        assert sorted(others, key=repr) == sorted(found, key=repr)
    return set(found)


def added_up(folder: Path) -> Rows:
    """The sum of the files of the valid version, taken from its folder alone."""
    current = folder / "current"
    sums: dict[tuple[int, ...], int] = {}
    for file in sorted(current.glob("base/**/*.parquet")):
        for row in rows(parquet.ParquetFile(file).read()):
            sums[row[:2]] = sums.get(row[:2], 0) + 1
    for file in sorted(current.glob("changes/*.parquet")):
        for row in rows(parquet.ParquetFile(file).read()):
            sums[row[:-1]] = sums.get(row[:-1], 0) + row[-1]
    assert set(sums.values()) <= {0, 1}
    return {row for row, total in sums.items() if total}


def test_the_rows_are_those_of_the_results_after_every_run(place: Place, spark: SparkSession) -> None:
    dice = random.Random(11)
    edges: Rows = {(i, i + 1) for i in range(25)}
    blocked: set[int] = set()
    folder = place.folder / "out" / "Reach"
    layouts = []
    for _ in range(RUNS):
        place.write(edges, blocked)
        pipeline.run(place.spec, spark=spark)
        wanted = expected(edges, blocked)
        assert read_by_all(folder, spark) == added_up(folder) == wanted
        layouts.append(read_layout(folder / "current"))
        assert len(list(folder.glob("v*"))) <= 2
        edges ^= {(dice.randrange(4), dice.randrange(4)), (30 + dice.randrange(9), dice.randrange(60, 90))}
        blocked ^= {dice.randrange(100, 102)} if dice.random() < 0.5 else set()
    assert any(layout.changes for layout in layouts)
    assert any(layout.base.commit > 0 for layout in layouts) or RUNS < 10


def test_only_what_changed_is_written(place: Place, spark: SparkSession) -> None:
    edges: Rows = {(i, i + 1) for i in range(30)}
    folder = place.folder / "out" / "Reach"
    place.write(edges, set())
    pipeline.run(place.spec, spark=spark)
    before = {f.name: f.stat().st_ino for f in (folder / "v0" / "base").glob("*.parquet")}
    more = {(40, 41), (42, 43), (44, 45)}
    for number, added in ((1, more), (2, {(50, 51)})):
        edges |= added
        place.write(edges, set())
        pipeline.run(place.spec, spark=spark)
        found = {f.name: f.stat().st_ino for f in (folder / f"v{number}" / "base").glob("*.parquet")}
        assert found == before
        (file,) = (folder / f"v{number}" / "changes").glob(f"{number}-*.parquet")
        assert set(rows(parquet.ParquetFile(file).read())) == {(*edge, 1) for edge in added}
    assert len(read_layout(folder / "current").changes) == 2
    assert read_by_all(folder, spark) == expected(edges, set())
    edges -= more | {(50, 51)}
    place.write(edges, set())
    pipeline.run(place.spec, spark=spark)
    assert not read_layout(folder / "current").changes  # a row that came and went leaves nothing
    assert read_by_all(folder, spark) == expected(edges, set())
    assert sorted(f.name for f in folder.iterdir()) == ["current", "v2", "v3"]


def test_a_damaged_version_is_written_again(place: Place, spark: SparkSession) -> None:
    edges: Rows = {(i, i + 1) for i in range(30)}
    folder = place.folder / "out" / "Reach"
    place.write(edges, set())
    pipeline.run(place.spec, spark=spark)
    for file in (folder / "current" / "base").glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(PipelineError, match="its size differs from the manifest"):
        pipeline.read(folder)
    place.write(edges | {(40, 41)}, set())
    pipeline.run(place.spec, spark=spark)
    assert read_by_all(folder, spark) == expected(edges | {(40, 41)}, set())


def test_a_compacted_folder_is_plain_until_the_next_change(place: Place, spark: SparkSession) -> None:
    edges: Rows = {(i, i + 1) for i in range(20)}
    folder = place.folder / "out" / "Reach"
    for more in (set[tuple[int, ...]](), {(40, 41)}):
        place.write(edges | more, set())
        pipeline.run(place.spec, spark=spark)
    wanted = expected(edges | {(40, 41)}, set())
    done = CliRunner().invoke(main, ["pipeline", "compact", str(folder)])
    assert (done.exit_code, done.output) == (0, f"{folder / 'v1-plain'}\n")
    assert set(rows(parquet.read_table(folder / "current"))) == wanted
    assert place.output(spark) == read_by_all(folder, spark) == wanted
    assert pipeline.compact(folder) == folder / "v1-plain"
    place.write(edges | {(40, 41)}, {7000})  # no result changes
    pipeline.run(place.spec, spark=spark)
    assert place.output(spark) == wanted
    place.write(edges | {(50, 51)}, set())
    pipeline.run(place.spec, spark=spark)
    assert read_by_all(folder, spark) == expected(edges | {(50, 51)}, set())
    assert sorted(f.name for f in folder.iterdir()) == ["current", "v1-plain", "v3"]
    shown = CliRunner().invoke(main, ["pipeline", "view", str(folder), "--dialect", "spark"])
    assert {tuple(row) for row in spark.sql(shown.output).collect()} == read_by_all(folder, spark)


def test_a_mode_can_be_set_later_and_removed(place: Place, spark: SparkSession) -> None:
    folder = place.folder / "out" / "Reach"
    edges: Rows = {(i, i + 1) for i in range(9)}
    for number, text in enumerate((SPEC, MERGED, MERGED, SPEC)):
        place.spec.write_text(text)
        place.write(edges | {(50, 51 + number)}, set())
        pipeline.run(place.spec, spark=spark)
        assert set(rows(pipeline.read(folder))) == expected(edges | {(50, 51 + number)}, set())


# -- values

TYPES = """typedef Point = P{x: option<double>, tag: option<string>}
input relation In(id: int, a: option<int>, b: option<double>, c: option<string>, p: option<Point>,
  v: vec<int>, t: option<timestamp>, w: bit<64>, sign: bool, by_c: option<decimal(9,2)>)
"""
VALUES: list[tuple[Any, ...]] = [
    (1, None, None, None, None, [], None, 0, True, None),
    (2, None, float("nan"), "", None, [1], "2024-02-29T12:30:00.000001Z", 2**64 - 1, False, "1.50"),
    (3, 0, 0.0, "a=b/c%", {"x": 1.5, "tag": None}, [1, 2], "1066-10-14T00:00:00Z", 1, True, "0.00"),
    (
        4,
        4,
        float("-inf"),
        "é'\"`",
        {"x": float("nan"), "tag": ""},
        [2],
        "1969-12-31T23:59:59Z",
        2,
        True,
        None,
    ),
]


@pytest.fixture
def typed(tmp_path: Path, spark: SparkSession) -> Callable[..., pipeline.Outcome]:
    declared = TYPES + TYPES.partition("input relation In")[2].join(["output relation Out", ""])
    names = "id, a, b, c, p, v, t, w, sign, by_c"
    (tmp_path / "p.dl").write_text(f"{declared}Out({names}) :- In({names}).\n")

    def run(given: Iterable[tuple[Any, ...]], **more: object) -> pipeline.Outcome:
        import json

        lines = [json.dumps(dict(zip(names.split(", "), row, strict=True))) for row in given]
        (tmp_path / "In.jsonl").write_text("".join(f"{line}\n" for line in lines))
        sink = {"path": "out [1]", "mode": "merge", **more}
        tables = {"program": "p.dl", "store": "store", "sources": {"In": {"path": "In.jsonl"}}}
        spec = pipeline.spec_from({**tables, "outputs": {"Out": sink}}, folder=tmp_path)
        return pipeline.run(spec, spark=spark)

    return run


@pytest.mark.parametrize("partition_by", [["c", "sign"], *[[]] * size(0, 1)])
def test_values_of_all_types_are_merged(
    typed: Callable[..., pipeline.Outcome], partition_by: list[str], tmp_path: Path, spark: SparkSession
) -> None:
    folder = tmp_path / "out [1]"
    many = [(n, *VALUES[0][1:]) for n in range(10, 40)]
    for kept in ({0, 1, 2, 3}, {0, 2}, {0, 1, 2, 3}):
        typed([VALUES[i] for i in kept] + many, partition_by=partition_by)
        found = pipeline.read(folder).sort_by("id")
        assert found["id"].to_pylist() == [i + 1 for i in sorted(kept)] + list(range(10, 40))
        assert found.num_rows == len(by_duckdb(folder)) == pipeline.read(folder, spark).count()
        by_id = {row[0]: row for row in rows(found)}
        for row in (*by_duckdb(folder), *map(tuple, pipeline.read(folder, spark).collect())):
            assert [repr(v) for v in row[1:4]] == [repr(v) for v in by_id[row[0]][1:4]]
        for i in kept:
            assert [repr(v) for v in by_id[i + 1][:4]] == [repr(v) for v in VALUES[i][:4]]
    assert read_layout(folder / "current").changes == ()
    typed([*VALUES[1:], *many], partition_by=partition_by)
    assert read_layout(folder / "current").changes
    before = pipeline.read(folder)
    plain = pipeline.compact(folder)
    assert pipeline.read(folder).sort_by("id").select(["id", "c"]) == before.sort_by("id").select(["id", "c"])
    assert pipeline.read(folder, spark).count() == before.num_rows
    if partition_by:
        assert (plain / "by_c_=a%3Db%2Fc%25" / "by_sign=true").is_dir()
    typed([], partition_by=partition_by)
    assert not pipeline.read(folder).num_rows
    assert by_duckdb(folder) == pipeline.read(folder, spark).collect() == []


# -- when to merge files, and mistakes


def test_files_of_changes_stay_few_and_rows_are_rewritten_rarely() -> None:
    parts: list[Part] = []
    written = 0
    for commit in range(1000):
        count = folded(parts, 1)
        rows = 1 + sum(part.rows for part in parts[len(parts) - count :])
        parts = [*parts[: len(parts) - count], Part(commit, rows, {})]
        written += rows
    assert len(parts) <= 10
    assert written < 1000 * 10
    layout = Merged(0, Part(0, 4000, {}), tuple(parts), None)
    assert not is_long(layout, 0)
    assert is_long(layout, 1)


BAD = {"table": "t", "mode": "merge", "key": "y", "partition_by": "b"}


def test_mistakes_are_reported(tmp_path: Path) -> None:
    def said(kind: str, sink: dict[str, object]) -> str:
        tables = {"program": "p.dl", "store": "s", kind: {"R": sink}}
        with pytest.raises(PipelineError) as error:
            pipeline.spec_from(tables, folder=tmp_path)
        return str(error.value).partition(": ")[2]

    assert said("outputs", {"path": "o", "mode": "append"}).startswith(
        "outputs.R.mode: is 'append'; write one"
    )
    assert "is not supported for csv" in said("outputs", {"path": "o", "format": "csv", "mode": "merge"})
    assert "folders compare whole rows" in said("outputs", {"path": "o", "mode": "merge", "key": "x"})
    assert 'needs mode = "merge"' in said("outputs", {"table": "o", "key": "x"})
    assert "is not supported for parquet" in said("changes", {"path": "o", "mode": "append"})
    (tmp_path / "p.dl").write_text("input relation P(x: int)\noutput relation R(b: bytes)\n")
    spec = pipeline.spec_from(
        {"program": "p.dl", "store": "s", "sources": {"P": {"path": "P.csv"}}, "outputs": {"R": BAD}}
    )
    with pytest.raises(PipelineError) as error:
        expect_relations(spec, load((tmp_path / "p.dl").read_text()))
    assert "outputs.R.key: unknown column `y` of R; the columns are b" in str(error.value)
    assert "outputs.R.partition_by: b has the type bytes" in str(error.value)
    with pytest.raises(PipelineError, match="it has no link current"):
        pipeline.read(tmp_path)
    with pytest.raises(PipelineError, match="it has no link current"):
        pipeline.compact(tmp_path)
    with pytest.raises(PipelineError, match="the dialects are duckdb, spark"):
        pipeline.view(tmp_path, "oracle")
