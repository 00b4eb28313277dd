"""Finds the instances of a body, one at a time, for given values of some of its variables.

The values that a caller *wants* for variables serve for lookups and computations from the beginning. They are
not places that give a variable its value: the first such place must have exactly the wanted value, `none`
included, and all further ones must join it. Variables that are *placed* already only have to be joined.

What cannot be computed does not hold. A committed state has no instance in which that would be an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from tidelog.data.values import Row, Value, joins, order_key
from tidelog.program.traversal import expressions, variables
from tidelog.program.typed import (
    Absent,
    Aggregate,
    Bind,
    Body,
    Constant,
    Each,
    Expr,
    Group,
    Literal,
    Match,
    Nested,
    Stage,
    Term,
    Test,
    Var,
    Wildcard,
    Without,
)
from tidelog.program.weighting import read_name
from tidelog.proofs.calculator import Calculator
from tidelog.proofs.kinds import instance_weight
from tidelog.proofs.model import Computed, Fact, Failed, Instance, Members
from tidelog.proofs.state import Budget, State, same

__all__ = ["SHOWN", "Bodies", "Read", "bound_columns", "only"]

SHOWN: Final = 5  # members of a group that a proof shows

Read: TypeAlias = Callable[[str, Mapping[int, Value]], Iterable[Row]]

_EXTREMES: Final = {"min": 0, "max": 0, "arg_min": 1, "arg_max": 1}  # the argument that decides


@dataclass(slots=True)
class _Binding:
    """The values of variables, and which of them have a place."""

    values: dict[str, Value]
    placed: set[str]
    facts: dict[int, Fact]
    inner: dict[int, Members]

    def copy(self) -> _Binding:
        return _Binding(dict(self.values), set(self.placed), dict(self.facts), dict(self.inner))

    def place(self, name: str, value: Value) -> bool:
        """Give a variable a value; returns whether it agrees with the value that it has."""
        if name in self.placed:
            return joins(self.values[name], value)
        self.placed.add(name)
        if name in self.values:
            return same(self.values[name], value)
        self.values[name] = value
        return True


class Bodies:
    def __init__(self, state: State, calculator: Calculator, budget: Budget) -> None:
        self.state = state
        self.calculator = calculator
        self.budget = budget
        self.prefers: Callable[[Instance], bool] = lambda _: False  # the members of groups to show first
        self._orders: dict[tuple[int, frozenset[str], int | None], tuple[Body, tuple[int, ...]]] = {}

    def instances(
        self,
        body: Body,
        wanted: Mapping[str, Value],
        placed: Iterable[str] = (),
        reads: Mapping[int, Read] | None = None,
    ) -> Iterator[Instance]:
        """The instances of a body. `reads` replaces the rows of some of its atoms, by position."""
        order = self._order(body, frozenset(wanted), reads or {})
        start = _Binding(dict(wanted), set(placed), {}, {})
        for found in self._extended(body, order, start, reads or {}):
            yield Instance(body, found.values, found.facts, found.inner)

    def furthest(
        self, body: Body, wanted: Mapping[str, Value], placed: Iterable[str] = ()
    ) -> tuple[Instance, frozenset[int], int | None]:
        """The binding that satisfies most literals before one fails, their positions, and the failing one.

        If the body has instances, it is one of them, and none fails.
        """
        order = self._order(body, frozenset(wanted), {})
        deepest, found = 0, _Binding(dict(wanted), set(placed), {}, {})
        waiting = [iter([found])]  # the bindings that satisfy each prefix of the order
        while waiting and deepest < len(order):
            known = next(waiting[-1], None)
            if known is None:
                waiting.pop()
                continue
            depth = len(waiting) - 1
            if depth > deepest:
                deepest, found = depth, known
            if depth < len(order):
                waiting.append(self.extensions(body[order[depth]], order[depth], known))
        instance = Instance(body, found.values, found.facts, found.inner)
        return instance, frozenset(order[:deepest]), order[deepest] if deepest < len(order) else None

    def instances_without(
        self, body: Body, left: int, wanted: Mapping[str, Value], placed: Iterable[str] = ()
    ) -> Iterator[Instance]:
        """The bindings that satisfy all literals but one; nothing if others need its variables."""
        order = self._order(body, frozenset(wanted), {}, left)
        if len(order) < len(body) - 1:
            return
        start = _Binding(dict(wanted), set(placed), {}, {})
        for found in self._extended(body, order, start, {}):
            yield Instance(body, found.values, found.facts, found.inner)

    def holds(self, instance: Instance, satisfied: Iterable[int], placed: Iterable[str], number: int) -> bool:
        """Whether a literal holds in some extension of a binding that satisfies these literals."""
        names = set(placed).union(*(_binds(instance.body[n]) for n in satisfied))
        known = _Binding(dict(instance.values), names, {}, {})
        return next(self.extensions(instance.body[number], number, known), None) is not None

    def _extended(
        self, body: Body, order: Sequence[int], known: _Binding, reads: Mapping[int, Read]
    ) -> Iterator[_Binding]:
        if not order:
            yield known
            return
        number, *rest = order
        for extended in self.extensions(body[number], number, known, reads.get(number)):
            yield from self._extended(body, rest, extended, reads)

    def extensions(
        self, literal: Literal, number: int, known: _Binding, read: Read | None = None
    ) -> Iterator[_Binding]:
        """The bindings that satisfy one more literal."""
        match literal:
            case Match():
                yield from self._matches(literal, number, known, read or self.state.rows)
            case Absent(terms=terms):
                if self.is_absent(read_name(literal), terms, known.values):
                    yield known
            case Test(condition):
                if self.calculator.value(condition, known.values) is True:
                    yield known
            case Bind(variable, value):
                yield from _placed(known, variable.name, [self.calculator.value(value, known.values)])
            case Each(variable, collection):
                whole = self.calculator.value(collection, known.values)
                if not isinstance(whole, Failed):
                    items = self.calculator.items(collection.type, whole)
                    yield from _placed(known, variable.name, items)
            case Nested(result=result):
                computed, members = self.nested(literal, known.values)
                for extended in _placed(known, result.name, [computed]):
                    extended.inner[number] = members
                    yield extended
            case Without(parameters, bodies):
                if self.has_none(parameters, bodies, known.values):
                    yield known
            case Stage(group, bodies):
                for results, members in self.groups(group, bodies, known.values):
                    extended = known.copy()
                    if all(extended.place(name, value) for name, value in results.items()):
                        extended.inner[number] = members
                        yield extended
            case _:
                assert_never(literal)

    # -- atoms

    def _matches(self, atom: Match, number: int, known: _Binding, read: Read) -> Iterator[_Binding]:
        bound: dict[int, Value] = {}
        for i, term in enumerate(atom.terms):
            if isinstance(term, Constant):
                bound[i] = term.value
            elif isinstance(term, Var) and term.name in known.values:
                bound[i] = known.values[term.name]
            else:
                continue
            if bound[i] is None and (isinstance(term, Constant) or term.name in known.placed):
                return  # `none` joins nothing
        name = read_name(atom)
        for row in read(name, bound):
            self.budget.spend()
            extended = known.copy()
            pairs = zip(atom.terms, row, strict=True)
            if all(extended.place(t.name, v) for t, v in pairs if isinstance(t, Var)):
                extended.facts[number] = Fact(name, row)
                yield extended

    def is_absent(self, relation: str, terms: Sequence[Term], known: Mapping[str, Value]) -> bool:
        """Whether no row matches the terms, whose variables are known."""
        bound = bound_columns(terms, known)
        return None in bound.values() or not self.state.rows(relation, bound)

    # -- nested bodies

    def inner(
        self, parameters: Iterable[Var], bodies: tuple[Body, ...], known: Mapping[str, Value]
    ) -> Iterator[Instance]:
        """The instances of nested bodies under the values of their parameters."""
        own = {p.name: known[p.name] for p in parameters}
        for body in bodies:
            yield from self.instances(body, own, own)

    def has_none(
        self, parameters: Iterable[Var], bodies: tuple[Body, ...], known: Mapping[str, Value]
    ) -> bool:
        return next(self.inner(parameters, bodies, known), None) is None

    def nested(self, literal: Nested, known: Mapping[str, Value]) -> tuple[Computed, Members]:
        """The value of a nested aggregate, and what it ranges over."""
        found = list(self.inner(literal.parameters, literal.bodies, known))
        sound = self._sound(literal, found)
        weights = [instance_weight(instance, self.state) for _, instance in sound]
        value = self.calculator.aggregated(literal, [row for row, _ in sound], weights)
        return value, _members(literal, sound, sum(weights), self.prefers)

    def groups(
        self, group: Group, bodies: tuple[Body, ...], wanted: Mapping[str, Value]
    ) -> Iterator[tuple[dict[str, Value], Members]]:
        """The keys and results of groups with these keys, and what the first aggregate ranges over."""
        keys = {k.name: wanted[k.name] for k in group.keys if k.name in wanted}
        members: dict[Row, list[Instance]] = {}
        for body in bodies:
            for instance in self.instances(body, keys):
                members.setdefault(tuple(instance.values[k.name] for k in group.keys), []).append(instance)
        first = group.aggregates[0]
        for found in members.values():
            known = self._results(group, found)
            if known is not None:
                arguments = [(self.arguments(first.args, x) or (), x) for x in found]
                copies = sum(instance_weight(x, self.state) for x in found)
                yield known, _members(first, arguments, copies, self.prefers)

    def _results(self, group: Group, found: list[Instance]) -> dict[str, Value] | None:
        """The keys and results of a group with these instances."""
        known: dict[str, Value] = {k.name: found[0].values[k.name] for k in group.keys}
        for aggregate in group.aggregates:
            sound = self._sound(aggregate, found)
            weights = [instance_weight(instance, self.state) for _, instance in sound]
            value = self.calculator.aggregated(aggregate, [row for row, _ in sound], weights)
            if isinstance(value, Failed):
                return None
            known[aggregate.result.name] = value
        return known

    def _sound(self, what: Aggregate | Nested, found: Iterable[Instance]) -> list[tuple[Row, Instance]]:
        """The instances for which all arguments of an aggregate can be computed, with their values."""
        rows = ((self.arguments(what.args, instance), instance) for instance in found)
        return [(row, instance) for row, instance in rows if row is not None]

    def arguments(self, args: Sequence[Expr], instance: Instance) -> Row | None:
        """The values of expressions in an instance; None if one cannot be computed."""
        values: list[Value] = []
        for arg in args:
            value = self.calculator.value(arg, instance.values)
            if isinstance(value, Failed):
                return None
            values.append(value)
        return tuple(values)

    # -- the order of literals

    def _order(
        self, body: Body, known: frozenset[str], reads: Mapping[int, Read], left: int | None = None
    ) -> tuple[int, ...]:
        key = id(body), known | {str(n) for n in reads}, left
        found = self._orders.get(key)
        if found is None:
            found = self._orders[key] = body, self._ordered(body, known, reads, left)  # keeps the body alive
        return found[1]

    def _ordered(
        self, body: Body, known: frozenset[str], reads: Mapping[int, Read], left: int | None
    ) -> tuple[int, ...]:
        """The positions of the literals but one, as far as they can be evaluated without it."""
        names, order = set(known), list[int]()
        waiting = {n: literal for n, literal in enumerate(body) if n != left}
        while waiting:
            costs = {n: c for n, x in waiting.items() if (c := self._cost(x, names, n in reads)) is not None}
            if not costs:
                break
            best = min(costs, key=lambda n: (costs[n], n))
            order.append(best)
            names |= _binds(waiting.pop(best))
        return tuple(order)

    def _cost(self, literal: Literal, known: set[str], is_replaced: bool) -> float | None:
        """About how many bindings a literal leads to; None if it cannot be evaluated yet."""
        match literal:
            case Match(terms=terms):
                free = sum(not _is_bound(t, known) for t in terms)
                size = float(self.state.size(read_name(literal)))
                cost: float = size ** (free / len(terms)) if terms else 1.0
                return 1.0 + (cost / 1000 if is_replaced else cost)
            case Absent() | Test() | Bind() | Each() | Nested() | Without():
                needed = {v.name for e in expressions(literal) for v in variables(e)}
                if not needed <= known:
                    return None
                return {Bind: 0.0, Test: 0.0, Absent: 0.5, Each: 4.0}.get(type(literal), 8.0)
            case Stage(group):
                return 16.0 if all(k.name in known for k in group.keys) else 1e6
            case _:
                assert_never(literal)


def only(fact: Fact) -> Read:
    """Reads this fact, whether or not it is present."""

    def read(relation: str, bound: Mapping[int, Value]) -> Iterator[Row]:
        if relation == fact.relation and all(same(fact.row[i], v) for i, v in bound.items()):
            yield fact.row

    return read


def _placed(known: _Binding, name: str, values: Iterable[Computed]) -> Iterator[_Binding]:
    for value in values:
        extended = known.copy()
        if not isinstance(value, Failed) and extended.place(name, value):
            yield extended


def bound_columns(terms: Sequence[Term], known: Mapping[str, Value]) -> dict[int, Value]:
    """The values of the terms that are constants or known variables, by column."""
    bound: dict[int, Value] = {}
    for i, term in enumerate(terms):
        if isinstance(term, Constant):
            bound[i] = term.value
        elif isinstance(term, Var) and term.name in known:
            bound[i] = known[term.name]
    return bound


def _is_bound(term: Term, known: set[str]) -> bool:
    return isinstance(term, Constant) or (not isinstance(term, Wildcard) and term.name in known)


def _binds(literal: Literal) -> set[str]:
    match literal:
        case Match(terms=terms):
            return {t.name for t in terms if isinstance(t, Var)}
        case Bind(variable=variable) | Each(variable=variable) | Nested(result=variable):
            return {variable.name}
        case Stage(group):
            return {variable.name for variable in group.columns}
        case Absent() | Test() | Without():
            return set()
        case _:
            assert_never(literal)


def _members(
    what: Aggregate | Nested,
    found: Sequence[tuple[Row, Instance]],
    copies: int,
    prefers: Callable[[Instance], bool] = lambda _: False,
) -> Members:
    """The instances of an aggregate, given with the values of its arguments.

    Preferred ones come first, then those that decide the result.
    """
    place = _EXTREMES.get(what.function)
    if place is not None and found:
        from_type = what.args[place].type
        is_least = what.function.endswith("min")
        found = sorted(found, key=lambda pair: order_key(from_type, pair[0][place]), reverse=not is_least)
    found = sorted(found, key=lambda pair: not prefers(pair[1]))
    return Members(copies, tuple(instance for _, instance in found[:SHOWN]))
