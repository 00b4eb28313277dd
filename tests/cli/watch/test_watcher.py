"""`tidelog watch` without its loop: whatever is done to the files, the outputs are those of a run on them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tidelog
from sizes import size
from tidelog.cli.watch.contents import Contents
from tidelog.cli.watch.outputs import Folder
from tidelog.cli.watch.watcher import Paths, Watcher
from tidelog.errors import TidelogError
from tidelog.program.declared import Role

PROGRAM = """input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


class Place:
    """A folder with a program and its facts, which a watcher keeps up with."""

    def __init__(self, folder: Path, *, program: str = PROGRAM, facts: bool = True, **options: Any) -> None:
        self.program = folder / "program.dl"
        self.facts = folder / "facts"
        self.out = folder / "out"
        self.facts.mkdir()
        self.program.write_text(program)
        self.said: list[str] = []
        self.errors: list[str] = []
        self.paths = Paths(self.program, self.facts if facts else None, **options)
        self.watcher = Watcher(
            self.paths,
            tidelog.open,
            lambda line: self.said.extend(line.text.split("\n")),
            lambda error: self.errors.append(str(error)),
            Folder(self.out, "csv"),
        )

    def write(self, name: str, *rows: Sequence[object]) -> None:
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        (self.facts / name).write_text(text)

    def settle(self) -> list[str]:
        """Look until nothing is new; returns what is said."""
        self.said.clear()
        self.errors.clear()
        for _ in range(4):
            self.watcher.step()
        assert not self.watcher.step()
        return [*self.said, *self.errors]

    def files(self) -> dict[str, list[str]]:
        return {p.name: sorted(p.read_text().splitlines()[1:]) for p in self.out.iterdir()}


HEADER = ("src", "dst")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.write("Edge.csv", HEADER, (1, 2), (2, 3))
    return made


def test_changes_of_facts_are_printed_and_written(place: Place) -> None:
    assert place.settle() == ["Reach: 3 rows"]
    assert place.files() == {"Reach.csv": ["1,2", "1,3", "2,3"]}
    place.write("Edge.csv", HEADER, (1, 2), (2, 4))
    said = place.settle()
    assert said[0] == "Reach: 2 rows added, 2 removed"
    assert said[1:] == ["+ Reach(1, 4)", "+ Reach(2, 4)", "- Reach(1, 3)", "- Reach(2, 3)"]
    assert place.files() == {"Reach.csv": ["1,2", "1,4", "2,4"]}


def test_changes_of_the_program_are_followed(place: Place) -> None:
    place.settle()
    place.program.write_text(PROGRAM + "output relation Start(x: int)\nStart(x) :- Edge(x, _).\n")
    assert place.settle() == ["Start: 2 rows added, 0 removed", "+ Start(1)", "+ Start(2)"]
    assert sorted(place.files()) == ["Reach.csv", "Start.csv"]
    place.program.write_text(PROGRAM.replace("output", "input").replace("Reach(x, ", "// "))
    assert "has no Reach.csv" in place.settle()[0]
    place.program.write_text(PROGRAM)
    place.settle()
    assert sorted(place.files()) == ["Reach.csv"]


def test_a_broken_edit_is_reported_and_changes_nothing(place: Place) -> None:
    place.settle()
    before = place.files()
    place.program.write_text(PROGRAM + "Reach(x) :- Egde(x, y).\n")
    (error,) = place.settle()
    assert "program.dl:5:13: error[E101]: unknown relation `Egde`" in error
    place.write("Edge.csv", HEADER, (1, 2), (2, "x"))
    place.settle()
    place.program.write_text(PROGRAM)
    (error,) = place.settle()
    assert "Edge.csv:3" in error
    assert place.files() == before
    place.write("Edge.csv", HEADER, (1, 2), (2, 3))
    assert place.settle() == ["mended, without other changes"]


def test_the_first_state_may_be_broken(place: Place) -> None:
    place.program.write_text("output relation")
    assert "E003" in place.settle()[0]
    assert not place.out.exists()
    place.program.write_text(PROGRAM)
    assert place.settle() == ["Reach: 3 rows"]


def test_a_change_that_cannot_be_made_in_place_is_made_from_scratch(place: Place) -> None:
    function = "function f(x: int): int { x + 1 }\noutput relation P(x: int)\nP(f(x)) :- Edge(x, _).\n"
    place.program.write_text(PROGRAM + function)
    place.settle()
    place.program.write_text(PROGRAM + function.replace("x + 1", "x + 2"))
    assert place.settle() == ["P: 1 row added, 1 removed", "+ P(4)", "- P(2)"]
    place.program.write_text(PROGRAM.replace("int", "string"))
    assert place.settle()[0] == "Reach: 3 rows added, 0 removed"


