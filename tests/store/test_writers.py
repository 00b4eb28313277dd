"""Of several writers of a store, exactly one makes each commit, and the others are told."""

from __future__ import annotations

import random
import threading
from ast import literal_eval
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from sizes import size
from store.histories import EDGE, Rows, rows
from store.places import Died, Faulty, MemoryFiles
from tally import tally
from tidelog.errors import StoreError
from tidelog.store.durable import Store, Update, latest
from tidelog.store.files import Files
from tidelog.store.history import version_at
from tidelog.store.local import LocalFiles
from tidelog.store.log import find_slots
from tidelog.store.manifest import HISTORY, SEGMENTS
from tidelog.store.marker import MARKER
from tidelog.store.sidecars import FILE, FILES, SidecarChange
from tidelog.store.states import Offer, usable_state
from tidelog.tables.given import to_table
from tidelog.tables.signed import difference

RUN_AGAIN = "run again"
REMEMBERED = 4


def opened(files: Files) -> Store:
    return Store(files, REMEMBERED)


def add(store: Store, *edges: tuple[int, int]) -> None:
    """Commit these edges in addition to those that the store has, with a state that lists all of them.

    The program lists them, too, and a sidecar has them once more.
    """
    before = rows(store.table(EDGE))
    wanted = before | set(edges)
    changes = {"Edge": difference(store.table(EDGE), to_table(EDGE, sorted(wanted)))}
    text = repr(sorted(wanted))
    state = Offer(lambda out: out.write(text.encode()), "a stamp", is_missed=True)
    new = to_table(EDGE, sorted(wanted - before))
    added = new.append_column(FILE, pa.array([0] * new.num_rows, pa.int64()))
    sidecars = {"Edge": {FILES: SidecarChange("all", added)}}
    store.commit(Update(text, {"Edge": EDGE}, changes, state=state, sidecars=sidecars))


def edges_of(files: Files) -> Rows:
    """What a store holds; all its files are intact, also those of the commits that it remembers."""
    with opened(files) as store:
        found = rows(store.table(EDGE)) if store.current is not None else set()
        if store.current is not None:
            assert store.current.state is not None
            state = usable_state(store.at, store.current.state, "a stamp")
            text = state if isinstance(state, bytes) else state.read_bytes()
            assert text == repr(sorted(found)).encode()
            kept = store.sidecar("Edge", FILES)
            parts = [] if kept is None else [kept.live(part) for part in kept.sidecar.parts]
            assert set().union(*(rows(part.drop_columns([FILE])) for part in parts)) == found
            earlier = remembered(files, store.current.commit)
            for older, newer in pairwise(earlier):
                assert older < newer
            assert not earlier or earlier[-1] == found
        return found


def remembered(files: Files, last: int) -> list[Rows]:
    """The contents of the commits that a store remembers, in order."""
    found = []
    for commit in range(last + 1):
        try:
            version = version_at(files, commit)
            edges = rows(version.table(EDGE))
        except StoreError as error:
            assert commit <= last - REMEMBERED, commit
            gone = "no longer has the facts" in str(error)
            assert gone or "is missing" in str(error)  # noqa: PT017 - until the next run
            continue
        assert version.current is not None
        assert set(literal_eval(version.current.program)) == edges
        found.append(edges)
    return found


def expect_clean(files: MemoryFiles) -> None:
    """After a commit that nobody disturbed, a store has just what it needs."""
    with opened(files) as store:
        add(store, (-1, -1))
        assert store.current is not None
        last = store.current.commit
    past = sorted(int(name.split("/")[1][:12]) for name in files.list(HISTORY))
    assert set(range(max(0, last + 1 - REMEMBERED), last - 1)) <= set(past)
    needed = set(files.list(HISTORY)) | {slot.name for slot in find_slots(files) if slot.commit >= last - 1}
    for commit in (*past, *range(max(0, last - 1), last + 1)):
        made = version_at(files, commit).current
        assert made is not None
        pinned = {f"{SEGMENTS}/{segment.file}" for segment in made.relations["Edge"].segments}
        needed |= made.needed if commit >= last - 1 else pinned
    assert needed == set(files.content) - {MARKER}


