"""Dense binary relations as bit rows, and the recursions that can be evaluated on them.

A pair is one bit, so union and difference are operations on words, sixty-four pairs at a time. That pays off
when a large share of all pairs is present, as in the closure of a graph with a large cycle. Otherwise the
rows of `Table` are better. `Pattern` describes the rules that fit: each is a base, or one step followed by
the relation itself.

A commit recomputes the rows and compares them with the old ones. In a graph with large cycles that is little
work, since all nodes of a cycle share a row. A few changes that make no difference, which is common in a
well-connected graph, are recognized without recomputing. Rows are never modified, so readers may keep the old
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidelog.data.types import Option
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.native import calls
from tidelog.engine.local.storage.record import Record, expect, expect_within
from tidelog.engine.local.storage.table import Table
from tidelog.engine.protocol import Check
from tidelog.errors import EngineError
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum
from tidelog.program.typed import Match, Var

__all__ = ["BitRelation", "Bits", "Difference", "Operand", "Pattern", "Source", "pattern", "pays", "sparse"]

_ENOUGH_ROWS = 20_000
_FEW: Final = 64  # changes up to which testing whether they make a difference pays off
_STEPS: Final = 20_000  # steps that the test may examine
_WORDS: Final = 2**26  # words of rows filled between two checks of the limits


# -- which strata fit


@dataclass(frozen=True, slots=True)
class Operand:
    """A relation of a lower stratum, as it is or with its columns swapped."""

    relation: str
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A relation defined by its bases and by steps: R(x, z) :- step(x, y), R(y, z).

    Steps are relations of lower strata and, with `closed`, also the bases. With `turned`, the pattern applies
    to the relation with its columns swapped. `others` are nonrecursive rules of any other form; their heads
    are treated like asserted facts.
    """

    relation: str
    bases: tuple[Operand, ...]
    steps: tuple[Operand, ...]
    closed: bool = False
    turned: bool = False
    others: tuple[FlatRule, ...] = ()

    def below(self) -> set[str]:
        """The relations of the bases and steps."""
        return {o.relation for o in (*self.bases, *self.steps)}


def pattern(stratum: Stratum, program: FlatProgram) -> Pattern | None:
    """How a stratum is evaluated on bit rows; None if it does not fit, or if another stratum reads it."""
    if len(stratum.relations) != 1 or not stratum.recursive or stratum.best:
        return None
    (name,) = stratum.relations
    stored = program.relations[name]
    if len(stored.types) != 2 or stored.types[0] != stored.types[1] or stored.keyed:
        return None
    if isinstance(stored.types[0], Option):  # `none` joins nothing, but every place of a matrix joins itself
        return None
    if program.index.readers.get(name, frozenset()) - {name}:
        return None
    own: list[tuple[Operand | None, ...]] = []
    bases: list[Operand] = []
    others: list[FlatRule] = []
    for rule in stratum.rules:
        chain = _chain(rule, name)
        if chain == (None,):
            continue  # it derives only what is already present
        if chain is not None and None in chain:
            own.append(chain)
        elif chain is not None and len(chain) == 1 and chain[0] is not None:
            bases.append(chain[0])
        elif any(isinstance(x, Match) and x.relation == name for x in rule.body):
            return None
        else:
            others.append(rule)
    fits = _directed(name, own, tuple(bases))
    return None if fits is None else replace(fits, others=tuple(others))


def _directed(name: str, own: list[tuple[Operand | None, ...]], bases: tuple[Operand, ...]) -> Pattern | None:
    """The pattern if all recursive rules are linear on the same side, or the closure of the bases."""
    if own == [(None, None)]:
        return Pattern(name, bases, (), closed=True)
    if all(step is not None and itself is None for step, itself in own):
        return Pattern(name, bases, tuple(step for step, _ in own if step is not None))
    if all(itself is None and step is not None for itself, step in own):
        steps = tuple(_turned(step) for _, step in own if step is not None)
        return Pattern(name, tuple(map(_turned, bases)), steps, turned=True)
    return None


def _turned(operand: Operand) -> Operand:
    return Operand(operand.relation, not operand.turned)


def _chain(rule: FlatRule, name: str) -> tuple[Operand | None, ...] | None:
    """A rule body as a chain from the head's first column to its second; None is the relation itself."""
    ends = [v.name for v in rule.values if isinstance(v, Var)]
    atoms = [x for x in rule.body if isinstance(x, Match) and _is_plain(x)]
    if len(set(ends)) != 2 or len(atoms) != len(rule.body) or len(atoms) not in (1, 2):
        return None
    for path in (atoms, atoms[::-1]):
        operands = _follow(path, ends[0], ends[1], name)
        if operands is not None:
            return operands
    return None


def _is_plain(atom: Match) -> bool:
    names = [t.name for t in atom.terms if isinstance(t, Var)]
    return len(atom.terms) == 2 and len(set(names)) == 2


def _follow(path: list[Match], start: str, end: str, name: str) -> tuple[Operand | None, ...] | None:
    here = start
    operands: list[Operand | None] = []
    for atom in path:
        first, second = (t.name for t in atom.terms if isinstance(t, Var))
        if here not in (first, second):
            return None
        turned = here == second
        here = first if turned else second
        if atom.relation == name and turned:
            return None
        operands.append(None if atom.relation == name else Operand(atom.relation, turned))
    middle = {t.name for atom in path for t in atom.terms if isinstance(t, Var)} - {start, end}
    return tuple(operands) if here == end and len(middle) == len(path) - 1 else None


