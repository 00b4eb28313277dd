"""A store in an object store works like one on a disk. Moto stands in for S3."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from store.histories import BOTH, EDGE, STAMP, content, make, rows, update
from tidelog.errors import StoreError
from tidelog.store.durable import Store, latest
from tidelog.store.files import Files, identity
from tidelog.store.history import explainable, version_at
from tidelog.store.log import find_slots
from tidelog.store.objects import ObjectFiles
from tidelog.store.places import Remote, files_at, place_of
from tidelog.store.states import Unusable, usable_state


@pytest.fixture
def files(place: Files) -> Files:
    place.make_folders("manifests", "segments/Edge")
    return place


def all_of(files: Files) -> set[str]:
    return {name for folder in ("manifests", "segments", "states") for name in files.list(folder)}


def read_all(store: Store) -> None:
    for relation in BOTH.values():
        store.table(relation)
        store.asserted_since(relation)
    segments = store.changes_segments("Edge")
    assert segments
    store._read(EDGE, segments)


# -- the interface


def test_a_file_is_put_once(files: Files) -> None:
    files.put_if_absent("manifests/a", b"first")
    with pytest.raises(FileExistsError):
        files.put_if_absent("manifests/a", b"second")
    assert files.read("manifests/a") == b"first"
    assert list(files.list("manifests")) == ["manifests/a"]


def test_files_are_written_read_listed_and_deleted(files: Files) -> None:
    parts = [random.Random(n).randbytes(3_000_000) for n in range(4)]  # more than one part of an upload
    name = "segments/Edge/a b%2F#ä.parquet"
    created = files.put(name, lambda out: [out.write(part) for part in parts])
    assert created == identity(b"".join(parts)) == files.digest(name)
    assert files.read(name) == b"".join(parts)
    assert list(files.list("segments")) == [name]
    files.put(name, lambda out: out.write(b"other"))
    assert files.read(name) == b"other"
    for _ in range(2):
        files.delete(name)
    assert not list(files.list("segments"))
    for look in (files.read, files.digest):
        with pytest.raises(FileNotFoundError):
            look(name)


def test_a_write_that_fails_leaves_nothing(files: Files) -> None:
    def fail(out: object) -> None:
        out.write(bytes(20_000_000))  # type: ignore[attr-defined]
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        files.put("segments/Edge/a", fail)
    assert not list(files.list("segments"))


def test_tasks_can_use_the_same_files(files: Files) -> None:
    files.put_if_absent("manifests/a", b"content")
    assert pickle.loads(pickle.dumps(files)).read("manifests/a") == b"content"


# -- the store


def test_a_store_keeps_its_last_versions_and_nothing_else(files: Files) -> None:
    edges = make(files, 11)
    found = latest(files)
    assert found is not None
    with Store(files) as store:
        assert content(store).relations["Edge"] == edges
        assert content(store).commit == found.commit == 10
        assert store.is_shown
        before = store.current
        store.commit(update(store, edges ^ {(1, 2)}))
        now = store.current
    assert before is not None
    assert now is not None
    log = {slot.name for slot in find_slots(files)}
    assert {slot.commit for slot in find_slots(files)} == {10, 11}
    assert all_of(files) == log | before.needed | now.needed


def test_earlier_commits_are_remembered(files: Files) -> None:
    held = []
    for number in range(8):
        with Store(files, history=6) as store:
            store.commit(update(store, {(n, number) for n in range(number + 1)}))
            held.append(rows(store.table(EDGE)))
    assert explainable(files) == [3, 4, 5, 6, 7]
    for commit in range(2, 8):
        assert rows(version_at(files, commit).table(EDGE)) == held[commit]
    with pytest.raises(StoreError, match="no longer has the facts of commit 1; it has those since commit 2"):
        version_at(files, 1)


def test_damage_is_found(files: Files) -> None:
    make(files, 3)
    found = latest(files)
    assert found is not None
    assert found.state is not None
    for name, damaged in ((n, d) for n in sorted(found.needed) for d in (b"", b"other", None)):
        whole = files.read(name)
        if damaged is None:
            files.delete(name)
        else:
            files.put(name, lambda out, damaged=damaged: out.write(damaged))  # type: ignore[misc]
        with Store(files) as store:
            if name.startswith("states/"):
                with pytest.raises(Unusable):
                    usable_state(store.at, found.state, STAMP)
            else:
                with pytest.raises(StoreError, match=r"is corrupt|is missing"):
                    read_all(store)
        files.put(name, lambda out, whole=whole: out.write(whole))  # type: ignore[misc]


def test_two_runs_at_once_have_one_winner(objects: Callable[[str], ObjectFiles]) -> None:
    files = objects("two-runs")
    edges = make(files, 1)
    with Store(files) as first, Store(files) as second:
        first.claim()
        second.commit(update(second, edges | {(2, 2)}))
        with pytest.raises(StoreError, match=r"of the store s3://tests/two-runs; .* run again"):
            first.commit(update(first, edges | {(1, 1)}))
    with Store(files) as store:
        assert rows(store.table(EDGE)) == edges | {(2, 2)}


# -- places


def test_a_bucket_that_is_not_there_is_reported(objects: Callable[[str], ObjectFiles]) -> None:
    there = objects("x")
    elsewhere = ObjectFiles("s3://nowhere/x", there._options)
    with pytest.raises(StoreError, match=r"the store s3://nowhere/x cannot be opened: .*NoSuchBucket"):
        Store(elsewhere)


def test_an_object_store_that_does_not_answer_is_reported() -> None:
    options = {"endpoint": "http://127.0.0.1:9", "allow_http": "true", "skip_signature": "true"}
    place = place_of("s3://tests/x", Path(), options)
    assert isinstance(place, Remote)
    with pytest.raises(StoreError, match=r"the store s3://tests/x cannot be opened: "):
        latest(place)


def test_a_missing_package_is_reported_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(StoreError, match=r"needs the package obstore: pip install 'tidelog\[objects\]'"):
        latest(place_of("s3://tests/x", Path()))


def test_an_unknown_option_is_reported() -> None:
    with pytest.raises(StoreError, match=r"cannot be opened: .*endpiont"):
        latest(place_of("s3://tests/x", Path(), {"endpiont": "http://127.0.0.1:9"}))


def test_options_of_a_local_store_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="which has no options: remove store_options"):
        place_of("store", tmp_path, {"region": "x"})
    assert files_at(place_of("store", tmp_path)).folder == tmp_path / "store"
