"""Compiles rules to stages of levels, keys, columns and filters.

A *stage* is one run of the kernel `derive`: a chain of atoms, with the negations and plain comparisons that
can be decided on codes alone, and arithmetic on integers and doubles. If another value must be
computed, the stage materializes its bindings, the value is computed on whole columns, and the next stage
continues from there. So it is with the items of collections, whose bindings are repeated for each item. Most
rules have one stage and materialize nothing. The second atom of a stage is looked
up ahead, so a stage may also begin before an atom whose lookups would wait for memory.

A compiled *variant* holds no data and no addresses. It is made once for a rule, a first literal and a join
order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.engine.local.codes.codec import Codes, is_direct
from tidelog.engine.local.expressions.arithmetic import limits
from tidelog.engine.local.kernels import layout
from tidelog.plan.flat import FlatRule, Role
from tidelog.plan.join_order import Compute, Expand, Filter, Join, Order, Refute
from tidelog.program.typed import (
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Expr,
    Get,
    If,
    Is,
    Let,
    Listing,
    Make,
    Match,
    Over,
    Unary,
    Var,
    Wildcard,
)

if TYPE_CHECKING:
    from tidelog.engine.local.rules.bytecode import Bytecode, Request

__all__ = ["Arithmetic", "Comparison", "Level", "Refutation", "Stage", "Variant", "compile_variant"]

_COMPARISONS = {
    "==": layout.EQ,
    "!=": layout.NE,
    "<": layout.LT,
    "<=": layout.LE,
    ">": layout.GT,
    ">=": layout.GE,
    "is": layout.EQ,
}

_ARITHMETIC = {"+": layout.PLUS, "-": layout.MINUS, "*": layout.TIMES}
_OF_DOUBLES = {
    "+": layout.ADD_DOUBLES,
    "-": layout.SUBTRACT_DOUBLES,
    "*": layout.MULTIPLY_DOUBLES,
    "/": layout.DIVIDE_DOUBLES,
}
_ANY = -(2**63), 2**63 - 1  # the bounds of codes that are not bounded

Key: TypeAlias = tuple[int, int, int]  # column, slot, whether `none` matches nothing


class Comparison(NamedTuple):
    """A comparison of two slots."""

    op: int
    left: int
    right: int


class Refutation(NamedTuple):
    """A negated atom, with the slots of all its columns."""

    refute: Refute
    keys: list[Key]


class Arithmetic(NamedTuple):
    """An operation on two slots. It fails if the result is not between the bounds."""

    op: int
    left: int
    right: int
    slot: int
    low: int
    high: int


@dataclass(slots=True)
class Level:
    """An atom: the source of its rows and what is done with them. `join` is None for initial bindings."""

    join: Join | None
    keys: list[Key] = field(default_factory=list)
    columns: list[tuple[int, int, int]] = field(default_factory=list)  # column, BIND or EQUAL, slot
    tests: list[Comparison | Arithmetic | Refutation] = field(default_factory=list)
    bounds: tuple[int, int | None, int, int | None, int] | None = None  # see `kernels.layout`

    def add(self, comparison: Comparison) -> None:
        """Add a comparison, before the negated atoms at the end, which take longer."""
        at = len(self.tests)
        while at and isinstance(self.tests[at - 1], Refutation):
            at -= 1
        self.tests.insert(at, comparison)


@dataclass(slots=True)
class Stage:
    """Atoms, followed by values and conditions computed on columns."""

    levels: list[Level] = field(default_factory=list)
    computed: list[Compute | Filter | Refute | Expand] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)  # the slots of its initial bindings
    emitted: list[int] = field(default_factory=list)  # the slots of the bindings that it materializes


@dataclass(slots=True)
class Variant:
    """A compiled rule. `head` holds the slots of the head's values, or None if they must be computed."""

    rule: FlatRule
    stages: list[Stage]
    slots: dict[str, int]
    constants: list[tuple[int, Constant]]
    head: list[int] | None
    size: int
    codes: Codes | None = None  # of the constants, in their slots
    bytecodes: dict[Request, Bytecode] = field(default_factory=dict)


def compile_variant(
    rule: FlatRule,
    order: Order,
    given: tuple[str, ...] = (),
    *,
    computes: bool = True,
    apart: bool = False,
) -> Variant:
    """Compile a rule; `given` are variables whose values are bound before the first stage.

    Without `computes`, no stage computes a value, so none can fail, and all atoms are in one stage. With
    `apart`, each atom has a stage of its own.
    """
    return _Compiler(rule, given, computes, apart).run(order)


