"""Random programs with random edits of facts and rules, as text, reproducible by seed.

A *flavour* says what rules may contain: "positive" (atoms, constants, repeated variables, wildcards),
"negated" (and negation with wildcards), "guarded" (and conditions and assignments), "full" (and options,
disjunctions, several heads, aggregates, and min/max in recursion), "typed" (and strings, doubles and options
in columns). "deep" and "large" are full programs over wider domains: long paths, and a few hundred facts.
Arithmetic stays within a small domain, so every program has a finite result; divisions and sums may fail, and
then every reasoner has to refuse the commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from oracle.rules import Rules
from oracle.schema import BEST, COLUMNS, INT, TYPED_INPUTS, Values, declarations
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.errors import ProgramError
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program

FLAVOURS: Final = ("positive", "negated", "guarded", "full", "typed", "deep", "large")
WIDE: Final = ("deep", "large")
DECLARED: Final = load(declarations())


@dataclass(frozen=True)
class Shape:
    """How long a history is, and how much it is about."""

    steps: int
    sizes: tuple[int, ...]
    facts: tuple[int, ...]
    edits: tuple[int, ...]
    rules: tuple[int, ...]


SMALL: Final = Shape(6, (2, 3, 3, 4, 5), (8, 14, 20, 30), (0, 1, 2, 5), (2, 3, 4, 5))
DEEP: Final = Shape(5, (8, 12, 20, 30), (20, 35), (1, 2, 4), (0, 0, 1, 2))
LARGE: Final = Shape(3, (150, 300), (200, 350), (1, 5, 60), (0,))
SHAPES: Final = {"deep": DEEP, "large": LARGE}


@dataclass(frozen=True)
class Step:
    """The program from now on, and a change of the asserted facts."""

    program: Program
    facts: Mapping[str, ZSet[Row]]
    edits: tuple[str, ...]


class Generator:
    def __init__(self, seed: int, flavour: str) -> None:
        self.random = Random(f"{flavour}:{seed}")
        self.flavour = flavour
        self.shape = SHAPES.get(flavour, SMALL)
        size = self.random.choice(self.shape.sizes)
        # an engine may refuse the smallest number where an option of it is stored
        ends = self.random.random() < 0.1 and flavour != "typed"
        self.values = Values(self.random, size, ends)
        self.rules = Rules(self.random, flavour, self.values)
        self.facts: dict[str, set[Row]] = {name: set() for name in COLUMNS}
        self.deleted: list[tuple[str, Row]] = []

    def steps(self) -> Iterator[Step]:
        """A first load with a handful of rules, then edits."""
        program = DECLARED
        for number in range(self.shape.steps):
            draft = Draft(program)
            if number == 0:
                edits = self._first_rules(draft)
                changes = self._edit_facts(self.random.choice(self.shape.facts))
            else:
                edits = self._edit_rules(draft)
                changes = self._next_facts()
            program = draft.finish()
            yield Step(program, changes, tuple(edits))

    # -- rules

    def _first_rules(self, draft: Draft) -> list[str]:
        edits: list[str] = []
        wanted = self.random.choice(self.shape.rules)
        count = 2 if self.flavour in WIDE else self.random.choice([0, 1, 1, 2])
        for _ in range(count):
            edits += self._try(draft, self.rules.family())
        return edits + self._add_rules(draft, wanted)

    def _edit_rules(self, draft: Draft) -> list[str]:
        edits = self._remove_rules(draft)
        if self.random.random() < 0.15:
            edits += self._try(draft, self.rules.family())
        if self.flavour == "large":
            return edits
        return edits + self._add_rules(draft, self.random.choice([0, 0, 1, 2]))

    def _remove_rules(self, draft: Draft) -> list[str]:
        rules = sorted(draft.finish().rules)
        gone = self.random.sample(rules, min(len(rules), self.random.choice([0, 0, 0, 1, 2])))
        for rule in gone:
            draft.remove_rule(rule)
        try:
            draft.finish()
        except ProgramError:  # one of a recursive min's rules went, and the rest no longer fits
            for rule in gone:
                draft.load(rule)
            return []
        return [f"- {rule}" for rule in gone]

    def _add_rules(self, draft: Draft, wanted: int) -> list[str]:
        added: list[str] = []
        for _ in range(40):
            if len(added) >= wanted:
                break
            added += self._try(draft, (self.rules.rule(),))
        return added

    @staticmethod
    def _try(draft: Draft, texts: tuple[str, ...]) -> list[str]:
        """Add rules, all or, if they do not fit, none."""
        trial = draft.copy()
        try:
            for text in texts:
                trial.load(text)
            trial.finish()
        except ProgramError:
            return []
        for text in texts:
            draft.load(text)
        return [f"+ {text}" for text in texts]

    # -- facts

    def _next_facts(self) -> dict[str, ZSet[Row]]:
        """A few single changes, or a large share of a relation goes, or what went comes back."""
        draw = self.random.random()
        changes: dict[str, dict[Row, int]] = {}
        if draw < 0.15:
            share = self.random.choice([0.3, 0.7, 1.0])
            for name in self.random.sample(sorted(COLUMNS), 6):
                for row in sorted(self.facts[name], key=repr):
                    if self.random.random() < share:
                        changes.setdefault(name, {})[row] = -1
        elif draw < 0.3:
            for name, row in self.deleted:
                changes.setdefault(name, {})[row] = 1
        else:
            return self._edit_facts(self.random.choice(self.shape.edits))
        return self._take(changes)

    def _edit_facts(self, count: int) -> dict[str, ZSet[Row]]:
        changes: dict[str, dict[Row, int]] = {}
        names = self._asserted()
        for _ in range(count):
            name = self.random.choice(names)
            row = self._row(name)
            there = row in self.facts[name]
            # now and then, insert what is there or delete what is not: that changes nothing
            insert = not there if self.random.random() < 0.9 else there
            changes.setdefault(name, {})[row] = 1 if insert else -1
        return self._take(changes)

    def _asserted(self) -> list[str]:
        names = ["E", "E", "E", "E", "F", "T", "G"]
        if self.flavour == "typed":
            names = ["E", "F", "G", *TYPED_INPUTS, *TYPED_INPUTS]
        if self.random.random() < 0.4:
            names += [*self.rules.pool, *(BEST if self.flavour in ("full", "typed") else ())]
        return names

    def _row(self, name: str) -> Row:
        """Often a row that is there, so that it goes; in a wide domain an edge to a near neighbour."""
        if self.facts[name] and self.random.random() < 0.25:
            return self.random.choice(sorted(self.facts[name], key=repr))
        if self.flavour in WIDE and all(t == INT for t in COLUMNS[name]) and COLUMNS[name]:
            start, reach = self.values.number(), self.random.choice([1, 1, 1, 2, self.values.size])
            steps = [start]
            for _ in COLUMNS[name][1:]:
                steps.append((steps[-1] + self.random.randint(1, reach)) % self.values.size)
            return tuple(steps)
        return self.values.row(name)

    def _take(self, changes: dict[str, dict[Row, int]]) -> dict[str, ZSet[Row]]:
        for name, rows in changes.items():
            gone = {row for row, sign in rows.items() if sign < 0}
            if gone & self.facts[name]:
                self.deleted = [(name, row) for row in sorted(gone, key=repr)]
            self.facts[name] |= {row for row, sign in rows.items() if sign > 0}
            self.facts[name] -= gone
        return {name: ZSet(rows) for name, rows in changes.items()}
