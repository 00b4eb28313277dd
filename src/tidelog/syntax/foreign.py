"""Words and operators of other languages, and what to write instead."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from tidelog.syntax.cursor import Cursor

__all__ = [
    "CONVERTED",
    "ELSE_IF",
    "JOINTS",
    "RELATIONS",
    "argument_hint",
    "end_hint",
    "operator_hint",
    "statement_hint",
]

_AND = "separate literals with commas: `a, b`"
_OR = "write alternatives in parentheses, separated by semicolons: `(a; b)`"
_STOP = "a rule or fact ends with a full stop: `Reach(x, y) :- Edge(x, y).`"
JOINTS = {"and": _AND, "&": _AND, "or": _OR, "|": _OR, ";": _OR}
_NONE = "test for a missing value with `is_none(x)` and `is_some(x)`"
_LIKE = "use `starts_with(x, …)`, `contains(x, …)` or `regex_match(x, …)`"
_WORDS = {
    "like": _LIKE,
    "ilike": 'use `regex_match(x, "(?i)…")`',
    "in": "write `in` and the values in brackets: `x in [1, 2]`",
    "between": "write `low <= x and x <= high`",
    "where": "separate conditions with commas",
    "if": "separate conditions with commas; a choice is written `if (condition) a else b`",
    "mod": "write `%`",
    "div": "write `/`",
    "order": "relations have no order; use `top(n, by)` or `collect_vec(by)` of `group_by`",
    "limit": "relations have no order; use `top(n, by)` of `group_by`",
    "group": "write `var n = x.group_by(k).count()`",
    "when": "write `if (condition) a else b`",
    "then": "write `if (condition) a else b`",
}
_NEGATED = {
    "like": "`not` stands before the condition: `not starts_with(x, …)`",
    "ilike": '`not` stands before the condition: `not regex_match(x, "(?i)…")`',
    "in": "`not` stands before the condition: `not (x in [1, 2])`",
    "between": "`not` stands before the condition: `not (low <= x and x <= high)`",
}
_NAMED = "write `var x = …`"
_PREFIX = "for short names, declare prefixes at the top: `prefix ex: <http://example.org/>`"
_OVER_BODY = "write `var n = count { … }` or `var n = sum(x) { … }`"
_BEFORE = {  # by the word before what was not expected
    "let": _NAMED,
    "val": _NAMED,
    "distinct": "relations have each row once; in aggregates, write `x.group_by(k).distinct().sum()`",
    "forall": "write `not (…, not …)`: there is no row for which it does not hold",
    "?": "write `if (condition) a else b`",
    **dict.fromkeys(["count", "sum", "min", "max", "mean"], _OVER_BODY),
}
RELATIONS = {
    "FlatMap": "write `var x in collection` for the items of a collection",
    "Aggregate": "write `var n = x.group_by(k).count()`",
}
CONVERTED = frozenset(["int", "bigint", "string", "float", "double", "date", "timestamp", "bool"])
_OPERATORS = {  # operators of other languages, of two characters
    "<>": "write `!=`",
    "&&": "separate literals with commas, or write `and`",
    "**": "use `pow(x, y)`",
    **dict.fromkeys(["+=", "-=", "*=", "/="], "write `x = x + 1;`"),
    **dict.fromkeys(["++;", "--;"], "write `x = x + 1;`"),
}
ELSE_IF = frozenset(["elif", "elsif", "elseif", "elseIf"])
_STATEMENTS = {
    **dict.fromkeys(["let", "const", "val", "mut", "int", "auto"], "write `var x = …;`"),
    **dict.fromkeys(["remove", "retract", "subtract", "undo"], "write `delete { … }`"),
    "while": "write `for (x in values) { … }`, or let the function call itself",
    "loop": "write `for (x in values) { … }`, or let the function call itself",
}


def end_hint(c: Cursor) -> str | None:
    """What to write instead of a token that neither continues nor ends the literals."""
    match c.token.text, c.peek().text:
        case ("<", "-") | (":", "="):
            return "write `:-`"
        case ":", _ if _is_short_name(c):
            return _PREFIX
        case "-", "-":
            return "comments begin with `//`"
        case "{", _:
            return "an aggregate over a body is the whole right side of a `var`: `var n = count { … }`"
        case ";", _ if "\n" in c.source.text[c.token.end : c.peek().start] or c.peek().kind == "end":
            return _STOP
    word, following = c.token.text.lower(), c.peek().text.lower()
    if word == "is":
        is_test = following in ("null", "none", "not", "nil")
        return _NONE if is_test else "write `==` to compare, `var x = …` to name a value"
    if word == "not" and following in _NEGATED:
        return _NEGATED[following]
    before = c.tokens[c.index - 1].text.lower() if c.index else ""
    if before == "?" and c.index > 1 and c.tokens[c.index - 2].text == "?":
        return "use `unwrap_or(x, …)` to supply a default for a missing value"
    if c.token.kind == "string" and before in ("f", "s"):
        return 'strings need no prefix: `"${x}"` has the value of `x`'
    found = JOINTS.get(word) or _WORDS.get(word) or _BEFORE.get(before)
    if found is None and (c.token.kind == "end" or c.starts_line()):
        return _STOP
    return found


def operator_hint(c: Cursor) -> str | None:
    """What to write instead of an operator of two characters that ends with the next token."""
    text, end = c.source.text, c.token.end
    if _is_short_name(c):
        return _PREFIX
    return next((hint for operator, hint in _OPERATORS.items() if text.endswith(operator, 0, end)), None)


def statement_hint(c: Cursor, start: int) -> str | None:
    """What to write instead of a statement that begins with the word at an offset."""
    place = bisect_left(c.tokens, start, key=attrgetter("start"))
    first = c.tokens[place]
    return _STATEMENTS.get(first.text) if first.start == start else None


def argument_hint(c: Cursor) -> str | None:
    """What to write instead of a token that neither continues nor ends an argument."""
    if _is_short_name(c):
        return _PREFIX
    before = c.tokens[c.index - 1].text if c.index else ""
    is_closure = before in ("lambda", "fn", "func", "function", "\\") or c.token.text in ("=>", "->")
    return "a closure is written `|x| …`" if is_closure else None


def _is_short_name(c: Cursor) -> bool:
    """Whether the next tokens are the end of a short name for an IRI."""
    following = c.peek()
    return c.token.text == ":" and following.start == c.token.end and following.kind in ("name", "Name")
