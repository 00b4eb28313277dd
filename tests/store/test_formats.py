"""A store of an earlier format opens, gets a marker, and goes on in the present one."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from store.histories import file_of, rows
from tidelog.errors import StoreError
from tidelog.program.declared import Relation
from tidelog.program.draft import load
from tidelog.store.durable import Store, Update, latest
from tidelog.store.local import LocalFiles
from tidelog.store.manifest import Batch, Manifest, entry_from, epoch_of, to_bytes
from tidelog.store.marker import MARKER
from tidelog.store.sealing import unsealed
from tidelog.store.states import IN_THE_DRIVER, KeptState, StatePart, Unusable, usable_state
from tidelog.tables.given import to_table
from tidelog.tables.signed import difference

GOLDEN = Path(__file__).with_name("golden") / "format-2"
PROGRAM = GOLDEN.with_suffix(".dl").read_text()
EDGES = {(i, i + 1) for i in range(13)}
LABELS = {(0, "first"), (5, "five"), (7, "säven")}
REACH = {(i, j) for i in range(13) for j in range(i + 1, 14)}
NAMED = {(text, j) for node, text in LABELS for j in range(node + 1, 14)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def relations() -> dict[str, Relation]:
    return dict(load(PROGRAM).relations)


def format_of(folder: Path, commit: int) -> int:
    found: int = json.loads(file_of(folder, commit).read_bytes())["format"]
    return found


def test_a_store_of_format_2_holds_what_it_held(folder: Path, relations: dict[str, Relation]) -> None:
    before = {file for file in folder.rglob("*") if file.is_file()}
    with Store(folder) as store:
        assert store.is_shown
        assert rows(store.table(relations["Edge"])) == EDGES
        assert rows(store.table(relations["Label"])) == LABELS
        assert rows(store.table(relations["Reach"])) == REACH
        assert rows(store.table(relations["Named"])) == NAMED
    assert {file for file in folder.rglob("*") if file.is_file()} == before | {
        folder / MARKER,
        folder / "lock",
    }


def test_its_saved_state_is_not_used(folder: Path) -> None:
    found = latest(folder)
    assert found is not None
    assert found.state is not None
    with pytest.raises(Unusable, match="the format of an earlier version"):
        usable_state(LocalFiles(folder), found.state, found.state.stamp)


def test_its_next_commit_is_of_the_new_format(folder: Path, relations: dict[str, Relation]) -> None:
    for number in (3, 4, 5):
        with Store(folder) as store:
            new = to_table(relations["Edge"], sorted(EDGES | {(50, number)}))
            changes = {"Edge": difference(store.table(relations["Edge"]), new)}
            store.commit(Update(PROGRAM, relations, changes))
        assert format_of(folder, number) == 6
        found = latest(folder)
        assert found is not None
        assert found.state is None
        assert all(len(segment.digest) == 64 for segment in found.segments)
        with Store(folder) as store:
            assert rows(store.table(relations["Edge"])) == EDGES | {(50, number)}
            assert rows(store.table(relations["Named"])) == NAMED
    assert not list((folder / "states").iterdir())


def test_what_was_without_a_digest_is_checked_from_then_on(
    folder: Path, relations: dict[str, Relation]
) -> None:
    with Store(folder) as store:
        store.commit(Update(PROGRAM, relations, {}))
        file = store.paths(store.segments("Named"))[0]
    file.write_bytes(file.read_bytes().replace(b"first", b"fIrst"))
    with Store(folder) as store, pytest.raises(StoreError, match="its digest differs from the manifest"):
        store.table(relations["Named"])


def test_a_store_of_format_2_with_a_corrupt_manifest_gets_no_marker(folder: Path) -> None:
    file_of(folder, 2).write_bytes(b"{}")
    with pytest.raises(StoreError, match=r"000000000002\.json is corrupt"):
        Store(folder)
    assert not (folder / MARKER).exists()
    assert (folder / "segments" / "Edge" / "000000000002-changes.parquet").exists()


KEPT = KeptState(f"states/{7:012}-3", 10, "a" * 64, "a stamp", 7, "a program", 5)


def test_a_manifest_of_format_5_had_a_state_of_one_file_and_no_positions() -> None:
    manifest = Manifest(8, "a program", streams={"Edge": Batch("a stream", 3)}, state=KEPT)
    content = unsealed(to_bytes(manifest))
    content["format"] = 5
    for name in ("parts", "place"):
        del content["state"][name]
    for name in ("file", "size", "digest"):
        del content["streams"]["Edge"][name]
    assert entry_from(content, 8) == manifest
    assert manifest.state is not None
    assert manifest.state.place == IN_THE_DRIVER


def test_all_files_of_a_state_and_of_streams_belong_to_a_commit() -> None:
    part = StatePart(f"states/{7:012}-3-{'0' * 32}", 5, "b" * 64)
    batch = Batch("a stream", 3, f"states/{8:012}-12-{'1' * 32}", 4, "c" * 64)
    manifest = Manifest(8, "a program", streams={"Edge": batch}, state=replace(KEPT, parts=(part,)))
    assert entry_from(unsealed(to_bytes(manifest)), 8) == manifest
    assert manifest.needed == {KEPT.file, part.file, batch.file}
    assert [epoch_of(name) for name in sorted(manifest.needed)] == [3, 3, 12]


@pytest.mark.parametrize("file", ["../secret", f"states/{7:012}-3-x", f"segments/{7:012}-3-{'0' * 32}"])
def test_a_manifest_that_names_other_files_is_not_one(file: str) -> None:
    part = StatePart(file, 5, "b" * 64)
    for manifest in (
        Manifest(8, "a program", state=replace(KEPT, parts=(part,))),
        Manifest(8, "a program", streams={"Edge": Batch("a stream", 3, file, 4, "c" * 64)}),
    ):
        with pytest.raises(ValueError, match="not this entry"):
            entry_from(unsealed(to_bytes(manifest)), 8)
