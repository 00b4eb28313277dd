"""Dense binary relations as bit matrices, and the recursions that can be run on them whole.

A pair is one bit, so composing, uniting and subtracting are operations on words, sixty-four pairs at a time.
That pays when a good share of all pairs is there, as in the closure of a graph with a large cycle; the rows
of `Table` pay otherwise. Which rules fit is `Pattern`: the head is a chain of one or two binary atoms, over
the relation itself or relations below.

A commit works on a copy: the old matrix stays until the new one is published, and what changed is the
difference of the two, which stays a matrix until somebody reads it. Facts that enter are propagated from
themselves; when facts leave, the fixpoint is run again (a pair carries no count that could tell whether it
stands without them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numba import njit

from tidelog.engine.local.codec import Codes
from tidelog.engine.local.table import Table
from tidelog.plan.flat import FlatProgram, FlatRule, Unit
from tidelog.program.typed import Absent, Match, Var

__all__ = ["BitRelation", "Operand", "Pattern", "pattern", "pays", "sparse"]

Matrix = npt.NDArray[np.uint64]
WORKERS = 2
_ENOUGH_ROWS = 20_000
_PARALLEL_FROM = 4096  # rows of a matrix from which on handing ranges over pays
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_SHIFT = np.uint64(58)


def _places() -> npt.NDArray[np.int64]:
    places = np.zeros(64, np.int64)
    for i in range(64):
        places[((1 << i) * 0x03F79D71B4CB0A89 & 0xFFFFFFFFFFFFFFFF) >> 58] = i
    return places


_PLACES = _places()


# -- kernels


@njit(cache=True, nogil=True)
def _compose(left, right, out, places, first, last):  # type: ignore[no-untyped-def]
    """out[x] |= right[y] for every y in left[x], for some rows."""
    for x in range(first, last):
        for w in range(left.shape[1]):
            word = left[x, w]
            while word:
                low = word & (~word + _ONE)
                y = w * 64 + places[np.int64((low * _DE_BRUIJN) >> _SHIFT)]
                for v in range(right.shape[1]):
                    out[x, v] |= right[y, v]
                word ^= low


@njit(cache=True, nogil=True)
def _absorb(found, known, first, last):  # type: ignore[no-untyped-def]
    """Leave in `found` what `known` has not, and add it; how many rows changed."""
    changed = 0
    for x in range(first, last):
        some = np.uint64(0)
        for w in range(known.shape[1]):
            new = found[x, w] & ~known[x, w]
            found[x, w] = new
            known[x, w] |= new
            some |= new
        changed += some != 0
    return changed


@njit(cache=True, nogil=True)
def _set(matrix, rows, columns):  # type: ignore[no-untyped-def]
    for i in range(rows.size):
        matrix[rows[i], columns[i] >> 6] |= _ONE << np.uint64(columns[i] & 63)


@njit(cache=True, nogil=True)
def _count(matrix):  # type: ignore[no-untyped-def]
    total = 0
    for x in range(matrix.shape[0]):
        for w in range(matrix.shape[1]):
            word = matrix[x, w]
            while word:
                word &= word - _ONE
                total += 1
    return total


@njit(cache=True, nogil=True)
def _pairs(matrix, places, out):  # type: ignore[no-untyped-def]
    """The pairs of a matrix, as rows of `out`, which has room for all."""
    n = 0
    for x in range(matrix.shape[0]):
        for w in range(matrix.shape[1]):
            word = matrix[x, w]
            while word:
                low = word & (~word + _ONE)
                out[n, 0] = x
                out[n, 1] = w * 64 + places[np.int64((low * _DE_BRUIJN) >> _SHIFT)]
                n += 1
                word ^= low


# -- which units fit


@dataclass(frozen=True, slots=True)
class Operand:
    """A relation, as it is or with its columns changed over; None is the relation of the unit itself."""

    relation: str | None
    turned: bool = False


_SELF = Operand(None)
_BASE = Operand("")  # what the rules that are not recursive give, together with asserted facts


@dataclass(frozen=True, slots=True)
class Pattern:
    """`chains` are the bodies of rules, each one operand or the composition of two.

    With `turned`, the matrix holds the relation with its columns changed over, and so do the chains. `others`
    are rules that are not recursive and no chains: what they give is taken like asserted facts.
    """

    relation: str
    chains: tuple[tuple[Operand, ...], ...]
    turned: bool = False
    others: tuple[FlatRule, ...] = ()

    def below(self) -> Iterator[Operand]:
        """The operands that are not the relation itself."""
        yield from dict.fromkeys(o for chain in self.chains for o in chain if o.relation)


def pattern(unit: Unit, program: FlatProgram) -> Pattern | None:
    """How a unit is computed on matrices; None if it does not fit, or if another unit reads it."""
    if len(unit.relations) != 1 or not unit.recursive or unit.best:
        return None
    (name,) = unit.relations
    stored = program.relations[name]
    if len(stored.types) != 2 or stored.types[0] != stored.types[1]:
        return None
    readers = (r for r in program.rules.values() if r.head != name)
    if any(isinstance(x, Match | Absent) and x.relation == name for r in readers for x in r.body):
        return None
    chains: list[tuple[Operand, ...]] = []
    others: list[FlatRule] = []
    for rule in unit.rules:
        chain = _chain(rule, name)
        if chain is not None:
            chains.append(chain)
        elif any(isinstance(x, Match) and x.relation == name for x in rule.body):
            return None
        else:
            others.append(rule)
    return replace(_cheaper(Pattern(name, tuple(chains))), others=tuple(others))


def _cheaper(plain: Pattern) -> Pattern:
    """The pattern, turned over if that puts the relation itself behind the one it is composed with.

    A composition costs what its left side has: better few edges than many pairs.
    """
    own = [chain for chain in plain.chains if _SELF in chain]
    if own == [(_SELF, _SELF)]:  # the closure of its base: one step at a time finds the same pairs
        chains = tuple((_BASE, _SELF) if chain == own[0] else chain for chain in plain.chains)
        return Pattern(plain.relation, chains)
    if not all(len(c) == 2 and c[0].relation is None and c[1].relation is not None for c in own):
        return plain
    chains = tuple(
        tuple(Operand(o.relation, o.relation is not None and not o.turned) for o in reversed(chain))
        for chain in plain.chains
    )
    return Pattern(plain.relation, chains, turned=True)


def _chain(rule: FlatRule, name: str) -> tuple[Operand, ...] | None:
    """The body of a rule as a chain from its head's first column to its second."""
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


