"""Compiled variants, kept from commit to commit; made anew when relations have grown into another order."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.engine.local.rules.compiler import Variant, compile_variant
from tidelog.plan.flat import FlatProgram, FlatRule, Role
from tidelog.plan.join_order import Alike, Order, order
from tidelog.program.typed import Match

__all__ = ["Variants"]


class Variants:
    def __init__(self, size: Callable[[str], int], alike: Alike) -> None:
        self._size = size
        self._alike = alike
        self._known: dict[tuple[str, Role, int | str | None], tuple[Variant, tuple[int, ...], list[str]]] = {}

    def first(self, rule: FlatRule, driver: int | None) -> Variant:
        """The rule, beginning with the literal at a position."""
        return self._get(rule, driver, lambda: compile_variant(rule, self._order(rule, driver)))

    def given(self, rule: FlatRule, name: str) -> Variant:
        """The rule, beginning with values of a variable."""
        return self._get(rule, name, lambda: compile_variant(rule, self._order(rule, None, (name,)), (name,)))

    def _order(self, rule: FlatRule, first: int | None, given: tuple[str, ...] = ()) -> Order:
        return order(rule, first, self._size, given, self._alike)

    def _get(self, rule: FlatRule, start: int | str | None, make: Callable[[], Variant]) -> Variant:
        known = self._known.get((rule.id, rule.role, start))
        names = known[2] if known else sorted({x.relation for x in rule.body if isinstance(x, Match)})
        sizes = tuple([self._size(n).bit_length() // 3 for n in names])
        if known is None or known[1] != sizes:
            known = self._known[rule.id, rule.role, start] = make(), sizes, names
        return known[0]

    def clear(self) -> None:
        """Drop all: what they hold of constants is void."""
        self._known.clear()

    def forget(self, program: FlatProgram) -> None:
        """Drop the variants of rules that a program does not have."""
        for key in [key for key in self._known if key[0] not in program.rules]:
            del self._known[key]

    def indexes(self) -> set[int]:
        """Where the indexes are described that a variant has used."""
        bytecodes = (
            bytecode for variant, _, _ in self._known.values() for bytecode in variant.bytecodes.values()
        )
        return {index.at for bytecode in bytecodes for index, _ in bytecode.indexes}
