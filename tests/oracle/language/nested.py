"""Random literals over structured data: generators, destructuring, negated bodies, aggregates over bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol

from oracle.language.expressions import Expressions, OwnAggregate
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.library.catalog import AGGREGATES, AggregateFunction, Kind, aggregate_result, allows

__all__ = ["Aggregated", "Literals", "aggregated", "own_arguments"]

Scope = Mapping[str, Type]

# arguments of aggregates that must be constants: their type and some of them
_CONSTANTS: Final[Mapping[Kind, tuple[Type, tuple[str, ...]]]] = {
    Kind.STRING: (types.STRING, ('"-"',)),
    Kind.FLOATING: (types.DOUBLE, ("0.0", "0.25", "0.5", "0.9", "1.0")),
}


class Relation(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def types(self) -> tuple[Type, ...]: ...


@dataclass
class _Inner:
    """A nested body in the making, with the variables of its own."""

    outer: Scope
    own: dict[str, Type] = field(default_factory=dict)
    literals: list[str] = field(default_factory=list)

    @property
    def scope(self) -> dict[str, Type]:
        return {**self.outer, **self.own}


@dataclass(frozen=True)
class Aggregated:
    """An aggregate with its arguments; `result` is the type that it gives."""

    function: AggregateFunction
    arguments: tuple[str, ...]
    result: Type


class Literals:
    """`name` gives fresh variables; `condition` makes a truth about some."""

    def __init__(
        self,
        random: Random,
        expressions: Expressions,
        name: Callable[[str], str],
        condition: Callable[[Scope], str],
    ) -> None:
        self.random = random
        self.expressions = expressions
        self.name = name
        self.condition = condition
        self._tests = False  # whether bodies test variables from outside rather than bind them

    # -- patterns

    def pattern(self, type_: Type, bound: dict[str, Type]) -> str:
        """A pattern for an argument; its variables are added to those bound, or are among them."""
        return self.expressions.patterns.structured(type_, self._namer(bound))

    def _namer(self, bound: dict[str, Type]) -> Callable[[Type], str]:
        def name(type_: Type) -> str:
            names = sorted(n for n, t in bound.items() if t == type_)
            if names and self.random.random() < 0.25:
                return self.random.choice(names)
            made = self.name("x")
            bound[made] = type_
            return made

        return name

    def destructuring(self, scope: Scope) -> tuple[str, dict[str, Type]] | None:
        """`var pattern = value`, and the variables that it binds."""
        candidates = [t for t in (*scope.values(), *self.expressions.palette) if _has_parts(t)]
        if not candidates:
            return None
        type_ = self.random.choice(candidates)
        bound: dict[str, Type] = {}
        pattern = self.pattern(type_, bound)
        return f"var {pattern} = {self.expressions.make(type_, scope)}", bound

    # -- generators

    def generator(self, scope: Scope) -> tuple[str, dict[str, Type]]:
        """`var pattern in collection`, and the variables that it binds."""
        collection, item = self._collection(scope)
        bound: dict[str, Type] = {}
        if _has_parts(item) and self.random.random() < 0.6:
            return f"var {self.pattern(item, bound)} in {collection}", bound
        name = self.name("e")
        return f"var {name} in {collection}", {name: item}

    def _collection(self, scope: Scope) -> tuple[str, Type]:
        held = sorted((n, t) for n, t in scope.items() if isinstance(t, types.Vec | types.Set | types.Map))
        if held and self.random.random() < 0.7:
            name, type_ = self.random.choice(held)
            return name, _item(type_)
        known = [t for t in self.expressions.palette if isinstance(t, types.Vec | types.Set | types.Map)]
        if known and self.random.random() < 0.5:
            type_ = self.random.choice(known)
            return self.expressions.make(type_, scope), _item(type_)
        if self.random.random() < 0.5:
            return f"range({self.random.choice(['0', '1'])}, {self.random.choice(['2', '3'])})", types.INT
        text = self.expressions.make(types.STRING, scope, 1)
        separator = self.random.choice(['"a"', '" "', '"-"'])
        return f"split({text}, {separator})", types.STRING

    # -- nested bodies

    def negated(self, relations: Sequence[Relation], outer: Scope) -> str:
        with self._safely():
            return f"not ({self._alternatives(relations, outer)})"

    def testing_negation(self, relations: Sequence[Relation], outer: Scope) -> str:
        """A negated body that tests variables from outside."""
        with self._testing():
            return self.negated(relations, outer)

    def testing_aggregate(
        self, relations: Sequence[Relation], outer: Scope, wanted: Sequence[Type]
    ) -> tuple[str, Type]:
        """An aggregate over a body that tests variables from outside, and the type of its result."""
        with self._testing():
            return self.aggregate(relations, outer, wanted)

    @contextmanager
    def _testing(self) -> Iterator[None]:
        self._tests = True
        try:
            yield
        finally:
            self._tests = False

    @contextmanager
    def _safely(self) -> Iterator[None]:
        """While a nested body is made: what fails there may be an error for rows that need it not."""
        self.expressions.safe = True
        try:
            yield
        finally:
            self.expressions.safe = False

    def _alternatives(self, relations: Sequence[Relation], outer: Scope, depth: int = 0) -> str:
        count = 2 if self.random.random() < 0.15 else 1
        return "; ".join(", ".join(self._body(relations, outer, depth).literals) for _ in range(count))

    def aggregate(
        self, relations: Sequence[Relation], outer: Scope, wanted: Sequence[Type]
    ) -> tuple[str, Type]:
        """An aggregate over a body of its own, and the type of its result."""
        with self._safely():
            return self._aggregate(relations, outer, wanted)

    def _aggregate(
        self, relations: Sequence[Relation], outer: Scope, wanted: Sequence[Type], depth: int = 0
    ) -> tuple[str, Type]:
        inner = self._body(relations, outer, depth)
        own = self.expressions.aggregate(wanted)
        if own is not None:
            arguments = ", ".join(own_arguments(self.expressions, own, inner.scope, {}))
            return f"{own.name}({arguments}) {{ {', '.join(inner.literals)} }}", own.result
        chosen = aggregated(self.expressions, inner.scope, wanted)
        if chosen.function.name == "count":
            return f"count {{ {self._alternatives(relations, outer, depth)} }}", chosen.result
        arguments = ", ".join(chosen.arguments)
        return f"{chosen.function.name}({arguments}) {{ {', '.join(inner.literals)} }}", chosen.result

    def _body(self, relations: Sequence[Relation], outer: Scope, depth: int = 0) -> _Inner:
        inner = _Inner(outer)
        for _ in range(self.random.choice([1, 1, 1, 2])):
            self._atom(self.random.choice(relations), inner)
        if self.random.random() < 0.2:
            text, bound = self.generator(inner.scope)
            inner.literals.append(text)
            inner.own |= bound
        if self.random.random() < 0.3:
            inner.literals.append(self.condition(inner.scope))
        if self.random.random() < 0.1:
            inner.literals.append(self._absent(self.random.choice(relations), inner.scope))
        if inner.outer and self.random.random() < (0.9 if self._tests else 0.2):
            inner.literals.append(self._test(inner))
        if not depth and self.random.random() < 0.15:
            self._deeper(relations, inner)
        self.random.shuffle(inner.literals)
        return inner

    def _test(self, inner: _Inner) -> str:
        """A condition about a variable from outside, which nothing inside need bind."""
        name, type_ = self.random.choice(sorted(inner.outer.items(), key=lambda item: item[0]))
        same = sorted(n for n, t in inner.own.items() if t == type_)
        if isinstance(type_, types.Option) and self.random.random() < 0.6:
            return f"{self.random.choice(['is_none', 'is_some'])}({name})"
        other = self.random.choice(same) if same else self.expressions.make(type_, inner.scope, 1)
        return f"{name} {self.random.choice(['==', '!=', '<=', '>'])} {other}"

    def _deeper(self, relations: Sequence[Relation], inner: _Inner) -> None:
        """A nested body inside this one."""
        if self.random.random() < 0.5:
            inner.literals.append(f"not ({self._alternatives(relations, inner.scope, 1)})")
            return
        text, type_ = self._aggregate(relations, inner.scope, [types.INT], 1)
        name = self.name("k")
        inner.literals.append(f"var {name} = {text}")
        if self.random.random() < 0.5:
            inner.own[name] = type_

    def _atom(self, relation: Relation, inner: _Inner) -> None:
        terms: list[str] = []
        for type_ in relation.types:
            names = sorted(n for n, t in inner.scope.items() if t == type_)
            draw = self.random.random()
            if names and draw < (0.15 if self._tests else 0.45):
                terms.append(self.random.choice(names))
            elif draw < 0.65:
                terms.append("_")
            elif _has_parts(type_) and draw < 0.8:
                terms.append(self.pattern(type_, inner.own))
            else:
                terms.append(self.name("y"))
                inner.own[terms[-1]] = type_
        inner.literals.append(f"{relation.name}({', '.join(terms)})")

    def _absent(self, relation: Relation, scope: Scope) -> str:
        terms = []
        for type_ in relation.types:
            names = sorted(n for n, t in scope.items() if t == type_)
            terms.append(self.random.choice(names) if names and self.random.random() < 0.6 else "_")
        return f"not {relation.name}({', '.join(terms)})"


def aggregated(expressions: Expressions, scope: Scope, wanted: Sequence[Type]) -> Aggregated:
    """An aggregate over variables, mostly one whose result is of a wanted type."""
    random = expressions.random
    sources = [*scope.values(), *expressions.palette]
    edgy = expressions.values.edgy
    candidates: list[tuple[AggregateFunction, Type, tuple[Type, ...]]] = []
    for function in AGGREGATES:
        for type_ in sources:
            if allows(function.argument, type_) and (not expressions.safe or _is_safe(function, type_, edgy)):
                candidates.append((function, type_, _others(random, function, sources)))
    fitting = [c for c in candidates if aggregate_result(c[0].name, *c[1:]) in wanted]
    function, type_, others = random.choice(fitting or candidates)
    result = aggregate_result(function.name, type_, others)
    assert result is not None
    value = expressions.make(type_, scope, 1)
    extra = [
        random.choice(_CONSTANTS[e.kind][1]) if e.kind in _CONSTANTS else expressions.make(t, scope, 1)
        for e, t in zip(function.extra, others, strict=False)
    ]
    return Aggregated(function, (value, *extra), result)


def own_arguments(expressions: Expressions, own: OwnAggregate, scope: Scope, outside: Scope) -> list[str]:
    """The arguments of an aggregate of the program; `outside` are the variables of the whole group."""
    value, *others = own.parameters
    return [
        expressions.make(value, scope, 1),
        *(expressions.make(t, outside if own.of_vec else scope, 1) for t in others),
    ]


def _is_safe(function: AggregateFunction, type_: Type, edgy: bool) -> bool:
    """Whether an aggregate over a few values cannot fail."""
    match function.name:
        case "collect_map":
            return False
        case "sum":
            return type_ == types.INT and not edgy
        case "variance" | "stddev":
            return not edgy
        case _:
            return True


def _others(random: Random, function: AggregateFunction, sources: Sequence[Type]) -> tuple[Type, ...]:
    """The types of the other arguments; those that may be left out sometimes are."""
    chosen: list[Type] = []
    for extra in function.extra:
        may_lack = extra.optional or extra.default is not None
        is_constant = extra.kind in _CONSTANTS
        fitting = (
            [_CONSTANTS[extra.kind][0]] if is_constant else [t for t in sources if allows(extra.kind, t)]
        )
        if not fitting or (may_lack and random.random() < 0.5):
            break
        chosen.append(random.choice(fitting))
    return tuple(chosen)


def _has_parts(type_: Type) -> bool:
    return isinstance(type_, types.Tuple | types.Named)


def _item(type_: types.Vec | types.Set | types.Map) -> Type:
    return types.Tuple((type_.key, type_.value)) if isinstance(type_, types.Map) else type_.item
