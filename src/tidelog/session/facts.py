"""Facts: the rows of a relation, of a part of it, or of the answers to a query, as of one commit.

They are immutable and safe to use from any thread; later commits do not change them. Where the rows are
stored depends on the backend of the session.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

from tidelog.data.values import Value
from tidelog.errors import DataError, SessionError, shown
from tidelog.program.declared import Relation
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.session.rendering import SHOWN, cells, counted, html_table, text_table
from tidelog.session.tabular import Tabular
from tidelog.tables.arrow import UNIT

__all__ = ["Fact", "Facts", "WholeFacts", "position"]

# its values have the types of the columns, which type checkers cannot know
Fact: TypeAlias = tuple[Any, ...]


class Facts(Tabular):
    is_near = False  # whether rows are looked up in this process
    is_frame = False  # whether they are in a DataFrame, which `to_spark` returns as it is

    def __init__(self, relation: Relation) -> None:
        self.relation = relation

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.relation.columns)

    # -- as a collection of tuples

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Fact]: ...

    @abstractmethod
    def __contains__(self, row: object) -> bool: ...

    # -- parts

    @abstractmethod
    def where(self, **values: object) -> Facts:
        """The rows with these values in these columns; None matches missing values."""

    @abstractmethod
    def between(self, column: str, low: object = None, high: object = None) -> Facts:
        """The rows whose value in a column is neither below `low` nor above `high`; None sets no bound."""

    def head(self, count: int = 10) -> Facts:
        """The first rows; the order is arbitrary, but stays the same for this object."""
        if type(count) is not int or count < 0:
            raise SessionError(f"`head` takes a number of rows, not {shown(count)}")
        return self[:count]

    @overload
    def __getitem__(self, index: int) -> Fact: ...

    @overload
    def __getitem__(self, index: slice) -> Facts: ...

    def __getitem__(self, index: int | slice) -> Fact | Facts:
        """A row by its number, or the rows of a slice."""
        if isinstance(index, slice):
            return self._sliced(index)
        if not isinstance(index, int):
            raise SessionError(f"rows have numbers; {shown(index)} is neither one nor a slice")
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"row {index} of {counted(len(self), 'row')}")
        return next(iter(self._sliced(slice(place, place + 1))))

    @abstractmethod
    def _sliced(self, rows: slice) -> Facts: ...

    # -- as tables

    def _names(self) -> tuple[str, ...]:
        return self.columns or (UNIT,)

    def _tuples(self) -> Iterable[Fact]:
        return self if self.columns else [(True,)] * len(self)

    def to_spark(self) -> Any:
        """A DataFrame, in a session on Spark."""
        return self.published(self.to_arrow())

    @abstractmethod
    def published(self, table: Any) -> Any:
        """A table as a DataFrame, in a session on Spark."""

    # -- shown

    def __repr__(self) -> str:
        title = f"{self._title()}: {counted(len(self), 'row')}"
        if not len(self) or not self.columns:
            return title
        more = [f"  … and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        return "\n".join([title, text_table(self.columns, self.shown(SHOWN)), *more])

    def _repr_html_(self) -> str:
        title = f"{self._title()}: {counted(len(self), 'row')}"
        return html_table(title, self.columns, self.shown(SHOWN), max(len(self) - SHOWN, 0))

    def _title(self) -> str:
        name, listed = self.titled()
        return f"{name}({listed})"

    def titled(self) -> tuple[str, str]:
        """The name, and the columns with their types."""
        return self.relation.name, ", ".join(f"{c.name}: {c.type}" for c in self.relation.columns)

    def shown(self, count: int) -> list[list[str]]:
        """The first `count` rows, as they are displayed."""
        return [cells(self.relation, row) for row in self.first(count)] if count else []

    @abstractmethod
    def first(self, count: int) -> Iterable[Fact]:
        """The first `count` rows."""


class WholeFacts(Facts):
    """A whole relation of a session, as of the commit at which it was read."""

    @property
    @abstractmethod
    def given(self) -> Facts:
        """The asserted facts, whether or not rules derive them too."""

    @property
    @abstractmethod
    def derived(self) -> Facts:
        """The facts that rules derive and that are not asserted."""

    # -- for proofs

    def matching(self, bound: Mapping[int, Value]) -> Sequence[Fact]:
        """The rows with these canonical values in these columns."""
        names = {self.relation.columns[i].name: value for i, value in bound.items()}
        return tuple(self.where(**names) if names else self)

    def is_given(self, row: Fact) -> bool | None:
        """Whether a row of canonical values is asserted; None if only `given` knows."""
        return None

    def rank(self, row: Fact) -> int | None:
        """The rank of a row of canonical values, if kept: above those of the rows some instance needs."""
        return None


def position(relation: Relation, column: str) -> int:
    """The position of a column; DataError if it is unknown."""
    names = [c.name for c in relation.columns]
    if column not in names:
        hint = did_you_mean(column, names) or f"the columns are {', '.join(names)}"
        raise DataError(relation.name, f"unknown column `{column}`; {hint}")
    return names.index(column)
