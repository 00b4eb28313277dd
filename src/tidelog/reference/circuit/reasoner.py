"""Circuit: the reasoner that facts and rules stream through.

Idea: a user's commit (all rules, a change of facts) is converted to a change of clauses and a change of facts
for the chain of levels. The chain's output is converted to a change of each relation.

Invariants: after a commit the contents are the consequences of the rules over the asserted facts. A commit
that raises changes nothing: the half-updated chain is discarded, and a new one gets, in one tick, all input
of the old one. The same happens if a function has changed, since then the value of any expression may have
changed.

Limits: no aggregates, no nested bodies, and at most `max_rounds` rounds of a fixpoint in a commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.program.typed import Rule
from tidelog.reference.circuit.chain import Chain, Placed
from tidelog.reference.circuit.clause import clauses
from tidelog.reference.circuit.rewrite import Fact
from tidelog.reference.circuit.strata import levels
from tidelog.reference.evaluate import Functions

__all__ = ["Circuit"]

_NO_FUNCTIONS: Final[Functions] = MappingProxyType({})


class Circuit:
    """The dynamic interpreter. With `indexed`, facts are looked up by bound columns, else by relation."""

    def __init__(self, *, indexed: bool = True, max_rounds: int = 100_000) -> None:
        self._indexed = indexed
        self._max_rounds = max_rounds
        self._program: ZSet[Placed] = ZSet()
        self._asserted: ZSet[Fact] = ZSet()
        self._functions: Functions = {}
        self._contents: ZSet[Fact] = ZSet()
        self._chain = Chain(self._functions, indexed=indexed, max_rounds=max_rounds)

    @property
    def contents(self) -> dict[str, frozenset[Row]]:
        """The rows of every relation that is not empty."""
        return {relation: frozenset(rows) for relation, rows in _by_relation(self._contents).items()}

    def commit(
        self,
        rules: Mapping[str, Rule],
        facts: Mapping[str, ZSet[Row]],
        functions: Functions = _NO_FUNCTIONS,
    ) -> dict[str, ZSet[Row]]:
        """Commit the new rules and a change of the asserted facts; returns the change of each relation.

        `rules` and `functions` are complete, not changes. Asserting a fact that is asserted or retracting one
        that is not changes nothing. Unchanged relations are omitted from the result.

        Raises EngineError, and changes nothing, if a rule has an aggregate or a nested body, if a relation
        depends on its own negation, if an expression fails in an instance that satisfies the rest of its
        body, or if there is no fixpoint after `max_rounds` rounds.
        """
        place = levels(clauses(rules.values()))
        program = ZSet.of(Placed(level, clause) for clause, level in place.items())
        wished = {Fact(name, row): w > 0 for name, rows in facts.items() for row, w in rows.items()}
        change = ZSet((f, 1 if new else -1) for f, new in wished.items() if new != (f in self._asserted))
        before = self._contents
        try:
            self._advance(program, self._asserted + change, dict(functions))
        except BaseException:
            self._rebuild(self._program, self._asserted, self._functions)
            raise
        return _by_relation(self._contents - before)

    def _advance(self, program: ZSet[Placed], asserted: ZSet[Fact], functions: Functions) -> None:
        if functions == self._functions:
            self._contents += self._chain.tick(program - self._program, asserted - self._asserted)
        else:
            self._rebuild(program, asserted, functions)
        self._program, self._asserted, self._functions = program, asserted, functions

    def _rebuild(self, program: ZSet[Placed], asserted: ZSet[Fact], functions: Functions) -> None:
        self._chain = Chain(functions, indexed=self._indexed, max_rounds=self._max_rounds)
        self._contents = self._chain.tick(program, asserted)


def _by_relation(facts: ZSet[Fact]) -> dict[str, ZSet[Row]]:
    relations: dict[str, dict[Row, int]] = {}
    for fact, weight in facts.items():
        relations.setdefault(fact.relation, {})[fact.row] = weight
    return {relation: ZSet(rows) for relation, rows in relations.items()}
