"""The COST question: where places are compared, where they meet, and what is said if they do not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidelog.bench import growth
from tidelog.bench.cases import growing_cases
from tidelog.bench.experiments import Experiments
from tidelog.bench.growth import Size, crossings, measure_growth
from tidelog.bench.names import IN_PROCESS, PLACES
from tidelog.bench.tables import growth_table
from tidelog.cli import main
from tidelog.errors import EngineError


def sizes(*times: tuple[int, float, float]) -> list[Size]:
    """Tuples, seconds in process, seconds in tasks."""
    here = [Size("g", "tc", IN_PROCESS, n, n, seconds) for n, seconds, _ in times]
    return here + [Size("g", "tc", "tasks", n, n, seconds) for n, _, seconds in times]


def test_places_cross_between_the_sizes_where_the_other_becomes_faster() -> None:
    (found,) = crossings(sizes((10, 1.0, 10.0), (1000, 100.0, 10.0)))
    assert (found.tuples, found.measured) == (100, True)
    assert str(found) == "from about 100 tuples on"


def test_a_place_that_was_always_faster_is_so_from_the_first_size_on() -> None:
    (found,) = crossings(sizes((10, 2.0, 1.0), (100, 20.0, 10.0)))
    assert (found.tuples, found.measured) == (10, True)


def test_a_place_that_was_faster_for_a_while_counts_from_where_it_stays_so() -> None:
    (found,) = crossings(sizes((10, 2.0, 1.0), (100, 1.0, 1.0), (10_000, 4.0, 1.0)))
    assert (found.tuples, found.measured) == (100, True)


def test_beyond_what_was_measured_lines_are_extended_and_that_is_said() -> None:
    (found,) = crossings(sizes((100, 1.0, 10.5), (200, 2.0, 11.0)))
    assert (found.tuples, found.measured) == (2000, False)
    assert str(found) == "not within the measured sizes; by extrapolation at about 2,000 tuples"


@pytest.mark.parametrize(
    "times",
    [((100, 1.0, 10.0), (200, 2.0, 20.0)), ((100, 1.0, 10.0),), ((100, 1.0, 10.0), (200, 2.0, 9.0))],
    ids=["apart", "one", "falling"],
)
def test_lines_that_do_not_meet_have_no_crossing(times: tuple[tuple[int, float, float], ...]) -> None:
    (found,) = crossings(sizes(*times))
    assert (found.tuples, found.measured) == (None, False)
    assert str(found) == "not within the measured sizes, and the times do not converge"


def test_tables_have_a_line_for_each_size_and_say_where_places_cross() -> None:
    found = sizes((10, 1.0, 10.0), (1000, 100.0, 10.0))
    lines = growth_table([*found, Size("g", "tc", IN_PROCESS, 5000, 5000, 500.0)]).splitlines()
    assert lines[2].split() == ["g", "tc", "10", "10", "1.00", "10.00", "-"]
    assert lines[4].split() == ["g", "tc", "5,000", "5,000", "500.00", "-", "-"]
    assert lines[5] == "g/tc: Spark in tasks is faster than one thread in process: from about 100 tuples on"


def test_sizes_grow_and_all_of_a_program_are_measured_in_process() -> None:
    for cases in growing_cases(quick=True):
        found = list(growth._sizes(cases, IN_PROCESS, growth._prepare(cases[0], IN_PROCESS)))
        assert len(found) == len(cases)
        assert sorted({s.tuples for s in found}) == [s.tuples for s in found]
        assert all(s.tuples > s.facts > 0 for s in found)


def test_without_spark_the_tables_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("tidelog.engine.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    work = Experiments(1.0, lambda _: None)
    for place in PLACES[1:]:
        missing = measure_growth(growing_cases(quick=True)[0], place, 1.0, work.sizes.append)
        assert missing is not None
        work.missing.append(missing)
    assert "growing graph/tc: tasks stopped: Tidelog on Spark needs" in work.tables()
    assert "pip install 'tidelog[spark]'" in work.tables()


def test_a_placement_in_which_nothing_runs_is_not_measured_under_its_name() -> None:
    db = growth._materialise("input relation E(a: int)", [], None, IN_PROCESS)[2]
    with pytest.raises(EngineError, match="no part of the program runs in tasks"):
        growth._expect_place(db, "tasks")


def test_results_are_written_after_every_measurement(tmp_path: Path) -> None:
    written: list[int] = []
    work = Experiments(60.0, lambda _: None, lambda text: written.append(len(json.loads(text)["sizes"])))
    for size in sizes((10, 1.0, 10.0), (1000, 100.0, 10.0)):
        work._take(work.sizes, size)
    assert written == [1, 2, 3, 4]
    assert json.loads(work.to_json())["crossings"][0]["tuples"] == 100


def test_one_experiment_can_be_named_and_others_have_not_its_name() -> None:
    assert [c.name for c in Experiments.choose("lubm-rdfs", quick=True)] == ["LUBM/rdfs"]
    assert [c.name for c in Experiments.choose("/tc", quick=True)] == ["RAND-1k/tc", "RMAT-1k/tc"]
    assert [c[0].name for c in Experiments.choose_growing("graph", quick=True)] == ["growing graph/tc"]
    result = CliRunner().invoke(main, ["bench", "papers", "--only", "nothing"])
    assert result.exit_code == 2
    assert "no data/program contains 'nothing'" in result.stderr