class Unlocked(LocalFiles):
    """A local disk whose locks do nothing, as on some network drives."""

    def lock(self) -> Callable[[], None]:
        self.make_folders("")
        return lambda: None


@pytest.fixture(params=["memory", "disk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return MemoryFiles() if request.param == "memory" else Unlocked(tmp_path / "store")


def test_the_later_of_two_writers_commits_and_the_earlier_one_is_told(files: Files) -> None:
    with opened(files) as first:
        add(first, (0, 0))
        with opened(files) as second:
            add(second, (2, 2))
            with pytest.raises(StoreError, match=RUN_AGAIN):
                add(first, (1, 1))
            with pytest.raises(StoreError, match=RUN_AGAIN):
                add(first, (1, 1))
            add(second, (3, 3))
    assert edges_of(files) == {(0, 0), (2, 2), (3, 3)}


def test_who_only_looks_does_not_keep_a_writer_from_committing(files: Files) -> None:
    with opened(files) as first:
        add(first, (0, 0))
        opened(files).close()
        latest(files)
        add(first, (1, 1))
    assert edges_of(files) == {(0, 0), (1, 1)}


def test_a_claim_keeps_earlier_writers_from_committing_before_anything_is_committed(files: Files) -> None:
    with opened(files) as first, opened(files) as second:
        first.claim()
        second.claim()
        with pytest.raises(StoreError, match=RUN_AGAIN):
            add(first, (1, 1))
        add(second, (2, 2))
    assert edges_of(files) == {(2, 2)}


@pytest.mark.parametrize("before", [1, 7])
@pytest.mark.parametrize("others", [1, 4])
def test_a_writer_that_pauses_anywhere_and_comes_back_harms_nobody(others: int, before: int) -> None:
    """At each operation of a commit, another process makes some commits of its own."""
    step = kept = 0
    while True:
        content: dict[str, bytes] = {}
        with opened(MemoryFiles(content)) as store:
            for number in range(before):
                add(store, (0, number))
        after = Interrupting(content, step, others)
        try:
            with opened(after) as slow:
                add(slow, (1, 1))
            possible: tuple[Rows, ...] = ({(1, 1)},)
        except StoreError as error:
            assert RUN_AGAIN in str(error)  # noqa: PT017
            possible = (set(), {(1, 1)}) if "may have been made" in str(error) else (set(),)
        theirs = {(n, n) for n in range(2, 2 + others)} if after.is_done else set()
        ours = {(0, number) for number in range(before)}
        assert edges_of(MemoryFiles(content)) - ours - theirs in possible, step
        assert edges_of(MemoryFiles(content)) >= ours | theirs, step
        expect_clean(MemoryFiles(content))
        kept += possible == ({(1, 1)},)
        if not after.is_done:
            break
        step += 1
    assert step > 12
    assert 1 < kept < step


class Interrupting(Faulty):
    """Before the operation of this number, another process commits."""

    def __init__(self, content: dict[str, bytes], at: int, commits: int) -> None:
        super().__init__(content, self._count)
        self.is_done = False
        self._left = at
        self._commits = commits

    def _count(self, what: str, name: str) -> None:
        if self._left:
            self._left -= 1
        elif not self.is_done:
            self.is_done = True
            for number in range(2, 2 + self._commits):
                with opened(MemoryFiles(self.content)) as other:
                    add(other, (number, number))


@pytest.mark.parametrize("fault", ["lost", "repeated"])
def test_a_put_whose_answer_is_lost_is_found_to_be_made(fault: str) -> None:
    files = Faulty({}, lambda what, name: fault if what == "put" else None)
    with opened(files) as store:
        add(store, (1, 1))
        add(store, (2, 2))
    assert edges_of(MemoryFiles(files.content)) == {(1, 1), (2, 2)}


@pytest.mark.parametrize("does_arrive", [True, False])
def test_a_put_that_may_still_arrive_is_reported_and_nothing_is_removed(does_arrive: bool) -> None:
    files = Faulty({})
    with opened(files) as store:
        add(store, (1, 1))
        files.before = lambda what, name: "late" if what == "put" else None
        with pytest.raises(StoreError, match="may have been made or not: run again, to find out"):
            add(store, (2, 2))
    files.before = lambda *_: None
    if does_arrive:
        files.arrive()
    assert edges_of(files) == {(1, 1)} | ({(2, 2)} if does_arrive else set())
    with opened(files) as store:
        add(store, (3, 3))
    files.arrive()
    assert edges_of(files) == {(1, 1), (3, 3)} | ({(2, 2)} if does_arrive else set())


def test_files_of_a_writer_that_may_still_commit_are_not_removed() -> None:
    content: dict[str, bytes] = {}
    with opened(MemoryFiles(content)) as store:
        add(store, (0, 0))

        def look(what: str, name: str) -> None:
            if what == "put" and name.startswith("manifests/"):  # all its files are written
                opened(MemoryFiles(content)).close()
                with opened(MemoryFiles(content)) as other:
                    other._sweep(0)

        with opened(Faulty(content, look)) as writing:
            add(writing, (1, 1))
    assert edges_of(MemoryFiles(content)) == {(0, 0), (1, 1)}


def test_what_writers_left_that_cannot_commit_any_more_is_removed() -> None:
    content: dict[str, bytes] = {}
    with opened(MemoryFiles(content)) as store:
        add(store, (0, 0))

    def die(what: str, name: str) -> None:
        if what == "put" and name.endswith("-1.json"):
            raise Died

    with pytest.raises(Died), opened(Faulty(content, die)) as store:
        add(store, (1, 1))
    left = {name for name in content if "-2" in name}
    assert left
    with opened(MemoryFiles(content)) as store:
        add(store, (2, 2))
    assert not left & content.keys()


# -- many writers at once


class Crowd:
    """Writers in threads, of which one at a time does one operation; who is next, dice say."""

    def __init__(self, seed: int, writers: int, commits: int) -> None:
        self._dice = random.Random(seed)
        self._content: dict[str, bytes] = {}
        self.made: Rows = set()
        self.unknown: Rows = set()
        self._turns = [threading.Semaphore(0) for _ in range(writers)]
        self._back = threading.Semaphore(0)
        self._alive = set(range(writers))
        self._commits = commits
        self._late: list[Faulty] = []
        self.problems: list[BaseException] = []

    def run(self) -> Rows:
        threads = [threading.Thread(target=self._write, args=(n,)) for n in self._alive]
        for thread in threads:
            thread.start()
        while self._alive:
            if self._late and self._dice.random() < 0.02:
                self._late.pop().arrive()
            self._turns[self._dice.choice(sorted(self._alive))].release()
            self._back.acquire()
        for thread in threads:
            thread.join()
        for files in self._late:
            files.arrive()
        found = edges_of(MemoryFiles(self._content))
        expect_clean(MemoryFiles(self._content))
        return found

    def _write(self, number: int) -> None:
        self._turns[number].acquire()
        try:
            for commit in range(self._commits):
                self._commit(number, (number, commit))
        except BaseException as error:
            self.problems.append(error)
        self._alive.discard(number)
        self._back.release()

    def _commit(self, number: int, edge: tuple[int, int]) -> None:
        files = Faulty(self._content, lambda what, _: self._before(number, what))
        try:
            with opened(files) as store:
                add(store, edge)
            self.made.add(edge)
        except StoreError as error:
            if "may have been made" in str(error):
                self.unknown.add(edge)
                self._late.append(files)
            if not any(said in str(error) for said in (RUN_AGAIN, "cannot be opened: timed out")):
                raise
        except Died:
            self.unknown.add(edge)

    def _before(self, number: int, what: str) -> str | None:
        self._back.release()
        self._turns[number].acquire()
        chance = self._dice.random()
        if chance < 0.01:
            raise Died
        if what != "put":
            return None
        return "late" if chance < 0.05 else "lost" if chance < 0.1 else "repeated" if chance < 0.15 else None


@pytest.mark.parametrize("seed", range(size(30, 3000)))
def test_many_writers_that_die_and_lose_answers_leave_exactly_what_was_committed(seed: int) -> None:
    crowd = Crowd(seed, writers=2 + seed % 3, commits=4)
    found = crowd.run()
    assert not crowd.problems
    assert crowd.made <= found <= crowd.made | crowd.unknown
    tally("commits of writers that compete", len(found))