def pays(rows: int, domain: int) -> bool:
    """Whether a relation of so many rows over a domain of so many values is better stored as bits."""
    return rows >= _ENOUGH_ROWS and domain * domain < 64 * rows


def sparse(rows: int) -> bool:
    """Whether a relation stored as bits has become so small that it should be rows again."""
    return rows < _ENOUGH_ROWS // 4


# -- the relation


@dataclass(frozen=True, slots=True)
class Source:
    """The pairs of a relation of a lower stratum: the current ones, and those inserted and deleted."""

    now: Codes
    inserted: Codes
    deleted: Codes


@dataclass(frozen=True, slots=True)
class Bits:
    """Pairs of places: the row of place x is `rows[ids[x]]`. Never modified."""

    rows: npt.NDArray[np.uint64]
    ids: npt.NDArray[np.int64]
    size: int

    def pairs(self, places: npt.NDArray[np.int64] | None = None, less: Bits | None = None) -> Codes:
        """The pairs of all or some places, without those in `less`."""
        places = np.arange(len(self.ids)) if places is None else places
        less = less or NO_BITS
        return calls.pairs(places, self.rows, self.ids, less.rows, less.ids)

    def has(self, place: int, other: int) -> bool:
        if place >= len(self.ids) or other >> 6 >= self.rows.shape[1]:
            return False
        return bool(self.rows[self.ids[place], other >> 6] >> np.uint64(other & 63) & np.uint64(1))

    def holds(self, place: int, other: int) -> bool:
        """Whether the row of `place` contains the row of `other`."""
        if max(place, other) >= len(self.ids):
            return False
        more = self.rows[self.ids[other]] & ~self.rows[self.ids[place]]
        return not more.any()


NO_BITS: Final = Bits(np.zeros((1, 1), np.uint64), np.empty(0, np.int64), 0)


@dataclass(frozen=True, slots=True)
class Difference:
    """The pairs of some places that are in one state and not in another, computed when they are read."""

    names: Codes
    places: npt.NDArray[np.int64]
    bits: Bits
    less: Bits
    turned: bool

    def __len__(self) -> int:
        bits, less = self.bits, self.less
        return calls.count_more(self.places, bits.rows, bits.ids, less.rows, less.ids)

    def codes(self) -> Codes:
        pairs = self.bits.pairs(self.places, self.less)
        return self.names[pairs[:, ::-1] if self.turned else pairs]


class BitRelation:
    """A relation as bit rows. `names` numbers the values: a value's row number in it is its place."""

    def __init__(self) -> None:
        self.names = Table(1)
        self.bits = NO_BITS
        self.turned = False
        self.pattern: Pattern | None = None
        self._next: Bits | None = None
        self._pattern: Pattern | None = None
        self._changed: npt.NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def size(self) -> int:
        return self.bits.size

    @property
    def next_size(self) -> int:
        """The number of pairs after the current commit."""
        return (self._next or self.bits).size

    def load(self, rows: Codes, turned: bool) -> None:
        """Set the state before the commit from rows."""
        self.names.add(np.ascontiguousarray(rows.reshape(-1, 1)))
        self.turned = turned
        self.bits = self._rows(self.grouped([]), self.grouped([(rows, turned)]))

    def rename(self, codes: Codes) -> None:
        """Give the values new codes; holders of the old names are not affected."""
        names = Table(1)
        names.add(codes[self.names.codes()])
        self.names = names

    # -- saving

    def saved(self, record: Record) -> dict[str, Any]:
        """The state between commits, except for the pattern."""
        return {
            "names": self.names.saved(record),
            "rows": record.put(self.bits.rows),
            "ids": record.put(self.bits.ids),
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
            self._next, self._changed = self.bits, self._changed[:0]
            return 0
        self._next = self._rows(step, base, check)
        self._changed = calls.changed(self.bits.rows, self.bits.ids, self._next.rows, self._next.ids)
        return 1

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

    def _rows(self, step: calls.Grouped, base: calls.Grouped, check: Check = lambda ahead=None: None) -> Bits:
        component, count = calls.components(step)
        members = calls.grouped(component, np.arange(len(component)), count)
        words = -(-max(self.names.rows, 1) // 64)
        check(8 * max(count, 1) * words)
        rows = np.zeros((max(count, 1), words), np.uint64)
        done = 0
        while done < count:
            done = calls.fill(step, base, component, members, rows, done, _WORDS)
            check()
        return Bits(rows, component, calls.count_pairs(rows, component))

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
        self._next = None

    def rollback(self) -> None:
        self._next = None

    # -- reading

    def inserted(self) -> Difference:
        return self._difference(self._next or self.bits, self.bits)

    def deleted(self) -> Difference:
        return self._difference(self.bits, self._next or self.bits)

    def _difference(self, bits: Bits, less: Bits) -> Difference:
        places = self._changed if self._next is not None else self._changed[:0]
        return Difference(self.names.column(0), places, bits, less, self.turned)

    def rows(self) -> Codes:
        """The pairs of the last commit."""
        pairs = self.bits.pairs()
        return self.names.column(0)[pairs[:, ::-1] if self.turned else pairs]
