"""The rows that proofs are about, and the limit of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from tidelog.data.values import Row, Value
from tidelog.errors import SessionError
from tidelog.program.model import Program
from tidelog.proofs.model import Fact

__all__ = ["Budget", "State", "same"]


class State(Protocol):
    """A program and its rows at one commit. A relation that the program does not have has no rows.

    Delayed relations are read under the names that `weighting.read_name` gives them.
    """

    @property
    def program(self) -> Program: ...

    @property
    def commit(self) -> int: ...

    def size(self, relation: str) -> int: ...

    def rows(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        """The rows with exactly these values in these columns; `none` is a value here."""
        ...

    def some(self, relation: str, bound: Mapping[int, Value], count: int) -> Sequence[Row]:
        """At most so many of the rows with these values."""
        ...

    def is_asserted(self, fact: Fact) -> bool:
        """Whether a present row is asserted."""
        ...

    def asserted(self, relation: str, bound: Mapping[int, Value]) -> Sequence[Row]:
        """The asserted rows with these values, whether or not the relation keeps them."""
        ...

    def was_asserted(self, fact: Fact) -> bool:
        """Whether a row that nothing derives may have been asserted; false if `is_asserted` knows."""
        ...

    def rank(self, fact: Fact) -> int | None:
        """A number above those of the facts that some instance derives it from; None if it is not known."""
        ...

    def weight(self, fact: Fact) -> int:
        """How often a present row counts: its weight in a multiset or stream, else 1."""
        ...

    def asserted_weight(self, fact: Fact) -> int:
        """The weight that a row of a multiset or stream has by assertions."""
        ...


class _Exhausted(Exception):
    """The allowance for a part of a search is used up."""


class Budget:
    """Counts the rows that a search reads. Raises SessionError if there are too many."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._allowed: int | None = None  # the count at which a part of the search ends
        self._spent = 0

    @contextmanager
    def at_most(self, rows: int) -> Iterator[None]:
        """End the block without an error once it reads more than so many rows."""
        self._allowed = self._spent + rows
        try:
            yield
        except _Exhausted:
            pass
        finally:
            self._allowed = None

    def spend(self, rows: int = 1) -> None:
        self._spent += rows
        if self._allowed is not None and self._spent > self._allowed:
            raise _Exhausted
        if self._limit is not None and self._spent > self._limit:
            raise SessionError(
                f"the explanation needs more than {self._limit:,} rows, its limit; "
                "give a larger `limit`, or None for no limit"
            )


def same(left: Value, right: Value) -> bool:
    """Whether two canonical values of one type are the same element of a set."""
    return left is right or left == right
