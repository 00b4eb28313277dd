"""The meaning of filters and computed values, as the SPARQL 1.1 standard defines it.

An expression is a tree of lists: `["var", "x"]`, `["term", "<…>"]`, or an operator with its arguments. Its
value is a term; `Failure` is SPARQL's error. A filter holds if the *effective boolean value* of its
expression is true.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from functools import lru_cache
from typing import Any, Final

from tidelog.rdf.sparql.literals import XSD, Failure, Number, Term, boolean, number_term, read_term, string

__all__ = ["FUNCTIONS", "effective", "order_key", "value_of"]

Expression = Any  # lists of lists and texts
Values = Mapping[str, str]

_DIGITS: Final = 50  # of a decimal
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DATES: Final = (f"{XSD}dateTime", f"{XSD}date")
_ZONED: Final = re.compile(r"-?\d{4,}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?)?Z")
_FLAGS: Final = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}


def value_of(expression: Expression, values: Values) -> str:
    """The term that an expression has as its value. Raises `Failure`."""
    kind, *args = expression
    if kind == "var":
        found = values.get(args[0], "")
        if not found:
            raise Failure
        return found
    if kind == "term":
        return str(args[0])
    return _SPECIAL[kind](args, values) if kind in _SPECIAL else FUNCTIONS[kind](*_terms(args, values))


def _terms(args: list[Expression], values: Values) -> list[Term]:
    return [read_term(value_of(arg, values)) for arg in args]


def effective(expression: Expression, values: Values) -> bool:
    """The effective boolean value. Raises `Failure`."""
    term = read_term(value_of(expression, values))
    if term.datatype == f"{XSD}boolean":
        return term.boolean is True
    number = term.number
    if number is not None:
        return not (number.value == 0 or number.value != number.value)
    if term.is_plain or term.language:
        return term.text != ""
    raise Failure


# -- logic: arguments that fail are not always a failure


def _and(args: list[Expression], values: Values) -> str:
    return boolean(_decided(args, values, False))


def _or(args: list[Expression], values: Values) -> str:
    return boolean(_decided(args, values, True))


def _decided(args: list[Expression], values: Values, deciding: bool) -> bool:
    """`deciding` if an argument has that value, else a failure if one failed."""
    failed = False
    for arg in args:
        try:
            if effective(arg, values) is deciding:
                return deciding
        except Failure:
            failed = True
    if failed:
        raise Failure
    return not deciding


def _not(args: list[Expression], values: Values) -> str:
    return boolean(not effective(args[0], values))


def _bound(args: list[Expression], values: Values) -> str:
    return boolean(bool(values.get(args[0][1])))


def _if(args: list[Expression], values: Values) -> str:
    return value_of(args[1 if effective(args[0], values) else 2], values)


def _coalesce(args: list[Expression], values: Values) -> str:
    for arg in args:
        try:
            return value_of(arg, values)
        except Failure:
            continue
    raise Failure


def _in(args: list[Expression], values: Values) -> str:
    wanted, *others = args
    return _or([["=", wanted, other] for other in others], values)


_SPECIAL: Final[Mapping[str, Callable[[list[Expression], Values], str]]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "bound": _bound,
    "if": _if,
    "coalesce": _coalesce,
    "in": _in,
}


# -- comparisons


def _equal(a: Term, b: Term) -> bool:
    left, right = a.number, b.number
    if left is not None and right is not None:
        return _compared(operator.eq, left, right)
    if a == b:
        return True
    if a.kind != "literal" or b.kind != "literal":
        return False
    if a.boolean is not None and b.boolean is not None:
        return a.boolean == b.boolean
    if a.language or b.language or (a.is_plain and b.is_plain):
        return False
    if a.datatype == b.datatype and a.datatype in _DATES:
        return _date(a) == _date(b)
    if _is_known(a) and _is_known(b):
        return False
    raise Failure  # they may be the same value in a way that is unknown here


def _is_known(term: Term) -> bool:
    return term.number is not None or term.boolean is not None or term.is_plain or _is_date(term)


def _is_date(term: Term) -> bool:
    return term.datatype in _DATES and bool(_ZONED.fullmatch(term.text))


def _date(term: Term) -> str:
    """A date in universal time as a text that orders as it does. Others do not compare here."""
    if not _is_date(term) or term.text.startswith("-"):
        raise Failure
    whole, _, fraction = term.text.removesuffix("Z").partition(".")
    return whole.zfill(30) + "." + fraction.rstrip("0")


def _compared(compare: Callable[[Any, Any], bool], left: Number, right: Number) -> bool:
    if max(left.rank, right.rank) >= 2:
        return compare(float(left.value), float(right.value))
    return compare(left.value, right.value)


def _comparison(sign: str) -> Callable[[Term, Term], str]:
    compare = _COMPARISONS[sign]

    def compared(a: Term, b: Term) -> str:
        left, right = a.number, b.number
        if left is not None and right is not None:
            return boolean(_compared(compare, left, right))
        if a.is_plain and b.is_plain:
            return boolean(compare(a.text, b.text))
        if a.boolean is not None and b.boolean is not None:
            return boolean(compare(a.boolean, b.boolean))
        if a.datatype == b.datatype and a.datatype in _DATES:
            return boolean(compare(_date(a), _date(b)))
        raise Failure

    return compared


# -- arithmetic


def _arithmetic(sign: str) -> Callable[[Term, Term], str]:
    def computed(a: Term, b: Term) -> str:
        if a.number is None or b.number is None:
            raise Failure
        return number_term(computed_number(sign, a.number, b.number))

    return computed


def computed_number(sign: str, a: Number, b: Number) -> Number:
    """The sum, difference, product or quotient of numbers, in the wider of their types."""
    kind = max(a, b, key=lambda n: n.rank).kind
    with localcontext() as context:
        context.prec = _DIGITS
        try:
            if kind in ("float", "double"):
                return Number(kind, _of_floats(sign, float(a.value), float(b.value)))
            if kind == "integer" and sign != "/":
                return Number(kind, _exact(sign, a.value, b.value))
            left, right = Decimal(a.value), Decimal(b.value)
            return Number("decimal", left / right if sign == "/" else _exact(sign, left, right))
        except (DivisionByZero, InvalidOperation, Overflow, OverflowError):
            raise Failure from None


def _exact(sign: str, a: Any, b: Any) -> Any:
    return {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](a, b)


def _of_floats(sign: str, a: float, b: float) -> float:
    if sign != "/":
        return float(_exact(sign, a, b))
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def _negative(a: Term) -> str:
    if a.number is None:
        raise Failure
    return number_term(computed_number("-", Number("integer", 0), a.number))


# -- functions of terms and strings


def _text(term: Term) -> str:
    """The text of a string, with or without a language."""
    if not (term.is_plain or term.language):
        raise Failure
    return term.text


def _like(term: Term, text: str) -> str:
    return string(text, term.language)


def _str(a: Term) -> str:
    if a.kind == "blank":
        raise Failure
    return string(a.text)


def _lang(a: Term) -> str:
    if a.kind != "literal":
        raise Failure
    return string(a.language)


def _datatype(a: Term) -> str:
    if a.kind != "literal":
        raise Failure
    return f"<{a.datatype}>"


def _lang_matches(a: Term, b: Term) -> str:
    tag, wanted = _text(a).lower(), _text(b).lower()
    is_match = tag == wanted or tag.startswith(f"{wanted}-")
    return boolean(bool(tag) if wanted == "*" else is_match)


def _pair(a: Term, b: Term) -> tuple[str, str]:
    """The texts of two strings that may be compared."""
    if b.language and a.language != b.language:
        raise Failure
    return _text(a), _text(b)


def _regex(a: Term, pattern: Term, flags: Term | None = None) -> str:
    given = "" if flags is None else _text(flags)
    return boolean(_compiled(_text(pattern), given).search(_text(a)) is not None)


@lru_cache(1000)
def _compiled(pattern: str, flags: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, sum(_FLAGS[f] for f in set(flags)))
    except (KeyError, re.error, RecursionError):
        raise Failure from None


def _size(a: Term) -> str:
    return number_term(Number("integer", len(_text(a))))


def _abs(a: Term) -> str:
    if a.number is None:
        raise Failure
    value: Any = a.number.value
    return number_term(Number(a.number.kind, abs(value)))


FUNCTIONS: Final[Mapping[str, Callable[..., str]]] = {
    "=": lambda a, b: boolean(_equal(a, b)),
    "!=": lambda a, b: boolean(not _equal(a, b)),
    **{sign: _comparison(sign) for sign in _COMPARISONS},
    **{sign: _arithmetic(sign) for sign in "+-*/"},
    "negative": _negative,
    "abs": _abs,
    "contains": lambda a, b: boolean(operator.contains(*_pair(a, b))),
    "datatype": _datatype,
    "isblank": lambda a: boolean(a.kind == "blank"),
    "isiri": lambda a: boolean(a.kind == "iri"),
    "isliteral": lambda a: boolean(a.kind == "literal"),
    "isnumeric": lambda a: boolean(a.number is not None),
    "isuri": lambda a: boolean(a.kind == "iri"),
    "lang": _lang,
    "langmatches": _lang_matches,
    "lcase": lambda a: _like(a, _text(a).lower()),
    "regex": _regex,
    "sameterm": lambda a, b: boolean(a == b),
    "str": _str,
    "strends": lambda a, b: boolean(str.endswith(*_pair(a, b))),
    "strlen": _size,
    "strstarts": lambda a, b: boolean(str.startswith(*_pair(a, b))),
    "ucase": lambda a: _like(a, _text(a).upper()),
}


# -- order


def order_key(text: str) -> tuple[object, ...]:
    """Where a term stands in an order: nothing, blank nodes, IRIs, literals; numbers by value."""
    if not text:
        return (0,)
    term = read_term(text)
    if term.kind != "literal":
        return (1 if term.kind == "blank" else 2, term.text)
    number = term.number
    if number is not None:
        value = number.value
        is_nan = value != value
        return (3, 0, is_nan, 0 if is_nan else value, text)
    return (3, 1, term.text, term.language, term.datatype)
