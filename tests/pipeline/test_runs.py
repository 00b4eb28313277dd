"""Runs of a pipeline: each applies the difference since the last, and the results are those of the facts."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.places import PROGRAM, SPEC, Place, Rows, expected, rows
from tidelog import pipeline
from tidelog.errors import PipelineError, StoreError
from tidelog.progress import Line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_results_follow_the_sources_run_by_run(place: Place, spark: SparkSession) -> None:
    dice = random.Random(4)
    edges: Rows = {(i, i + 1) for i in range(12)}
    blocked: set[int] = set()
    for number in range(5):
        place.write(edges, blocked)
        outcome = pipeline.run(place.spec, spark=spark)
        wanted = expected(edges, blocked)
        assert (outcome.commit, outcome.is_new) == (number, True)
        assert place.output(spark) == wanted
        assert place.added_up(spark) == wanted
        assert outcome.sizes["Reach"] == len(wanted)
        for _ in range(4):
            edges ^= {(dice.randrange(12), dice.randrange(12))}
        blocked ^= {dice.randrange(12)}


def test_only_what_is_different_is_applied(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2), (2, 3)}, {9})
    first = pipeline.run(place.spec, spark=spark)
    assert str(first.sources["Edge"]) == "2 added, 0 removed"
    place.write({(1, 2), (2, 4)}, {9})
    second = pipeline.run(place.spec, spark=spark)
    assert str(second.sources["Edge"]) == "1 added, 1 removed"
    assert str(second.changes["Reach"]) == "2 added, 2 removed"
    third = pipeline.run(place.spec, spark=spark)
    assert (third.commit, third.is_new, third.sources) == (1, False, {})
    assert str(third).startswith("nothing has changed since commit 1\n")
    (place.folder / "Blocked.json").write_text('{"node": 9}\n\n')  # another file, the same facts
    fourth = pipeline.run(place.spec, spark=spark)
    assert str(fourth.sources["Edge"]) == "unchanged"
    assert not fourth.sources["Blocked"].difference


def test_a_large_source_is_compared_by_spark(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write({(1, 2), (2, 3)}, {9})
    monkeypatch.setattr("tidelog.pipeline.sources.taking.SMALL", 0)
    pipeline.run(place.spec, spark=spark)
    place.write({(1, 2), (2, 4), (4, 5)}, set())
    outcome = pipeline.run(place.spec, spark=spark)
    assert [str(outcome.sources[n]) for n in ("Edge", "Blocked")] == [
        "2 added, 1 removed",
        "0 added, 1 removed",
    ]
    assert place.output(spark) == expected({(1, 2), (2, 4), (4, 5)}, set())


def test_results_are_the_same_where_the_data_is_in_frames(place: Place, spark: SparkSession) -> None:
    place.spec.write_text(f'placement = "shuffled"\n{SPEC}')
    for edges in ({(1, 2), (2, 3)}, {(1, 2), (2, 4), (4, 1)}):
        place.write(edges, {9})
        pipeline.run(place.spec, spark=spark)
        assert place.output(spark) == place.added_up(spark) == expected(edges, {9})


def test_a_pipeline_that_stays_open_runs_again(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2)}, set())
    with pipeline.open(place.spec, spark=spark) as work:
        work.run()
        place.write({(1, 2), (2, 3)}, set())
        work.run()
        assert set(work.session()["Reach"]) == {(1, 2), (2, 3), (1, 3)}
        with pytest.raises(StoreError, match="another run is writing"):
            pipeline.run(place.spec, spark=spark)
    assert place.output(spark) == {(1, 2), (2, 3), (1, 3)}


# -- the program


def test_a_changed_rule_is_applied_like_a_changed_fact(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2), (2, 3)}, set())
    pipeline.run(place.spec, spark=spark)
    program = PROGRAM + "Reach(x, x) :- Edge(x, _).\n"
    (place.folder / "reach.dl").write_text(program)
    outcome = pipeline.run(place.spec, spark=spark)
    assert str(outcome.changes["Reach"]) == "2 added, 0 removed"
    assert place.output(spark) == place.added_up(spark) == expected({(1, 2), (2, 3)}, set(), program)


def test_relations_and_sinks_may_come_and_go(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2), (2, 3)}, set())
    pipeline.run(place.spec, spark=spark)
    without = "\n".join(line for line in PROGRAM.splitlines() if "Fan" not in line)
    program = without + "\noutput relation Start(node: int)\nStart(x) :- Edge(x, _), not Reach(_, x).\n"
    (place.folder / "reach.dl").write_text(program)
    place.spec.write_text(
        SPEC.replace('path = "out/Reach"', 'path = "out/Reach2"') + '[changes.Start]\npath = "s"\n'
    )
    outcome = pipeline.run(place.spec, spark=spark)
    assert (outcome.sizes, str(outcome.changes["Start"])) == ({"Reach": 3, "Start": 1}, "1 added, 0 removed")
    assert rows(spark.read.parquet(str(place.folder / "out/Reach2/current"))) == {(1, 2), (2, 3), (1, 3)}
    assert rows(spark.read.parquet(str(place.folder / "s"))) == {(1, 1, 1)}  # node, sign, commit
    manifest = pipeline.status(pipeline.read_spec(place.spec))
    assert "Fan" not in manifest
    assert "changes.Start: as of commit 1" in manifest


def test_another_program_can_be_refused(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2)}, set())
    pipeline.run(place.spec, spark=spark)
    place.spec.write_text('program_changes = "refuse"\n' + SPEC)
    pipeline.run(place.spec, spark=spark)
    (place.folder / "reach.dl").write_text(PROGRAM + "Reach(7, 7).\n")
    with pytest.raises(StoreError, match=r"was written for another program:\n  \+ Reach\(7, 7\)\."):
        pipeline.run(place.spec, spark=spark)


def test_a_result_with_other_columns_is_computed_again(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2)}, set())
    pipeline.run(place.spec, spark=spark)
    (place.folder / "reach.dl").write_text(PROGRAM.replace("Fan(src: int, n: int)", "Fan(src: int, m: int)"))
    outcome = pipeline.run(place.spec, spark=spark)
    assert "all results were recomputed: the columns of Fan changed\n" in str(outcome)
    assert (outcome.sizes["Fan"], str(outcome.changes["Reach"])) == (1, "0 added, 0 removed")
    wider = PROGRAM.replace("Blocked(node: int)", "Blocked(node: int, day: int)")
    wider = wider.replace("Blocked(y)", "Blocked(y, _)").replace("Blocked(z)", "Blocked(z, _)")
    (place.folder / "reach.dl").write_text(wider)
    missing = r"does not fit this program:\n.*\n    \+ day: int  give stored rows"
    with pytest.raises(StoreError, match=missing):
        pipeline.run(place.spec, spark=spark)


def test_facts_that_the_program_states_are_results_too(tmp_path: Path, spark: SparkSession) -> None:
    place = Place(tmp_path, program=PROGRAM + "Reach(7, 7).\n")
    place.write(set(), set())
    pipeline.run(place.spec, spark=spark)
    assert place.output(spark) == place.added_up(spark) == {(7, 7)}


# -- what users see


def test_mistakes_in_a_source_name_it(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2)}, set())
    (place.folder / "Edge.csv").write_text("from,to\n1,2\n")
    said = r"sources\.Edge: missing column src, dst; the first line has from, to; map names with columns"
    with pytest.raises(PipelineError, match=said):
        pipeline.run(place.spec, spark=spark)
    (place.folder / "Edge.csv").unlink()
    with pytest.raises(PipelineError, match=r"sources\.Edge: Path does not exist: .*Edge\.csv"):
        pipeline.run(place.spec, spark=spark)
    place.spec.write_text(SPEC.replace('path = "Edge.csv"', 'format = "no_such"'))
    with pytest.raises(PipelineError, match=r"sources\.Edge: Failed to find the data source: no_such"):
        pipeline.run(place.spec, spark=spark)
    (place.folder / "reach.dl").unlink()
    with pytest.raises(PipelineError, match=r"program: .*reach\.dl cannot be read: No such file"):
        pipeline.run(place.spec, spark=spark)


def test_a_failed_commit_changes_nothing(place: Place, spark: SparkSession) -> None:
    place.write({(1, 2)}, set())
    pipeline.run(place.spec, spark=spark)
    place.write({(1, 2), (2, 3)}, set())
    (place.folder / "out" / "changes").rename(place.folder / "elsewhere")
    (place.folder / "out" / "changes").write_text("in the way")
    with pytest.raises(PipelineError, match=r"changes\.Reach: "):
        pipeline.run(place.spec, spark=spark)
    (place.folder / "out" / "changes").unlink()
    (place.folder / "elsewhere").rename(place.folder / "out" / "changes")
    assert place.output(spark) == place.added_up(spark) == {(1, 2)}
    pipeline.run(place.spec, spark=spark)
    assert place.output(spark) == place.added_up(spark) == {(1, 2), (2, 3), (1, 3)}


def test_the_command_prints_what_was_done_and_nothing_else(place: Place) -> None:
    pytest.importorskip("pyspark")
    place.write({(1, 2), (2, 3)}, set())
    command = [sys.executable, "-c", "from tidelog.cli import main; main()", "pipeline"]

    def tidelog(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *args], cwd=place.folder, capture_output=True, text=True, check=False
        )

    done = tidelog("run", "pipeline.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:5] == [
        "commit 0",
        "  sources.Edge: 2 added, 0 removed",
        "  sources.Blocked: 0 added, 0 removed",
        "  Reach: 3 rows (3 added, 0 removed)",
        "  Fan: 2 rows (2 added, 0 removed)",
    ]
    assert "outputs.Reach: out/Reach/current" in done.stdout
    status = tidelog("status", "pipeline.toml")
    assert status.stdout.splitlines()[0] == "store: commit 0"
    place.spec.write_text(SPEC.replace("[outputs.Reach]", "[outputs.Raech]"))
    failed = tidelog("run", "pipeline.toml")
    said = "error: pipeline.toml: outputs.Raech: the program has no relation `Raech`; did you mean `Reach`?\n"
    assert (failed.returncode, failed.stdout, failed.stderr) == (1, "", said)


def test_a_person_who_watches_sees_what_a_run_is_at(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    joined = PROGRAM.replace("Edge(y, z),", "Reach(y, z),")
    place = Place(tmp_path, spec=f'placement = "shuffled"\n{SPEC}', program=joined)
    place.write({(1, 2), (2, 3)}, {9})
    stream = io.StringIO()
    pipeline.run(place.spec, spark=spark, progress=Line(stream))
    shown = stream.getvalue().split("\r\x1b[2K")
    for text in ("starting Spark", "reading Edge", "evaluating the changes", "writing "):
        assert any(line.startswith(text) for line in shown)
    assert any("Reach (" in line and "round 1, delta 2, 2 rows" in line for line in shown)
