"""A state with some rows more and some rows less, for questions about other states than the present one.

If it is not known which rows the other state asserts, a row may have been asserted if nothing derives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tidelog.data.values import Row, Value
from tidelog.program.model import Program
from tidelog.proofs.model import Fact
from tidelog.proofs.state import State, same

__all__ = ["Difference", "Overlay", "supposing"]


class Difference(Protocol):
    """What the other state has and has not, in contrast to the one below."""

    def added(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        """The rows with these values that only the other state has."""
        ...

    def is_removed(self, fact: Fact) -> bool:
        """Whether only the state below has a row."""
        ...

    def is_asserted(self, fact: Fact) -> bool | None:
        """Whether the other state asserts a row; None if it does so exactly if the one below does."""
        ...


class Overlay:
    """`back` is how many commits the state is before the one below."""

    def __init__(
        self, below: State, difference: Difference, program: Program | None = None, back: int = 0
    ) -> None:
        self._below = below
        self._difference = difference
        self.program = below.program if program is None else program
        self.commit = below.commit - back

    def size(self, relation: str) -> int:
        return self._below.size(relation)

    def rows(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        return self._changed(relation, bound, self._below.rows)

    def some(self, relation: str, bound: Mapping[int, Value], count: int) -> Sequence[Row]:
        return self._changed(relation, bound, lambda r, b: self._below.some(r, b, 2 * count))[:count]

    def asserted(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        facts = (Fact(relation, row) for row in self._below.asserted(relation, bound))
        return [fact.row for fact in facts if self._difference.is_asserted(fact) is not False]

    def is_asserted(self, fact: Fact) -> bool:
        known = self._difference.is_asserted(fact)
        if known is not None:
            return known
        return self._below.is_asserted(fact)

    def was_asserted(self, fact: Fact) -> bool:
        return bool(self.rows(fact.relation, dict(enumerate(fact.row))))

    def rank(self, fact: Fact) -> int | None:
        return None

    def weight(self, fact: Fact) -> int:
        return self._below.weight(fact) or 1  # a row more has one copy

    def asserted_weight(self, fact: Fact) -> int:
        known = self._difference.is_asserted(fact)
        return self._below.asserted_weight(fact) if known is None else int(known)

    def _changed(
        self,
        relation: str,
        bound: Mapping[int, Value],
        read: Callable[[str, Mapping[int, Value]], Sequence[Row]],
    ) -> Sequence[Row]:
        removed = self._difference.is_removed
        kept = [row for row in read(relation, bound) if not removed(Fact(relation, row))]
        return [*kept, *self._difference.added(relation, bound)]


class _One:
    """One row more, or one row less."""

    def __init__(self, fact: Fact, *, is_added: bool) -> None:
        self._fact = fact
        self._is_added = is_added

    def added(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        row = self._fact.row
        is_meant = self._is_added and relation == self._fact.relation
        return [row] if is_meant and all(same(row[i], v) for i, v in bound.items()) else []

    def is_removed(self, fact: Fact) -> bool:
        return not self._is_added and fact == self._fact

    def is_asserted(self, fact: Fact) -> bool | None:
        return self._is_added if fact == self._fact else None


def supposing(state: State, fact: Fact, *, is_there: bool) -> State:
    """The state with a fact, or without it."""
    return Overlay(state, _One(fact, is_added=is_there))
