"""Limits on memory and time: which rule an error blames, and that nothing stays of what was too much."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.engine import watch
from tidelog.session.session import Session

PAIRS = """
input relation P(x: int)
output relation Small(x: int)
output relation Pair(x: int, y: int)
Small(x) :- P(x), x < 3.
Pair(x, y) :- P(x), P(y).
"""
PAIR_RULE = "Pair(x, y) :- P(x), P(y)."


def insert(db: Session, count: int) -> None:
    with db.transaction() as tx:
        tx.insert("P", [(i,) for i in range(count)])


def test_a_commit_that_takes_too_much_memory_blames_the_rule_and_changes_nothing() -> None:
    insert(tidelog.open(text=PAIRS), 10)  # what is compiled at first use counts, too
    db = tidelog.open(text=PAIRS, max_memory="30MB")
    insert(db, 10)
    before = db.snapshot()
    for _ in range(2):  # what the first attempt took is given back: the second is refused as well
        with pytest.raises(tidelog.EngineError) as caught:
            insert(db, 1500)
        assert f"its limit is 30.0 MB; the rule at work was `{PAIR_RULE}`" in str(caught.value)
        assert {name: set(view) for name, view in db.snapshot().items()} == {
            name: set(view) for name, view in before.items()
        }
    insert(db, 20)
    assert len(db["Pair"]) == 400


def test_a_commit_within_its_memory_is_carried_out() -> None:
    db = tidelog.open(text=PAIRS, max_memory=500_000_000)
    insert(db, 300)
    assert len(db["Pair"]) == 90_000


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4_000_000_000),
        ("1.5 gb", 1_500_000_000),
        ("512MiB", 512 * 2**20),
        ("100", 100),
        ("2k", None),
        ("much", None),
        ("-4GB", None),
        ("", None),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int | None) -> None:
    assert watch.bytes_of(text) == size


@pytest.mark.parametrize("wrong", ["4 giga", 0, -1, True])
def test_a_memory_limit_that_is_none_is_refused(wrong: int | str) -> None:
    with pytest.raises(tidelog.SessionError, match="`max_memory` is"):
        tidelog.open(max_memory=wrong)


def test_an_allocation_that_fails_is_an_error_of_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    db = tidelog.open(text=PAIRS, max_memory="1TB")

    def exhausted(self: watch.Watch) -> None:
        if self.at_work:
            raise MemoryError

    with db.transaction() as tx:
        tx.insert("P", [(1,)])
        monkeypatch.setattr(watch, "_WEIGH_EVERY", 0.0)
        monkeypatch.setattr(watch.Watch, "_weigh", exhausted)
        with pytest.raises(tidelog.EngineError, match="there is no memory left; the rule at work was `Small"):
            tx.commit()
    assert len(db["P"]) == 0


def test_a_timeout_blames_the_rule_at_work_not_the_slowest_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is up when the second unit begins, however long the first took."""
    db = tidelog.open(text=PAIRS)
    monkeypatch.setattr(db._state, "_limits", watch.Limits(timeout=1000.0))
    clock = iter([0.0, *[1.0] * 10_000])
    seen: list[str] = []

    def look(self: watch.Watch, where: object) -> None:
        seen.extend(self.at_work)
        if self.at_work == (PAIR_RULE,):
            self._late = next(clock)
        original(self, where)  # type: ignore[arg-type]

    original = watch.Watch.look
    monkeypatch.setattr(watch.Watch, "look", look)
    with pytest.raises(tidelog.EngineError) as caught:
        insert(db, 5)
    assert "Small(x) :- P(x), x < 3." in seen
    assert str(caught.value) == f"the commit took more than 1000 s; the rule at work was `{PAIR_RULE}`"


def test_rules_that_work_together_are_blamed_together() -> None:
    watching = watch.Watch(watch.Limits(), lambda: None, None)
    assert watching.blame() == "facts were being taken in, and no rule was at work"
    watching.at_work = ("A.", "B.")
    assert watching.blame() == "the rules at work were `A.` and `B.`"
    watching.at_work = ("A.", "B.", "C.", "D.", "E.")
    assert watching.blame() == "the rules at work were `A.` and `B.` and `C.` and 2 more"
