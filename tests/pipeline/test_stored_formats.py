"""A pipeline goes on with a store of an earlier format, and says that results were worked out again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from store.test_formats import EDGES, GOLDEN, LABELS, NAMED, REACH
from tidelog import pipeline
from tidelog.errors import StoreError
from tidelog.store.durable import latest
from tidelog.tables.given import to_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, object]:
    shutil.copytree(GOLDEN, tmp_path / "store")
    return {
        "program": str(GOLDEN.with_suffix(".dl")),
        "store": str(tmp_path / "store"),
        "sources": {name: {"table": name} for name in ("Edge", "Label")},
    }


def test_a_pipeline_goes_on_with_a_store_of_format_2(
    spec: dict[str, object], tmp_path: Path, spark: SparkSession
) -> None:
    from tidelog.pipeline.sources.intake import Found

    for number, reworked in ((3, True), (4, False)):
        with pipeline.open(spec, spark=spark) as work:
            assert set(work.session()["Reach"]) == REACH
            assert set(work.session()["Named"]) == NAMED
            assert set(work.session()["Label"]) == LABELS
            found = Found()
            for name, row in (("Edge", (100, number)), ("Label", None)):
                relation = work.program.relations[name]
                found.inserted[name] = to_table(relation, [row] if row is not None else [])
                found.deleted[name] = to_table(relation, [])
            outcome = work.commit(found)
            assert bool(outcome.reworked) == reworked
            assert set(work.session()["Edge"]) == EDGES | {(100, number)}
            relation = work.program.relations["Edge"]
            found = Found({"Edge": to_table(relation, [])}, {"Edge": to_table(relation, [(100, number)])})
            work.commit(found)


def test_spark_is_not_given_a_segment_that_is_corrupt(
    spec: dict[str, object], tmp_path: Path, spark: SparkSession
) -> None:
    from tidelog.pipeline.sources.intake import Found
    from tidelog.pipeline.stored import stored_frame

    with pipeline.open(spec, spark=spark) as work:
        relation = work.program.relations["Reach"]
        assert {tuple(row) for row in stored_frame(spark, work.store, relation).collect()} == REACH
        work.commit(Found())
    found = latest(tmp_path / "store")
    assert found is not None
    file = tmp_path / "store" / "segments" / found.relations["Reach"].segments[0].file
    content = bytearray(file.read_bytes())
    content[50] ^= 1
    file.write_bytes(content)
    with pipeline.open(spec, spark=spark) as work, pytest.raises(StoreError, match="its digest differs"):
        stored_frame(spark, work.store, relation)
