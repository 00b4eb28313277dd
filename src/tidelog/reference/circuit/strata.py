"""Strata: the level of each clause.

Idea: a clause can only test what is *absent* from a complete relation, so the relations of its negated atoms
must be complete one level below. Levels are as low as that allows.

Invariant: the head of a clause is at least as high as every relation that the clause matches, and higher than
every relation that it negates. A relation that no clause derives is at level 0.

Mathematics: the least solution of these inequalities. The level of a relation counts the negations on some
path below it. A path without repeated relations has at most one negation per derived relation. So a level
above the number of derived relations implies a cycle through a negation, and there is no solution.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import assert_never

from tidelog.errors import EngineError
from tidelog.program.typed import Absent, Bind, Each, Match, Nested, Stage, Test, Without
from tidelog.reference.circuit.clause import Clause

__all__ = ["levels"]


def levels(clauses: Collection[Clause]) -> dict[Clause, int]:
    """The level of each clause. Raises EngineError if a relation depends on its own negation."""
    level = dict.fromkeys((c.head.relation for c in clauses), 0)
    rising = True
    while rising:
        rising = False
        for clause in clauses:
            relation, lowest = clause.head.relation, _lowest(clause, level)
            if lowest > len(level):
                raise EngineError(f"rule {clause.rule}: {relation} depends on its own negation")
            if lowest > level[relation]:
                level[relation] = lowest
                rising = True
    return {clause: level[clause.head.relation] for clause in clauses}


def _lowest(clause: Clause, level: Mapping[str, int]) -> int:
    lowest = 0
    for literal in clause.body:
        match literal:
            case Match(relation=relation):
                lowest = max(lowest, level.get(relation, 0))
            case Absent(relation=relation):
                lowest = max(lowest, level.get(relation, 0) + 1)
            case Test() | Bind() | Each():
                pass
            case Nested() | Without() | Stage():
                raise AssertionError("a clause has no nested bodies")
            case _:
                assert_never(literal)
    return lowest
