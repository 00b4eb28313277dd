"""Splits the body of a rule at its aggregates, into stages.

An aggregate belongs to the stage after those of the results that it needs. A literal *needs* a result if it
reads it, or reads a variable that only such literals bind. Literals that need no result belong to the first
stage, and the others to the stage after the last result that they need. So the order of literals does not
matter here either. After a stage, only its keys and results are bound.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.scopes import defined_by, matched_by, outer_names
from tidelog.syntax import tree
from tidelog.syntax.variables import literal_variables

__all__ = ["StageText", "Stages", "reads", "stages_of"]

_Result: TypeAlias = tuple[tree.Assignment, tree.Aggregate]


@dataclass(frozen=True, slots=True)
class StageText:
    """The aggregates of a stage, and the literals whose instances they range over."""

    results: tuple[_Result, ...]
    inside: tuple[tree.Literal, ...]


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a body, and the literals after the last one."""

    stages: tuple[StageText, ...]
    after: tuple[tree.Literal, ...]

    def behind(self, number: int) -> frozenset[str]:
        """The variables that are unbound inside a stage, since it or later literals bind them."""
        later = [literal for stage in self.stages[number + 1 :] for literal in stage.inside]
        bound = {name for literal in (*later, *self.after) for name in _binds(literal)}
        return frozenset(bound.union(a.name for stage in self.stages[number:] for a, _ in stage.results))

    def outside(self, number: int) -> frozenset[str]:
        """The names that occur in a rule outside the inside of a stage."""
        results = frozenset(n for stage in self.stages[number:] for a, _ in stage.results for n in reads(a))
        later = [literal for stage in self.stages[number + 1 :] for literal in stage.inside]
        return results | outer_names((*later, *self.after))


def stages_of(body: Sequence[tree.Literal], problems: Problems) -> Stages | None:
    """The body of a rule as stages, or None after reporting aggregates that need each other."""
    pending: list[_Result] = [
        (x, x.value) for x in body if isinstance(x, tree.Assignment) and isinstance(x.value, tree.Aggregate)
    ]
    own = {id(a) for a, _ in pending}
    literals = [x for x in body if id(x) not in own]
    stages: list[StageText] = []
    given: set[str] = set()
    while pending:
        results = [a for a, _ in pending]
        later = _needing([*literals, *results], {a.name for a in results}, given)
        ready = tuple(p for p in pending if id(p[0]) not in later)
        if not ready and len(pending) > 1:
            _report_cycle(pending, problems)
            return None
        ready = ready or tuple(pending)  # one that reads its own result, which is reported there
        stages.append(StageText(ready, tuple(x for x in literals if id(x) not in later)))
        literals = [x for x in literals if id(x) in later]
        pending = [p for p in pending if p not in ready]
        given = {name for a, value in ready for name in (a.name, *_keys(value))}
    return Stages(tuple(stages), tuple(literals))


def _report_cycle(results: Sequence[_Result], problems: Problems) -> None:
    names = ", ".join(f"`{a.name}`" for a, _ in results)
    message = f"the aggregates {names} need each other's results"
    hint = "one of them must use only values that do not depend on the others"
    problems.report("E408", results[0][1].span, message, hint=hint)


def _keys(aggregate: tree.Aggregate) -> set[str]:
    return {key.name for key in aggregate.keys if isinstance(key, tree.Variable)}


def _needing(literals: Sequence[tree.Literal], results: Iterable[str], given: Iterable[str]) -> set[int]:
    """The identities of literals that need one of these variables, or one that only such literals bind."""
    reading: dict[str, list[int]] = defaultdict(list)
    binding: Counter[str] = Counter(given)  # how many places bind a variable without these results
    for i, literal in enumerate(literals):
        for name in reads(literal):
            reading[name].append(i)
        binding.update(_binds(literal))
    needing: set[int] = set()
    queue = list(results)
    for name in queue:
        for i in reading.pop(name, ()):
            if i not in needing:
                needing.add(i)
                bound = _binds(literals[i])
                binding.subtract(bound)
                queue += [b for b in bound if not binding[b]]
    return {id(literals[i]) for i in needing}


def reads(literal: tree.Literal) -> set[str]:
    """The names of the variables that a literal reads."""
    return {v.name for v in literal_variables(literal)}


def _binds(literal: tree.Literal) -> set[str]:
    match literal:
        case tree.Atom():
            return matched_by(literal)
        case tree.Row(name, atom):
            return {name} | matched_by(atom)
        case tree.Assignment() | tree.Destructuring() | tree.Generator():
            return set(defined_by(literal))
        case tree.Disjunction(choices):
            return {name for choice in choices for x in choice for name in _binds(x)}
        case tree.Negation() | tree.Condition() | tree.NegatedBody():
            return set()
        case _:
            assert_never(literal)
