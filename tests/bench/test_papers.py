"""The papers' experiments measure what they say, and all reasoners find the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizes import size
from tidelog import rdf
from tidelog.bench.cases import RDFS_A2, cases
from tidelog.bench.experiments import Experiments
from tidelog.bench.isolate import isolated_parts
from tidelog.bench.names import REASONERS
from tidelog.bench.papers import Epoch, Missing, Share, _divide, _schedule, _shares
from tidelog.bench.tables import epoch_table, memory_table, share_table
from tidelog.cli import main
from tidelog.errors import DataError
from tidelog.rdf.terms import SUBCLASS, SUBPROPERTY, TYPE
from tidelog.session import open_session


def small_graph(tmp_path: Path) -> Path:
    file = tmp_path / "small.csv"
    edges = [(i, (3 * i + j) % 15) for i in range(15) for j in (1, 5)]
    file.write_text("src,dst\n" + "".join(f"{a},{b}\n" for a, b in edges))
    return file


def test_all_reasoners_find_the_same(tmp_path: Path) -> None:
    (case,) = (c for c in cases(quick=True, graph_files=[small_graph(tmp_path)]) if c.data == "small")
    facts = case.make()
    found = {name: next(iter(_shares(case, name, (0.75,), facts))) for name in REASONERS}
    sizes = {(s.size, s.left) for s in found.values()}
    assert len(sizes) == 1
    ((size, left),) = sizes
    assert left < size


@pytest.mark.parametrize("program", ["owl2rl", "rdfs", "rdfs-a2", "rdfs-s"][: size(1, 4)])
def test_strategies_find_the_same_of_universities(program: str) -> None:
    (case,) = (c for c in cases(quick=True) if c.name == f"LUBM/{program}")
    names = ("relational", "differential", "elastic", "recompute")
    facts = case.make()
    found = [next(iter(_shares(case, name, (0.9,), facts))) for name in names]
    assert len({(s.size, s.left) for s in found}) == 1


def test_the_program_a2_finds_the_triples_that_rdfs_does() -> None:
    ontology, data = rdf.university_ontology(), rdf.universities(1, departments=(1, 1))
    graph = rdf.union([ontology, data])
    db = open_session(text=RDFS_A2)
    with db.transaction() as tx:
        tx.insert("rdf::triple", graph)
    words = {"rdf::type": TYPE, "rdfs::subClassOf": SUBCLASS, "rdfs::subPropertyOf": SUBPROPERTY}
    found = {(s, p, o) for name, p in words.items() for s, o in db[name]} | set(db["rdf::triple"])
    wanted = {*rdf.triples(graph), *rdf.triples(rdf.infer(graph, "rdfs").triples)}
    about_literals = {t for t in found if t[0].startswith('"')}
    assert found - about_literals == wanted


def test_shares_are_what_they_are_called_and_never_nothing(tmp_path: Path) -> None:
    facts = cases(quick=True, graph_files=[small_graph(tmp_path)])[-1].make()
    for share, expected in ((0.5, 15), (0.9, 3), (0.999, 1)):
        first, rest = _divide(facts.moving, share)
        assert (len(first["Edge"]), len(rest["Edge"])) == (30 - expected, expected)
        assert _divide(facts.moving, share)[1]["Edge"].equals(rest["Edge"])


def test_epochs_change_facts_that_are_there_or_are_not(tmp_path: Path) -> None:
    facts = cases(quick=True, graph_files=[small_graph(tmp_path)])[-1].make()
    present: set[tuple[int, int]] = set()
    kinds = []
    for kind, came, went in _schedule(facts):
        kinds.append(kind)
        new, old = (
            {(r["src"], r["dst"]) for table in t.values() for r in table.to_pylist()} for t in (came, went)
        )
        assert new or old
        assert not new & present
        assert old <= present
        present = (present | new) - old
    assert kinds == ["load", *["small"] * 6, "large", *["small"] * 4, "large"]


def _some_shares() -> list[Share]:
    return [
        Share("RAND-1k", "tc", "relational", 0.9, 1.0, 0.5, 0.25, 100, 90, 2**20),
        Share("RAND-1k", "tc", "elastic", 0.9, 1.0, 0.125, 0.0625, 101, 90, 2**21),
    ]


def test_tables_show_what_differs_and_what_is_missing() -> None:
    table = share_table(_some_shares())
    assert "1.00 / 0.5000 / 0.2500" in table
    assert "1.00 / 0.1250 / 0.0625 (differs)" in table
    assert memory_table(_some_shares()).splitlines()[-1].split() == ["RAND-1k", "tc", "1", "2"]
    epochs = [
        Epoch("RAND-1k", "tc", "bootstrap", 0, "load", 1000, 2.0, "bootstrap"),
        Epoch("RAND-1k", "tc", "switch", 0, "load", 1000, 1.5, "bootstrap"),
    ]
    assert epoch_table(epochs).splitlines()[-1].split() == ["RAND-1k", "tc", "all", "2.00", "1.50"]
    work = Experiments(1.0, print)
    work.missing = [Missing("RAND-1k", "tc", "chibi", "exceeded 1 s")]
    assert work.tables() == "RAND-1k/tc: chibi stopped: exceeded 1 s"


def prepared() -> int:
    return 3


def unprepared() -> int:
    raise DataError(None, "there is nothing to count")


def count(last: int) -> Iterator[int]:
    yield from range(last)
    raise ValueError("no more")


def test_work_that_fails_says_why_and_what_it_found_is_kept() -> None:
    found: list[int] = []
    assert isolated_parts(prepared, count, 60.0, found.append) == "ValueError: no more"
    assert found == [0, 1, 2]
    assert isolated_parts(unprepared, count, 60.0, found.append) == "there is nothing to count"


def test_the_command_writes_tables_and_json(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    args = ["bench", "papers", "--quick", "--only", "small/", "--graph", str(small_graph(tmp_path))]
    args += ["--reasoner", "elastic", "--limit", "120", "--json", str(out)]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    assert "seconds of each epoch" in result.stdout
    found = json.loads(out.read_text())
    assert [s["share"] for s in found["shares"]] == [0.999, 0.99, 0.9, 0.75, 0.5]
    assert len(found["epochs"]) == 3 * 13
    assert found["missing"] == []


def test_data_without_an_ontology_is_told() -> None:
    result = CliRunner().invoke(main, ["bench", "papers", "--rdf", __file__])
    assert result.exit_code == 2
    assert "give --rdf and --ontology together" in result.stderr


def test_a_file_that_is_no_graph_is_told(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("src,dst\na,b\n")
    result = CliRunner().invoke(main, ["bench", "papers", "--only", "words", "--graph", str(file)])
    assert result.exit_code == 1
    assert "words.csv is not a graph" in result.stderr
    assert "with the header src,dst" in result.stderr
