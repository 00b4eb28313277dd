"""The standard library as data: which functions, aggregates and conversions exist, and their types.

Elaboration looks them up here and every engine implements them; nothing is computed here. The functions
themselves are specified in `functions` and the other modules here, in terms of `signatures`. This module
re-exports them all, so it is the only one to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.library import functions
from tidelog.program.library.calendar_functions import CALENDARS
from tidelog.program.library.collections import COLLECTIONS, MAX_ITEMS
from tidelog.program.library.json_functions import JSON
from tidelog.program.library.numeric_functions import NUMERICS
from tidelog.program.library.signatures import (
    OPTION_T,
    Applied,
    Closure,
    Example,
    Kind,
    Parameter,
    ParamType,
    StandardFunction,
    T,
    TypeVariable,
    allows,
)
from tidelog.program.library.text_functions import MAX_DISTANCE_WORK, TEXTS
from tidelog.program.library.web_functions import WEB

__all__ = [
    "AGGREGATES",
    "AGGREGATE_NAMES",
    "COLLECTIONS",
    "FAILS",
    "FUNCTION_NAMES",
    "GROUPS",
    "MAX_BIGINT_BITS",
    "MAX_BIGINT_SHIFT",
    "MAX_CALL_DEPTH",
    "MAX_DISTANCE_WORK",
    "MAX_ITEMS",
    "MAX_TEXT",
    "NONE_OF",
    "NO_NUMBER",
    "NUMBER",
    "OPTION_T",
    "REPLACEABLE_NAMES",
    "RESERVED_NAMES",
    "STANDARD_MODULES",
    "TOO_DEEP",
    "AggregateFunction",
    "Applied",
    "Closure",
    "Example",
    "Extra",
    "Kind",
    "ParamType",
    "Parameter",
    "StandardFunction",
    "T",
    "TypeVariable",
    "aggregate_result",
    "allows",
    "can_cast",
    "constant_argument",
    "lookup",
    "lookup_aggregate",
]

MAX_BIGINT_BITS: Final = 1_000_000  # operations that exceed this fail
MAX_BIGINT_SHIFT: Final = 65_535
MAX_TEXT: Final = 2**24  # code points of a computed string, unless an argument is longer
MAX_CALL_DEPTH: Final = 1000  # calls of a recursive function inside each other
TOO_DEEP: Final = f"`{{}}` calls itself more than {MAX_CALL_DEPTH:,} levels deep"  # with its name
FAILS: Final = "$fails"  # internal function: whether its argument has no value, which is then no failure
NUMBER: Final = "$number"  # internal function: returns its argument, a float, and fails if it is NaN
NONE_OF: Final = "none"  # the function of `typed.Over` that says whether there is no instance
NO_NUMBER: Final = "the result is not a number (NaN), so a recursive `min` or `max` cannot compare it"


# -- functions

GROUPS: Final[dict[str, tuple[StandardFunction, ...]]] = {
    **functions.GROUPS,
    **TEXTS,
    **NUMERICS,
    **CALENDARS,
    **WEB,
    **JSON,
}
_ALL: Final = tuple(f for groups in (GROUPS, COLLECTIONS) for group in groups.values() for f in group)
FUNCTION_NAMES: Final = tuple(dict.fromkeys(f.name for f in _ALL))
_MODULES: Final = {
    "text": ("Text", "Regular expressions", "Reading and comparing text", "Parts of strings"),
    "math": ("Numbers", "Whole numbers and limits", "Logarithms and angles"),
    "value": ("Values of any type", "Options", "Results"),
    "time": ("Dates and times", "Calendar", "Durations"),
    "web": ("Hashes", "Encodings", "URLs", "IP addresses"),
    "json": ("JSON",),
    "collections": ("Vecs", "Functions that take closures", "Sets", "Maps"),
}
# The functions of each standard module: `std::text::split`, or `t::split` after `import std::text as t`.
STANDARD_MODULES: Final = {
    module: frozenset(f.name for title in titles for f in (GROUPS | COLLECTIONS)[title])
    for module, titles in _MODULES.items()
}
# A program cannot declare functions of these names. It can replace any other standard function by its own.
# Literals of maps and aggregates over nothing call the last two.
RESERVED_NAMES: Final = frozenset(f.name for group in functions.GROUPS.values() for f in group) | {
    "to_map",
    "to_set",
}
REPLACEABLE_NAMES: Final = tuple(name for name in FUNCTION_NAMES if name not in RESERVED_NAMES)
_OVERLOADS: Final = {name: tuple(f for f in _ALL if f.name == name) for name in FUNCTION_NAMES}


def lookup(name: str) -> tuple[StandardFunction, ...]:
    """The overloads of a name, which differ in their parameters; empty for an unknown name."""
    return _OVERLOADS.get(name, ())


# -- aggregates


@dataclass(frozen=True, slots=True)
class Extra:
    """An argument of an aggregate besides the value. It is required if it has no default and is not optional.

    An optional argument that is not given is left out. At most one argument of an aggregate `is_constant`.
    """

    name: str
    kind: Kind
    default: str | None = None
    optional: bool = False
    is_constant: bool = False


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    name: str
    argument: Kind
    extra: tuple[Extra, ...]
    doc: str


_BY = (Extra("by", Kind.ANY),)

AGGREGATES: Final = (
    AggregateFunction("count", Kind.EVERY, (), "The number of instances, including those with `none`."),
    AggregateFunction("count_distinct", Kind.ANY, (), "The number of distinct values."),
    AggregateFunction(
        "sum",
        Kind.NUMBER,
        (),
        "The exact sum, in the type of the values; for float and double a double, rounded once. "
        "Fails if the sum does not fit the type; intermediate sums do not matter.",
    ),
    AggregateFunction(
        "avg",
        Kind.NUMBER,
        (),
        "The exact mean, rounded once, half to even; for decimals in their own type, otherwise a double.",
    ),
    AggregateFunction("min", Kind.ANY, (), "The smallest value."),
    AggregateFunction("max", Kind.ANY, (), "The largest value; NaN is larger than every number."),
    AggregateFunction(
        "arg_min", Kind.ANY, _BY, "The value where `by` is smallest; the smallest one if there are several."
    ),
    AggregateFunction(
        "arg_max", Kind.ANY, _BY, "The value where `by` is largest; the smallest one if there are several."
    ),
    AggregateFunction(
        "top",
        Kind.ANY,
        (Extra("n", Kind.INTEGER, is_constant=True), Extra("by", Kind.ANY, optional=True)),
        "Up to `n` of the largest values, or of those where `by` is largest, as a vec: the largest first, of "
        "equal ones the smallest value first. Equal values count as often as they occur. `n` is a constant "
        "of at least 1.",
    ),
    AggregateFunction("any", Kind.TRUTH, (), "Whether at least one value is true."),
    AggregateFunction("all", Kind.TRUTH, (), "Whether no value is false."),
    AggregateFunction(
        "concat",
        Kind.STRING,
        (Extra("separator", Kind.STRING, "", is_constant=True),),
        "All values, sorted by code points and joined with the separator.",
    ),
    AggregateFunction(
        "collect_vec",
        Kind.EVERY,
        (Extra("by", Kind.EVERY, optional=True),),
        "All values in their order, or in the order of `by` and then their own, as a vec.",
    ),
    AggregateFunction("collect_set", Kind.EVERY, (), "The distinct values, as a set."),
    AggregateFunction(
        "collect_map",
        Kind.EVERY,
        (Extra("value", Kind.EVERY),),
        "The values as keys of a map, each with its `value`. Fails if a key has two different values.",
    ),
    AggregateFunction("count_if", Kind.TRUTH, (), "The number of instances whose value is true."),
    AggregateFunction(
        "median",
        Kind.NUMBER,
        (),
        "The middle value in the order of the type (NaN is last), or the exact mean of the two middle ones, "
        "rounded and typed as by `avg`.",
    ),
    AggregateFunction(
        "quantile",
        Kind.NUMBER,
        (Extra("q", Kind.FLOATING, is_constant=True),),
        "The value at the fraction `q` of the way from the smallest to the largest, with linear "
        "interpolation between neighbours, as `percentile_cont` of SQL; rounded once and typed as by `avg`. "
        "`q` is a constant from 0.0 to 1.0, taken as written in decimal.",
    ),
    AggregateFunction(
        "variance",
        Kind.NUMBER,
        (),
        "The sample variance as an option<double>, computed exactly and rounded once; `none` for a single "
        "instance, NaN if a value is NaN or infinite.",
    ),
    AggregateFunction(
        "stddev",
        Kind.NUMBER,
        (),
        "The sample standard deviation, the square root of the exact `variance`, as an option<double>.",
    ),
    AggregateFunction(
        "mode", Kind.ANY, (), "The most frequent value; the smallest one if there are several."
    ),
    AggregateFunction("bit_and", Kind.INTEGER, (), "The bits that all values have."),
    AggregateFunction("bit_or", Kind.INTEGER, (), "The bits that at least one value has."),
)

AGGREGATE_NAMES: Final = tuple(a.name for a in AGGREGATES)


def lookup_aggregate(name: str) -> AggregateFunction | None:
    return next((a for a in AGGREGATES if a.name == name), None)


def constant_argument(name: str) -> int | None:
    """The position of the argument of an aggregate that is a constant, if it has one; its value is at 0."""
    aggregate = lookup_aggregate(name)
    extra = () if aggregate is None else aggregate.extra
    return next((i for i, e in enumerate(extra, start=1) if e.is_constant), None)


def aggregate_result(name: str, value_type: Type, others: tuple[Type, ...] = ()) -> Type | None:
    """The result type of an aggregate over values of a type; None if it does not accept them.

    `others` are the types of its other arguments.
    """
    aggregate = lookup_aggregate(name)
    if aggregate is None or not allows(aggregate.argument, value_type):
        return None
    match name:
        case "count" | "count_distinct" | "count_if":
            return types.INT
        case "sum":
            return types.DOUBLE if types.is_float(value_type) else value_type
        case "avg" | "median" | "quantile":
            return value_type if isinstance(value_type, types.Decimal) else types.DOUBLE
        case "collect_vec" | "top":
            return types.Vec(value_type)
        case "collect_set":
            return types.Set(value_type)
        case "collect_map":
            return types.Map(value_type, others[0]) if others else None
        case "variance" | "stddev":
            return types.Option(types.DOUBLE)
        case _:
            return value_type


# -- conversions


def can_cast(source: Type, target: Type) -> bool:
    """Whether `as` converts from one type to the other. The conversion of a value can still fail.

    A type converts to an option if it converts to the option's item. An option converts only to an option or
    a string.
    """
    match source, target:
        case (types.Option(item), types.Option(wanted)):
            return can_cast(item, wanted)
        case (_, types.Option(wanted)):
            return can_cast(source, wanted)
        case (_, types.String()):
            return True
        case (types.Option(), _):
            return False
        case (types.String(), _):
            return True
        case (types.Bool(), _) if types.is_integer(target):
            return True
        case (types.Date() | types.Timestamp(), types.Date() | types.Timestamp() | types.Int()):
            return True
        case (types.Int(), types.Date() | types.Timestamp()):
            return True
        case _:
            return source == target or (types.is_number(source) and types.is_number(target))
