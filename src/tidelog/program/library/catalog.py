"""The standard library as data: which functions, aggregates and conversions exist, and their types.

Elaboration looks them up here and every engine implements them; nothing is computed here. The functions
themselves are specified in `functions`, in terms of `signatures`. This module re-exports both, so it is the
only one to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.program.library.functions import GROUPS
from tidelog.program.library.signatures import (
    OPTION_T,
    Example,
    Kind,
    Parameter,
    ParamType,
    StandardFunction,
    T,
    TypeVariable,
    allows,
)

__all__ = [
    "AGGREGATES",
    "AGGREGATE_NAMES",
    "FUNCTION_NAMES",
    "GROUPS",
    "MAX_BIGINT_BITS",
    "MAX_BIGINT_SHIFT",
    "MAX_TEXT",
    "NO_NUMBER",
    "NUMBER",
    "OPTION_T",
    "AggregateFunction",
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
    "lookup",
    "lookup_aggregate",
]

MAX_BIGINT_BITS: Final = 1_000_000  # operations that exceed this fail
MAX_BIGINT_SHIFT: Final = 65_535
MAX_TEXT: Final = 2**24  # code points of a computed string, unless an argument is longer
NUMBER: Final = "$number"  # internal function: returns its argument, a float, and fails if it is NaN
NO_NUMBER: Final = "the result is not a number (NaN), so a recursive `min` or `max` cannot compare it"


# -- functions

FUNCTION_NAMES: Final = tuple(dict.fromkeys(f.name for group in GROUPS.values() for f in group))
_OVERLOADS: Final = {
    name: tuple(f for group in GROUPS.values() for f in group if f.name == name) for name in FUNCTION_NAMES
}


def lookup(name: str) -> tuple[StandardFunction, ...]:
    """The overloads of a name, each with a different number of parameters; empty for an unknown name."""
    return _OVERLOADS.get(name, ())


# -- aggregates


@dataclass(frozen=True, slots=True)
class Extra:
    """An argument of an aggregate besides the value. It is required if `default` is None."""

    name: str
    kind: Kind
    default: str | None = None


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
    AggregateFunction("any", Kind.TRUTH, (), "Whether at least one value is true."),
    AggregateFunction("all", Kind.TRUTH, (), "Whether no value is false."),
    AggregateFunction(
        "concat",
        Kind.STRING,
        (Extra("separator", Kind.STRING, ""),),
        "All values, sorted by code points and joined with the separator.",
    ),
)

AGGREGATE_NAMES: Final = tuple(a.name for a in AGGREGATES)


def lookup_aggregate(name: str) -> AggregateFunction | None:
    return next((a for a in AGGREGATES if a.name == name), None)


def aggregate_result(name: str, value_type: Type) -> Type | None:
    """The result type of an aggregate over values of a type; None if it does not accept them."""
    aggregate = lookup_aggregate(name)
    if aggregate is None or not allows(aggregate.argument, value_type):
        return None
    match name:
        case "count" | "count_distinct":
            return types.INT
        case "sum":
            return types.DOUBLE if types.is_float(value_type) else value_type
        case "avg":
            return value_type if isinstance(value_type, types.Decimal) else types.DOUBLE
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
