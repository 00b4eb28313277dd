"""A damaged file of a store is reported with its name, or done without; other data never come."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizes import size
from store.histories import EDGE, Content, NoContent, Rows, content, file_of, files, make, rows, update
from tables.facts import patiently
from tally import tally
from tidelog.errors import StoreError
from tidelog.store.durable import Store, latest
from tidelog.store.history import version_at
from tidelog.store.manifest import HISTORY
from tidelog.store.marker import MARKER, SHOWN
from tidelog.store.sealing import sealed, unsealed

COMMITS = 5
FLIPS = size(20, 10**9)  # in each file
tried = settings(patiently, max_examples=size(60, 3000))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage") / "store"
    make(folder, COMMITS)
    return folder


@pytest.fixture(scope="module")
def expected(store: Path) -> Content:
    with Store(store) as opened:
        found = content(opened)
    assert len(found.asserted) > 1
    assert found.state is not None
    return found


@contextmanager
def harmed(file: Path, harm: Callable[[bytes], bytes | None]) -> Iterator[None]:
    """A file with other bytes, or without the file, for a while."""
    whole = file.read_bytes()
    damaged = harm(whole)
    file.unlink() if damaged is None else file.write_bytes(damaged)
    try:
        yield
    finally:
        file.write_bytes(whole)


def expect_error_or_the_same(folder: Path, file: Path, expected: Content) -> None:
    """A store with one damaged file says so, naming it, or holds what it held; only the state may be gone.

    A damaged manifest of an earlier commit is reported, and forgotten by the next run.
    """
    before = set(files(folder))
    if file.parent.name == HISTORY:
        with suppress(StoreError):
            assert rows(version_at(folder, int(file.stem)).table(EDGE)) == earlier_edges()[int(file.stem)]
    try:
        with Store(folder) as opened:
            found = content(opened)
            is_shown = opened.is_shown
    except StoreError as error:
        assert str(file) in str(error)  # noqa: PT017
        assert "restore" in str(error)  # noqa: PT017
        assert "states" not in file.parts
        assert file.name not in (MARKER, SHOWN)
        assert file.parent.name != HISTORY
        return
    finally:
        for claim in set(files(folder)) - before:
            claim.unlink()
    assert found in (expected, replace(expected, state=None))
    assert (found.state is None) <= ("states" in file.parts)
    assert is_shown or file.name == SHOWN


@cache
def earlier_edges() -> list[Rows]:
    """The edges of the commits of such a store."""
    with TemporaryDirectory() as folder:
        return [make(Path(folder, str(count)), count) for count in range(1, COMMITS + 1)]


def test_earlier_commits_are_known(store: Path) -> None:
    found = [rows(version_at(store, commit).table(EDGE)) for commit in range(COMMITS)]
    assert found == earlier_edges()
    assert sum(file.parent.name == HISTORY for file in files(store)) == COMMITS - 2


def test_one_flipped_bit_in_a_byte_of_any_file_never_gives_other_data(store: Path, expected: Content) -> None:
    dice = random.Random(1)
    flips = 0
    for file in files(store):
        length = file.stat().st_size
        for place in sorted(dice.sample(range(length), min(FLIPS, length))):
            bit = 1 << dice.randrange(8)

            def flip(whole: bytes, place: int = place, bit: int = bit) -> bytes:
                return whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]

            with harmed(file, flip):
                expect_error_or_the_same(store, file, expected)
            flips += 1
    assert flips >= 200
    tally("flipped bits in files of a store", flips)


def test_a_flipped_bit_in_a_segment_or_a_state_is_always_noticed(store: Path, expected: Content) -> None:
    used = {store / "segments" / file for file in getattr(latest(store), "files", ())}
    for file in used:
        with (
            harmed(file, lambda whole: whole[:40] + bytes([whole[40] ^ 4]) + whole[41:]),
            Store(store) as opened,
            pytest.raises(StoreError, match="its digest differs from the manifest"),
        ):
            content(opened)


@pytest.mark.parametrize("kept", [0, 1, 0.5, -1])
def test_a_file_that_is_cut_short_never_gives_other_data(store: Path, expected: Content, kept: float) -> None:
    for file in files(store):

        def cut(whole: bytes) -> bytes:
            return whole[: int(len(whole) * kept)] if kept == 0.5 else whole[: int(kept)]

        with harmed(file, cut):
            expect_error_or_the_same(store, file, expected)


def test_a_file_with_bytes_after_its_end_never_gives_other_data(store: Path, expected: Content) -> None:
    for file in files(store):
        with harmed(file, lambda whole: whole + b"\0"):
            expect_error_or_the_same(store, file, expected)


def test_a_missing_file_never_gives_other_data(store: Path, expected: Content) -> None:
    for file in files(store):
        if file == file_of(store, COMMITS - 2):  # the version before, which this one does not need
            continue
        with harmed(file, lambda _: None):
            expect_error_or_the_same(store, file, expected)
    assert (store / MARKER).exists()


def test_a_lost_last_manifest_is_reported_and_can_be_done_without(tmp_path: Path) -> None:
    make(tmp_path, 3)
    file_of(tmp_path, 2).unlink()
    with pytest.raises(
        StoreError, match=r"000000000002\.json is missing: .* delete .*shown to continue from commit 1"
    ):
        Store(tmp_path)
    with pytest.raises(StoreError, match="is missing"):
        latest(tmp_path)
    (tmp_path / SHOWN).unlink()
    with Store(tmp_path) as opened:
        assert opened.current is not None
        assert opened.current.commit == 1


def test_lost_manifests_do_not_take_the_segments_with_them(tmp_path: Path) -> None:
    make(tmp_path, 3)
    before = {file: file.read_bytes() for file in files(tmp_path)}
    manifests = [file for file in before if file.parent.name == "manifests"]
    for lost in (
        manifests,
        [*manifests, tmp_path / MARKER],
        [*manifests, tmp_path / MARKER, tmp_path / SHOWN],
    ):
        for file in lost:
            file.unlink(missing_ok=True)
        (tmp_path / "manifests").rmdir()
        for _ in range(2):
            with pytest.raises(
                StoreError, match=r"has segments but no manifest: .*/manifests was lost; restore it"
            ):
                Store(tmp_path)
        if tmp_path / MARKER not in lost:
            with pytest.raises(StoreError, match="manifests was lost"):
                latest(tmp_path)
        assert {file for file in before if file.exists()} == set(before) - set(lost)
        (tmp_path / "manifests").mkdir()
        for file, whole in before.items():
            file.write_bytes(whole)
    with Store(tmp_path) as opened:
        assert opened.current is not None
        assert opened.current.commit == 2


# -- garbage


@pytest.mark.parametrize("garbage", [b"", b"\xff\xfe\x00", b"7", b"{}", b"[" * 100_000, b'{"commit": 4}'])
def test_garbage_in_shown_shows_the_commit_again(store: Path, garbage: bytes) -> None:
    with harmed(store / SHOWN, lambda _: garbage), Store(store) as opened:
        assert not opened.is_shown
        opened.mark_shown()
        assert opened.is_shown


@given(data=st.data(), garbage=st.binary(min_size=1, max_size=200))
@tried
def test_garbage_in_any_file_never_gives_other_data(
    store: Path, expected: Content, data: st.DataObject, garbage: bytes
) -> None:
    file = data.draw(st.sampled_from(files(store)))
    first = data.draw(st.integers(0, file.stat().st_size))
    last = data.draw(st.integers(first, file.stat().st_size))
    with harmed(file, lambda whole: whole[:first] + garbage + whole[last:]):
        expect_error_or_the_same(store, file, expected)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data(), value=JSON)
@tried
def test_a_manifest_of_any_content_is_refused_or_read(
    store: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, value: object
) -> None:
    """Even one whose checksum is right: whoever wrote it, what it says is checked before it is followed."""
    copy = tmp_path_factory.mktemp("copy")  # what it says belongs to nobody may be removed
    shutil.copytree(store, copy, dirs_exist_ok=True)
    file = file_of(copy, COMMITS - 1)
    whole = unsealed(file.read_bytes())
    spot: object = whole
    while isinstance(spot, dict) and spot:
        key = data.draw(st.sampled_from(sorted(spot)))
        if not isinstance(spot[key], dict) or data.draw(st.booleans()):
            spot[key] = value
            break
        spot = spot[key]
    file.write_bytes(sealed(whole))
    with suppress(StoreError, NoContent), Store(copy) as opened:
        content(opened)
    shutil.rmtree(copy)


def test_a_corrupt_older_manifest_is_reported_and_can_be_deleted(tmp_path: Path) -> None:
    edges = make(tmp_path, 3)
    file_of(tmp_path, 1).write_bytes(b"{}")
    with pytest.raises(StoreError, match=r"000000000001\.json is corrupt"):
        Store(tmp_path)
    file_of(tmp_path, 1).unlink()
    with Store(tmp_path) as opened:
        opened.commit(update(opened, edges | {(100, 101)}))
        assert content(opened).relations["Edge"] == edges | {(100, 101)}
