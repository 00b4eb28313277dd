"""Random programs with random edits of facts and rules, as text, reproducible by seed.

A *flavour* says what rules may contain: "positive" (atoms, constants, repeated variables, wildcards),
"negated" (and negation with wildcards), "guarded" (and conditions and assignments), "full" (and options,
disjunctions, several heads, aggregates, and min/max in recursion). Arithmetic stays within a small domain,
so every program has a finite result; divisions may fail, and then every reasoner has to refuse the commit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.errors import ProgramError
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program

FLAVOURS = ("positive", "negated", "guarded", "full")
DECLARATIONS = """
input relation E(a: int, b: int)
input relation F(a: int)
input relation G(a: int, b: option<int>)
relation P(a: int, b: int)
relation Q(a: int, b: int)
relation R(a: int)
relation S(a: int)
relation Z()
relation D(a: int, b: int, d: int)
"""
INPUTS = {"E": 2, "F": 1, "G": 2}
DERIVED = {"P": 2, "Q": 2, "R": 1, "S": 1, "Z": 0}
SHORTEST = (
    "D(x, y, d) :- E(x, y), var d = (y + 1).group_by(x, y).min().",
    "D(x, z, d) :- D(x, y, c), E(y, z), var d = (c + z).group_by(x, z).min().",
)
WIDEST = (
    "D(x, y, d) :- E(x, y), var d = x.group_by(x, y).max().",
    "D(x, z, d) :- D(x, y, c), E(y, z), c > 0, var d = min(c, z).group_by(x, z).max().",
)
STEPS = 6


@dataclass(frozen=True)
class Step:
    """The program from now on, and a change of the asserted facts."""

    program: Program
    facts: Mapping[str, ZSet[Row]]
    edits: tuple[str, ...]


class Generator:
    def __init__(self, seed: int, flavour: str) -> None:
        self.random = random.Random(f"{flavour}:{seed}")
        self.flavour = flavour
        self.level = FLAVOURS.index(flavour)
        self.size = self.random.choice([2, 3, 3, 4])
        self.pool = self.random.sample(sorted(DERIVED), self.random.choice([2, 3, 3, 4]))
        self.facts: dict[str, set[Row]] = {name: set() for name in (*INPUTS, *DERIVED)}

    def steps(self) -> Iterator[Step]:
        """A first load with a handful of rules, then edits."""
        program = load(DECLARATIONS)
        for number in range(STEPS):
            draft = Draft(program)
            edits = self._remove_rules(draft) if number else []
            wanted = self.random.choice([3, 4, 5, 6]) if number == 0 else self.random.choice([0, 0, 1, 2])
            edits += self._add_rules(draft, wanted)
            program = draft.finish()
            facts = self._edit_facts(
                self.random.choice([8, 14, 20]) if number == 0 else self.random.choice([0, 1, 2, 5])
            )
            yield Step(program, facts, tuple(edits))

    # -- edits

    def _remove_rules(self, draft: Draft) -> list[str]:
        rules = sorted(draft.finish().rules)
        gone = self.random.sample(rules, min(len(rules), self.random.choice([0, 0, 1, 2])))
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
            texts = self._rules()
            trial = draft.copy()
            try:
                for text in texts:
                    trial.load(text)
                trial.finish()
            except ProgramError:
                continue
            for text in texts:
                draft.load(text)
                added.append(f"+ {text}")
        return added

    def _edit_facts(self, count: int) -> dict[str, ZSet[Row]]:
        changes: dict[str, dict[Row, int]] = {}
        names = ["E", "E", "E", "F", "G", *(self.pool if self.random.random() < 0.5 else [])]
        for _ in range(count):
            name = self.random.choice(names)
            row = self._row(name)
            there = row in self.facts[name]
            # now and then, insert what is there or delete what is not: that changes nothing
            insert = not there if self.random.random() < 0.9 else there
            changes.setdefault(name, {})[row] = 1 if insert else -1
        for name, rows in changes.items():
            self.facts[name] |= {row for row, sign in rows.items() if sign > 0}
            self.facts[name] -= {row for row, sign in rows.items() if sign < 0}
        return {name: ZSet(rows) for name, rows in changes.items()}

    def _row(self, name: str) -> Row:
        if name == "G":
            return self._number(), self.random.choice([None, self._number()])
        return tuple(self._number() for _ in range({**INPUTS, **DERIVED}[name]))

    def _number(self) -> int:
        return self.random.randrange(self.size)

    # -- rules

    def _rules(self) -> tuple[str, ...]:
        if self.level == 3 and self.random.random() < 0.1:
            return self.random.choice([SHORTEST, WIDEST])
        return (self._rule(),)

    def _rule(self) -> str:
        atoms = [self._atom() for _ in range(self.random.choice([1, 1, 2, 2, 2, 3]))]
        bound = sorted({v for atom in atoms for v in "xyz" if v in atom})
        body = list(atoms)
        if self.level >= 1 and self.random.random() < 0.5:
            body.append(f"not {self._atom(bound, wild=True)}")
        if self.level >= 2 and bound:
            body += self._guards(bound)
        if self.level == 3:
            return self._full_rule(body, bound)
        self.random.shuffle(body)
        return f"{self._head(bound)} :- {', '.join(body)}."

    def _full_rule(self, body: list[str], bound: list[str]) -> str:
        choice = self.random.random()
        if choice < 0.15 and bound:
            body.append(f"G({self.random.choice(bound)}, {self.random.choice(['_', 'o'])})")
            if body[-1].endswith("o)"):
                body.append(
                    self.random.choice(["is_none(o)", "unwrap_or(o, 0) == 1", "G(_, o)", "not G(0, o)"])
                )
        elif choice < 0.3:
            body.append(f"({self._atom()}; {self._atom()}, {self._atom()})")
        elif choice < 0.6 and bound:
            return self._aggregate(body, bound)
        self.random.shuffle(body)
        heads = [self._head(bound) for _ in range(self.random.choice([1, 1, 1, 2]))]
        return f"{', '.join(heads)} :- {', '.join(body)}."

    def _aggregate(self, body: list[str], bound: list[str]) -> str:
        relation = self.random.choice([n for n in self.pool if n != "Z"] or ["R"])
        keys = [self.random.choice(bound) for _ in range(DERIVED[relation] - 1)]
        function = self.random.choice(
            [
                "count()",
                "count_distinct()",
                "sum()",
                "min()",
                "max()",
                f"arg_min({self.random.choice(bound)})",
            ]
        )
        distinct = ".distinct()" if self.random.random() < 0.2 else ""
        value = self._value(bound)
        body.append(f"var n = ({value}).group_by({', '.join(sorted(set(keys)))}){distinct}.{function}")
        if self.random.random() < 0.3:
            body.append(self.random.choice(["n > 1", "F(n)", "not F(n)", "E(n, _)"]))
        self.random.shuffle(body)
        return f"{relation}({', '.join([*keys, f'n % {self.size}'])}) :- {', '.join(body)}."

    def _guards(self, bound: list[str]) -> list[str]:
        guards: list[str] = []
        if self.random.random() < 0.4:
            op = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
            guards.append(f"{self._value(bound)} {op} {self._value(bound)}")
        if self.random.random() < 0.3:
            guards.append(f"var w = {self._value(bound)}")
            bound.append("w")
        return guards

    def _value(self, bound: list[str]) -> str:
        x, y = self.random.choice(bound), self.random.choice([*bound, str(self._number())])
        shapes = [
            "{x}",
            "{x}",
            "({x} + {y}) % {n}",
            "({x} * {y}) % {n}",
            "if ({x} < {y}) {x} else {y}",
            "max({x}, {y})",
        ]
        if self.random.random() < 0.05:
            shapes = ["({x} / {y}) % {n}"]
        return self.random.choice(shapes).format(x=x, y=y, n=self.size)

    def _atom(self, bound: list[str] | None = None, wild: bool = False) -> str:
        name = self.random.choice(["E", "E", "F"] if self.random.random() < 0.55 else self.pool)
        arity = {**INPUTS, **DERIVED}[name]
        return f"{name}({', '.join(self._term(bound, wild) for _ in range(arity))})"

    def _term(self, bound: list[str] | None, wild: bool) -> str:
        draw = self.random.random()
        if draw < 0.08:
            return str(self._number())
        if draw < (0.3 if wild else 0.15):
            return "_"
        return self.random.choice(["x", "y", "z"] if bound is None else bound or ["_"])

    def _head(self, bound: list[str]) -> str:
        name = self.random.choice(self.pool)
        terms = [
            self.random.choice(bound) if bound and self.random.random() < 0.9 else str(self._number())
            for _ in range(DERIVED[name])
        ]
        return f"{name}({', '.join(terms)})"
