"""Random typed expressions and columns of values, with the edges of every type among them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from tidelog.data import types
from tidelog.data.types import BIGINT, BOOL, BYTES, DATE, DOUBLE, FLOAT, INT, STRING, TIMESTAMP, Option, Type
from tidelog.data.values import Value, canonical
from tidelog.program import declared
from tidelog.program.declared import Column
from tidelog.program.library.catalog import (
    GROUPS,
    Applied,
    Closure,
    ParamType,
    StandardFunction,
    TypeVariable,
    allows,
    can_cast,
)
from tidelog.program.typed import Binary, Call, Cast, Constant, Expr, If, Let, Unary, Var

SCALARS: tuple[types.Item, ...] = (
    BOOL,
    INT,
    BIGINT,
    types.Bit(1),
    types.Bit(8),
    types.Bit(63),
    types.Bit(64),
    types.Signed(1),
    types.Signed(8),
    types.Signed(64),
    types.Signed(100),
    FLOAT,
    DOUBLE,
    types.Decimal(4, 2),
    types.Decimal(18, 0),
    types.Decimal(18, 4),
    types.Decimal(18, 18),
    types.Decimal(38, 10),
    STRING,
    BYTES,
    DATE,
    TIMESTAMP,
)
OPTIONS = tuple(Option(t) for t in SCALARS if t in (INT, DOUBLE, STRING, types.Decimal(4, 2), BIGINT, BOOL))
TYPES: tuple[Type, ...] = (*SCALARS, *OPTIONS)
STANDARD = tuple(f for group in GROUPS.values() for f in group)
HOLDS_NO_OPTION = -(2**63)  # the one number that a column of options has no code for

_SINGLE_EDGES = (0.0, 1.0, -1.5, 0.1, 3.4028234663852886e38, -1e-45, 2.0**24, 8388607.5, 1 / 3, 0.49999997)
_DOUBLE_EDGES = (
    *_SINGLE_EDGES,
    0.5,
    2.5,
    -2.5,
    0.49999999999999994,
    2.0**63,
    -(2.0**63),
    2.0**53,
    1e300,
    1.7976931348623157e308,
    5e-324,
    2.675,
    1e23,
    255.9,
    -128.5,
)
_SPECIAL = (math.nan, math.inf, -math.inf)
_TEXTS = (
    "",
    "a",
    "Z",
    "naïve",
    "\U0001f600",
    "￿",
    " 1",
    "12",
    "-7",
    "true",
    "none",
    "1.5",
    "2024-02-29",
    "00ff",
)
_MOMENTS = (
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999999Z",
    "2024-02-29T13:14:15Z",
    "9999-12-31T23:59:59.999999Z",
)
_PATTERNS = ("[a-z]+", "(", "(.)(.)?", "\\1", "\\\\", "x*")


# -- values


def value(rng: random.Random, type_: Type) -> Value:
    if isinstance(type_, Option):
        found = None if rng.random() < 0.3 else value(rng, type_.item)
        return 0 if found == HOLDS_NO_OPTION and type_.item in (INT, types.Signed(64)) else found
    return canonical(type_, _value(rng, type_))


def _value(rng: random.Random, type_: types.Item) -> object:
    match type_:
        case types.Bool():
            return rng.random() < 0.5
        case types.Decimal(precision, scale):
            strata = _whole(rng, 1 - 10**precision, 10**precision - 1)
            return Decimal((int(strata < 0), tuple(map(int, str(abs(strata)))), -scale))
        case types.Float() | types.Double():
            edges = _SINGLE_EDGES if isinstance(type_, types.Float) else _DOUBLE_EDGES
            return rng.choice([rng.choice(edges), rng.choice(_SPECIAL), round(rng.uniform(-99, 99), 2)])
        case types.String():
            return rng.choice(_TEXTS + _PATTERNS)
        case types.Bytes():
            return rng.choice([b"", b"\x00\xff", "naïve".encode(), b"a", b"ab"])
        case types.Date():
            days = rng.choice([0, 1, -1, 19782, -719162, 2932896, rng.randrange(-9999, 30000)])
            return date(1970, 1, 1) + timedelta(days=days)
        case types.Timestamp():
            return datetime.fromisoformat(rng.choice(_MOMENTS))
        case types.Duration():
            return timedelta(microseconds=_whole(rng, 1 - 2**63, 2**63 - 1))
        case _:
            low, high = types.int_range(type_) or (-(10**40), 10**40)
            return _whole(rng, low, high)


def _whole(rng: random.Random, low: int, high: int) -> int:
    edges = [
        low,
        low + 1,
        high,
        high - 1,
        0,
        1,
        -1,
        2,
        -2,
        3,
        7,
        10,
        50,
        63,
        2**31,
        2**32,
        -(2**32),
        2**53 + 1,
    ]
    found = rng.choice([rng.choice(edges), rng.randrange(-12, 13), rng.randrange(low, high + 1)])
    return found if low <= found <= high else rng.choice([low, high])


def edges(type_: Type) -> list[Value]:
    """Values of a type that are worth trying, the same each time."""
    rng = random.Random(str(type_))
    chosen: list[Value] = []
    match type_:
        case types.BigInt():
            chosen = [2**60 + 2**36 + 1, 2**60 + 2**36 - 1, 10**39, 2**63, -(2**63) - 1]
        case types.Decimal(precision, scale) if scale and precision > 3:
            chosen = [Decimal(strata).scaleb(-scale) for strata in (5, 15, 50, 25, -5, 200, -200, 300)]
    drawn = [value(rng, type_) for _ in range(60)]
    return list(dict.fromkeys(chosen + drawn))[:32]


# -- functions


def _picky(x: int) -> int:
    if x % 3 == 0:
        raise ValueError(f"{x} is a multiple of three")
    return x // 2


def _half(x: float) -> float:
    return -x * 0.5


def _maybe(s: str) -> object:
    return len(s) if s else None


def _wrong(_s: str) -> object:
    return 1 << 70


def _python(name: str, parameter: Type, result: Type, call: Callable[..., object]) -> declared.PythonFunction:
    return declared.PythonFunction(name, (Column("x", parameter),), result, "vector_cases", name, call)


def _language(number: int, type_: Type) -> tuple[declared.Function, declared.Function]:
    a, b = Var("a", type_), Var("b", type_)
    pair = (Column("a", type_), Column("b", type_))
    first = declared.Function(f"first{number}", pair, type_, a)
    condition = Binary("==", a, b, BOOL)
    either = declared.Function(f"either{number}", pair, type_, If(condition, b, a, type_))
    return first, either


_PYTHON = (
    _python("picky", INT, INT, _picky),
    _python("half", DOUBLE, DOUBLE, _half),
    _python("maybe", STRING, Option(INT), _maybe),
    _python("wrong", STRING, INT, _wrong),
)
_LANGUAGE = tuple(f for number, type_ in enumerate(TYPES) for f in _language(number, type_))
FUNCTIONS: Mapping[str, declared.Function | declared.PythonFunction] = {
    **{f.name: f for f in _PYTHON},
    **{f.name: f for f in _LANGUAGE},
}


# -- expressions


class Maker:
    """Makes expressions over the names given to it and names of its own."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.made = 0

    def expr(self, type_: Type, depth: int, names: Mapping[str, Type]) -> Expr:
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            return self._leaf(type_, names)
        makers = [self._operator, self._operator, self._standard, self._cast, self._if, self._let, self._call]
        found = rng.choice(makers)(type_, depth - 1, names)
        return self._leaf(type_, names) if found is None else found

    def _leaf(self, type_: Type, names: Mapping[str, Type]) -> Expr:
        fitting = [name for name, known in names.items() if known == type_]
        if fitting and self.rng.random() < 0.8:
            return Var(self.rng.choice(fitting), type_)
        return Constant(value(self.rng, type_), type_)

    def _operator(self, type_: Type, depth: int, names: Mapping[str, Type]) -> Expr | None:
        rng = self.rng
        if type_ == BOOL:
            return self._truth(depth, names)
        if type_ == STRING:
            return Binary("++", self.expr(STRING, depth, names), self.expr(STRING, depth, names), STRING)
        if not types.is_number(type_):
            return None
        ops = ["+", "-", "*", "/", "%", "neg"]
        if types.is_integer(type_):
            ops += ["&", "|", "^", "<<", ">>", "~"]
        if types.int_range(type_) is not None:
            ops += ["+%", "-%", "*%"]
        op = rng.choice(ops)
        left = self.expr(type_, depth, names)
        if op in ("neg", "~"):
            return Unary("-" if op == "neg" else op, left, type_)
        return Binary(op, left, self.expr(INT if op in ("<<", ">>") else type_, depth, names), type_)

    def _truth(self, depth: int, names: Mapping[str, Type]) -> Expr:
        rng = self.rng
        op = rng.choice(["and", "or", "not", "==", "!=", "<", "<=", ">", ">="])
        if op == "not":
            return Unary("not", self.expr(BOOL, depth, names), BOOL)
        pool = TYPES if op in ("==", "!=") else SCALARS
        side = BOOL if op in ("and", "or") else rng.choice(pool)
        return Binary(op, self.expr(side, depth, names), self.expr(side, depth, names), BOOL)

    def _if(self, type_: Type, depth: int, names: Mapping[str, Type]) -> Expr:
        sides = self.expr(type_, depth, names), self.expr(type_, depth, names)
        return If(self.expr(BOOL, depth, names), *sides, type_)

    def _let(self, type_: Type, depth: int, names: Mapping[str, Type]) -> Expr:
        self.made += 1
        name, bound = f"n{self.made}", self.rng.choice([type_, type_, *TYPES])
        meaning = self.expr(bound, depth, names)
        return Let(name, meaning, self.expr(type_, depth, {**names, name: bound}), type_)

    def _cast(self, type_: Type, depth: int, names: Mapping[str, Type]) -> Expr | None:
        source = self.rng.choice([t for t in TYPES if can_cast(t, type_)])
        return None if source == type_ else Cast(self.expr(source, depth, names), type_)

    def _call(self, type_: Type, depth: int, names: Mapping[str, Type]) -> Expr | None:
        fitting = [f for f in FUNCTIONS.values() if f.result == type_]
        if not fitting:
            return None
        function = self.rng.choice(fitting)
        args = tuple(self.expr(p.type, depth, names) for p in function.parameters)
        return Call(function.name, args, type_)

    def _standard(self, type_: Type, depth: int, names: Mapping[str, Type]) -> Expr | None:
        fitting = [f for f in STANDARD if _generic(f, type_, self.rng) is not None]
        if not fitting:
            return None
        function = self.rng.choice(fitting)
        generic = _generic(function, type_, self.rng)
        assert generic is not None
        args = tuple(self.expr(instance(p.type, generic), depth, names) for p in function.parameters)
        return Call(function.name, args, type_)


