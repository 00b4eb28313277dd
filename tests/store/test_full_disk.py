"""A write that fails leaves the store as it was, says so, and the next commit succeeds."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sizes import size
from store.histories import Rows, content, files, make, update
from tally import tally
from tidelog.errors import StoreError
from tidelog.store.disk import Disk
from tidelog.store.durable import Store
from tidelog.store.local import LocalFiles

WRITES = {"open", "write", "flush", "sync", "replace", "link", "sync folder", "make folder"}


class Full(Disk):
    """Has no space at the write of this number, counted from 0; with `for_good`, nor at any later one."""

    def __init__(self, at: int, *, for_good: bool) -> None:
        self.writes = 0
        self._at = at
        self._for_good = for_good

    def has_space(self) -> None:
        self._at = 1 << 30

    def fill(self) -> None:
        self._at = self.writes

    def step(self, what: str, path: Path) -> None:
        if what not in WRITES:
            return
        self.writes += 1
        if self.writes == self._at + 1 or (self._for_good and self.writes > self._at):
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("commits", [0, 1, 8])
def test_a_full_disk_at_any_write_leaves_the_store_as_it_was(
    tmp_path: Path, commits: int, for_good: bool
) -> None:
    origin, copy = tmp_path / "origin", tmp_path / "copy"
    before = make(origin, commits)
    after: Rows = before ^ {(1, 2), (200, 201)}
    failures = at = 0
    step = size(5, 1)
    while True:
        shutil.copytree(origin, copy)
        disk = Full(at, for_good=for_good)
        failed = commit_on(disk, copy, before if commits else None, after)
        shutil.rmtree(copy)
        failures += failed
        if disk.writes <= at:
            break
        at += step
    assert failures > 2
    tally("writes to a full disk", failures)


def commit_on(disk: Full, folder: Path, before: Rows | None, after: Rows) -> bool:
    """Commit to a store on a disk that gets full, and again when it has space; whether it failed at first."""
    failed = False
    try:
        store = Store(LocalFiles(folder, disk))
    except StoreError as error:
        assert "cannot be opened: No space left on device" in str(error)  # noqa: PT017
        store = Store(folder)
        failed = True
    with store:
        try:
            store.commit(update(store, after))
        except StoreError as error:
            assert "No space left on device; the store is unchanged" in str(error)  # noqa: PT017
            failed = True
            assert (None if store.current is None else content(store).relations["Edge"]) == before
            assert not [f for f in files(folder) if f.name.endswith(".unfinished")]
        disk.has_space()
        store.commit(update(store, after))
        assert content(store).relations["Edge"] == after
    with Store(folder) as again:
        assert content(again).relations["Edge"] == after
    return failed


SCRIPT = """
import resource, signal, sys
from pathlib import Path
from sizes import size
from store.histories import content, make, update
from tidelog.errors import StoreError
from tidelog.store.durable import Store
from tidelog.store.local import LocalFiles

folder = Path(sys.argv[1])
edges = make(folder, 2)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
more = edges | {(i * 7919 % 10007, i) for i in range(20000)}
with Store(folder) as store:
    for limit in (100, 2000, 20000, 60000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            store.commit(update(store, more))
        except StoreError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert content(store).relations["Edge"] == edges
    store.commit(update(store, more))
    assert content(store).relations["Edge"] == more
"""


def test_writes_that_the_system_refuses_leave_the_store_as_it_was(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path / "store")]
    folder = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("File too large; the store is unchanged") == 4


def test_the_message_says_what_failed_and_what_to_do(tmp_path: Path) -> None:
    make(tmp_path, 1)
    disk = Full(1 << 30, for_good=True)
    with Store(LocalFiles(tmp_path, disk)) as store:
        disk.fill()
        with pytest.raises(StoreError) as failed:
            store.commit(update(store, {(1, 1)}))
    assert str(failed.value) == (
        f"commit 1 could not be written to {tmp_path}: No space left on device; the store is unchanged: "
        "fix the cause and run again"
    )


def test_a_commit_that_was_made_is_not_undone_by_what_follows(tmp_path: Path) -> None:
    class Stuck(Disk):
        def remove(self, file: Path) -> None:
            raise OSError(errno.EIO, "Input/output error")

    edges = make(tmp_path, 3)
    with Store(LocalFiles(tmp_path, Stuck())) as store:
        store.commit(update(store, edges | {(1, 1)}))
    with Store(tmp_path) as again:
        assert content(again).relations["Edge"] == edges | {(1, 1)}
