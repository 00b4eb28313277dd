"""Flat programs made by hand, a reasoner for them, and what they must derive, found from scratch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from conformance.reasoners import Changes, LocalReasoner
from data.structured import constructor, named
from engine.local.recount import Known, instances
from tidelog.data import types
from tidelog.data.types import INT, Type
from tidelog.data.values import Row, canonical
from tidelog.data.zset import ZSet
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.scheduler import Scheduler
from tidelog.plan.flat import FlatLiteral, FlatProgram, FlatRule, Stored, Stratum
from tidelog.program.typed import Expr, Match, Var

PAIR = named("Pair", constructor("Pair", first=INT, second=INT))
NUMBERS = types.Vec(INT)
TABLE = types.Map(INT, types.STRING)
ENTRY = types.Tuple((INT, types.STRING))


def rule(head: str, values: Sequence[Expr], *body: FlatLiteral) -> FlatRule:
    text = f"{head} {values} {body}"
    return FlatRule(text, head, tuple(values), tuple(body), text)


def var(name: str, type_: Type = INT) -> Var:
    return Var(name, type_)


def flat(columns: Mapping[str, tuple[Type, ...]], *strata: Sequence[FlatRule]) -> FlatProgram:
    """A program with one stratum for each sequence of rules."""
    derived = {r.head for rules in strata for r in rules}
    made = [Stratum(frozenset([n]), (), False, name=n) for n in columns if n not in derived]
    for rules in strata:
        heads = frozenset(r.head for r in rules)
        recursive = any(isinstance(x, Match) and x.relation in heads for r in rules for x in r.body)
        made.append(Stratum(heads, tuple(rules), recursive, name=", ".join(sorted(heads))))
    return FlatProgram(
        {name: Stored(name, t, columns=tuple(map(str, range(len(t))))) for name, t in columns.items()},
        {r.id: r for rules in strata for r in rules},
        strata=tuple(made),
    )


class HandMade(LocalReasoner):
    """A reasoner for one flat program."""

    def __init__(
        self, program: FlatProgram, scheduler: Callable[[LocalEngine], Scheduler] = Scheduler
    ) -> None:
        super().__init__(scheduler)
        self.program = program
        self.facts: dict[str, set[Row]] = {name: set() for name in program.relations}

    def flatten(self, program: Any) -> FlatProgram:
        return self.program

    def change(self, inserted: Mapping[str, Sequence[Any]], deleted: Mapping[str, Sequence[Any]]) -> Changes:
        """Insert and delete rows, given in any form."""
        change: dict[str, ZSet[Row]] = {}
        for sign, given in ((1, inserted), (-1, deleted)):
            for name, rows in given.items():
                made = [tuple(map(canonical, self.program.relations[name].types, row)) for row in rows]
                change[name] = change.get(name, ZSet()) + ZSet(dict.fromkeys(made, sign))
        stand_in: Any = SimpleNamespace(relations=self.program.relations)
        found = super().commit(stand_in, change)
        for name, changed in change.items():
            self.facts[name] |= {row for row, weight in changed.items() if weight > 0}
            self.facts[name] -= {row for row, weight in changed.items() if weight < 0}
        return found

    def expected(self) -> dict[str, frozenset[Row]]:
        """What the program derives from its facts, in rounds over all instances."""
        state = {name: Known(dict.fromkeys(rows, (0, 1))) for name, rows in self.facts.items()}
        for stratum in self.program.strata:
            size = -1
            while size != sum(len(known.support) for known in state.values()):
                size = sum(len(known.support) for known in state.values())
                for one in stratum.rules:
                    heads = [head for head, _ in instances(one, state, {})]
                    state[one.head].support.update(dict.fromkeys(heads, (0, 1)))
        return {name: frozenset(known.support) for name, known in state.items() if known.support}
