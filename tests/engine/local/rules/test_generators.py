"""Generators and structured values in rules: every instance is found once, whatever changes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from conformance.reasoners import ImpatientScheduler
from engine.local.recount import check_state
from engine.local.rules.hand_made import ENTRY, NUMBERS, PAIR, TABLE, HandMade, flat, rule, var
from sizes import size
from tidelog.data import types
from tidelog.data.types import BOOL, INT, STRING
from tidelog.data.values import canonical
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.rules import runner
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import DIFFERENTIAL, DRED, RECOMPUTE
from tidelog.plan.flat import FlatProgram
from tidelog.program.typed import (
    Absent,
    Binary,
    Bind,
    Call,
    Constant,
    Each,
    Get,
    Lambda,
    Listing,
    Make,
    Match,
)
from tidelog.program.typed import Test as Condition

K, V, X, Y, Z = var("k"), var("v", NUMBERS), var("x"), var("y"), var("z")
M, E, S, P = var("m", TABLE), var("e", ENTRY), var("s", STRING), var("p", PAIR)
MAYBE = types.Vec(types.Option(INT))
W, U = var("w", types.Option(INT)), var("u", MAYBE)

SCHEDULERS: dict[str, Callable[[LocalEngine], Scheduler]] = {
    "elastic": Scheduler,
    "recompute": lambda engine: Scheduler(engine, RECOMPUTE),
    "dred": lambda engine: Scheduler(engine, DRED),
    "differential": lambda engine: Scheduler(engine, DIFFERENTIAL),
    "switching": ImpatientScheduler,
}


def _first(pair: Any) -> Get:
    return Get(pair, "Pair", 0, INT)


def _second(pair: Any) -> Get:
    return Get(pair, "Pair", 1, INT)


ITEMS = flat(
    {"Line": (INT, NUMBERS), "Closed": (INT,), "Item": (INT, INT), "Open": (INT,), "Sum": (INT,)},
    [rule("Item", [K, X], Match("Line", (K, V)), Each(X, V))],
    [rule("Open", [X], Match("Line", (K, V)), Each(X, V), Absent("Closed", (X,)))],
    [
        rule(
            "Sum",
            [Binary("+", X, Y, INT)],
            Match("Line", (K, V)),
            Each(X, V),
            Each(Y, Call("filter", (V,), NUMBERS, (Lambda((Z,), Binary("<", Z, X, BOOL)),))),
            Condition(Binary("<", K, X, BOOL)),
        )
    ],
)
GRAPH = flat(
    {"Start": (INT,), "Next": (INT, NUMBERS), "Reach": (INT,), "Twice": (INT, INT)},
    [
        rule("Reach", [X], Match("Start", (X,))),
        rule("Reach", [Y], Match("Reach", (X,)), Match("Next", (X, V)), Each(Y, V)),
    ],
    [rule("Twice", [X, Y], Match("Reach", (X,)), Match("Next", (X, V)), Each(Y, V), Match("Reach", (Y,)))],
)
ENTRIES = flat(
    {"Table": (INT, TABLE), "Entry": (INT, INT, STRING), "Key": (INT,)},
    [
        rule(
            "Entry",
            [K, X, S],
            Match("Table", (K, M)),
            Each(E, M),
            Bind(X, Get(E, "", 0, INT)),
            Bind(S, Get(E, "", 1, STRING)),
        )
    ],
    [rule("Key", [X], Match("Entry", (K, X, S)), Match("Entry", (X, Y, S)))],
)
PATHS = flat(
    {"Edge": (INT, INT), "Path": (PAIR,), "Back": (PAIR, NUMBERS)},
    [
        rule("Path", [Make("Pair", (X, Y), PAIR)], Match("Edge", (X, Y))),
        rule(
            "Path",
            [Make("Pair", (_first(P), Z), PAIR)],
            Match("Path", (P,)),
            Bind(Y, _second(P)),
            Match("Edge", (Y, Z)),
        ),
    ],
    [
        rule(
            "Back",
            [P, Listing((Y, X), NUMBERS)],
            Match("Path", (P,)),
            Bind(X, _first(P)),
            Bind(Y, _second(P)),
            Absent("Edge", (Y, X)),
        )
    ],
)
KNOWN = flat(
    {"Line": (INT, MAYBE), "Known": (types.Option(INT),), "Found": (types.Option(INT), INT)},
    [rule("Found", [W, K], Match("Known", (W,)), Match("Line", (K, U)), Each(W, U))],
)
ALL = flat(
    {"Line": (INT, MAYBE), "Is": (types.Option(INT),)},
    [rule("Is", [W], Match("Line", (K, U)), Each(W, U))],
)


def _numbers(random: Random) -> list[int]:
    return [random.randrange(5) for _ in range(random.choice([0, 1, 2, 3, 5]))]


def _maybe(random: Random) -> list[int | None]:
    return [random.choice([None, 1, 2, 3]) for _ in range(random.choice([0, 1, 3]))]


def _texts(random: Random) -> dict[int, str]:
    return {random.randrange(4): random.choice("ab") for _ in range(random.choice([0, 1, 3]))}


CASES: dict[str, tuple[FlatProgram, dict[str, Callable[[Random], tuple[Any, ...]]]]] = {
    "items": (
        ITEMS,
        {"Line": lambda r: (r.randrange(4), _numbers(r)), "Closed": lambda r: (r.randrange(5),)},
    ),
    "graph": (
        GRAPH,
        {"Next": lambda r: (r.randrange(5), _numbers(r)), "Start": lambda r: (r.randrange(5),)},
    ),
    "entries": (ENTRIES, {"Table": lambda r: (r.randrange(4), _texts(r))}),
    "paths": (PATHS, {"Edge": lambda r: (r.randrange(5), r.randrange(5))}),
    "known": (
        KNOWN,
        {"Line": lambda r: (r.randrange(3), _maybe(r)), "Known": lambda r: (r.choice([None, 1, 2, 3]),)},
    ),
    "all": (ALL, {"Line": lambda r: (r.randrange(3), _maybe(r))}),
}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("case", CASES)
def test_random_changes_leave_what_follows_from_the_facts(case: str, scheduler: str) -> None:
    program, makers = CASES[case]
    for seed in range(size(10, 100)):
        random = Random(seed)
        reasoner = HandMade(program, SCHEDULERS[scheduler])
        for _ in range(8):
            inserted = {name: [make(random) for _ in range(4)] for name, make in makers.items()}
            held = {name: sorted(reasoner.facts[name], key=repr) for name in makers}
            deleted = {
                n: random.sample(rows, min(len(rows), random.choice([0, 2, 4]))) for n, rows in held.items()
            }
            kept = {
                name: {tuple(map(canonical, program.relations[name].types, row)) for row in rows}
                for name, rows in inserted.items()
            }
            deleted = {name: [row for row in rows if row not in kept[name]] for name, rows in deleted.items()}
            reasoner.change(inserted, deleted)
            assert dict(reasoner.contents) == reasoner.expected(), (case, seed)
            check_state(reasoner)


def test_equal_items_are_instances_of_their_own() -> None:
    reasoner = HandMade(ITEMS)
    reasoner.change({"Line": [(1, [7, 7, 8])]}, {})
    assert reasoner.contents["Item"] == {(1, 7), (1, 8)}
    check_state(reasoner)  # which counts two instances of the first
    assert reasoner.stats is not None


def test_many_items_are_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MOST", 16)
    monkeypatch.setattr(runner, "_FIRST_PART", 4)
    reasoner = HandMade(ITEMS)
    reasoner.change({"Line": [(i, list(range(i % 40))) for i in range(60)]}, {})
    assert dict(reasoner.contents) == reasoner.expected()
    reasoner.change({}, {"Line": [(i, list(range(i % 40))) for i in range(0, 60, 3)]})
    assert dict(reasoner.contents) == reasoner.expected()
    check_state(reasoner)


FAILING = flat(
    {"Line": (INT, INT), "Skipped": (INT,), "Part": (INT, INT)},
    [
        rule(
            "Part",
            [K, Binary("/", Constant(12, INT), X, INT)],
            Match("Line", (K, Y)),
            Each(X, Call("range", (Binary("/", Constant(4, INT), Y, INT), Constant(5, INT)), NUMBERS)),
            Absent("Skipped", (K,)),
        )
    ],
)


def test_a_collection_that_fails_is_an_error_only_if_the_rest_holds() -> None:
    reasoner = HandMade(FAILING)
    reasoner.change({"Line": [(1, 2), (2, 0)], "Skipped": [(2,)]}, {})
    assert reasoner.contents["Part"] == {(1, 6), (1, 4), (1, 3)}
    check_state(reasoner)
    with pytest.raises(EngineError, match="division by zero, where k = 2, y = 0"):
        reasoner.change({}, {"Skipped": [(2,)]})
    assert reasoner.contents["Part"] == {(1, 6), (1, 4), (1, 3)}


def test_an_item_that_fails_is_an_error_only_if_the_rest_holds() -> None:
    reasoner = HandMade(FAILING)
    reasoner.change({"Line": [(1, 5)], "Skipped": [(1,)]}, {})
    assert "Part" not in reasoner.contents
    with pytest.raises(EngineError, match="division by zero, where k = 1, y = 5, x = 0"):
        reasoner.change({}, {"Skipped": [(1,)]})
    reasoner.change({"Line": [(3, 4)]}, {})
    assert reasoner.contents["Part"] == {(3, 12), (3, 6), (3, 4), (3, 3)}
