"""Random expressions of a wanted type over variables, by the grammar and the standard library.

Most are made so that they rarely fail; a *risky* one divides, converts and unwraps whatever it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from oracle.language.values import Values, constant
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.library.catalog import GROUPS, OPTION_T, ParamType, StandardFunction, T, allows, can_cast

__all__ = ["Expressions", "FunctionText", "Scope"]

Scope = Mapping[str, Type]

_FUNCTIONS: Final = tuple(f for group in GROUPS.values() for f in group)
_RISKY: Final = frozenset(
    "unhex sqrt exp ln pow make_date add_days unwrap abs sign round floor ceil hash repeat".split()
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
}


@dataclass(frozen=True)
class FunctionText:
    """A function of the program."""

    name: str
    parameters: tuple[Type, ...]
    result: Type
    text: str


class Expressions:
    def __init__(self, random: Random, values: Values, palette: Sequence[Type]) -> None:
        self.random = random
        self.values = values
        self.palette = [*palette, types.INT, types.BOOL, types.STRING]
        self.functions: list[FunctionText] = []
        self.risky = False

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

        made: list[Callable[[], str]] = [
            lambda: f"(if ({sub(types.BOOL)}) {sub(type_)} else {sub(type_)})",
            lambda: self._let(type_, scope, depth),
        ]
        made += [lambda: self._call(type_, sub)] * 3
        made += [lambda: self._own_call(type_, scope, depth)] * (2 if self.functions else 0)
        made += [lambda: self._cast(type_, sub)]
        made += [lambda: self._operation(type_, sub)] * (4 if _operators(type_) else 0)
        if isinstance(type_, types.Bool):
            made += [lambda: f"({self.condition(scope, depth - 1)})"] * 3
            made += [lambda: f"({sub(type_)} {self.random.choice(['and', 'or'])} {sub(type_)})"]
            made += [lambda: f"(not {sub(type_)})"]
        if isinstance(type_, types.String):
            made += [lambda: f'"{self._interpolated(scope)}"']
        return made

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

    def _call(self, type_: Type, sub: Callable[[Type], str]) -> str:
        fitting = [(f, t) for f in _FUNCTIONS for t in self._instance(f, type_)]
        if not fitting:
            return sub(type_)
        function, variable = self.random.choice(fitting)
        arguments = [self._argument(p.name, _resolved(p.type, variable), sub) for p in function.parameters]
        if self.random.random() < 0.1:
            return f"({arguments[0]}).{function.name}({', '.join(arguments[1:])})"
        return f"{function.name}({', '.join(arguments)})"

    def _instance(self, function: StandardFunction, wanted: Type) -> list[Type]:
        """What the type variable stands for if the result is to be of a type; empty if it cannot be."""
        if function.name in _RISKY and not self.risky:
            return []
        if function.result == T:
            return [wanted] if allows(function.kind, wanted) else []
        if function.result == OPTION_T:
            return [wanted.item] if isinstance(wanted, types.Option) else []
        if function.result != wanted:
            return []
        fitting = [t for t in self.palette if allows(function.kind, t)]
        generic = any(p.type in (T, OPTION_T) for p in function.parameters)
        if not generic:
            return [types.INT]
        return [self.random.choice(fitting)] if fitting else []

    def _argument(self, name: str, type_: Type, sub: Callable[[Type], str]) -> str:
        tame = _TAME.get(name)
        if tame is not None and not (self.risky and self.random.random() < 0.5):
            return self.random.choice(tame)
        return sub(type_)


def _resolved(type_: ParamType, variable: Type) -> Type:
    if type_ == OPTION_T:
        return types.Option(variable) if not isinstance(variable, types.Option) else variable
    return variable if type_ == T else type_  # type: ignore[return-value]


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
        case _:
            return ()
