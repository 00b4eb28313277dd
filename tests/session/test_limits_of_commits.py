"""Limits on memory and time: which rule an error blames, and that nothing stays of what was too much."""

from __future__ import annotations

from itertools import count, pairwise
from typing import Any

import pytest

import tidelog
from tidelog.engine import limits as watch
from tidelog.engine.local.expressions import operations
from tidelog.engine.local.expressions.operations import Ledger
from tidelog.engine.local.rules import bytecode as frame
from tidelog.engine.local.rules import rounds as loop
from tidelog.engine.local.rules import runner
from tidelog.engine.local.storage import growing, table
from tidelog.engine.local.storage import pending as working
from tidelog.maintain.strategy import STRATEGIES
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
        assert "the commit exceeded the memory limit of 30.0 MB: it " in str(caught.value)
        assert f"; the running rule was `{PAIR_RULE}`" in str(caught.value)
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

    def exhausted(self: watch.Watch, ahead: int) -> None:
        if self.at_work:
            raise MemoryError

    with db.transaction() as tx:
        tx.insert("P", [(1,)])
        monkeypatch.setattr(watch, "_WEIGH_EVERY", 0.0)
        monkeypatch.setattr(watch.Watch, "_weigh", exhausted)
        with pytest.raises(tidelog.EngineError, match="out of memory; the running rule was `Small"):
            tx.commit()
    assert len(db["P"]) == 0


def test_a_timeout_blames_the_rule_at_work_not_the_slowest_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is up when the second unit begins, however long the first took."""
    db = tidelog.open(text=PAIRS)
    monkeypatch.setattr(db._state, "_limits", watch.Limits(timeout=1000.0))
    clock = iter([0.0, *[1.0] * 10_000])
    seen: list[str] = []

    def look(self: watch.Watch, where: object, ahead: int = 0) -> None:
        seen.extend(self.at_work)
        if self.at_work == (PAIR_RULE,):
            self._late = next(clock)
        original(self, where)  # type: ignore[arg-type]

    original = watch.Watch.look
    monkeypatch.setattr(watch.Watch, "look", look)
    with pytest.raises(tidelog.EngineError) as caught:
        insert(db, 5)
    assert "Small(x) :- P(x), x < 3." in seen
    assert str(caught.value) == (
        f"the commit exceeded the time limit of 1000 s; the running rule was `{PAIR_RULE}`; "
        "raise it with `timeout` (`--timeout` of `tidelog run`)"
    )


def test_rules_that_work_together_are_blamed_together() -> None:
    watching = watch.Watch(watch.Limits(), lambda: None, None)
    assert watching.blame() == "facts were being loaded and no rule was running"
    watching.at_work = ("A.", "B.")
    assert watching.blame() == "the running rules were `A.` and `B.`"
    watching.at_work = ("A.", "B.", "C.", "D.", "E.")
    assert watching.blame() == "the running rules were `A.` and `B.` and `C.` and 2 more"


# -- inside one step: counted in rows, looks and calls, never in seconds

CHAIN = "\n".join(
    [
        "input relation P(x: int)",
        "output relation Q(x: int, y: int)",
        "function f0(x: int): int { x + 1 }",
        *(f"function f{n}(x: int): int {{ (f{n - 1}(x) + f{n - 1}(x)) % 1000 }}" for n in range(1, 41)),
        *(
            f"function g{n}(x: int): int {{ (g{n - 1}(x + 1) + g{n - 1}(x + 2)) % 1000 }}"
            for n in range(1, 41)
        ),
        "function g0(x: int): int { x }",
        "Q(x, f40(x)) :- P(x).",
        "Q(x, g40(x)) :- P(x).",
    ]
)


def test_functions_that_call_others_twice_do_not_double_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trillion calls, a few hundred different ones."""
    calls = 0
    run = Ledger.run

    def counted(self: Ledger, *args: object) -> object:
        nonlocal calls
        calls += 1
        return run(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "run", counted)
    db = tidelog.open(text=CHAIN, facts={"P": [(1,), (2,)]})
    assert calls < 20_000
    f, g = {x: x + 1 for x in (1, 2)}, {x: x for x in range(100)}
    for _ in range(40):
        f = {x: 2 * y % 1000 for x, y in f.items()}
        g = {x: (g[x + 1] + g[x + 2]) % 1000 for x in range(len(g) - 2)}
    assert set(db["Q"]) == {(x, values[x]) for x in (1, 2) for values in (f, g)}


