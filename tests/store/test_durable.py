"""The store keeps what was committed, whatever happens, and nothing else."""

from __future__ import annotations

import ast
import errno
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizes import size
from store.histories import commits, file_of
from store.stops import Stopped, Stopping
from tables import facts
from tables.facts import TYPES, patiently, relation
from tidelog.data import types
from tidelog.errors import StoreError
from tidelog.program.declared import Column, Relation, Role
from tidelog.program.draft import load
from tidelog.store.disk import Disk
from tidelog.store.durable import Store, Update, latest
from tidelog.store.files import Files
from tidelog.store.history import explainable, version_at
from tidelog.store.local import LocalFiles
from tidelog.store.log import find_slots, last_manifests
from tidelog.store.manifest import HISTORY, Batch, Written
from tidelog.store.marker import MARKER
from tidelog.store.migration import breaks, expect_no_new_inputs, expect_same
from tidelog.store.segments import MAX_SEGMENTS
from tidelog.store.states import Offer, usable_state
from tidelog.tables.given import to_table
from tidelog.tables.signed import difference

EDGE = Relation("Edge", (Column("src", types.INT), Column("dst", types.INT)), Role.INPUT)
NODE = Relation("Node", (Column("name", types.Option(types.STRING)),), Role.OUTPUT)
BOTH = {"Edge": EDGE, "Node": NODE}

REMEMBERED = 3
Rows = set[tuple[Any, ...]]


def change(store: Store, wanted: dict[str, Rows]) -> Update:
    """The update that makes relations hold these rows, with a state that is as long as they are."""
    changes = {
        name: difference(store.table(BOTH[name]), to_table(BOTH[name], sorted(rows, key=repr)))
        for name, rows in wanted.items()
    }
    text = str(sorted(wanted["Edge"]))
    state = Offer(lambda out: out.write(text.encode()), "a stamp")
    return Update("// a program", BOTH, changes, sources={"Edge": text}, state=state)


def rows(table: Any) -> Rows:
    listed = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
    assert len(set(listed)) == len(listed)
    return set(listed)


def contents(store: Store) -> dict[str, Rows]:
    return {name: rows(store.table(r)) for name, r in BOTH.items()}


def versions(count: int, seed: int = 0) -> list[dict[str, Rows]]:
    """Contents that change a little, and now and then a lot."""
    dice = random.Random(seed)
    edges: Rows = {(i, i + 1) for i in range(60)}
    made = []
    for _ in range(count):
        few = dice.random() < 0.8
        for _ in range(2 if few else 40):
            edges ^= {(dice.randrange(9), dice.randrange(9))}
        made.append({"Edge": set(edges), "Node": {(None,), *((str(s),) for s, _ in edges)}})
    return made


def files(folder: Path) -> set[str]:
    found = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
    assert found >= {"lock", MARKER}
    return found - {"lock", MARKER}


def needed(folder: Path) -> set[str]:
    """What the last two versions need, and the log since the first of them."""
    local = LocalFiles(folder)
    slots = find_slots(local)
    kept = last_manifests(local, slots, 2)
    log = {slot.name for slot in slots if not kept or slot.commit >= kept[-1].commit}
    past = [version_at(folder, int(Path(name).stem)) for name in local.list(HISTORY)]
    facts = {f"segments/{s.file}" for version in past for s in version.segments("Edge")}
    return log.union(local.list(HISTORY), facts, *(manifest.needed for manifest in kept))


def state_of(store: Store) -> tuple[str, Rows]:
    """The state that is kept, and what it and its log say of the edges."""
    kept = store.current.state if store.current is not None else None
    assert kept is not None
    found = usable_state(store.at, kept, "a stamp")
    text = (found if isinstance(found, bytes) else found.read_bytes()).decode()
    edges: Rows = set(ast.literal_eval(text))
    for *row, sign in rows(store.asserted_since(EDGE)):
        edges = edges | {tuple(row)} if sign > 0 else edges - {tuple(row)}
    return text, edges


def test_a_store_opened_again_holds_the_last_commit(place: Files) -> None:
    for wanted in versions(25):
        with Store(place) as store:
            store.commit(change(store, wanted))
            assert contents(store) == wanted
        with Store(place) as again:
            assert contents(again) == wanted
            assert state_of(again)[1] == wanted["Edge"]