def test_files_that_vanish_and_appear(tmp_path: Path) -> None:
    place = Place(tmp_path, allow_missing=True)
    assert place.settle() == ["Reach: 0 rows"]
    place.write("Edge.csv", HEADER, (1, 2))
    assert place.settle()[0] == "Reach: 1 row added, 0 removed"
    (place.facts / "Edge.csv").rename(place.facts / "Edge.facts")
    (place.facts / "Edge.facts").write_text("1\t2\n7\t8\n")
    assert place.settle() == ["Reach: 1 row added, 0 removed", "+ Reach(7, 8)"]
    (place.facts / "Edge.facts").unlink()
    assert place.settle()[0] == "Reach: 0 rows added, 2 removed"
    place.write("Edge.csv", HEADER)
    place.write("Edge.tsv")
    assert "more than one file" in place.settle()[0]


def test_a_missing_file_is_an_error_unless_it_is_allowed(place: Place) -> None:
    place.settle()
    (place.facts / "Edge.csv").unlink()
    assert "has no Edge.csv" in place.settle()[0]
    assert len(place.files()["Reach.csv"]) == 3
    place.program.unlink()
    assert "program.dl cannot be read: No such file or directory" in place.settle()[0]


def test_a_file_that_is_still_written_is_waited_for(place: Place) -> None:
    place.settle()
    content = b"src,dst\n1,2\n2,3\n3,4\n"
    for end in range(5, len(content) + 1, 5):
        (place.facts / "Edge.csv").write_bytes(content[:end])
        assert not place.watcher.step()
        assert place.errors == []
    assert place.settle()[0] == "Reach: 3 rows added, 0 removed"


def test_editors_that_replace_files_are_followed(place: Place) -> None:
    place.settle()
    for number in range(3):
        part = place.facts / ".Edge.csv.swp"
        part.write_text(f"src,dst\n1,{number}\n")
        part.rename(place.facts / "Edge.csv")
        place.settle()
        assert place.files() == {"Reach.csv": [f"1,{number}"]}
        backup = place.facts / "Edge.csv~"
        (place.facts / "Edge.csv").rename(backup)
        assert not place.watcher.step()  # a moment without the file is no error
        (place.facts / "Edge.csv").write_text("src,dst\n5,6\n")
        place.settle()
        assert place.errors == []
        assert place.files() == {"Reach.csv": ["5,6"]}


