"""A pipeline whose store is in an object store: moto stands in for S3. Spark has no file system for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pipeline.places import SPEC, Place, expected, rows
from pipeline.test_streaming import SPEC as STREAMING
from pipeline.test_streaming import Stopped, agrees, arrive, follow
from sizes import size
from store.places import bucket
from tidelog import pipeline
from tidelog.cli import main
from tidelog.errors import StoreError
from tidelog.store.durable import Store, Update, latest
from tidelog.store.manifest import Manifest
from tidelog.store.places import files_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    with bucket() as made:
        yield made("")._options


@pytest.fixture
def place(tmp_path: Path, options: dict[str, str]) -> Place:
    listed = "".join(f'{key} = "{value}"\n' for key, value in options.items())
    spec = SPEC.replace('"store"', f'"s3://tests/{tmp_path.name}"') + f"\n[store_options]\n{listed}"
    return Place(tmp_path, spec)


def test_runs_go_on_from_a_store_in_an_object_store(place: Place, spark: SparkSession) -> None:
    from tidelog.pipeline.stored import stored_frame

    edges: set[tuple[int, ...]] = {(n, n + 1) for n in range(30)}
    blocked = set[int]()
    for edge in ((3, 7), (40, 41), (5, 6)):
        edges ^= {edge}
        place.write(edges, blocked)
        with pipeline.open(place.spec, spark=spark) as work:
            outcome = work.run()
            assert not outcome.reworked
            assert not work.run().is_new
            frame = stored_frame(spark, work.store, work.program.relations["Reach"])
            assert rows(frame) == place.output(spark) == place.added_up(spark) == expected(edges, blocked)
    assert not (place.folder / "store").exists()


def test_status_and_why_read_an_object_store(place: Place, spark: SparkSession) -> None:
    with pipeline.open(place.spec, spark=spark) as work:
        for edges in ({(1, 2)}, {(1, 2), (2, 3)}):
            place.write(edges, set())
            work.run()
    spec = str(place.spec)
    for asked, said in (
        (["status", spec], f"s3://tests/{place.folder.name}: commit 1"),
        (["status", spec], "explains the changes of commits 0 to 1"),
        (["why", spec, "Reach(1, 3)"], "Edge(2, 3)"),
        (["why", spec, "Reach(1, 3)", "--commit", "1"], "Edge(2, 3)  asserted  (new)"),
        (["why-not", spec, "Reach(1, 3)", "--commit", "0"], "no Reach(1, 3)"),
    ):
        found = CliRunner().invoke(main, ["pipeline", *asked])
        assert (found.exit_code, said in found.output) == (0, True), found.output


def test_the_usual_environment_variables_say_where_the_object_store_is(
    place: Place, spark: SparkSession, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write({(1, 2)}, set())
    text = place.spec.read_text()
    place.spec.write_text(text[: text.index("[store_options]")])
    names = {"endpoint": "ENDPOINT_URL", "allow_http": "ALLOW_HTTP"}
    for key, value in options.items():
        monkeypatch.setenv(f"AWS_{names.get(key, key.upper())}", value)
    pipeline.run(place.spec, spark=spark)
    assert "commit 0" in pipeline.status(pipeline.read_spec(place.spec))


def test_of_two_open_pipelines_the_later_commit_wins_and_results_are_whole(
    place: Place, spark: SparkSession
) -> None:
    place.write({(1, 2)}, set())
    with pipeline.open(place.spec, spark=spark) as first, pipeline.open(place.spec, spark=spark) as second:
        first.run()
        place.write({(1, 2), (2, 3)}, set())
        with pytest.raises(StoreError, match="run again"):
            second.run()
        first.run()
    with pipeline.open(place.spec, spark=spark) as again:
        assert not again.run().is_new
    assert place.output(spark) == place.added_up(spark) == expected({(1, 2), (2, 3)}, set())


def test_a_run_that_is_overtaken_after_its_commit_does_not_show_older_results(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write({(1, 2)}, set())
    commit = Store.commit

    def pause(store: Store, update: Update) -> Manifest:
        made = commit(store, update)
        monkeypatch.setattr(Store, "commit", commit)
        place.write({(1, 2), (2, 3)}, set())
        pipeline.run(place.spec, spark=spark)
        return made

    monkeypatch.setattr(Store, "commit", pause)
    pipeline.run(place.spec, spark=spark)
    assert place.output(spark) == place.added_up(spark) == expected({(1, 2), (2, 3)}, set())
    assert not pipeline.run(place.spec, spark=spark).is_new


@pytest.fixture
def streaming(tmp_path: Path, options: dict[str, str]) -> Place:
    listed = "".join(f'{key} = "{value}"\n' for key, value in options.items())
    spec = STREAMING.replace('"store"', f'"s3://tests/{tmp_path.name}"') + f"\n[store_options]\n{listed}"
    place = Place(tmp_path, spec)
    (tmp_path / "edges").mkdir()
    (tmp_path / "Blocked.json").write_text("")
    return place


@pytest.mark.parametrize("placement", ["driver", "tasks"][: size(1, 2)])
def test_streams_go_on_from_an_object_store(
    streaming: Place, placement: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time in a new folder, as on another machine; every batch is committed once."""
    place = streaming
    place.spec.write_text(f'placement = "{placement}"\n{place.spec.read_text()}')
    arrive(place, "a", "+,1,2")
    assert [o.commit for o in follow(place, spark)] == [0, 1]

    def stop(*_: object) -> None:
        raise Stopped

    for number, method in enumerate(("commit", "mark_shown", "commit")[: size(2, 3)]):
        arrive(place, f"b{number}", f"+,{number},7", "+,1,2")
        with monkeypatch.context() as patch:
            patch.setattr(f"tidelog.store.durable.Store.{method}", stop)
            with pytest.raises(Stopped):
                follow(place, spark)
        assert len(follow(place, spark)) == (method == "commit")
        assert agrees(place, spark, (1, 2), *((n, 7) for n in range(number + 1)))
    arrive(place, "c", "-,1,2")
    assert [str(o.sources["Edge"]) for o in follow(place, spark)] == ["0 added, 1 removed"]
    assert follow(place, spark) == []
    assert not list(place.folder.rglob("checkpoints"))


def test_a_position_that_is_lost_is_reported(streaming: Place, spark: SparkSession) -> None:
    arrive(streaming, "a", "+,1,2")
    follow(streaming, spark)
    spec = pipeline.read_spec(streaming.spec)
    found = latest(spec.store)
    assert found is not None
    files_at(spec.store).delete(found.streams["Edge"].file)
    with pytest.raises(StoreError, match=r"s3://tests/.*/states/.* is missing; restore it from a backup"):
        follow(streaming, spark)
