"""Facts: the rows of a relation, of a part of it, or of the answers to a query, as of one commit.

They are immutable and safe to use from any thread; later commits do not change them. Where the rows are
stored depends on the backend of the session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

from tidelog.errors import DataError, SessionError
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.program.typed import Relation
from tidelog.session.rendering import SHOWN, cells, counted, html_table, text_table

__all__ = ["Fact", "Facts", "WholeFacts", "position", "to_pandas", "to_polars"]

# its values have the types of the columns, which type checkers cannot know
Fact: TypeAlias = tuple[Any, ...]


class Facts(ABC):
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

    # -- as tables

    @abstractmethod
    def to_arrow(self) -> Any:
        """A PyArrow table."""

    def to_pandas(self) -> Any:
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        return to_polars(self.to_arrow())

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
        return html_table(title, self.columns, self.shown(SHOWN))

    def _title(self) -> str:
        listed = ", ".join(f"{c.name}: {c.type}" for c in self.relation.columns)
        return f"{self.relation.name}({listed})"

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


def position(relation: Relation, column: str) -> int:
    """The position of a column; DataError if it is unknown."""
    names = [c.name for c in relation.columns]
    if column not in names:
        hint = did_you_mean(column, names) or f"the columns are {', '.join(names)}"
        raise DataError(relation.name, f"unknown column `{column}`; {hint}")
    return names.index(column)


def to_pandas(table: Any) -> Any:
    _expect_installed("pandas")
    return table.to_pandas()


def to_polars(table: Any) -> Any:
    return _expect_installed("polars").from_arrow(table)


def _expect_installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise SessionError(f"{package} is not installed; `pip install {package}`") from None