def watched(db: Session, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> list[int]:
    """Set limits; the rows that the engine has appended at each look from then on."""
    rows: list[int] = []
    monkeypatch.setattr(db._state, "_limits", watch.Limits(**limits))
    look = watch.Watch.look

    def looked(self: watch.Watch, *args: Any) -> None:
        rows.append(sum(table.rows for table in db._state.engine.tables.values()))  # type: ignore[attr-defined]
        look(self, *args)

    monkeypatch.setattr(watch.Watch, "look", looked)
    return rows


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("head", ["x, y", "x + 1, y"])
def test_the_limit_on_rows_acts_inside_a_round(
    head: str, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million combinations, few are looked at."""
    monkeypatch.setattr(runner, "MOST", 2**12)
    text = f"input relation P(x: int)\noutput relation Pair(x: int, y: int)\nPair({head}) :- P(x), P(y)."
    db = tidelog.open(text=text, strategy=strategy)
    watched(db, monkeypatch, max_rows=1000)
    with pytest.raises(
        tidelog.EngineError, match=r"Pair exceeded the limit of 1,000 rows.*raise it with `max_rows`"
    ):
        insert(db, 1000)
    assert (len(db["P"]), len(db["Pair"])) == (0, 0)
    insert(db, 31)
    assert len(db["Pair"]) == 961


def test_the_limit_on_rows_is_that_of_dense_relations_too() -> None:
    text = "input relation E(x: int, y: int)\noutput relation R(x: int, y: int)\n"
    text += "R(x, y) :- E(x, y).\nR(x, z) :- R(x, y), E(y, z)."
    edges = [(i, (i + 1) % 300) for i in range(300)]
    assert len(tidelog.open(text=text, facts={"E": edges})["R"]) == 90_000
    with pytest.raises(tidelog.EngineError, match="R exceeded the limit of 5,000 rows"):
        tidelog.open(text=text, facts={"E": edges}, max_rows=5000)


ROUNDS = """
input relation Edge(x: int, y: int)
output relation Walk(k: int, x: int)
Walk(x, y) :- Edge(x, y), x < 0.
Walk(k, y) :- Walk(k, x), Edge(x, y).
"""


def test_a_loop_of_small_rounds_is_looked_at_as_often_as_one_large_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 walks side by side: a round finds 300 rows, and a thousand of them would be one step."""
    monkeypatch.setattr(loop, "STEPS", 10_000)
    db = tidelog.open(text=ROUNDS)
    rows = watched(db, monkeypatch)
    with db.transaction() as tx:
        tx.insert("Edge", [*((-k, 0) for k in range(1, 301)), *((i, i + 1) for i in range(500))])
    assert len(db["Walk"]) == 300 * 501
    assert max(later - before for before, later in pairwise(rows)) < 3 * 10_000


def test_a_sweep_is_looked_at_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of the first atom, and all rows of the second."""
    monkeypatch.setattr(frame, "STEPS", 1000)
    db = tidelog.open(
        text="input relation P(x: int)\noutput relation One(x: int)\nOne(x) :- P(x), x < 1, P(y)."
    )
    rows = watched(db, monkeypatch, max_threads=1)
    insert(db, 20_000)
    assert len(rows) > 20


def test_a_table_that_would_exceed_the_memory_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    insert(tidelog.open(text=PAIRS), 10)
    db = tidelog.open(text=PAIRS, max_memory="50MB")
    monkeypatch.setattr(watch, "_resident", lambda: 0)  # nothing is taken so far
    with pytest.raises(tidelog.EngineError, match=r"it needs \d+\.\d MB.*raise it with `max_memory`"):
        insert(db, 2000)
    monkeypatch.undo()
    insert(db, 20)
    assert len(db["Pair"]) == 400


TEXTS = """
input relation P(x: string)
output relation Q(x: string)
"""


def looks(monkeypatch: pytest.MonkeyPatch, rule: str, data: list[tuple[str]]) -> int:
    """How often limits are looked at by a rule whose clock stands still between looks."""
    ticks = count(step=1)
    monkeypatch.setattr(operations.Pulse.__init__, "__defaults__", (lambda: float(next(ticks)),))
    db = tidelog.open(text=TEXTS + rule)
    rows = watched(db, monkeypatch)
    with db.transaction() as tx:
        tx.insert("P", data)
    return len(rows)


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        ('Q(regex_replace(x, "a", "b")) :- P(x).', [("a" * 5000,)]),
        ("Q(x ++ x) :- P(x).", [(str(i),) for i in range(5000)]),
        ('Q(y) :- P(x), var y = x.group_by(x).concat(",").', [(str(i),) for i in range(5000)]),
    ],
)
def test_limits_are_looked_at_inside_functions(
    rule: str, data: list[tuple[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert looks(monkeypatch, rule, data) > 600


def test_strings_that_grow_without_end_fail() -> None:
    with pytest.raises(tidelog.EngineError, match="the string exceeds 16777216 code points"):
        tidelog.open(text=TEXTS + "Q(x) :- P(x).\nQ(x ++ x) :- Q(x).", facts={"P": [("a",)]})
    for function in (
        'replace(x, "a", x)',
        'regex_replace(x, "a", "\\\\0$bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")',
    ):
        with pytest.raises(tidelog.EngineError, match="the string exceeds 16777216 code points"):
            tidelog.open(text=TEXTS + f"Q({function}) :- P(x).", facts={"P": [("a" * 500_000,)]})
    long = "b" * (2**24 + 1)
    db = tidelog.open(text=TEXTS + 'Q(replace(x, "a", "cc")) :- P(x).', facts={"P": [(long,)]})
    assert list(db["Q"]) == [(long,)]


@pytest.mark.parametrize("where", ["assert_rows", "changes"])
def test_memory_that_runs_out_anywhere_is_an_error_of_the_commit(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tidelog.open(text=PAIRS)
    insert(db, 3)

    def exhausted(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(db._state.engine, where, exhausted)  # type: ignore[attr-defined]
        with pytest.raises(tidelog.EngineError, match="out of memory"):
            insert(db, 5)
    assert len(db["Pair"]) == 9
    insert(db, 5)
    assert len(db["Pair"]) == 25


def test_a_table_stays_whole_if_there_is_no_memory_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each array of the tables in turn is the one that there is no memory for."""
    longer = growing.longer
    for failing in range(12):
        db = tidelog.open(text=PAIRS)
        insert(db, 10)
        grown = count()

        def exhausted(array: Any, length: int, failing: int = failing, grown: Any = grown) -> Any:
            if next(grown) == failing:
                raise MemoryError
            return longer(array, length)

        with monkeypatch.context() as patch:
            for module in (table, working):
                patch.setattr(module, "longer", exhausted)
            with pytest.raises(tidelog.EngineError, match="out of memory"):
                insert(db, 200)
        assert sorted(db["Pair"]) == [(x, y) for x in range(10) for y in range(10)]
        insert(db, 100)
        assert len(db["Pair"]) == 10_000
