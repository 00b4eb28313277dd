"""A cache of compiled variants, reused across commits.

A join order is planned again when the size of a relation has changed by a factor. The variant is compiled
again only if the order is another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.engine.local.rules.compiler import Variant, compile_variant
from tidelog.plan.cost import Statistics
from tidelog.plan.flat import FlatRule, Role
from tidelog.plan.join_order import Order, order, rows_expected
from tidelog.program.typed import Match

__all__ = ["Variants"]

_Start: TypeAlias = int | str | None  # the position of the first literal, or a variable that has values


@dataclass(slots=True)
class _Planned:
    """A variant, its join order, and the magnitudes of the relations that it was planned for."""

    relations: list[str]
    magnitudes: list[int]
    order: Order
    variant: Variant
    expected: float | None = None  # instances for one row of the first literal, if asked for


class Variants:
    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._known: dict[str, dict[tuple[Role, _Start], _Planned]] = {}  # by the id of the rule
        self.version = 0  # of all variants and their bytecodes

    def first(self, rule: FlatRule, driver: int | None) -> Variant:
        """The variant of a rule that starts from the literal at a position."""
        return self._get(rule, driver, driver, ())

    def expected(self, rule: FlatRule, driver: int | None) -> float:
        """How many instances a variant is expected to find for each row that it starts from."""
        self.first(rule, driver)
        planned = self._known[rule.id][rule.role, driver]
        if planned.expected is None:
            planned.expected = rows_expected(rule, planned.order, driver, self._statistics)
        return planned.expected

    def given(self, rule: FlatRule, name: str) -> Variant:
        """The variant of a rule that starts from values of a variable."""
        return self._get(rule, name, None, (name,))

    def _get(self, rule: FlatRule, start: _Start, first: int | None, given: tuple[str, ...]) -> Variant:
        variants, key = self._known.setdefault(rule.id, {}), (rule.role, start)
        planned = variants.get(key)
        if planned is None:
            relations = sorted({x.relation for x in rule.body if isinstance(x, Match)})
            found = order(rule, first, self._statistics, given)
            variant = compile_variant(rule, found, given)
            variants[key] = _Planned(relations, self.magnitudes(relations), found, variant)
            return variant
        magnitudes = self.magnitudes(planned.relations)
        if magnitudes != planned.magnitudes:
            self.version += 1
            planned.magnitudes, planned.expected = magnitudes, None
            found = order(rule, first, self._statistics, given)
            if found != planned.order:
                planned.order, planned.variant = found, compile_variant(rule, found, given)
            planned.variant.bytecodes.clear()  # the kind of an index depends on sizes, too
        return planned.variant

    def magnitudes(self, relations: list[str]) -> list[int]:
        """The sizes of relations, equal up to a factor of 8."""
        return [self._statistics.size(name).bit_length() // 3 for name in relations]

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
