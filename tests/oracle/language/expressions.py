"""Random expressions of a wanted type over variables, by the grammar and the standard library.

Most are made so that they rarely fail; a *risky* one divides, converts and unwraps whatever it finds, and a
*safe* one never fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from oracle.language.matching import Patterns, readings
from oracle.language.signatures import Bindings, resolved, solved
from oracle.language.structures import Structures
from oracle.language.values import Values, constant
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.library.catalog import (
    COLLECTIONS,
    GROUPS,
    Closure,
    Parameter,
    StandardFunction,
    can_cast,
)

__all__ = ["Expressions", "FunctionText", "OwnAggregate", "Scope"]

Scope = Mapping[str, Type]

_FUNCTIONS: Final = tuple(f for groups in (GROUPS, COLLECTIONS) for group in groups.values() for f in group)
_RISKY: Final = frozenset(
    (
        "unhex sqrt exp ln pow make_date add_days unwrap abs sign round floor ceil hash repeat sum_of "
        "count_of div_floor mod_floor gcd lcm bit_count clamp trunc log10 log2 log degrees sin cos tan asin "
        "acos sinh cosh date_trunc make_timestamp from_epoch_seconds base64_decode base64url_decode "
        "url_decode uuid5 ip_version ipv4_to_int ipv6_to_int ip_in_subnet ip_is_private format_date "
        "bucket weeks days hours minutes seconds milliseconds"
    ).split()
)
# what a parameter of this name is given where nothing is to fail
_TAME: Final[Mapping[str, tuple[str, ...]]] = {
    "start": ("0", "1"),
    "count": ("0", "1", "2"),
    "index": ("0", "1"),
    "width": ("0", "3"),
    "digits": ("0", "1", "-1"),
    "group": ("0", "0", "1"),
    "pattern": ('"a"', '"[a-z]+"', '"^$"', '"(a)|b"', '"(.)"', '"x*"'),
    "replacement": ('""', '"-"', '"\\\\0"'),
    "fill": ('"x"', '"ab"'),
    "old": ('"a"', '"b"'),
    "separator": ('"a"', '","'),
    "year": ("2024", "1970"),
    "month": ("1", "12"),
    "day": ("1", "28"),
    "days": ("1", "-1", "0"),
    "end": ("0", "2", "3"),
    "unit": ('"month"', '"week"', '"day"'),
    "subnet": ('"10.0.0.0/8"', '"::/0"'),
}


@dataclass(frozen=True)
class FunctionText:
    """A function of the program."""

    name: str
    parameters: tuple[Type, ...]
    result: Type
    text: str


@dataclass(frozen=True)
class OwnAggregate:
    """An aggregate of the program. With `of_vec`, all arguments but the first are those of the whole group.

    A safe one never fails.
    """

    name: str
    parameters: tuple[Type, ...]
    result: Type
    text: str
    is_safe: bool
    of_vec: bool = False


class Expressions:
    def __init__(
        self, random: Random, values: Values, palette: Sequence[Type], structures: Structures
    ) -> None:
        self.random = random
        self.values = values
        self.structures = structures
        self.patterns = Patterns(random, values)
        self.palette = [*palette, types.INT, types.BOOL, types.STRING]
        self.functions: list[FunctionText] = []
        self.aggregates: list[OwnAggregate] = []
        self.generic: list[StandardFunction] = []
        self.risky = False
        self.safe = False

    def type(self) -> Type:
        return self.random.choice(self.palette)

    def make(self, type_: Type, scope: Scope, depth: int | None = None) -> str:
        """An expression of this type, closed by brackets where it needs them."""
        if depth is None:
            depth = self.random.choice([1, 1, 1, 2])
        if depth <= 0 or self.random.random() < 0.2:
            return self._leaf(type_, scope)
        productions = self._productions(type_, scope, depth)
        return self.random.choice(productions)()

    def condition(self, scope: Scope, depth: int = 1) -> str:
        """A truth about the variables, mostly one that some rows satisfy and others not."""
        if scope and self.random.random() < 0.6:
            name = self.random.choice(sorted(scope))
            op = self.random.choice(["==", "!=", "<", "<=", ">", ">=", "=="])
            others = {n: t for n, t in scope.items() if n != name}
            left, right = name, self.make(scope[name], others, depth - 1)
            return f"{left} {op} {right}" if self.random.random() < 0.7 else f"{right} {op} {left}"
        return self.make(types.BOOL, scope, depth)

    def constant(self, type_: Type) -> str:
        return constant(type_, self.values.value(type_))

    def aggregate(self, wanted: Sequence[Type]) -> OwnAggregate | None:
        """Now and then an aggregate of the program, mostly one with a wanted result."""
        known = [a for a in self.aggregates if a.is_safe or not self.safe]
        if not known or self.random.random() < 0.5:
            return None
        return self.random.choice([a for a in known if a.result in wanted] or known)

    def function(self, name: str) -> FunctionText:
        """A new function of the program, callable from now on."""
        parameters = tuple(self.type() for _ in range(self.random.choice([1, 1, 2])))
        scope = {f"p{i}": t for i, t in enumerate(parameters)}
        result = self.random.choice([parameters[0], self.type()])
        listed = ", ".join(f"{n}: {t}" for n, t in scope.items())
        body = self.make(result, scope)
        made = FunctionText(name, parameters, result, f"function {name}({listed}): {result} {{ {body} }}")
        self.functions.append(made)
        return made

    # -- how

    def _leaf(self, type_: Type, scope: Scope) -> str:
        names = sorted(n for n, t in scope.items() if t == type_)
        if names and self.random.random() < 0.85:
            return self.random.choice(names)
        return self.constant(type_)

    def _productions(self, type_: Type, scope: Scope, depth: int) -> list[Callable[[], str]]:
        def sub(t: Type) -> str:
            return self.make(t, scope, depth - 1)

        if self.safe:
            return [lambda: self._leaf(type_, scope), *self._structured(type_, scope, depth, sub)]
        made: list[Callable[[], str]] = [
            lambda: f"(if ({sub(types.BOOL)}) {sub(type_)} else {sub(type_)})",
            lambda: self._let(type_, scope, depth),
        ]
        made += [lambda: self._call(type_, scope, depth)] * 3
        made += [lambda: self._own_call(type_, scope, depth)] * (2 if self.functions else 0)
        made += [lambda: self._cast(type_, sub)]
        made += [lambda: self._operation(type_, sub)] * (4 if _operators(type_) else 0)
        if isinstance(type_, types.Bool):
            made += [lambda: f"({self.condition(scope, depth - 1)})"] * 3
            made += [lambda: f"({sub(type_)} {self.random.choice(['and', 'or'])} {sub(type_)})"]
            made += [lambda: f"(not {sub(type_)})"]
        if isinstance(type_, types.String):
            made += [lambda: f'"{self._interpolated(scope)}"']
        return made + self._structured(type_, scope, depth, sub)

    def _structured(
        self, type_: Type, scope: Scope, depth: int, sub: Callable[[Type], str]
    ) -> list[Callable[[], str]]:
        """Ways to build a structured value, and to get a value of any type out of one."""
        made: list[Callable[[], str]] = []
        read = list(readings(scope, type_))
        made += [lambda: self.random.choice(read)] * (4 if read else 0)
        unions = sorted(n for n, t in scope.items() if isinstance(t, types.Named))
        made += [lambda: self._match(type_, self.random.choice(unions), scope, depth)] * (5 if unions else 0)
        if types.is_structured(type_):
            made += [lambda: self._built(type_, sub)] * 4
        collections = sorted(n for n, t in scope.items() if isinstance(t, types.Vec | types.Set))
        if isinstance(type_, types.Bool) and collections:
            made += [lambda: self._member(self.random.choice(collections), scope, sub)] * 2
        return made

    def _match(self, type_: Type, name: str, scope: Scope, depth: int) -> str:
        subject = scope[name]
        assert isinstance(subject, types.Named)

        def value(bound: Scope) -> str:
            return self.make(type_, {**scope, **bound}, depth - 1)

        return self.patterns.match(name, subject, f"m{depth}", value)

    def _member(self, name: str, scope: Scope, sub: Callable[[Type], str]) -> str:
        collection = scope[name]
        assert isinstance(collection, types.Vec | types.Set)
        return f"({sub(collection.item)} in {name})"

    def _built(self, type_: Type, sub: Callable[[Type], str]) -> str:
        """A structured value out of expressions for its parts."""
        match type_:
            case types.Tuple(items):
                return f"({', '.join(map(sub, items))})"
            case types.Vec(item):
                return f"[{', '.join(sub(item) for _ in range(self.random.choice([1, 2])))}]"
            case types.Map(key, value):
                return f"[{sub(key)} -> {sub(value)}]"
            case types.Named():
                chosen = self.random.choice(type_.constructors)
                if not chosen.fields:
                    return self.constant(type_)
                parts = [sub(f.type) for f in chosen.fields]
                if self.random.random() < 0.3:
                    named = zip(chosen.fields, parts, strict=True)
                    parts = self.random.sample([f".{f.name} = {p}" for f, p in named], len(parts))
                return f"{chosen.name}{{{', '.join(parts)}}}"
            case _:
                return self.constant(type_)

    def _interpolated(self, scope: Scope) -> str:
        names = sorted(scope)
        return f"-${{{self.random.choice(names)}}}" if names else "-"

    def _let(self, type_: Type, scope: Scope, depth: int) -> str:
        other = self.type()
        name = f"l{depth}"
        value = self.make(other, scope, depth - 1)
        return f"{{ var {name} = {value}; {self.make(type_, {**scope, name: other}, depth - 1)} }}"

    def _operation(self, type_: Type, sub: Callable[[Type], str]) -> str:
        op = self.random.choice(_operators(type_))
        if isinstance(type_, types.Timestamp):
            return f"({sub(type_)} {op} {sub(types.DURATION)})"
        if op == "d*":
            return f"({sub(type_)} * {sub(types.INT) if self.risky else '2'})"
        if op == "t-":
            return f"({sub(types.TIMESTAMP)} - {sub(types.TIMESTAMP)})"
        if op in ("/", "%") and not self.risky:
            nonzero = [v for v in self.values.domain(type_) if v] or [1]
            return f"({sub(type_)} {op} {constant(type_, self.random.choice(nonzero))})"
        if op in ("<<", ">>"):
            return f"({sub(type_)} {op} {sub(types.INT) if self.risky else '0'})"
        if op in ("u-", "~"):
            return f"({op[-1]}{sub(type_)})"
        return f"({sub(type_)} {op} {sub(type_)})"

    def _cast(self, type_: Type, sub: Callable[[Type], str]) -> str:
        sources = [t for t in self.palette if t != type_ and can_cast(t, type_)]
        if not sources or not (self.risky or isinstance(type_, types.String | types.Option)):
            return sub(type_)
        return f"({sub(self.random.choice(sources))} as {type_})"

    def _own_call(self, type_: Type, scope: Scope, depth: int) -> str:
        fitting = [f for f in self.functions if f.result == type_]
        if not fitting:
            return self._leaf(type_, scope)
        chosen = self.random.choice(fitting)
        return f"{chosen.name}({', '.join(self.make(t, scope, depth - 1) for t in chosen.parameters)})"

    # -- the standard library

    def _call(self, type_: Type, scope: Scope, depth: int) -> str:
        functions = [f for f in _FUNCTIONS if self.risky or f.name not in _RISKY] + self.generic * 3
        found = [(f, solved(f, type_, self.type)) for f in functions]
        fitting = [(f, bindings) for f, bindings in found if bindings is not None]
        if not fitting:
            return self.make(type_, scope, depth - 1)
        function, bindings = self.random.choice(fitting)
        arguments = [self._argument(p, bindings, scope, depth) for p in function.parameters]
        if arguments and self.random.random() < 0.1:
            return f"({arguments[0]}).{function.name}({', '.join(arguments[1:])})"
        return f"{function.name}({', '.join(arguments)})"

    def _argument(self, parameter: Parameter, bindings: Bindings, scope: Scope, depth: int) -> str:
        if isinstance(parameter.type, Closure):
            return self._closure(parameter.type, bindings, scope, depth)
        tame = _TAME.get(parameter.name) if isinstance(parameter.type, types.Int | types.String) else None
        if tame is not None and not (self.risky and self.random.random() < 0.5):
            return self.random.choice(tame)
        return self.make(resolved(parameter.type, bindings, self.structures), scope, depth - 1)

    def _closure(self, type_: Closure, bindings: Bindings, scope: Scope, depth: int) -> str:
        given = [resolved(p, bindings, self.structures) for p in type_.parameters]
        own = {f"c{depth}{letter}": t for letter, t in zip("ab", given, strict=False)}
        result = resolved(type_.result, bindings, self.structures)
        return f"|{', '.join(own)}| {self.make(result, {**scope, **own}, depth - 1)}"


def _operators(type_: Type) -> tuple[str, ...]:
    match type_:
        case types.Int() | types.BigInt() | types.Signed():
            return ("+", "-", "*", "/", "%", "u-", "&", "|", "^", "~", "<<", ">>", "+", "-")
        case types.Bit():
            return ("&", "|", "^", "~", "<<", ">>", "/", "%", "+")
        case types.Float() | types.Double() | types.Decimal():
            return ("+", "-", "*", "/", "%", "u-", "+")
        case types.String():
            return ("++",)
        case types.Duration():
            return ("+", "-", "u-", "d*", "t-")
        case types.Timestamp():
            return ("+", "-")
        case _:
            return ()
