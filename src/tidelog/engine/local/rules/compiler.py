"""Rules compiled to what the kernels read: levels, keys, columns, filters, in stages.

A *stage* is one run of `derive`: a chain of atoms, with the negations and plain comparisons that can be
decided on codes alone. Where a value has to be computed, the stage writes down its bindings, columns of them
are computed at once, and the next stage goes on from there. Most rules are one stage and write nothing down.

Compiled variants hold no data and no addresses; they are made once for a rule, a first literal and an order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codes, is_direct
from tidelog.engine.local.kernels import layout
from tidelog.plan.flat import FlatRule, Role
from tidelog.plan.join_order import Compute, Filter, Join, Order, Refute
from tidelog.program.typed import Binary, Cast, Constant, Expr, Match, Var, Wildcard

if TYPE_CHECKING:
    from tidelog.engine.local.rules.bytecode import Bytecode, Request

__all__ = ["Level", "Stage", "Variant", "compile_variant"]

_COMPARISONS = {
    "==": layout.EQ,
    "!=": layout.NE,
    "<": layout.LT,
    "<=": layout.LE,
    ">": layout.GT,
    ">=": layout.GE,
    "is": layout.EQ,
}

Key: TypeAlias = tuple[int, int, int]  # column, slot, whether none matches nothing


@dataclass(slots=True)
class Level:
    """An atom: where its rows come from and what is done with them. `join` is None for written bindings."""

    join: Join | None
    keys: list[Key] = field(default_factory=list)
    columns: list[tuple[int, int, int]] = field(default_factory=list)  # column, BIND or EQUAL, slot
    comparisons: list[tuple[int, int, int]] = field(default_factory=list)  # what, slot, slot
    refutes: list[tuple[Refute, list[Key]]] = field(default_factory=list)
    bounds: tuple[int, int | None, int, int | None, int] | None = None  # see BOUNDS_WIDTH of `kernels`


@dataclass(slots=True)
class Stage:
    """Atoms, then values and conditions that are computed on columns."""

    levels: list[Level] = field(default_factory=list)
    computed: list[Compute | Filter | Refute] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)  # the slots that bindings written down before hold
    emitted: list[int] = field(default_factory=list)  # and those that this stage writes down


@dataclass(slots=True)
class Variant:
    """`head` are the slots of the head's values, or None if they have to be computed."""

    rule: FlatRule
    stages: list[Stage]
    slots: dict[str, int]
    constants: list[tuple[int, Constant]]
    head: list[int] | None
    size: int
    codes: Codes | None = None  # of its slots, where they are constants
    bytecodes: dict[Request, Bytecode] = field(default_factory=dict)


def compile_variant(rule: FlatRule, order: Order, given: tuple[str, ...] = ()) -> Variant:
    """`given` are variables whose values are written down before the first stage."""
    return _Compiler(rule, given).run(order)


