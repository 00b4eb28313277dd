"""The functions that translated queries call. A value that is unbound, or an error, is the empty string."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated, Any, Final

from tidelog.rdf.sparql.expressions import computed_number, effective, order_key, value_of
from tidelog.rdf.sparql.literals import Failure, Number, number_term, read_term, string

__all__ = ["ALL", "aggregate", "sparql_aggregate", "sparql_holds", "sparql_value"]

Terms = Annotated[Any, "vec<string>"]


@lru_cache(1000)
def _read(text: str) -> tuple[Any, tuple[str, ...]]:
    """An expression, and the names of its variables in the order of their values."""
    expression, names = json.loads(text)
    return expression, tuple(names)


def sparql_holds(expression: str, values: Terms) -> bool:
    """Whether a filter is true."""
    tree, names = _read(expression)
    try:
        return effective(tree, dict(zip(names, values, strict=True)))
    except Failure:
        return False


def sparql_value(expression: str, values: Terms) -> str:
    """The value of an expression."""
    tree, names = _read(expression)
    try:
        return value_of(tree, dict(zip(names, values, strict=True)))
    except Failure:
        return ""


def sparql_aggregate(function: str, values: Terms) -> str:
    """What an aggregate makes of the values of a group; `function` has its name and options, as JSON."""
    return aggregate(function, list(values))


def aggregate(function: str, values: list[str]) -> str:
    name, is_distinct, separator = json.loads(function)
    if is_distinct:
        values = list(dict.fromkeys(values))
    try:
        return _aggregated(name, values, separator)
    except Failure:
        return ""


def _aggregated(name: str, values: list[str], separator: str) -> str:
    bound = [v for v in values if v]
    match name:
        case "count":
            return number_term(Number("integer", len(bound)))
        case "sample":
            return min(bound, key=order_key) if bound else ""
        case "min":
            return min(bound, key=order_key) if bound else ""
        case "max":
            return max(bound, key=order_key) if bound else ""
        case "sum":
            return number_term(_total(values))
        case "avg":
            count = Number("integer", len(values))
            return number_term(
                computed_number("/", _total(values), count) if values else Number("integer", 0)
            )
        case _:  # group_concat
            return string(separator.join(read_term(v).text for v in values))


def _total(values: list[str]) -> Number:
    total = Number("integer", 0)
    for value in values:
        number = read_term(value).number
        if number is None:
            raise Failure
        total = computed_number("+", total, number)
    return total


ALL: Final = (sparql_aggregate, sparql_holds, sparql_value)