class _Compiler:
    def __init__(self, rule: FlatRule, given: tuple[str, ...], computes: bool, apart: bool) -> None:
        self.rule = rule
        self.computes = computes
        self.apart = apart
        self.slots: dict[str, int] = {}
        self.constants: list[tuple[int, Constant]] = []
        self.places: dict[Expr, int] = {}
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
                case Expand():
                    self._expand(step)
                case _:
                    assert_never(step)
        return Variant(self.rule, self.stages, self.slots, self.constants, self._head(), max(self.size, 1))

    def _head(self) -> list[int] | None:
        """The slots of the head's values, if there is no need to materialize bindings for them."""
        values = self.rule.values
        if self.stages[-1].computed or not all(map(self._has_slot, values)):
            return None
        return [slot for slot in map(self._slot, values) if slot is not None]

    # -- slots

    def _new_slot(self) -> int:
        self.size += 1
        return self.size - 1

    def _has_slot(self, expr: Expr) -> bool:
        """Whether `_slot` returns a slot."""
        match expr:
            case Var(name):
                return name in self.slots
            case Constant():
                return True
            case Cast(operand, types.Option(item)) if operand.type == item and not _may_be_none(item):
                return self._has_slot(operand)
            case Binary(op, left, right, type_) if self._is_open and _is_arithmetic(op, type_):
                return expr in self.places or (self._has_slot(left) and self._has_slot(right))
            case (
                Unary()
                | Binary()
                | If()
                | Let()
                | Call()
                | Cast()
                | Make()
                | Get()
                | Is()
                | Listing()
                | Block()
                | Over()
            ):
                return False
            case _:
                assert_never(expr)

    @property
    def _is_open(self) -> bool:
        """Whether the last stage can compute values."""
        return self.computes and bool(self.stages[-1].levels) and not self.stages[-1].computed

    def _slot(self, expr: Expr) -> int | None:
        """The slot that holds an expression's value, computed if need be; None if columns are needed."""
        if not self._has_slot(expr):
            return None
        match expr:
            case Var(name):
                return self.slots[name]
            case Cast(operand):
                return self._slot(operand)
            case Constant() if expr not in self.places:
                self.places[expr] = self._new_slot()
                self.constants.append((self.places[expr], expr))
            case Binary(op, left, right) if expr not in self.places:
                x, y = self._slot(left), self._slot(right)
                assert x is not None
                assert y is not None
                self.places[expr] = slot = self._new_slot()
                operation = _arithmetic(op, expr.type, x, y, slot)
                self.stages[-1].levels[-1].tests.append(operation)
        return self.places[expr]

    # -- steps

    def _join(self, step: Join) -> None:
        if self.stages[-1].computed or self._waits(step):
            self.stages.append(Stage([Level(None)], entered=self._bound()))
            self.places = {e: slot for e, slot in self.places.items() if isinstance(e, Constant)}
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

    def _waits(self, step: Join) -> bool:
        """Whether to begin a stage, so that what the atom looks up can be loaded ahead for many bindings.

        Instances of given keys are searched in a few places of the largest relations.
        """
        if self.apart:
            return bool(self.stages[-1].levels)
        is_deep = bool(step.key) and len(self.stages[-1].levels) > 1
        return self.computes and self.rule.role is Role.BY_KEY and is_deep

    def _bounds(self, step: Join) -> tuple[int, int | None, int, int | None, int] | None:
        """The slots that bound a column, if its codes have the order of its values."""
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
            stage.levels[-1].tests.append(Refutation(step, keys))

    def _compute(self, step: Compute) -> None:
        stage = self.stages[-1]
        slot = None if stage.computed else self._slot(step.value)
        if slot is not None:
            self.slots[step.variable.name] = slot
            stage.emitted = self._bound()
            return
        self.stages[-1].computed.append(step)
        if step.variable.name not in self.slots:
            self.slots[step.variable.name] = self._new_slot()

    def _expand(self, step: Expand) -> None:
        """Bind an item of a collection. If the variable is already bound, the item must be equal."""
        known = step.variable.name in self.slots
        item = Var(f"$item{self.size}", step.variable.type) if known else step.variable
        self.slots[item.name] = self._new_slot()
        self.stages[-1].computed.append(Expand(item, step.collection, step.position))
        if known:
            equal = Binary("==", step.variable, item, types.BOOL)
            self.stages[-1].computed.append(Filter(equal, step.position))

    def _filter(self, step: Filter) -> None:
        stage = self.stages[-1]
        operation = self._comparison(step.condition) if stage.levels and not stage.computed else None
        if operation is None:
            stage.computed.append(step)
        else:
            stage.levels[-1].add(operation)

    def _comparison(self, test: Expr) -> Comparison | None:
        """A comparison of slots, if that is what a condition is."""
        if (
            not isinstance(test, Binary)
            or test.op not in _COMPARISONS
            or not _on_codes(test.op, test.left.type)
        ):
            return None
        if not self._has_slot(test.left) or not self._has_slot(test.right):
            return None
        x, y = self._slot(test.left), self._slot(test.right)
        assert x is not None
        assert y is not None
        return Comparison(_COMPARISONS[test.op], x, y)

    def _bound(self) -> list[int]:
        """The slots of the variables bound so far."""
        constant = {slot for slot, _ in self.constants}
        return sorted(set(self.slots.values()) - constant)


def _matched_once(rule: FlatRule) -> frozenset[str]:
    """The head variables of a rederivation that occur once in its body, where `none` matches itself."""
    if rule.role is Role.DERIVE:
        return frozenset()
    head, *body = rule.body
    assert isinstance(head, Match)
    names = [t.name for x in body if isinstance(x, Match) for t in x.terms if isinstance(t, Var)]
    return frozenset(t.name for t in head.terms if isinstance(t, Var) and names.count(t.name) == 1)


def _is_arithmetic(op: str, type_: Type) -> bool:
    """Whether a kernel can compute an operation on a type."""
    if isinstance(type_, types.Double):
        return op in _OF_DOUBLES
    if op not in _ARITHMETIC or not is_direct(type_):
        return False
    return isinstance(type_, types.Int | types.Signed | types.Bit) or (
        isinstance(type_, types.Decimal) and op != "*"
    )


def _arithmetic(op: str, type_: Type, x: int, y: int, slot: int) -> Arithmetic:
    if isinstance(type_, types.Double):
        return Arithmetic(_OF_DOUBLES[op], x, y, slot, *_ANY)
    return Arithmetic(_ARITHMETIC[op], x, y, slot, *limits(type_))


def _may_be_none(item: types.Item) -> bool:
    """Whether a value of the type can have the code of `none`."""
    return isinstance(item, types.Int) or item == types.Signed(64)


def _on_codes(op: str, type_: Type) -> bool:
    """Whether a comparison can be decided by comparing codes."""
    if op == "is":
        return True
    if isinstance(type_, types.Option):
        return False
    return op in ("==", "!=") or is_direct(type_)