def _follow(path: list[Match], start: str, end: str, name: str) -> tuple[Operand, ...] | None:
    here, operands = start, []
    for atom in path:
        first, second = (t.name for t in atom.terms if isinstance(t, Var))
        if here not in (first, second):
            return None
        turned = here == second
        here = first if turned else second
        if atom.relation == name and turned:
            return None
        operands.append(Operand(None if atom.relation == name else atom.relation, turned))
    middle = {t.name for atom in path for t in atom.terms if isinstance(t, Var)} - {start, end}
    return tuple(operands) if here == end and len(middle) == len(path) - 1 else None


def pays(rows: int, domain: int) -> bool:
    """Whether a relation of so many rows over a domain of so many values is better kept as bits."""
    return rows >= _ENOUGH_ROWS and domain * domain < 64 * rows


def sparse(rows: int) -> bool:
    """Whether a relation kept as bits has so few rows that it should be rows again."""
    return rows < _ENOUGH_ROWS // 4


# -- the relation


class BitRelation:
    """`names` numbers the values: a value's row in it is its place in the matrix."""

    def __init__(self) -> None:
        self.names = Table(1)
        self.bits: Matrix = np.zeros((0, 0), np.uint64)
        self.size = 0
        self.turned = False
        self.pattern: Pattern | None = None
        self._next: Matrix | None = None
        self._size = 0
        self._pattern: Pattern | None = None

    def load(self, rows: Codes, turned: bool) -> None:
        """Take the state before from rows."""
        self.names.add(np.ascontiguousarray(rows.reshape(-1, 1)))
        self.bits = self._matrix(-(-max(self.names.rows, 1) // 64) * 64, rows, turned)
        self.size, self.turned = len(rows), turned

    def rename(self, codes: Codes) -> None:
        """Give the values new codes; whoever holds the old names goes on holding them."""
        names = Table(1)
        names.add(codes[self.names.data[: self.names.rows]])
        self.names = names

    # -- commits

    def update(
        self,
        pattern_: Pattern,
        given: Codes,
        old: Mapping[str, Codes],
        came: Mapping[str, Codes],
        only_came: bool,
    ) -> int:
        """Work out the new matrix; the number of rounds.

        `given` are the asserted facts, `old` and `came` the rows below that stay and that enter; with
        `only_came`, nothing has left and the present matrix is where to begin.
        """
        if self.turned != pattern_.turned:
            self.load(self.rows(), pattern_.turned)
        for rows in (given, *old.values(), *came.values()):
            self.names.add(np.ascontiguousarray(rows.reshape(-1, 1)))
        size = -(-max(self.names.rows, 1) // 64) * 64
        below = {
            o: self._matrix(size, np.concatenate([old[o.relation or ""], came[o.relation or ""]]), o.turned)
            for o in pattern_.below()
        }
        asserted = self._matrix(size, given, pattern_.turned)
        base = asserted | self._base(pattern_, below, size)
        below[_BASE] = base
        known = self._resized(size) if only_came else np.zeros((size, size // 64), np.uint64)
        found = base
        if only_came:
            fresh = {o: self._matrix(size, came[o.relation or ""], o.turned) for o in pattern_.below()}
            fresh[_BASE] = base & ~known  # whatever of the base was there before is known
            found = fresh[_BASE].copy()
            self._entering(pattern_, known, below, fresh, found)
        self._pattern = pattern_
        rounds = self._grow(pattern_, known, below, found.copy())
        self._next, self._size = known, int(_count(known))
        return rounds

    def _base(self, pattern_: Pattern, below: Mapping[Operand, Matrix], size: int) -> Matrix:
        """What follows from below alone."""
        base = np.zeros((size, size // 64), np.uint64)
        for chain in pattern_.chains:
            if all(o.relation is not None and o != _BASE for o in chain):
                base |= self._product([below[o] for o in chain])
        return base

    def _entering(
        self,
        pattern_: Pattern,
        known: Matrix,
        below: Mapping[Operand, Matrix],
        fresh: Mapping[Operand, Matrix],
        found: Matrix,
    ) -> None:
        """What follows at once from rows that entered below."""
        for chain in pattern_.chains:
            for i, operand in enumerate(chain):
                if operand.relation is None:
                    continue
                factors = [known if o.relation is None else below[o] for o in chain]
                factors[i] = fresh[operand]
                found |= self._product(factors)

    def _grow(self, pattern_: Pattern, known: Matrix, below: Mapping[Operand, Matrix], found: Matrix) -> int:
        rounds = 0
        while self._absorb(found, known):
            rounds += 1
            following = np.zeros_like(known)
            for chain in pattern_.chains:
                for i, operand in enumerate(chain):
                    if operand.relation is None:
                        factors = [known if o.relation is None else below[o] for o in chain]
                        factors[i] = found
                        following |= self._product(factors)
            found = following
        return rounds

    @staticmethod
    def _absorb(found: Matrix, known: Matrix) -> int:
        return _spread(lambda a, b: int(_absorb(found, known, a, b)), len(known))

    @staticmethod
    def _product(factors: list[Matrix]) -> Matrix:
        if len(factors) == 1:
            return factors[0].copy()
        left, right = factors
        out = np.zeros_like(left)
        _spread(lambda a, b: _compose(left, right, out, _PLACES, a, b), len(left))
        return out

    def _matrix(self, size: int, rows: Codes, turned: bool) -> Matrix:
        matrix = np.zeros((size, size // 64), np.uint64)
        first, second = (self.names.find(np.ascontiguousarray(rows[:, i : i + 1])) for i in (0, 1))
        if turned:
            first, second = second, first
        _set(matrix, first, second)
        return matrix

    def _resized(self, size: int) -> Matrix:
        """The present matrix, with room for all names."""
        matrix = np.zeros((size, size // 64), np.uint64)
        matrix[: len(self.bits), : self.bits.shape[1]] = self.bits
        return matrix

    def commit(self) -> None:
        if self._next is not None:
            self.bits, self.size, self.pattern = self._next, self._size, self._pattern
        self._next = None

    def rollback(self) -> None:
        self._next = None

    # -- reading

    def entering(self) -> Codes:
        if self._next is None:
            return np.empty((0, 2), np.int64)
        return self._codes(self._next & ~self._resized(len(self._next)))

    def leaving(self) -> Codes:
        if self._next is None:
            return np.empty((0, 2), np.int64)
        return self._codes(self._resized(len(self._next)) & ~self._next)

    def changed(self) -> bool:
        return self._next is not None and not np.array_equal(self._next, self._resized(len(self._next)))

    def rows(self) -> Codes:
        """The pairs of the last commit."""
        return self._codes(self.bits)

    def _codes(self, matrix: Matrix) -> Codes:
        pairs = np.empty((int(_count(matrix)), 2), np.int64)
        _pairs(matrix, _PLACES, pairs)
        return self.names.data[:, 0][pairs[:, ::-1] if self.turned else pairs]


def _spread(work: Callable[[int, int], int | None], rows: int) -> int:
    """Do work on ranges of rows, on both cores if there is enough of it; the sum of what it returns."""
    if rows < _PARALLEL_FROM:
        return work(0, rows) or 0
    # many ranges, since the rows of one may have much more to do than those of another
    step = max(64, rows // (8 * WORKERS))
    ranges = range(0, rows, step)
    return sum(r or 0 for r in _POOL.map(lambda a: work(a, min(a + step, rows)), ranges))


_POOL = ThreadPoolExecutor(WORKERS, thread_name_prefix="tidelog")