def generic_types(function: StandardFunction) -> list[types.Item]:
    """What the type variable of a function may stand for; one type will do for a function without one."""
    if not any(isinstance(p.type, TypeVariable) for p in function.parameters):
        return [INT]
    return [t for t in SCALARS if allows(function.kind, t)]


_COLLECTIONS: Mapping[str, Callable[..., Type]] = {"vec": types.Vec, "set": types.Set, "map": types.Map}


def instance(type_: ParamType, generic: types.Item) -> Type:
    """The type of a parameter or result once the type variable is known."""
    if isinstance(type_, Applied):
        items = [instance(item, generic) for item in type_.args]
        return _COLLECTIONS[type_.name](*items)
    assert not isinstance(type_, Closure)
    if not isinstance(type_, TypeVariable):
        return type_
    return Option(generic) if type_.optional else generic


def _generic(function: StandardFunction, wanted: Type, rng: random.Random) -> types.Item | None:
    """What `T` may be for a function to give a type; None if it never does."""
    if not isinstance(function.result, TypeVariable):
        return rng.choice(generic_types(function)) if function.result == wanted else None
    if function.result.optional:
        return wanted.item if isinstance(wanted, Option) and allows(function.kind, wanted.item) else None
    return wanted if not isinstance(wanted, Option) and allows(function.kind, wanted) else None
