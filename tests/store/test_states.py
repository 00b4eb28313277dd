"""A state that is kept and what was asserted since are the last commit; nothing depends on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tidelog.data import types
from tidelog.program.declared import Column, Relation, Role
from tidelog.store.durable import Store, Update
from tidelog.store.local import LocalFiles
from tidelog.store.segments import MAX_SEGMENTS
from tidelog.store.states import KeptState, Offer, Unusable, usable_state
from tidelog.tables.given import to_table
from tidelog.tables.signed import difference

EDGE = Relation("Edge", (Column("src", types.INT), Column("dst", types.INT)), Role.INPUT)
REACH = replace(EDGE, name="Reach", role=Role.OUTPUT)
BOTH = {"Edge": EDGE, "Reach": REACH}
STATE = Offer(lambda out: out.write(b"a state"), "a stamp")


def commit(
    store: Store,
    edges: int,
    *,
    state: Offer | None = STATE,
    relations: dict[str, Relation] | None = None,
) -> KeptState | None:
    """Let both relations have so many rows; the state that is kept then."""
    wanted = relations or BOTH
    new = [(i, i) for i in range(edges)]
    changes: dict[str, Any] = {n: difference(store.table(r), to_table(r, new)) for n, r in wanted.items()}
    return store.commit(Update("a program", wanted, changes, state=state)).state


def of(kept: KeptState | None) -> int | None:
    """The commit that a state is of."""
    return None if kept is None else kept.commit


def test_small_changes_are_logged_for_a_while(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        found = [of(commit(store, 1000 + number)) for number in range(2 * MAX_SEGMENTS + 1)]
    assert found == [0] * MAX_SEGMENTS + [MAX_SEGMENTS] * MAX_SEGMENTS + [2 * MAX_SEGMENTS]


def test_a_large_change_asks_for_a_new_state(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert [of(commit(store, edges)) for edges in (1000, 1200, 1300, 1400)] == [0, 0, 2, 2]


def test_only_what_is_asserted_is_logged(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        commit(store, 100)
        commit(store, 101)
        kept = commit(store, 102)
        assert kept is not None
        assert {name: len(segments) for name, segments in kept.log.items()} == {"Edge": 2}
        since = {tuple(row.values()) for row in store.asserted_since(EDGE).to_pylist()}
        assert since == {(100, 100, 1), (101, 101, 1)}
        assert not store.asserted_since(REACH).num_rows


def test_a_relation_that_comes_or_goes_asks_for_a_new_state(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert of(commit(store, 100)) == 0
        assert of(commit(store, 100, relations={"Edge": EDGE})) == 1
        assert of(commit(store, 100)) == 2
        assert of(commit(store, 101)) == 2


def test_who_has_no_state_to_offer_keeps_the_old_one_until_it_is_old(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert of(commit(store, 100)) == 0
        assert of(commit(store, 101, state=None)) == 0
        assert of(commit(store, 200, state=None)) is None
        assert of(commit(store, 201)) == 3


def test_a_state_is_removed_when_no_version_needs_it(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for edges in (10, 100, 100, 100):
            commit(store, edges)
    assert [file.name for file in (tmp_path / "states").iterdir()] == [f"{1:012}-1"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"cannot be read: No such file"),
        (b"a stat", "is corrupt"),
        (b"a stare", "is corrupt"),
        (b"", "is corrupt"),
        (b"a state and more", "is corrupt"),
    ],
)
def test_a_state_that_is_not_what_was_written_is_not_used(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    with Store(tmp_path) as store:
        kept = commit(store, 10)
    assert kept is not None
    file = tmp_path / kept.file
    assert usable_state(LocalFiles(tmp_path), kept, "a stamp") == file
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(Unusable, match=said):
        usable_state(LocalFiles(tmp_path), kept, "a stamp")
    with Store(tmp_path) as store:
        assert store.table(EDGE).num_rows == 10
        assert of(commit(store, 100)) == 1


def test_a_state_of_another_version_is_not_used(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        kept = commit(store, 10)
    assert kept is not None
    with pytest.raises(Unusable, match="the saved state was written by a stamp; this is another"):
        usable_state(LocalFiles(tmp_path), kept, "another")


def test_a_disk_that_is_too_small_for_a_state_takes_the_commit(tmp_path: Path) -> None:
    def fail(out: BinaryIO) -> None:
        out.write(b"a st")
        raise OSError(28, "No space left on device")

    with Store(tmp_path) as store:
        assert commit(store, 10, state=Offer(fail, "a stamp")) is None
        assert store.table(EDGE).num_rows == 10
        assert not list((tmp_path / "states").iterdir())
        assert of(commit(store, 10)) == 1
