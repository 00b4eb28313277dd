"""Random functions with statements and recursion, functions as aggregates, and aggregates with a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from oracle.language.expressions import Expressions, FunctionText, OwnAggregate
from tidelog.data import types
from tidelog.data.types import Type

__all__ = ["Procedures"]

_DEEPEST: Final = 3  # calls of a recursive function inside each other


@dataclass(frozen=True)
class _Part:
    """A variable of a state, and what `insert` and `delete` do to it."""

    name: str
    type: Type
    start: str
    insert: str
    delete: str


class Procedures:
    """Writes declarations, of types of the palette."""

    def __init__(self, random: Random, expressions: Expressions) -> None:
        self.random = random
        self.expressions = expressions
        self._made = 0

    def _name(self) -> str:
        self._made += 1
        return f"w{self._made}"

    # -- functions

    def function(self, name: str) -> FunctionText:
        """A function with statements; now and then it calls itself."""
        parameters = [self.expressions.type() for _ in range(self.random.choice([1, 1, 2]))]
        is_recursive = self.random.random() < 0.4
        if is_recursive:
            parameters.insert(0, types.INT)
        result = self.random.choice([*parameters, self.expressions.type()])
        scope = {f"p{i}": t for i, t in enumerate(parameters)}
        made = FunctionText(name, tuple(parameters), result, "")
        start = ""
        if is_recursive:
            start = (
                f"if (p0 <= 0 or p0 > {_DEEPEST}) {{ return {self.expressions.make(result, scope, 1)}; }} "
            )
        body = _Body(self, result)
        statements = body.statements(dict(scope), 2)
        if is_recursive:
            statements += [body.declared(result, self._recursive(made, body.scope))]
        end = self.expressions.make(result, body.scope, 1)
        listed = ", ".join(f"{n}: {t}" for n, t in scope.items())
        text = f"function {name}({listed}): {result} {{ {start}{' '.join(statements)} {end} }}"
        return FunctionText(name, tuple(parameters), result, text)

    def _recursive(self, function: FunctionText, scope: Mapping[str, Type]) -> str:
        others = (self.expressions.make(t, scope, 1) for t in function.parameters[1:])
        return f"{function.name}({', '.join(['p0 - 1', *others])})"

    # -- aggregates

    def of_vec(self, name: str) -> OwnAggregate:
        """A function over the sorted values of a group."""
        item = self.expressions.type()
        others = [self.expressions.type() for _ in range(self.random.choice([0, 0, 1]))]
        result = self.random.choice([types.INT, item, self.expressions.type()])
        scope = {"p0": types.Vec(item), **{f"p{i}": t for i, t in enumerate(others, start=1)}}
        body = _Body(self, result)
        statements = body.statements(dict(scope), 2, loops_over="p0")
        listed = ", ".join(f"{n}: {t}" for n, t in scope.items())
        end = self.expressions.make(result, body.scope, 1)
        text = f"function {name}({listed}): {result} {{ {' '.join(statements)} {end} }}"
        return OwnAggregate(name, (item, *others), result, text, is_safe=False, of_vec=True)

    def with_state(self, name: str) -> OwnAggregate:
        """An aggregate with a state: of sums, bits and counted values, or whatever statements make of it."""
        is_safe = self.random.random() < 0.5
        self.expressions.safe = is_safe
        try:
            made = (
                self._free(name)
                if not is_safe and self.random.random() < 0.35
                else self._certain(name, is_safe)
            )
        finally:
            self.expressions.safe = False
        return made

    def _parameters(self) -> dict[str, Type]:
        return {f"p{i}": self.expressions.type() for i in range(self.random.choice([1, 1, 2]))}

    def _certain(self, name: str, is_safe: bool) -> OwnAggregate:
        """One whose `delete` undoes `insert`."""
        scope = self._parameters()
        parts = [self._part(f"s{i}", scope, is_safe) for i in range(self.random.choice([1, 2, 3]))]
        state = " ".join(f"var {p.name} = {p.start};" for p in parts)
        insert, delete = " ".join(p.insert for p in parts), " ".join(p.delete for p in parts)
        if self.random.random() < 0.3:
            condition = self.expressions.condition(scope)
            insert, delete = f"if ({condition}) {{ {insert} }}", f"if ({condition}) {{ {delete} }}"
        has_delete = self.random.random() < 0.75
        values = [p.name for p in parts]
        result = self.random.choice([f"({', '.join(values)})", values[0]]) if len(parts) > 1 else values[0]
        kinds = tuple(p.type for p in parts)
        type_ = types.Tuple(kinds) if result.startswith("(") and len(parts) > 1 else kinds[0]
        listed = ", ".join(f"{n}: {t}" for n, t in scope.items())
        taken = f" delete {{ {delete} }}" if has_delete else ""
        text = f"aggregate {name}({listed}): {type_} {{ {state} insert {{ {insert} }}{taken} {result} }}"
        return OwnAggregate(name, tuple(scope.values()), type_, text, is_safe)

    def _part(self, name: str, scope: Mapping[str, Type], is_safe: bool) -> _Part:
        """A variable of the state."""
        draw = self.random.random()
        if draw < 0.35:
            term = f"({self.expressions.make(types.INT, scope, 1)} as bigint)"
            sign, back = self.random.choice([("+", "-"), ("-", "+")])
            return _Part(
                name,
                types.BIGINT,
                "0 as bigint",
                f"{name} = {name} {sign} {term};",
                f"{name} = {name} {back} {term};",
            )
        if draw < 0.55:
            return _Part(name, types.INT, "0", f"{name} = {name} + 1;", f"{name} = {name} - 1;")
        if draw < 0.75:
            change = f"{name} = {name} ^ ({self.expressions.make(types.INT, scope, 1)} & 255);"
            return _Part(name, types.INT, "0", change, change)
        plain = {n: t for n, t in scope.items() if not isinstance(t, types.Option)}
        if draw < 0.9 and plain:
            return self._counted(name, plain)
        if is_safe:
            return _Part(name, types.INT, "7", "", "")
        type_ = types.DOUBLE if draw < 0.95 else types.INT
        start, term = "0.0" if type_ == types.DOUBLE else "0", self.expressions.make(type_, scope, 1)
        return _Part(name, type_, start, f"{name} = {name} + {term};", f"{name} = {name} - {term};")

    def _counted(self, name: str, scope: Mapping[str, Type]) -> _Part:
        """How often there is each value."""
        key, of = self.random.choice([*scope.items()])
        type_ = types.Map(of, types.INT)
        start = f'("{"{}" if isinstance(of, types.String) else "[]"}" as {type_})'
        insert = f"{name} = {name}.insert({key}, {name}.get({key}).unwrap_or(0) + 1);"
        left = self._name()
        delete = (
            f"var {left} = {name}.get({key}).unwrap_or(0) - 1; "
            f"{name} = if ({left} == 0) {name}.remove({key}) else {name}.insert({key}, {left});"
        )
        return _Part(name, type_, start, insert, delete)

    def _free(self, name: str) -> OwnAggregate:
        """One without `delete`, whose result depends on the order of values."""
        scope = self._parameters()
        result = self.expressions.type()
        state = self.random.choice([result, self.expressions.type()])
        start = self.expressions.constant(state)
        body = _Body(self, None)
        body.assignable["s"] = state
        statements = body.statements({**scope, "s": state}, 2)
        end = self.expressions.make(result, {"s": state}, 1)
        listed = ", ".join(f"{n}: {t}" for n, t in scope.items())
        text = (
            f"aggregate {name}({listed}): {result} "
            f"{{ var s = {start}; insert {{ {' '.join(statements)} }} {end} }}"
        )
        return OwnAggregate(name, tuple(scope.values()), result, text, is_safe=False)


class _Body:
    """The statements of a block. Without a `result` there is no `return`."""

    def __init__(self, procedures: Procedures, result: Type | None) -> None:
        self.procedures = procedures
        self.random = procedures.random
        self.expressions = procedures.expressions
        self.result = result
        self.scope: dict[str, Type] = {}
        self.assignable: dict[str, Type] = {}
        self.loops = 0

    def statements(self, scope: dict[str, Type], depth: int, loops_over: str | None = None) -> list[str]:
        """Some statements; what they declare is in scope behind them."""
        self.scope = scope
        made = [self._declaration() for _ in range(self.random.choice([1, 2]))]
        if loops_over is not None:
            type_ = scope[loops_over]
            assert isinstance(type_, types.Vec)
            made.append(self._loop(loops_over, type_.item, depth))
        return made + [self._statement(depth) for _ in range(self.random.choice([1, 2, 3]))]

    def declared(self, type_: Type, value: str) -> str:
        name = self.procedures._name()
        self.scope[name] = self.assignable[name] = type_
        return f"var {name} = {value};"

    def _declaration(self) -> str:
        type_ = self.expressions.type()
        return self.declared(type_, self._value(type_))

    def _value(self, type_: Type) -> str:
        return self.expressions.make(type_, self.scope, 1)

    def _statement(self, depth: int) -> str:
        draw = self.random.random()
        if depth and draw < 0.3:
            return self._choice(depth)
        if depth and draw < 0.45:
            return self._match(depth)
        if depth and draw < 0.6:
            return self._some_loop(depth)
        if self.loops and draw < 0.7:
            return f"if ({self._condition()}) {{ {self.random.choice(['break', 'continue'])}; }}"
        if self.result is not None and draw < 0.76:
            return f"if ({self._condition()}) {{ return {self._value(self.result)}; }}"
        if self.assignable and draw < 0.95:
            return self._update()
        return self._declaration()

    def _condition(self) -> str:
        return self.expressions.condition(self.scope)

    def _update(self) -> str:
        names = sorted(self.assignable)
        if len(names) > 1 and self.random.random() < 0.2:
            a, b = self.random.sample(names, 2)
            values = f"({self._value(self.assignable[a])}, {self._value(self.assignable[b])})"
            return f"({a}, {b}) = {values};"
        name = self.random.choice(names)
        return f"{name} = {self._value(self.assignable[name])};"

    def _block(self, depth: int, bound: Mapping[str, Type] | None = None) -> str:
        before = dict(self.scope), dict(self.assignable)
        self.scope |= bound or {}
        made = " ".join(self._statement(depth - 1) for _ in range(self.random.choice([1, 1, 2])))
        self.scope, self.assignable = before
        return f"{{ {made} }}"

    def _choice(self, depth: int) -> str:
        conditions = [self._condition() for _ in range(self.random.choice([1, 1, 2]))]
        made = " else ".join(f"if ({c}) {self._block(depth)}" for c in conditions)
        return f"{made} else {self._block(depth)}" if self.random.random() < 0.5 else made

    def _match(self, depth: int) -> str:
        unions = sorted((n, t) for n, t in self.scope.items() if isinstance(t, types.Named))
        if not unions:
            return self._choice(depth)
        name, type_ = self.random.choice(unions)
        return (
            self.expressions.patterns.match(
                name, type_, f"a{self._prefix()}", lambda bound: self._block(depth, bound)
            )
            .removeprefix("(")
            .removesuffix(")")
        )

    def _prefix(self) -> str:
        return self.procedures._name()

    def _some_loop(self, depth: int) -> str:
        held: list[tuple[str, Type]] = []
        for name, type_ in sorted(self.scope.items()):
            if isinstance(type_, types.Vec | types.Set):
                held.append((name, type_.item))
            elif isinstance(type_, types.Map):
                held.append((name, types.Tuple((type_.key, type_.value))))
        held.append(("range(0, 3)", types.INT))
        return self._loop(*self.random.choice(held), depth)

    def _loop(self, collection: str, item: Type, depth: int) -> str:
        self.loops += 1
        name = self.procedures._name()
        body = self._block(depth, {name: item})
        self.loops -= 1
        return f"for ({name} in {collection}) {body}"