class _Compiler:
    def __init__(self, rule: FlatRule, given: tuple[str, ...]) -> None:
        self.rule = rule
        self.slots: dict[str, int] = {}
        self.constants: list[tuple[int, Constant]] = []
        self.places: dict[Constant, int] = {}
        self.size = 0
        self.stages = [Stage()]
        if given:
            self.slots = {name: self._new_slot() for name in given}
            self.stages = [Stage([Level(None)], entered=self._bound(), emitted=self._bound())]
        self.once = _matched_once(rule)

    def run(self, order: Order) -> Variant:
        for step in order:
            match step:
                case Join():
                    self._join(step)
                case Refute():
                    self._refute(step)
                case Compute():
                    self._compute(step)
                case Filter():
                    self._filter(step)
        head = [self._slot(v) for v in self.rule.values]
        direct = not self.stages[-1].computed and all(slot is not None for slot in head)
        slots = [s for s in head if s is not None]
        return Variant(
            self.rule, self.stages, self.slots, self.constants, slots if direct else None, max(self.size, 1)
        )

    # -- slots

    def _new_slot(self) -> int:
        self.size += 1
        return self.size - 1

    def _slot(self, expr: Expr) -> int | None:
        """The slot that holds an expression's value, if one does without computing anything."""
        match expr:
            case Var(name):
                return self.slots.get(name)
            case Constant():
                if expr not in self.places:
                    self.places[expr] = self._new_slot()
                    self.constants.append((self.places[expr], expr))
                return self.places[expr]
            case Cast(operand, types.Option(item)) if operand.type == item and not _may_be_none(item):
                return self._slot(operand)
            case _:
                return None

    # -- steps

    def _join(self, step: Join) -> None:
        if self.stages[-1].computed:
            self.stages.append(Stage([Level(None)], entered=self._bound()))
        level = Level(step, bounds=self._bounds(step))
        for column, term in enumerate(step.terms):
            if isinstance(term, Wildcard):
                continue
            if column in step.key:
                slot = self._slot(term)
                assert slot is not None
                checks = isinstance(term.type, types.Option) and not (
                    isinstance(term, Var) and term.name in self.once
                )
                level.keys.append((column, slot, int(checks)))
            else:
                assert isinstance(term, Var)
                known = term.name in self.slots
                if not known:
                    self.slots[term.name] = self._new_slot()
                optional = isinstance(term.type, types.Option)
                op = (layout.EQUAL_SOME if optional else layout.EQUAL) if known else layout.BIND
                level.columns.append((column, op, self.slots[term.name]))
        self.stages[-1].levels.append(level)
        self.stages[-1].emitted = self._bound()

    def _bounds(self, step: Join) -> tuple[int, int | None, int, int | None, int] | None:
        """Between which slots a column lies, if its codes are in the order of its values."""
        low: tuple[int | None, int] = (None, 0)
        high: tuple[int | None, int] = (None, 0)
        for bound in step.bounds:
            term = step.terms[bound.column]
            assert not isinstance(term, Wildcard)
            if not _on_codes(bound.op, term.type) or bound.term.type != term.type:
                return None
            slot = self._slot(bound.term)
            if slot is None:
                return None
            if bound.op in (">", ">="):
                low = slot, int(bound.op == ">")
            else:
                high = slot, int(bound.op == "<")
        return (step.bounds[0].column, *low, *high) if step.bounds else None

    def _refute(self, step: Refute) -> None:
        keys = [
            (column, slot, int(isinstance(term.type, types.Option)))
            for column, term in enumerate(step.terms)
            if not isinstance(term, Wildcard) and (slot := self._slot(term)) is not None
        ]
        stage = self.stages[-1]
        if stage.computed or not stage.levels or len(keys) < len(step.terms):
            stage.computed.append(step)
        else:
            stage.levels[-1].refutes.append((step, keys))

    def _compute(self, step: Compute) -> None:
        slot = self._slot(step.value)
        if slot is not None and not self.stages[-1].computed:
            self.slots[step.variable.name] = slot
            return
        self.stages[-1].computed.append(step)
        if step.variable.name not in self.slots:
            self.slots[step.variable.name] = self._new_slot()

    def _filter(self, step: Filter) -> None:
        stage = self.stages[-1]
        match step.condition:
            case Binary(op, left, right) if op in _COMPARISONS and _on_codes(op, left.type):
                x, y = self._slot(left), self._slot(right)
                if x is not None and y is not None and stage.levels and not stage.computed:
                    stage.levels[-1].comparisons.append((_COMPARISONS[op], x, y))
                    return
        stage.computed.append(step)

    def _bound(self) -> list[int]:
        """The slots that hold values of variables so far."""
        constant = {slot for slot, _ in self.constants}
        return sorted(set(self.slots.values()) - constant)


def _matched_once(rule: FlatRule) -> frozenset[str]:
    """The variables of a rederivation's head that one column of its body holds: none is no join there."""
    if rule.role is Role.DERIVE:
        return frozenset()
    head, *body = rule.body
    assert isinstance(head, Match)
    names = [t.name for x in body if isinstance(x, Match) for t in x.terms if isinstance(t, Var)]
    return frozenset(t.name for t in head.terms if isinstance(t, Var) and names.count(t.name) == 1)


def _may_be_none(item: types.Scalar) -> bool:
    """Whether a value of the type could have the code of none."""
    return isinstance(item, types.Int) or item == types.Signed(64)


def _on_codes(op: str, type_: Type) -> bool:
    """Whether a comparison can be decided by comparing codes."""
    if op == "is":
        return True
    if isinstance(type_, types.Option):
        return False
    return op in ("==", "!=") or is_direct(type_)
