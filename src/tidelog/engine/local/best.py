"""Units with relations kept as the best value per key, by rounds of improvement.

Each round finds the candidates that follow from what got better in the round before; of a key's candidates
the best is compared with the row that the key has, and takes its place if it is better. A value on the way
may be superseded, so a computation that fails on the way counts only if it fails at the end too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Type
from tidelog.engine.local.codec import Codec, Codes, is_direct
from tidelog.engine.local.rows import ALIVE, CUR
from tidelog.engine.local.table import Rows, Table
from tidelog.plan.flat import FlatRule, Unit
from tidelog.program.typed import Best, Match

__all__ = ["Improvement"]

Collect = Callable[[FlatRule, "int | None", "Rows | None"], Codes]


@dataclass(slots=True)
class _Kept:
    """A relation of the unit; `keys` numbers the keys, `holder` is the row that each key has."""

    table: Table
    best: Best | None
    type: Type | None
    keys: Table
    holder: Rows = field(default_factory=lambda: np.full(64, -1, np.int64))
    delta: Rows = field(default_factory=lambda: np.empty(0, np.int64))


class Improvement:
    """Runs the rounds of a unit over tables that have been cleared."""

    def __init__(
        self, unit: Unit, tables: Mapping[str, Table], types: Mapping[str, tuple[Type, ...]], codec: Codec
    ) -> None:
        best = dict(unit.best)
        self.unit = unit
        self.codec = codec
        self.kept = {
            name: _Kept(
                tables[name],
                best.get(name),
                types[name][best[name].column] if name in best else None,
                Table(max(tables[name].arity - 1, 0)),
            )
            for name in unit.relations
        }

    def run(self, collect: Collect, check_round: Callable[[], None]) -> int:
        """All rounds; the number of candidates looked at."""
        total = 0
        found = list(self._first(collect))
        while found:
            total += sum(heads.shape[1] for _, heads in found)
            check_round()
            for kept in self.kept.values():
                kept.table.tags[kept.delta] &= ~np.uint8(CUR)
            for name, kept in self.kept.items():
                heads = [h for n, h in found if n == name]
                kept.delta = self._take(kept, np.concatenate(heads, axis=1)) if heads else kept.delta[:0]
            found = list(self._later(collect))
        return total

    def _first(self, collect: Collect) -> Iterator[tuple[str, Codes]]:
        for name, kept in self.kept.items():
            given = np.flatnonzero(kept.table.given[: kept.table.rows])
            yield name, kept.table.data[given].T
        for rule in self.unit.rules:
            if not self._inner(rule):
                yield rule.head, collect(rule, None, None)

    def _later(self, collect: Collect) -> Iterator[tuple[str, Codes]]:
        for rule in self.unit.rules:
            for position in self._inner(rule):
                literal = rule.body[position]
                assert isinstance(literal, Match)
                delta = self.kept[literal.relation].delta
                if len(delta):
                    yield rule.head, collect(rule, position, delta)

    def _inner(self, rule: FlatRule) -> list[int]:
        return [i for i, x in enumerate(rule.body) if isinstance(x, Match) and x.relation in self.kept]

    # -- taking candidates in

    def _take(self, kept: _Kept, heads: Codes) -> Rows:
        """The rows that are new or better than what their key had."""
        table = kept.table
        if kept.best is None:
            rows = np.unique(table.add(np.ascontiguousarray(heads.T)))
            rows = rows[table.tags[rows] & ALIVE == 0]
        else:
            rows = self._improve(kept, kept.best, heads)
        table.tags[rows] |= np.uint8(ALIVE | CUR)
        table.support[rows] = 0, 1
        return rows

    def _improve(self, kept: _Kept, best: Best, heads: Codes) -> Rows:
        table, column = kept.table, best.column
        keys = kept.keys.add(np.ascontiguousarray(np.delete(heads, column, axis=0).T))
        while len(kept.holder) < kept.keys.rows:
            kept.holder = np.concatenate([kept.holder, np.full_like(kept.holder, -1)])
        order = self._order(kept, best, heads[column])
        ranked = np.lexsort((order, keys))
        first = np.ones(len(keys), np.bool_)
        first[1:] = keys[ranked][1:] != keys[ranked][:-1]
        chosen = ranked[first]
        rows = table.add(np.ascontiguousarray(heads[:, chosen].T))
        held = kept.holder[keys[chosen]]
        old = self._order(kept, best, table.data[np.maximum(held, 0), column])
        new = self._order(kept, best, table.data[rows, column])
        better = (held < 0) | (new < old)
        rows, held = rows[better], held[better]
        table.tags[held[held >= 0]] &= ~np.uint8(ALIVE | CUR)
        kept.holder[keys[chosen[better]]] = rows
        return rows

    def _order(self, kept: _Kept, best: Best, codes: Codes) -> npt.NDArray[np.int64]:
        """Numbers that are smaller for better values."""
        assert kept.type is not None
        places = codes if is_direct(kept.type) else self.codec.dictionary(kept.type).ranks()[codes]
        return places if best.function == "min" else ~places
