"""What is not the store's own stays, whatever happens to the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.histories import content, files, make, update
from tidelog.errors import StoreError
from tidelog.store.durable import Store
from tidelog.store.marker import MARKER, SHOWN

FOREIGN = (
    "notes.txt",
    "segments/README",
    "segments/photos/beach.jpg",
    "segments/photos/2024/deep/down.jpg",
    "segments/Edge/mine.parquet",
    "segments/Edge/000000000000-changes.parquet.bak",
    "segments/Edge/12-base.parquet",
    "segments/Edge/folder/000000000000-changes.parquet",
    "segments/.hidden/000000000000-changes.parquet",
    "states/mine",
    "states/000000000099/inside",
    "manifests/copy of 000000000001.json",
    "manifests/old/000000000000.json",
    "manifests/0.json",
)


def plant(folder: Path) -> None:
    for name in FOREIGN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")


def expect_planted(folder: Path) -> None:
    assert {name: (folder / name).read_text() for name in FOREIGN} == dict.fromkeys(FOREIGN, "mine")


def test_files_and_folders_that_are_not_the_stores_stay(tmp_path: Path) -> None:
    edges = make(tmp_path, 2)
    plant(tmp_path)
    for number in range(4):
        edges = edges | {(100 + number, 0)}
        with Store(tmp_path) as store:
            store.commit(update(store, edges))
            assert content(store).relations["Edge"] == edges
        expect_planted(tmp_path)


def test_a_store_can_be_made_in_a_folder_with_other_files(tmp_path: Path) -> None:
    plant(tmp_path)
    edges = make(tmp_path, 3)
    with Store(tmp_path) as store:
        assert content(store).relations["Edge"] == edges
    expect_planted(tmp_path)


def test_nothing_is_deleted_from_a_folder_without_a_marker(tmp_path: Path) -> None:
    segment = tmp_path / "segments" / "Edge" / "000000000007-base.parquet"
    segment.parent.mkdir(parents=True)
    segment.write_text("a segment of whoever")
    with pytest.raises(StoreError, match="has segments but no manifest"):
        Store(tmp_path)
    assert segment.exists()
    assert not (tmp_path / MARKER).exists()


def test_what_a_stopped_commit_left_is_removed(tmp_path: Path) -> None:
    make(tmp_path, 2)
    before = files(tmp_path)
    for name in (
        "segments/Edge/000000000002-changes.parquet",
        "segments/Edge/000000000002-base.parquet.unfinished",
        "segments/Gone/000000000001-base.parquet",
        "states/000000000002.unfinished",
        "manifests/000000000002.json.unfinished",
        "manifests/000000000002-1.json.0a1b2c3d.unfinished",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("left over")
    Store(tmp_path).close()
    claim = tmp_path / "manifests" / "000000000002.json"
    assert files(tmp_path) == sorted([*before, claim])


@pytest.mark.parametrize("name", ["lock", "manifests/000000000002.json"])
def test_a_folder_where_a_file_has_to_be_is_reported(tmp_path: Path, name: str) -> None:
    edges = make(tmp_path, 2)
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()
    with pytest.raises(StoreError, match=r"Is a directory"), Store(tmp_path) as store:
        store.commit(update(store, edges | {(7, 8)}))
    (tmp_path / name).rmdir()
    with Store(tmp_path) as store:
        assert content(store).relations["Edge"] == edges
        store.commit(update(store, edges | {(7, 8)}))
        assert content(store).relations["Edge"] == edges | {(7, 8)}


def test_a_folder_in_the_place_of_shown_is_reported_when_it_is_written(tmp_path: Path) -> None:
    make(tmp_path, 2)
    (tmp_path / SHOWN).unlink()
    (tmp_path / SHOWN).mkdir()
    with Store(tmp_path) as store:
        assert not store.is_shown
        with pytest.raises(StoreError, match=r"commit 1 is in the store, but .*shown could not be written"):
            store.mark_shown()


@pytest.mark.parametrize("name", ["segments", "manifests"])
def test_a_file_in_the_place_of_a_folder_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(StoreError, match="cannot be opened: File exists"):
        Store(tmp_path)
    assert (tmp_path / name).read_text() == ""
