"""What join orders are chosen by: sizes, and how many rows share values, estimated from samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.plan.cost import Fixed

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

__all__ = ["Estimates"]


class Estimates:
    """The statistics of an engine's relations, in the form in which they are stored now."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine

    def size(self, relation: str, fixed: Fixed = ()) -> float:
        size = self._engine.size_now(relation)
        if not fixed:
            return size
        bits = self._engine.dense.bits.get(relation)
        if bits is not None:
            return bits.alike(tuple(column for column, _ in fixed))
        return size * self._engine.tables[relation].share(self._codes(fixed))

    def alike(self, relation: str, columns: tuple[int, ...], fixed: Fixed = ()) -> float | None:
        bits = self._engine.dense.bits.get(relation)
        if bits is not None:
            return bits.alike(columns)
        return self._engine.tables[relation].alike(columns, self._codes(fixed))

    def _codes(self, fixed: Fixed) -> tuple[tuple[int, int], ...]:
        encode = self._engine.codec.encode
        return tuple([(column, encode(c.type, c.value)) for column, c in fixed])

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        return relation in self._engine.dense.bits or columns in self._engine.tables[relation].indexes
