"""Random histories of facts and rules, and what they come to, computed from scratch after each commit.

A *shape* is a program whose recursion is evaluated in one of the ways that Spark has for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import tidelog

__all__ = ["SHAPES", "Moment", "Shape", "play", "random_moments", "wanted"]

NODES = 9
INPUTS = """
input relation Edge(x: int, y: int)
input relation Begin(x: int)
"""
# relation by relation: its rows, and the changes of the last commit
Seen = dict[str, list[Any]]


class Moment(NamedTuple):
    """The facts after a commit, and the rules that come and go."""

    edges: frozenset[tuple[int, int]] = frozenset()
    begins: frozenset[tuple[int]] = frozenset()
    rules: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shape:
    """A program with a recursion, and rules that come and go."""

    text: str
    rules: tuple[str, ...]
    placement: str
    how: str  # what a session says of the recursion

    @property
    def relations(self) -> list[str]:
        lines = [line for line in self.text.splitlines() if line.startswith("output relation ")]
        return [line.removeprefix("output relation ").partition("(")[0] for line in lines]


SHAPES = {
    "in tasks": Shape(
        INPUTS
        + """
output relation Reach(x: int, y: int)
output relation Fan(x: int, n: int)
output relation Apart(x: int, y: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z), not Begin(z).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
Apart(x, y) :- Begin(x), Begin(y), not Reach(x, y).
""",
        ("Reach(y, x) :- Edge(x, y), Begin(x).", "Reach(x, z) :- Reach(x, y), Edge(z, y)."),
        "tasks",
        "tasks: its recursion passes column 0 of Reach through",
    ),
    "exchanged": Shape(
        INPUTS
        + """
output relation Met(x: int)
output relation Twice(x: int, y: int)
Met(x) :- Begin(x).
Met(y) :- Met(x), Edge(x, y).
Twice(x, y) :- Edge(x, y), not Met(x).
Twice(x, z) :- Twice(x, y), Twice(y, z).
""",
        ("Met(y) :- Met(x), Edge(y, x).", "Twice(y, x) :- Twice(x, y), Begin(x)."),
        "shuffled",
        "tasks send each other what they find",
    ),
    "best": Shape(
        INPUTS
        + """
output relation Cost(x: int, d: int)
Cost(x, d) :- Begin(x), var d = (0 * x).group_by(x).min().
Cost(y, d) :- Cost(x, a), Edge(x, y), var d = (a + 1 + (x * y) % 5).group_by(y).min().
""",
        ("Cost(y, d) :- Cost(x, a), Edge(y, x), var d = (a + 3).group_by(y).min().",),
        "shuffled",
        "tasks send each other what they find",
    ),
    "joined": Shape(
        INPUTS
        + """
output relation Odd(x: int, y: int)
Odd(x, y) :- Edge(x, y).
Odd(x, w) :- Odd(x, y), Odd(y, z), Odd(z, w), not Begin(w).
""",
        ("Odd(y, x) :- Edge(x, y), Begin(x).",),
        "shuffled",
        "by joins",
    ),
}


def random_moments(shape: Shape, seed: int, commits: int) -> list[Moment]:
    dice = Random(seed)
    made = [Moment()]
    for _ in range(commits):
        edges, begins, rules = map(set[Any], made[-1])
        edges -= {e for e in sorted(edges) if dice.random() < 0.2}
        edges |= {(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(dice.choice([1, 3, NODES]))}
        begins ^= {(dice.randrange(NODES),)}
        if len(made) > 1 and dice.random() < 0.4:
            rules ^= {dice.choice(shape.rules)}
        made.append(Moment(frozenset(edges), frozenset(begins), frozenset(rules)))
    return made[1:]


def play(shape: Shape, db: Any, moments: Sequence[Moment], given: Any = list) -> Iterator[Seen]:
    """Bring a session from moment to moment; `given` makes data of lists of rows."""
    for before, after in pairwise([Moment(), *moments]):
        with db.transaction() as tx:
            for name, old, new in (
                ("Edge", before.edges, after.edges),
                ("Begin", before.begins, after.begins),
            ):
                if old - new:
                    tx.delete(name, given(sorted(old - new)))
                if new - old:
                    tx.insert(name, given(sorted(new - old)))
            for rule in before.rules - after.rules:
                tx.remove_rule(rule)
            for rule in after.rules - before.rules:
                tx.add_rule(rule)
        yield {
            name: [sorted(map(list, db[name])), sorted([list(row), sign] for row, sign in tx.changes[name])]
            for name in shape.relations
        }


def wanted(shape: Shape, moments: Sequence[Moment]) -> Iterator[Seen]:
    """What `play` should see."""
    before: dict[str, set[Any]] = {name: set() for name in shape.relations}
    for moment in moments:
        text = "\n".join([shape.text, *moment.rules])
        db = tidelog.open(text=text)
        with db.transaction() as tx:
            tx.insert("Edge", sorted(moment.edges))
            tx.insert("Begin", sorted(moment.begins))
        now = {name: set(db[name]) for name in shape.relations}
        yield {
            name: [
                sorted(map(list, rows)),
                sorted([list(row), 1 if row in rows else -1] for row in rows ^ before[name]),
            ]
            for name, rows in now.items()
        }
        before = now
