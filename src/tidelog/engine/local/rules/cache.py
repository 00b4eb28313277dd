"""A cache of compiled variants, reused across commits.

A join order is planned again when the size of a relation has changed by a factor. The variant is compiled
again only if the order is another one.

A variant that has started from few rows makes do with the indexes that there are. It is planned again when
the rows that it has started from in all have grown by a factor, so that an index is made once it pays off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from tidelog.engine.local.rules.compiler import Variant, compile_variant
from tidelog.plan.cost import Statistics
from tidelog.plan.flat import FlatRule, Role
from tidelog.plan.join_order import Order, order, rows_expected
from tidelog.program.typed import Match

__all__ = ["Variants"]

_MANY: Final = 2**31  # rows for which every index pays off

_Start: TypeAlias = int | str | None  # the position of the first literal, or a variable that has values


@dataclass(slots=True)
class _Planned:
    """A variant, its join order, and the magnitudes that it was planned for.

    `started` is how many rows it has started from, or `_MANY` if that does not matter any more.
    """

    relations: list[str]
    magnitudes: list[int]
    order: Order
    variant: Variant
    started: int
    expected: float | None = None  # instances for one row of the first literal, if asked for


class _Watched:
    """Statistics that note whether an index was missing."""

    def __init__(self, statistics: Statistics) -> None:
        self.size, self.alike, self._has_index = statistics.size, statistics.alike, statistics.has_index
        self.missed = False

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        found = self._has_index(relation, columns)
        self.missed |= not found
        return found


class Variants:
    def __init__(self, statistics: Statistics) -> None:
        self._statistics = _Watched(statistics)
        self._known: dict[str, dict[tuple[Role, _Start], _Planned]] = {}  # by the id of the rule
        self.version = 0  # of all variants and their bytecodes
        self.planned = 0  # join orders

    def first(self, rule: FlatRule, driver: int | None, rows: int | None = None) -> Variant:
        """The variant of a rule that starts from the literal at a position.

        It starts from this many rows now; None if they are unknown or many.
        """
        return self._get(rule, driver, driver, (), _MANY if rows is None else rows)

    def expected(self, rule: FlatRule, driver: int | None) -> float:
        """How many instances a variant is expected to find for each row that it starts from."""
        self._get(rule, driver, driver, (), 0)
        planned = self._known[rule.id][rule.role, driver]
        if planned.expected is None:
            planned.expected = rows_expected(rule, planned.order, driver, self._statistics)
        return planned.expected

    def order(self, rule: FlatRule, driver: int | None) -> Order:
        """The join order of the variant that starts from the literal at a position."""
        self._get(rule, driver, driver, (), 0)
        return self._known[rule.id][rule.role, driver].order

    def given(self, rule: FlatRule, name: str) -> Variant:
        """The variant of a rule that starts from values of a variable."""
        return self._get(rule, name, None, (name,), _MANY)

    def _get(
        self, rule: FlatRule, start: _Start, first: int | None, given: tuple[str, ...], rows: int
    ) -> Variant:
        variants, key = self._known.setdefault(rule.id, {}), (rule.role, start)
        planned = variants.get(key)
        if planned is None:
            relations = sorted({x.relation for x in rule.body if isinstance(x, Match)})
            found, started = self._order(rule, first, given, rows)
            variant = compile_variant(rule, found, given)
            variants[key] = _Planned(
                relations, self._planned_for(relations, started), found, variant, started
            )
            return variant
        planned.started = min(planned.started + rows, _MANY)
        magnitudes = self._planned_for(planned.relations, planned.started)
        if magnitudes != planned.magnitudes:
            self.version += 1
            found, planned.started = self._order(rule, first, given, planned.started)
            planned.magnitudes, planned.expected = magnitudes, None
            planned.magnitudes[-1] = _magnitude(planned.started)
            if found != planned.order:
                planned.order, planned.variant = found, compile_variant(rule, found, given)
            planned.variant.bytecodes.clear()  # the kind of an index depends on sizes, too
        return planned.variant

    def _order(
        self, rule: FlatRule, first: int | None, given: tuple[str, ...], rows: int
    ) -> tuple[Order, int]:
        """A join order, and from how many rows on it may be another one because of missing indexes."""
        self.planned += 1
        self._statistics.missed = False
        found = order(rule, first, self._statistics, given, rows)
        return found, rows if self._statistics.missed else _MANY

    def _planned_for(self, relations: list[str], started: int) -> list[int]:
        """The magnitudes of relations, and of what a variant has started from."""
        return [*self.magnitudes(relations), _magnitude(started)]

    def magnitudes(self, relations: list[str]) -> list[int]:
        """The sizes of relations, equal up to a factor of 8."""
        return [_magnitude(self._statistics.size(name)) for name in relations]

    def clear(self) -> None:
        """Drop all variants, since their codes of constants are invalid."""
        self._known.clear()
        self.version += 1

    def forget(self, rules: Iterable[str]) -> None:
        """Drop the variants of these rules."""
        for id_ in rules:
            if self._known.pop(id_, None) is not None:
                self.version += 1

    def indexes(self, rules: Iterable[str]) -> set[int]:
        """The addresses of the descriptors of all indexes that the variants of these rules use."""
        variants = (known.variant for id_ in rules for known in self._known.get(id_, {}).values())
        bytecodes = (bytecode for variant in variants for bytecode in variant.bytecodes.values())
        return {index.at for bytecode in bytecodes for index, _ in bytecode.indexes}


def _magnitude(size: float) -> int:
    return int(size).bit_length() // 3