def test_the_changes_of_the_last_commit_are_kept_apart(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.commit(change(store, {"Edge": {(1, 2), (2, 3)}, "Node": set()}))
        store.commit(change(store, {"Edge": {(1, 2), (4, 5)}, "Node": set()}))
        [file] = store.paths(store.changes_segments("Edge"))
        assert rows(pa.parquet.read_table(file)) == {(4, 5, 1), (2, 3, -1)}
        assert not store.changes_segments("Node")


def test_segments_stay_few_and_nothing_is_left_over(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for wanted in versions(40, seed=1):
            manifest = store.commit(change(store, wanted))
            assert all(len(r.segments) <= MAX_SEGMENTS for r in manifest.relations.values())
            assert files(tmp_path) == needed(tmp_path)
    assert len(commits(tmp_path)) == 2


def test_a_manifest_says_what_was_said(place: Files) -> None:
    streams, sinks = {"Edge": Batch("a stream", 7)}, {"Reach": Written(0, True)}
    update = Update("R(1).", {"Edge": EDGE}, {}, {"Edge": "print"}, streams, sinks)
    with Store(place) as store:
        written = store.commit(update)
    found = latest(place)
    assert found == written
    assert (written.program, written.sources, written.streams, written.sinks) == (
        "R(1).",
        {"Edge": "print"},
        streams,
        sinks,
    )
    assert written.relations["Edge"].declaration == "input relation Edge(src: int, dst: int)"


def test_a_relation_that_is_not_named_is_dropped(place: Files) -> None:
    with Store(place) as store:
        store.commit(change(store, {"Edge": {(1, 2)}, "Node": {("a",)}}))
        store.commit(Update("", {"Edge": EDGE}, {}))
        store.commit(Update("", {"Edge": EDGE}, {}))
    assert not any("Node" in name for name in place.list("segments"))


@given(data=st.data(), columns=st.lists(st.sampled_from(TYPES), max_size=4))
@patiently
def test_values_of_every_type_come_back(
    data: st.DataObject, columns: list[types.Type], tmp_path_factory: pytest.TempPathFactory
) -> None:
    r = relation(*columns)
    old, new = (to_table(r, data.draw(facts.rows(columns))) for _ in range(2))
    folder = tmp_path_factory.mktemp("store")
    with Store(folder) as store:
        for wanted in (old, new):
            store.commit(Update("", {"R": r}, {"R": difference(store.table(r), wanted)}))
            assert not difference(store.table(r), wanted).num_rows
    shutil.rmtree(folder)


# -- stops


def expect_remembered(folder: Path) -> None:
    """The commits that a store remembers are those of so many, and have their facts."""
    last = latest(folder)
    known = explainable(folder)
    if last is not None:
        assert set(range(max(0, last.commit - REMEMBERED + 2), last.commit + 1)) <= set(known)
    for commit in {*known, *(c - 1 for c in known if c)}:
        version = version_at(folder, commit)
        assert version.current is not None
        assert version.current.sources["Edge"] == str(sorted(rows(version.table(EDGE))))


def stop_everywhere(folder: Path, before: Iterable[dict[str, Rows]], after: dict[str, Rows]) -> int:
    """Stop a commit at every step; what is then there, and what going on makes of it. The number of steps."""
    origin = folder / "origin"
    with Store(origin, REMEMBERED) as store:
        for wanted in before:
            store.commit(change(store, wanted))
        old = contents(store)
    step = 0
    while True:
        copy = folder / "copy"
        shutil.copytree(origin, copy)
        disk = Stopping(step)
        try:
            with Store(LocalFiles(copy, disk), REMEMBERED) as store:
                store.commit(change(store, after))
            returned = True
        except Stopped:
            returned = False
        expect_remembered(copy)
        with Store(copy, REMEMBERED) as store:
            found = contents(store)
            assert found in ((after,) if returned else (old, after)), step
            assert files(copy) == needed(copy), step
            assert state_of(store)[1] == found["Edge"], step
            store.commit(change(store, after))
            assert contents(store) == after
        shutil.rmtree(copy)
        if returned:
            assert disk.steps == step
            return step
        step += 1


def test_stopping_the_first_commit_leaves_nothing_or_all_of_it(tmp_path: Path) -> None:
    after: dict[str, Rows] = {"Edge": {(1, 2), (2, 3)}, "Node": {(None,), ("a",)}}
    assert stop_everywhere(tmp_path, [{"Edge": set(), "Node": set()}], after) > 10


@pytest.mark.parametrize("count", range(2, 7))
def test_stopping_a_commit_leaves_the_last_complete_one(tmp_path: Path, count: int) -> None:
    *before, after = versions(count, seed=count)
    assert stop_everywhere(tmp_path, before, after) > 10


def test_a_process_that_is_killed_anywhere_leaves_whole_commits(tmp_path: Path) -> None:
    script = Path(__file__).with_name("commit_and_stop.py")
    stopped = 0
    for step in range(0, 100, size(6, 1)):
        command = [sys.executable, str(script), str(tmp_path), str(step)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = latest(tmp_path)
        with Store(tmp_path) as store:
            count = 0 if found is None else found.commit + 1
            assert rows(store.table(EDGE)) == {(i, i + 1) for i in range(count)}
        if done.returncode == 0:
            assert found is not None
            assert int(done.stdout) == found.commit
            break
        assert done.returncode == 9, done.stderr
        stopped += 1
    assert stopped > 5


# -- damage and other hands


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(StoreError, match="another run is writing"):
        Store(tmp_path)
    Store(tmp_path).close()


def test_a_disk_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    for wanted in versions(4):
        with Store(tmp_path) as store:
            store.commit(change(store, wanted))
    with Store(tmp_path) as store:
        assert contents(store) == wanted
    local = LocalFiles(tmp_path)
    with pytest.raises(FileExistsError):
        local.put_if_absent(find_slots(local)[-1].name, b"another")


def test_a_corrupt_manifest_is_reported_and_the_version_before_is_there(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.commit(change(store, {"Edge": {(1, 2)}, "Node": set()}))
        store.commit(change(store, {"Edge": {(3, 4)}, "Node": set()}))
    file = file_of(tmp_path, 1)
    text = file.read_text()
    for damaged in (text[: len(text) // 2], text.replace('"commit": 1', '"commit": 2'), "[]", ""):
        file.write_text(damaged)
        with pytest.raises(StoreError, match=r"1\.json is corrupt: restore it from a backup, or delete"):
            Store(tmp_path)
    file.unlink()
    with Store(tmp_path) as store:
        assert contents(store)["Edge"] == {(1, 2)}


def test_a_segment_that_is_missing_or_corrupt_is_reported(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.commit(change(store, {"Edge": {(1, 2)}, "Node": set()}))
        [file] = store.paths(store.segments("Edge"))
    content = file.read_bytes()
    for damaged, said in (
        (content[:-1], "its size differs from the manifest"),
        (bytes(len(content)), "its digest differs from the manifest"),
        (None, "is missing; restore it from a backup"),
    ):
        file.unlink() if damaged is None else file.write_bytes(damaged)
        with Store(tmp_path) as store:
            for _ in range(2):
                with pytest.raises(StoreError, match=said):
                    store.table(EDGE)
                with pytest.raises(StoreError, match=said):
                    store.paths(store.segments("Edge"))
                with pytest.raises(StoreError, match=said):
                    store.paths(store.changes_segments("Edge"))


def test_a_store_of_a_later_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr("tidelog.store.manifest.FORMAT", 7)
        later.setattr("tidelog.store.manifest._READABLE", (7,))
        with Store(tmp_path) as store:
            store.commit(Update("", {}, {}))
    with pytest.raises(StoreError, match="another version of Tidelog"):
        latest(tmp_path)


def test_a_store_of_the_first_format_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_state(manifest: object) -> dict[str, Any]:
        return {key: value for key, value in asdict(manifest).items() if key != "state"}  # type: ignore[call-overload]

    with monkeypatch.context() as earlier:
        earlier.setattr("tidelog.store.manifest.FORMAT", 1)
        earlier.setattr("tidelog.store.manifest.asdict", without_state)
        with Store(tmp_path) as store:
            store.commit(change(store, {"Edge": {(1, 2)}, "Node": set()}))
    with Store(tmp_path) as store:
        assert store.current is not None
        assert store.current.state is None
        assert contents(store)["Edge"] == {(1, 2)}
        store.commit(change(store, {"Edge": {(1, 2), (2, 3)}, "Node": set()}))
        assert state_of(store)[1] == {(1, 2), (2, 3)}


def test_a_folder_that_cannot_be_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file")


def test_creating_leaves_no_other_file(tmp_path: Path) -> None:
    assert Disk().create(tmp_path / "a", lambda out: out.write(b"abc")).size == 3
    assert [f.name for f in tmp_path.iterdir()] == ["a"]


# -- another program

OLD = """input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
function twice(x: int): int { x + x }
Reach(x, y) :- Edge(x, y).
Reach(x, twice(y)) :- Edge(y, x).
"""


def test_another_program_is_refused_with_the_differences() -> None:
    new = OLD.replace("Edge(y, x)", "Edge(x, y)") + "relation More(x: int)\n"
    with pytest.raises(StoreError) as refused:
        expect_same(load(OLD), load(new), "the-store")
    assert str(refused.value).splitlines() == [
        "the store the-store was written for another program:",
        "  + relation More(x: int)",
        "  - Reach(x, twice(y)) :- Edge(y, x).",
        "  + Reach(x, twice(y)) :- Edge(x, y).",
    ]
    expect_same(load(OLD), load(OLD.replace("(x, y)", "(a, b)")), "the-store")
    assert not breaks(load(OLD), load(new))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "Edge(src: int, dst: int)",
            "Edge(src: int, to: int)",
            "is now  input relation Edge(src: int, to: int)",
        ),
        ("x + x", "2 * x", "2 * x"),
    ],
)
def test_what_no_transaction_can_apply_is_found(before: str, after: str, said: str) -> None:
    (line,) = breaks(load(OLD), load(OLD.replace(before, after))).lines
    assert said in line


def test_roles_may_change_from_input_to_result_only() -> None:
    new = OLD.replace("input relation Edge", "output relation Edge")
    assert breaks(load(OLD), load(new)).reason == "Edge is derived now"
    expect_no_new_inputs(load(OLD), load(new), "the-store")
    with pytest.raises(StoreError, match="derived rows of what is an input relation now; rename each"):
        expect_no_new_inputs(load(new), load(OLD), "the-store")
