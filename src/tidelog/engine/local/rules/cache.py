"""A cache of compiled variants, reused across commits; recompiled when sizes of relations change a lot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from tidelog.engine.local.rules.compiler import Variant, compile_variant
from tidelog.plan.flat import FlatRule, Role
from tidelog.plan.join_order import Alike, Order, order
from tidelog.program.typed import Match

__all__ = ["Variants"]

_Key: TypeAlias = tuple[Role, int | str | None]
_Known: TypeAlias = tuple[Variant, tuple[int, ...], list[str]]


class Variants:
    def __init__(self, size: Callable[[str], int], alike: Alike) -> None:
        self._size = size
        self._alike = alike
        self._known: dict[str, dict[_Key, _Known]] = {}  # by the id of the rule

    def first(self, rule: FlatRule, driver: int | None) -> Variant:
        """The variant of a rule that starts from the literal at a position."""
        return self._get(rule, driver, lambda: compile_variant(rule, self._order(rule, driver)))

    def given(self, rule: FlatRule, name: str) -> Variant:
        """The variant of a rule that starts from values of a variable."""
        return self._get(rule, name, lambda: compile_variant(rule, self._order(rule, None, (name,)), (name,)))

    def _order(self, rule: FlatRule, first: int | None, given: tuple[str, ...] = ()) -> Order:
        return order(rule, first, self._size, given, self._alike)

    def _get(self, rule: FlatRule, start: int | str | None, make: Callable[[], Variant]) -> Variant:
        variants, key = self._known.setdefault(rule.id, {}), (rule.role, start)
        known = variants.get(key)
        names = known[2] if known else sorted({x.relation for x in rule.body if isinstance(x, Match)})
        sizes = tuple([self._size(n).bit_length() // 3 for n in names])
        if known is None or known[1] != sizes:
            known = variants[key] = make(), sizes, names
        return known[0]

    def clear(self) -> None:
        """Drop all variants, since their codes of constants are invalid."""
        self._known.clear()

    def forget(self, rules: Iterable[str]) -> None:
        """Drop the variants of these rules."""
        for id_ in rules:
            self._known.pop(id_, None)

    def indexes(self, rules: Iterable[str]) -> set[int]:
        """The addresses of the descriptors of all indexes that the variants of these rules use."""
        variants = (known[0] for id_ in rules for known in self._known.get(id_, {}).values())
        bytecodes = (bytecode for variant in variants for bytecode in variant.bytecodes.values())
        return {index.at for bytecode in bytecodes for index, _ in bytecode.indexes}
