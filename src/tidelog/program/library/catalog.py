"""The standard library as data: functions, aggregates and conversions; what exists and which types fit.

Elaboration asks here; every engine implements what is listed here, and nothing is computed here. The
functions themselves are in `standard`, in the vocabulary of `signatures`; both are offered here again, so
that this is the one module to import.
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

MAX_BIGINT_BITS: Final = 1_000_000  # a bigint with more bits than this is a failure
MAX_BIGINT_SHIFT: Final = 65_535
MAX_TEXT: Final = 2**24  # code points that a string has that is made, unless one that is given has more
NUMBER: Final = "$number"  # a function that programs cannot call: its argument, a float, if it is not NaN
NO_NUMBER: Final = "the result is not a number (NaN), so a recursive `min` or `max` cannot compare it"


# -- functions

FUNCTION_NAMES: Final = tuple(dict.fromkeys(f.name for group in GROUPS.values() for f in group))
_OVERLOADS: Final = {
    name: tuple(f for group in GROUPS.values() for f in group if f.name == name) for name in FUNCTION_NAMES
}


def lookup(name: str) -> tuple[StandardFunction, ...]:
    """The overloads of a name, each with another number of parameters; empty for an unknown name."""
    return _OVERLOADS.get(name, ())


# -- aggregates


@dataclass(frozen=True, slots=True)
class Extra:
    """What an aggregate takes besides the value; `default` is None where it must be given."""

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
    AggregateFunction("count", Kind.EVERY, (), "How many instances there are, `none` included."),
    AggregateFunction("count_distinct", Kind.ANY, (), "How many different values there are."),
    AggregateFunction(
        "sum",
        Kind.NUMBER,
        (),
        "The exact sum, of the values' type; of float and double a double, rounded once. "
        "A sum that does not fit fails; what it passes through on the way does not matter.",
    ),
    AggregateFunction(
        "avg",
        Kind.NUMBER,
        (),
        "The exact mean, rounded once, halves to even: of a decimal to its own type, otherwise to a double.",
    ),
    AggregateFunction("min", Kind.ANY, (), "The smallest value."),
    AggregateFunction("max", Kind.ANY, (), "The largest value; NaN is larger than every number."),
    AggregateFunction(
        "arg_min", Kind.ANY, _BY, "The value where `by` is smallest; of several, the smallest value."
    ),
    AggregateFunction(
        "arg_max", Kind.ANY, _BY, "The value where `by` is largest; of several, the smallest value."
    ),
    AggregateFunction("any", Kind.TRUTH, (), "Whether at least one value is true."),
    AggregateFunction("all", Kind.TRUTH, (), "Whether no value is false."),
    AggregateFunction(
        "concat",
        Kind.STRING,
        (Extra("separator", Kind.STRING, ""),),
        "All values in the order of their code points, with the separator between them.",
    ),
)

AGGREGATE_NAMES: Final = tuple(a.name for a in AGGREGATES)


def lookup_aggregate(name: str) -> AggregateFunction | None:
    return next((a for a in AGGREGATES if a.name == name), None)


def aggregate_result(name: str, value_type: Type) -> Type | None:
    """The type of an aggregate over values of a type; None if it takes no such values."""
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
    """Whether `as` converts from the one type to the other; a value may still fail to convert.

    Into an option goes whatever goes into its item; out of an option comes only a string.
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
