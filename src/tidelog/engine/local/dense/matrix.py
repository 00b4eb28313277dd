"""Dense binary relations as bit rows.

Bits pay off when a large share of all pairs is present, as in the closure of a graph with a large cycle.
Otherwise the rows of `Table` are better.

A commit recomputes the rows that lead to a change, or all if those are many, and compares them with the old
ones. In a graph with large cycles that is little work, since all nodes of a cycle share a row. A few changes
that make no difference, which is common in a well-connected graph, are recognized without recomputing. The
rows of a state are not modified while anybody holds it.

Rules of other strata read the rows in place, before and after the commit, through a descriptor (see
`kernels.layout`) that a relation keeps up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense.bits import NO_BITS, Bits, Difference, Places
from tidelog.engine.local.dense.patterns import Pattern
from tidelog.engine.local.dense.row_store import RowStore
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native import calls
from tidelog.engine.local.storage.record import Record, expect, expect_within
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import Check
from tidelog.errors import EngineError

__all__ = ["BitRelation", "Source", "pays", "sparse"]

_ENOUGH_ROWS = 20_000
_FEW: Final = 64  # changes up to which testing whether they make a difference pays off
_STEPS: Final = 20_000  # steps that the test may examine
_SEARCHED: Final = 2  # rows that are searched for a bit in the time that a word is transposed
_FEWER: Final = 2  # compute only some rows if there are so many times more
_WORDS: Final = 2**26  # words of rows filled between two checks of the limits


def pays(rows: int, domain: int) -> bool:
    """Whether a relation of so many rows over a domain of so many values is better stored as bits."""
    return rows >= _ENOUGH_ROWS and domain * domain < 64 * rows


def _words(places: int) -> int:
    """The length of rows, with some room for places to come."""
    words = -(-max(places, 1) // 64)
    return words + words // 32


def sparse(rows: int) -> bool:
    """Whether a relation stored as bits has become so small that it should be rows again."""
    return rows < _ENOUGH_ROWS // 4


@dataclass(frozen=True, slots=True)
class Source:
    """The pairs of a relation of a lower stratum: the current ones, and those inserted and deleted."""

    now: Codes
    inserted: Codes
    deleted: Codes


class BitRelation:
    """A relation as bit rows. `names` numbers the values: a value's row number in it is its place."""

    def __init__(self) -> None:
        self.names = Table(1)
        self.bits = NO_BITS
        self.turned = False
        self.pattern: Pattern | None = None
        self._next: Bits | None = None
        self._pattern: Pattern | None = None
        self._changed: Places = np.empty(0, np.int64)
        self._sizes: tuple[int, int] | None = None  # of the differences, if they were asked for
        self._alike: dict[tuple[int, ...], tuple[int, float]] = {}  # estimates, and the sizes they are from
        self._store = RowStore(1)  # the rows of the last state, if they were computed here
        self._transposed: list[tuple[Bits, Bits]] = []  # matrices and the same transposed
        self._described = np.zeros(layout.BIT_RELATION_WIDTH, np.int64)
        self.at = calls.address(self._described)
        self._describe()

    def _describe(self) -> None:
        words = self._described
        words[: layout.TRANSPOSED] = [*self.bits.described(), *self.now.described()]
        words[layout.NAMES_AT] = self.names.at
        self._transposed = [(of, by) for of, by in self._transposed if of is self.bits or of is self.now]
        found = [by for of in (self.bits, self.now) for it, by in self._transposed if it is of]
        words[layout.TRANSPOSED : layout.NAMES_AT] = 0
        if len(found) == 2:
            words[layout.TRANSPOSED : layout.NAMES_AT] = [w for by in found for w in by.described()]

    def transpose(self, check: Check) -> None:
        """Have the columns as rows, too, until the pairs change; without effect if memory is short."""
        check()
        for of in (self.bits, self.now):
            if not any(it is of for it, _ in self._transposed):
                try:
                    room = of.transposed_room(check)
                except (EngineError, MemoryError):  # the columns are searched as before
                    return
                self._transposed.append((of, of.transposed(room, check)))
        self._describe()

    @property
    def is_transposed(self) -> bool:
        return bool(self._described[layout.TRANSPOSED])

    @property
    def worth_transposing(self) -> int:
        """How many rows are searched for a bit in the time that `transpose` takes."""
        return int(_SEARCHED * self.now.rows.shape[1] * len(self.now.ids))

    @property
    def now(self) -> Bits:
        """The pairs after the current commit."""
        return self._next or self.bits

    @property
    def size(self) -> int:
        return self.bits.size

    @property
    def nbytes(self) -> int:
        """The bytes of all matrices, and of the names."""
        held = {id(b): b for pair in self._transposed for b in pair} | {id(self.bits): self.bits}
        return self.names.nbytes + sum(b.rows.nbytes + b.ids.nbytes for b in held.values())

    @property
    def next_size(self) -> int:
        """The number of pairs after the current commit."""
        return self.now.size

    def load(self, rows: Codes, turned: bool) -> None:
        """Set the state before the commit from rows."""
        self.names.add(np.ascontiguousarray(rows.reshape(-1, 1)))
        self.turned = turned
        made = self._rows(self.grouped([]), self.grouped([(rows, turned)]))
        self.bits = self._store.made(replace(made, size=calls.count_pairs(made.rows, made.ids)))
        self._describe()

    def rename(self, codes: Codes) -> None:
        """Give the values new codes; holders of the old names are not affected."""
        names = Table(1)
        names.add(codes[self.names.codes()])
        self.names = names
        self._describe()

    # -- saving

    def saved(self, record: Record) -> dict[str, Any]:
        """The state between commits, except for the pattern."""
        used, ids = np.unique(self.bits.ids, return_inverse=True)
        rows = self.bits.rows if not 0 < len(used) < len(self.bits.rows) else self.bits.rows[used]
        return {
            "names": self.names.saved(record),
            "rows": record.put(rows),
            "ids": record.put(self.bits.ids if rows is self.bits.rows else ids.astype(np.int64)),
            "turned": self.turned,
        }

    @classmethod
    def restored(cls, record: Record, saved: Any) -> BitRelation:
        """Restore a relation. Raises Corrupt unless ids refer to rows, and bits to places with a name."""
        made = cls()
        made.names = Table.restored(record, saved["names"], 1)
        turned: Any = saved["turned"]
        rows = record.array(saved["rows"], np.uint64, None, None)
        ids = record.array(saved["ids"], np.int64, None)
        named = made.names.rows
        expect(type(turned) is bool and rows.size and len(ids) <= named, "bad bit rows")
        made.turned = turned
        expect_within(ids, 0, len(rows), "row of a place")
        last, used = divmod(named, 64)
        expect(not rows[:, last + 1 :].any(), "place without a name")
        expect(last >= rows.shape[1] or not (rows[:, last] >> np.uint64(used)).any(), "place without a name")
        made.bits = Bits(rows, ids, calls.count_pairs(rows, ids))
        made._describe()
        return made

    # -- commits

    def update(
        self,
        fits: Pattern,
        given: Source,
        sources: Mapping[str, Source],
        *,
        starts_over: bool,
        check: Check = lambda ahead=None: None,
    ) -> int:
        """Compute the new rows; returns the number of rounds, which is 0 if nothing can have changed.

        `given` holds the asserted facts and the heads of rules of other forms. With `starts_over`, nothing
        is known about the state before except its pairs.
        """
        if self.turned != fits.turned:
            self.load(self.rows(), fits.turned)
        self._pattern, starts_over = fits, starts_over or self.pattern != fits
        for source in (given, *sources.values()):
            self.names.add(
                np.ascontiguousarray((source.now if starts_over else source.inserted).reshape(-1, 1))
            )
        bases = [(given, fits.turned), *((sources[o.relation], o.turned) for o in fits.bases)]
        steps = [(sources[o.relation], o.turned) for o in fits.steps] + (bases if fits.closed else [])
        base = self.grouped([(source.now, turned) for source, turned in bases])
        step = base
        if not fits.closed:
            step = self.grouped([(source.now, turned) for source, turned in steps])
        if not starts_over and self._is_idle(steps, bases, step, base):
            self._have_next(self.bits, self._changed[:0])
            return 0
        touched = None if starts_over else self._touched((*steps, *bases))
        following, before = self._rows(step, base, touched, check), self.bits
        changed = calls.changed(before.rows, before.ids, following.rows, following.ids)
        inserted, deleted = following.more_than(changed, before), before.more_than(changed, following)
        following = replace(following, size=before.size + inserted - deleted)
        self._have_next(self._store.made(following), changed)
        self._sizes = inserted, deleted
        return 1

    def _touched(self, parts: Iterable[tuple[Source, bool]]) -> npt.NDArray[np.uint8]:
        """Mark the places that are new, or that pairs begin with which were inserted or deleted."""
        touched = np.zeros(self.names.rows, np.uint8)
        touched[len(self.bits.ids) :] = 1
        for source, turned in parts:
            for pairs in (source.inserted, source.deleted):
                touched[self._places(pairs, turned)[0]] = 1
        return touched

    def _have_next(self, bits: Bits | None, changed: Places) -> None:
        self._next, self._changed, self._sizes = bits, changed, None
        self._describe()

    def _places(self, pairs: Codes, turned: bool) -> Codes:
        """Convert pairs of values to pairs of places, one column per pair."""
        columns = np.array([self.names.find(np.ascontiguousarray(pairs[:, i : i + 1])) for i in (0, 1)])
        if columns.size and columns.min() < 0:  # kernels would use it as an address
            raise EngineError(
                "the saved state is corrupt: a value of a dense relation is missing; delete the saved state"
            )
        return columns[::-1] if turned else columns

    def grouped(self, parts: Iterable[tuple[Codes, bool]]) -> calls.Grouped:
        """Group pairs of values with a name, turned if so marked, by the place of their first element."""
        places = [self._places(pairs, turned) for pairs, turned in parts]
        together = np.concatenate([np.empty((2, 0), np.int64), *places], axis=1)
        return calls.grouped(together[0], together[1], self.names.rows)

    def _rows(
        self,
        step: calls.Grouped,
        base: calls.Grouped,
        touched: npt.NDArray[np.uint8] | None = None,
        check: Check = lambda ahead=None: None,
    ) -> Bits:
        """Compute rows: those of components that lead to touched places, if they are few, or else all.

        Their pairs are not counted.
        """
        component, count = calls.components(step)
        members = calls.grouped(component, np.arange(len(component)), count)
        marks, marked = np.ones(count, np.uint8), count
        row_of = np.zeros(count, np.int64)
        if touched is not None and self._store.has(self.bits) and self.names.rows <= 64 * self._store.words:
            marks, marked = calls.reaching(step, component, members, touched)
        if _FEWER * marked < count:
            kept = marks == 0
            row_of[kept] = self.bits.ids[members[1][members[0][:-1]][kept]]
        else:
            marks, marked = np.ones(count, np.uint8), count
            self._store = RowStore(_words(self.names.rows))
        row_of[marks != 0] = self._store.take(max(marked, 1), check)[:marked]
        rows, done = self._store.rows, 0
        while done < count:
            done = calls.fill(step, base, component, members, row_of, marks, rows, done, _WORDS)
            check()
        return Bits(rows, row_of[component], 0)

    def _is_idle(
        self,
        steps: list[tuple[Source, bool]],
        bases: list[tuple[Source, bool]],
        step: calls.Grouped,
        base: calls.Grouped,
    ) -> bool:
        """Whether the changes are few and a quick test shows that they make no difference.

        A deleted pair makes none if remaining steps still lead from one end to the other. An inserted pair
        makes none if the row of its first end already contained everything that it adds.
        """
        if sum(len(s.inserted) + len(s.deleted) for s, _ in (*steps, *bases)) > _FEW:
            return False
        for goals, parts in ((step, steps), (base, bases)):
            for source, turned in parts:
                for x, z in self._places(source.deleted, turned).T.tolist():
                    if calls.leads_to(step, x, goals, z, _STEPS) != 1:
                        return False
        return all(
            had(x, z)
            for had, parts in ((self.bits.holds, steps), (self.bits.has, bases))
            for source, turned in parts
            for x, z in self._places(source.inserted, turned).T.tolist()
        )

    def commit(self) -> None:
        if self._next is not None:
            self.bits, self.pattern = self._next, self._pattern
        self._have_next(None, self._changed[:0])

    def rollback(self) -> None:
        self._have_next(None, self._changed[:0])

    # -- reading

    @property
    def changed(self) -> Places:
        """The places whose rows the current commit has changed."""
        return self._changed

    def changed_sizes(self) -> tuple[int, int]:
        """How many pairs the current commit has inserted and deleted."""
        if self._sizes is None:
            self._sizes = len(self.inserted()), len(self.deleted())
        return self._sizes

    def inserted(self) -> Difference:
        return self._difference(self.now, self.bits)

    def deleted(self) -> Difference:
        return self._difference(self.bits, self.now)

    def _difference(self, bits: Bits, less: Bits) -> Difference:
        return Difference(self.names.column(0), self._changed, bits, less, self.turned)

    def rows(self) -> Codes:
        """The pairs of the last commit."""
        return self._codes(self.bits)

    def rows_now(self) -> Codes:
        """The pairs after the current commit."""
        return self._codes(self.now)

    def _codes(self, bits: Bits) -> Codes:
        pairs = bits.pairs()
        return self.names.column(0)[pairs[:, ::-1] if self.turned else pairs]

    def shows(self, pairs: Codes, mask: int) -> npt.NDArray[np.bool_]:
        """Which of these pairs have tags in the mask; a pair in both states has the tags ALIVE and OLD."""
        columns = [self.names.find(np.ascontiguousarray(pairs[:, c : c + 1])) for c in (0, 1)]
        x, y = columns[::-1] if self.turned else columns
        tags = layout.ALIVE * self.now.among(x, y) + layout.OLD * self.bits.among(x, y)
        return np.asarray((mask >> tags) & (tags > 0) != 0)

    def alike(self, columns: tuple[int, ...]) -> float:
        """Estimate how many pairs share a pair's values in these columns, on average over pairs."""
        size = self.next_size
        if len(columns) != 1:
            return 1.0 if columns else float(size)
        known = self._alike.get(columns)
        if known is None or not known[0] // 2 <= size <= known[0] * 2:
            known = self._alike[columns] = size, self.now.alike(columns[0] ^ self.turned)
        return known[1]
