"""Where recursive `min` and `max` run, by their sizes."""

from __future__ import annotations

import pytest

from tidelog.engine.spark.partitions.routes import BESIDE
from tidelog.engine.spark.placement import Placement, Sizes, place
from tidelog.plan.flat import Stratum
from tidelog.plan.flatten import flatten
from tidelog.program.draft import load

LABELS = """
input relation Edge(x: int, y: int)
Label(x, l) :- Edge(x, _), var l = x.group_by(x).min().
Label(y, l) :- Label(x, a), Edge(x, y), var l = a.group_by(y).min().
relation Label(x: int, l: int)
"""
PAIRS = """
input relation Road(x: int, y: int, w: int)
relation Way(x: int, y: int, w: int)
Way(x, y, d) :- Road(x, y, w), var d = w.group_by(x, y).min().
Way(x, z, d) :- Way(x, y, a), Road(y, z, w), var d = (a + w).group_by(x, z).min().
"""
MANY = 3_000_000


def recursion(text: str) -> Stratum:
    return next(stratum for stratum in flatten(load(text)).strata if stratum.recursive)


@pytest.mark.parametrize(
    ("text", "wanted", "sizes", "where"),
    [
        (LABELS, None, Sizes(10, 10), "driver"),
        (LABELS, "tasks", Sizes(10, 10), "tasks"),
        (LABELS, "shuffled", Sizes(10, 10), "shuffled"),
        (LABELS, None, Sizes(MANY, MANY), "shuffled"),
        (LABELS, "tasks", Sizes(MANY, MANY), "shuffled"),
        (PAIRS, None, Sizes(MANY, MANY), "tasks"),
        (PAIRS, "shuffled", Sizes(10, 10), "tasks"),
        (PAIRS, None, Sizes(MANY, BESIDE + 1), "shuffled"),
    ],
)
def test_best_values_are_exchanged_if_one_task_is_too_little(
    text: str, wanted: Placement | None, sizes: Sizes, where: str
) -> None:
    placed = place(recursion(text), wanted, sizes, whole=False, room=1000, sends=True)
    assert (placed.where, placed.sends) == (where, where == "shuffled")
    alone = place(recursion(text), wanted, sizes, whole=False, room=1000, sends=False)
    assert alone.where in ("driver", "tasks")


def test_what_was_exchanged_stays_so() -> None:
    few = Sizes(2000, 2000)
    assert place(recursion(LABELS), None, few, whole=False, room=1000, sends=True).where == "tasks"
    sent = place(recursion(LABELS), None, few, whole=False, room=1000, sends=True, sent=True)
    assert sent.where == "shuffled"
    assert place(recursion(LABELS), None, few, whole=True, room=1000, sends=True, sent=True).where == "tasks"
