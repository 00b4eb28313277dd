"""The recursions that can be evaluated on bit rows.

Each rule is a base, or one step followed by the relation itself. `Pattern` describes such a recursion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidelog.data.types import Option
from tidelog.plan.flat import FlatProgram, FlatRule, Stratum
from tidelog.program.typed import Match, Var

__all__ = ["Operand", "Pattern", "pattern"]


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
    """How a stratum is evaluated on bit rows; None if it does not fit."""
    if len(stratum.relations) != 1 or not stratum.recursive or stratum.best:
        return None
    (name,) = stratum.relations
    stored = program.relations[name]
    if len(stored.types) != 2 or stored.types[0] != stored.types[1] or stored.keyed:
        return None
    if isinstance(stored.types[0], Option):  # `none` joins nothing, but every place of a matrix joins itself
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