def test_a_write_of_the_same_size_at_the_same_time_is_noticed(place: Place) -> None:
    place.settle()
    file = place.facts / "Edge.csv"
    status = file.stat()
    file.write_text(file.read_text().replace("3", "9"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert place.settle()[0] == "Reach: 2 rows added, 2 removed"


def test_touching_a_file_is_no_edit(place: Place) -> None:
    place.settle()
    os.utime(place.facts / "Edge.csv", (1, 1))
    os.utime(place.program, (1, 1))
    assert place.settle() == []


def test_old_files_are_read_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    file = place.facts / "Edge.csv"
    os.utime(file, (1, 1))
    contents = Contents()
    first = contents.look([file], [])
    monkeypatch.setattr(Path, "open", None)
    assert contents.look([file], []) == first


def test_modules_are_watched_even_if_they_do_not_exist_yet(place: Place) -> None:
    place.program.write_text(f"import more\n{PROGRAM}Reach(x, x) :- more::Extra(x).\n")
    assert "no module `more`" in place.settle()[0]
    module = place.program.parent / "more.dl"
    module.write_text("relation Extra(x: int)\nExtra(8).\n")
    assert place.settle() == ["Reach: 4 rows"]
    module.write_text("relation Extra(x: int)\nExtra(9).\n")
    assert place.settle() == ["Reach: 1 row added, 1 removed", "+ Reach(9, 9)", "- Reach(8, 8)"]
    module.write_text("relation Extra(x: int)\nExtra(9)\n")
    assert "more.dl:2:9: error[E003]" in place.settle()[0]
    module.write_text("relation Extra(x: int)\n")
    assert place.settle()[1:] == ["- Reach(9, 9)"]


def test_files_that_attributes_name_are_watched(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    edges = tmp_path / "raw" / "edges.csv"
    attributes = '#[file = "../raw/edges.csv", delimiter = ";", header = false]\n'
    edges.write_text("1;2\n")
    place = Place(tmp_path, program=attributes + PROGRAM)
    assert place.settle() == ["Reach: 1 row"]
    edges.write_text("1;2\n2;3\n")
    assert place.settle()[0] == "Reach: 2 rows added, 0 removed"


def test_a_relation_that_is_no_longer_given_has_no_facts(place: Place) -> None:
    place.settle()
    place.program.write_text(PROGRAM.replace("input relation", "relation") + "Edge(7, 8).\n")
    place.settle()
    assert place.files() == {"Reach.csv": ["7,8"]}


def test_a_program_without_facts_needs_no_folder(tmp_path: Path) -> None:
    place = Place(tmp_path, program="output relation P(x: int)\nP(1).\n", facts=False)
    assert place.settle() == ["P: 1 row"]
    place.program.write_text(PROGRAM)
    assert place.settle() == ["missing facts for Edge; give their folder with -F FOLDER"]


@pytest.mark.parametrize("kind", ["stream", "multiset"])
def test_other_kinds_of_relations_have_what_a_run_gives(tmp_path: Path, kind: str) -> None:
    text = f"""input {kind} Sale(x: int)
    input relation Tax(x: int)
    output {kind} Sold(x: int)
    Sold(x) :- Sale(x), Tax(x).
    """
    place = Place(tmp_path, program=text)
    place.write("Sale.csv", ("x",), (1,), (1,), (2,))
    place.write("Tax.csv", ("x",), (1,))
    place.settle()
    place.write("Tax.csv", ("x",), (1,), (2,))
    place.settle()
    _expect_as_run(place)
    place.write("Sale.csv", ("x",), (1,), (2,), (2,), (2,))
    place.settle()
    _expect_as_run(place)


RULES = [
    "Reach(x, y) :- Edge(x, y).",
    "Reach(x, z) :- Reach(x, y), Edge(y, z).",
    "Reach(y, x) :- Edge(x, y), not Blocked(x).",
    "Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().",
    "Fan(0, twice(x)) :- Blocked(x).",
    "Edge(0, 1).",
    "Reach(x, y) :- Edge(x, z), Eg(y).",  # an error
    "Fan(x, 10 / x) :- Blocked(x).",  # fails for 0
]


@pytest.mark.parametrize("seed", range(size(8, 200)))
def test_outputs_are_those_of_a_run_after_any_edits(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    place = Place(tmp_path, allow_missing=choose.random() < 0.5)
    for _ in range(12):
        for _ in range(choose.choice((1, 1, 2))):
            _edit(place, choose)
        before = place.files() if place.out.exists() else None
        place.settle()
        if not _expect_as_run(place):
            assert before == (place.files() if place.out.exists() else None)


def _edit(place: Place, choose: random.Random) -> None:
    file = place.facts / choose.choice(("Edge.csv", "Blocked.csv"))
    match choose.randrange(6):
        case 0:
            file.unlink(missing_ok=True)
        case 1 | 2 | 3:
            width = 2 if file.name == "Edge.csv" else 1
            rows = [[choose.randrange(5) for _ in range(width)] for _ in range(choose.randrange(6))]
            bad = [["x"] * width] if choose.random() < 0.1 else []
            place.write(file.name, HEADER[:width], *rows, *bad)
        case _:
            twice = f"function twice(x: int): int {{ {choose.choice('23')} * x }}\n"
            kind = choose.choice(("input", "input", "output"))
            declared = f"input relation Edge(src: int, dst: int)\n{kind} relation Blocked(src: int)\n"
            outputs = "output relation Reach(x: int, y: int)\noutput relation Fan(x: int, n: int)\n"
            rules = choose.sample(RULES, choose.randrange(1, 6))
            place.program.write_text(declared + outputs + twice + "\n".join(rules) + "\n")


def _expect_as_run(place: Place) -> bool:
    """Whether a run succeeds now. If it does, the state is that of the run."""
    try:
        db = tidelog.open()
        with db.transaction() as tx:
            tx.load(place.program.read_text(), str(place.program))
            tx.insert_folder(place.facts, allow_missing=place.paths.allow_missing)
    except TidelogError:
        assert place.watcher._complaint
        return False
    assert place.watcher._complaint == ""
    assert place.watcher.db is not None
    wanted = {n: sorted(v) for n, v in db.snapshot().items()}
    assert {n: sorted(v) for n, v in place.watcher.db.snapshot().items()} == wanted
    names = [n for n, r in db.program.relations.items() if r.role is Role.OUTPUT]
    tables = {f"{n}.csv": sorted((db[n].to_csv() or "").splitlines()[1:]) for n in names}
    assert place.files() == tables
    return True
