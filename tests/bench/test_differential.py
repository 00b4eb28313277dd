"""A dataflow gets changes as lines, and the time and size that it prints after each commit are read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from bench.axioms import measure
from bench.data import Dataset, graph, numbered, roads, table, universities
from bench.differential import ENGINE, can_run, measure_peer_updates, run_differential, running
from bench.executables import is_installed
from bench.programs import PROGRAMS

from tidelog.bench.isolate import Failed

CHAIN = graph("chain", "chain", 4)
# counts the rows that it has, like a program whose result is its input
COUNTER = f"""\
#!{sys.executable}
import sys
rows = set()
for line in sys.stdin:
    if line == "commit\\n":
        print(0.5, 0.25, len(rows), sep="\\t", flush=True)
    elif line[0] == "+":
        rows.add(line[1:])
    else:
        rows.remove(line[1:])
"""
SMALL: dict[str, Dataset] = {
    "closure": graph("rmat", "rmat", 40, 60),
    "same generation": graph("tree", "tree", 40, 2),
    "RDFS, numbers": numbered(universities("few", 1, (1, 1))),
    "shortest paths": roads("roads", 15, 2.0),
}


def _install(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ENGINE).write_text(text)
    (folder / ENGINE).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_first_loads_are_measured_by_the_peer_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, COUNTER, monkeypatch)
    found = run_differential(PROGRAMS["closure"], CHAIN, 2)
    assert (found.engine, found.seconds, found.cpu, found.size) == (ENGINE, 0.5, 0.25, 3)
    assert found.memory > 0


def test_deletions_and_insertions_are_sent_before_their_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, COUNTER, monkeypatch)
    facts = CHAIN.make()
    with running(PROGRAMS["closure"], 1) as peer:
        assert peer.commit(facts).size == 3
        assert peer.commit(None, {"Edge": facts["Edge"].slice(0, 2)}).size == 1
        assert peer.commit({"Edge": facts["Edge"].slice(0, 1)}).size == 2


def test_a_peer_that_ends_early_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "#!/bin/sh\nread line\nexit 3\n", monkeypatch)
    with pytest.raises(Failed, match="code 3"):
        run_differential(PROGRAMS["closure"], CHAIN, 1)


def test_programs_that_are_not_written_have_no_measurement() -> None:
    assert not can_run(PROGRAMS["CSPA"])
    with pytest.raises(Failed, match="not written"):
        run_differential(PROGRAMS["CSPA"], CHAIN, 1)


def test_a_peer_that_is_not_on_the_path_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert not is_installed(ENGINE)
    assert not can_run(PROGRAMS["closure"])


@pytest.mark.parametrize("name", SMALL)
def test_the_installed_peer_finds_as_much_after_updates(name: str) -> None:
    if not is_installed(ENGINE):
        pytest.skip(f"{ENGINE} is not on the path")
    found = measure_peer_updates(PROGRAMS[name], SMALL[name], 1, 3)
    assert [update.equal for update in found if update.equal is not None] == [True] * 7


def test_axioms_are_deleted_with_every_strategy() -> None:
    found = measure(SMALL["RDFS, numbers"], draws=1, repeat=1)
    assert {"elastic", "differential", "dred"} <= found.keys()
    assert all(cost.cpu > 0 for costs in found.values() for cost in costs)


def test_rows_are_lines_of_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    _install(tmp_path, f"#!/bin/sh\nhead -n 2 > {log}\nprintf '1\\t1\\t2\\n'\n", monkeypatch)
    with running(PROGRAMS["shortest paths"], 1) as peer:
        assert peer.commit({"Road": table("Road", np.array([[7, 8, 9]]))}).size == 2
    assert log.read_text() == "+Road\t7\t8\t9\ncommit\n"
