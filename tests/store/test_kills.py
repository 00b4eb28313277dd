"""Whoever writes a store may be killed at any moment: the last complete commit stays, no change is lost."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from sizes import size
from store.histories import content, files
from store.places import bucket
from store.writer import added_up, edges_at
from tally import tally
from tidelog.store.durable import Store
from tidelog.store.files import Files
from tidelog.store.local import LocalFiles
from tidelog.store.marker import shown
from tidelog.store.objects import ObjectFiles

KILLS = size(4, 500)
LONGEST = 0.4  # seconds that a writer is left alone


def start(files: Files, log: Path) -> subprocess.Popen[str]:
    """A writer that is about to begin."""
    options = json.dumps(files._options if isinstance(files, ObjectFiles) else {})
    command = [sys.executable, "-m", "store.writer", files.place, str(log), options]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def test_a_writer_that_is_killed_again_and_again_leaves_whole_commits(tmp_path: Path) -> None:
    kill_writers(LocalFiles(tmp_path / "store"), tmp_path / "log", KILLS)
    assert not [f for f in files(tmp_path / "store") if f.name.endswith(".unfinished")]


def test_so_does_one_that_writes_to_an_object_store(tmp_path: Path) -> None:
    with bucket() as made:
        kill_writers(made("killed"), tmp_path / "log", size(2, 100))


def kill_writers(files: Files, log: Path, kills: int) -> None:
    log.mkdir()
    dice = random.Random()
    last = -1
    for _ in range(kills):
        with start(files, log) as writer:
            time.sleep(LONGEST * dice.random())
            writer.kill()
        assert writer.returncode == -signal.SIGKILL
        last = expect_whole_commits(files, log, last)
    tally("kills of writers of a store", kills)
    tally("commits of such writers", last + 1)


def expect_whole_commits(files: Files, log: Path, before: int) -> int:
    """The store holds a commit no older than what was seen or shown; its number, -1 if there is none."""
    if files.folder is not None and not files.folder.exists():
        return before
    with Store(files) as store:
        if store.current is None:
            assert before == -1
            return before
        found = content(store)
        last = shown(store.at)
        done = -1 if last is None else last.commit
        assert found.commit >= max(before, done)
        assert found.relations["Edge"] == edges_at(found.commit)
        assert found.relations["Node"] == {(None,), *((f"node {s}",) for s, _ in edges_at(found.commit))}
        old = edges_at(found.commit - 1) if found.commit else set()
        signed = {
            *((*e, 1) for e in edges_at(found.commit) - old),
            *((*e, -1) for e in old - edges_at(found.commit)),
        }
        assert found.changes.get("Edge", set()) == signed
    assert found.commit - done <= 1
    if done >= 0:
        assert added_up(log, done) == edges_at(done)
    return found.commit
