"""A pass over clauses that drops redundant ones.

Ontologies often list every superclass where the next one would be enough. `A(x) :- C(x)` is dropped if a
chain of other such clauses leads from `C` to `A`. Fewer rules then derive the same facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tidelog.rdf.clauses import Clause, Predicate

__all__ = ["shorten"]

_Steps = defaultdict[Predicate, dict[Predicate, None]]


def shorten(clauses: Iterable[Clause]) -> list[Clause]:
    """The clauses without redundant ones, in order."""
    listed = list(clauses)
    steps: _Steps = defaultdict(dict)
    for clause in listed:
        if _is_step(clause):
            steps[clause.body[0].predicate][clause.head.predicate] = None
    return [clause for clause in listed if not (_is_step(clause) and _is_redundant(clause, steps))]


def _is_step(clause: Clause) -> bool:
    """Whether a clause says that one relation includes another."""
    return len(clause.body) == 1 and clause.body[0].args == clause.head.args


def _is_redundant(clause: Clause, steps: _Steps) -> bool:
    """Whether other steps lead to the same predicate; if so, remove this step."""
    start, end = clause.body[0].predicate, clause.head.predicate
    del steps[start][end]
    seen, ahead = {start}, [start]
    while ahead:
        for after in steps[ahead.pop()]:
            if after == end:
                return True
            if after not in seen:
                seen.add(after)
                ahead.append(after)
    steps[start][end] = None
    return False
