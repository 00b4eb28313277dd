"""Tree to text: the one layout of a program. `parse(print(t)) == t`, and printing again changes nothing.

An item that fits stays on its line; otherwise its parts (columns, literals, statements) get a line each.
Comments keep their place between the parts: one that stands alone on its line comes before the part that
follows it, one behind a part stays behind it, and one inside a part moves behind it. None is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tidelog.errors import NOWHERE, Span
from tidelog.syntax import tree
from tidelog.syntax.expressions import BINARY, CAST, COMPARISON, LOOSEST, NOT, POSTFIX, UNARY

__all__ = [
    "print_expression",
    "print_item",
    "print_line",
    "print_literal",
    "print_program",
    "print_type",
    "quote",
]

WIDTH = 100
INDENT = "    "
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\\": "\\\\", '"': '\\"'}


# -- small parts, each on one line


def print_type(type_: tree.TypeName) -> str:
    if not type_.args:
        return type_.name
    args = ", ".join(str(a) if isinstance(a, int) else print_type(a) for a in type_.args)
    return f"{type_.name}({args})" if type_.name == "decimal" else f"{type_.name}<{args}>"


def quote(text: str) -> str:
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    out = "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text)
    return out.replace("${", "\\${")


def print_expression(expr: tree.Expr, level: int = LOOSEST) -> str:
    """The text of an expression, in parentheses if it binds less tightly than `level`."""
    text, binds = _expression(expr)
    return text if binds >= level else f"({text})"


def _expression(expr: tree.Expr) -> tuple[str, int]:
    """The text of an expression, and how tightly its outermost operator binds."""
    match expr:
        case tree.Binary(op, left, right):
            level = BINARY[op]
            left_level = level + 1 if level == COMPARISON else level
            return f"{print_expression(left, left_level)} {op} {print_expression(right, level + 1)}", level
        case tree.Unary("not", operand):
            return f"not {print_expression(operand, NOT)}", NOT
        case tree.Unary(op, tree.IntLiteral(value) | tree.FractionLiteral(value)) if value >= 0:
            return f"{op}({value})", UNARY
        case tree.Unary(op, operand):
            return f"{op}{print_expression(operand, UNARY)}", UNARY
        case tree.Cast(operand, type_):
            return f"{print_expression(operand, CAST)} as {print_type(type_)}", CAST
        case tree.Conditional(condition, then, otherwise):
            branches = f"{print_expression(then)} else {print_expression(otherwise)}"
            return f"if ({print_expression(condition)}) {branches}", LOOSEST
        case tree.IntLiteral(value) if value < 0:
            return _digits(expr), UNARY
        case tree.FractionLiteral(value):
            return _fraction(expr), UNARY if value.is_signed() else POSTFIX
        case _:
            return _value(expr), POSTFIX


def _digits(expr: tree.IntLiteral) -> str:
    """As it was written (`0xff`, `1_000`), if it was."""
    written = expr.span.text
    return written if written and " " not in written else str(expr.value)


def _fraction(expr: tree.FractionLiteral) -> str:
    text = str(expr.value).replace("E", "e")
    return text if "." in text or "e" in text else f"{text}e0"


def _value(expr: tree.Expr) -> str:
    match expr:
        case tree.BoolLiteral(value):
            return "true" if value else "false"
        case tree.IntLiteral():
            return _digits(expr)
        case tree.StringLiteral(value):
            return quote(value)
        case tree.BytesLiteral(value):
            return f'x"{value.hex()}"'
        case tree.NoneLiteral():
            return "none"
        case tree.Interpolation(parts):
            return f'"{"".join(_part(p) for p in parts)}"'
        case tree.Variable(name):
            return name
        case tree.Wildcard():
            return "_"
        case tree.Block(bindings, result):
            statements = "".join(f"{_assignment(b)}; " for b in bindings)
            return f"{{ {statements}{print_expression(result)} }}"
        case tree.Call(function, args, method):
            if method:
                return f"{print_expression(args[0], POSTFIX)}.{function}({_commas(args[1:])})"
            return f"{function}({_commas(args)})"
        case tree.Aggregate(value, keys, function, args, distinct):
            grouped = f"{print_expression(value, POSTFIX)}.group_by({_commas(keys)})"
            return f"{grouped}{'.distinct()' if distinct else ''}.{function}({_commas(args)})"
        case _:
            raise AssertionError(f"{expr!r} has an operator")


def _part(part: str | tree.Expr) -> str:
    return _escape(part) if isinstance(part, str) else f"${{{print_expression(part)}}}"


def _commas(exprs: Sequence[tree.Expr]) -> str:
    return ", ".join(print_expression(e) for e in exprs)


def _assignment(assignment: tree.Assignment) -> str:
    return f"var {assignment.name} = {print_expression(assignment.value)}"


def print_literal(literal: tree.Literal) -> str:
    match literal:
        case tree.Atom(relation, args):
            return f"{relation}({', '.join(_argument(a) for a in args)})"
        case tree.Negation(atom):
            return f"not {print_literal(atom)}"
        case tree.Condition(value):
            return print_expression(value)
        case tree.Assignment():
            return _assignment(literal)
        case tree.Disjunction(alternatives):
            return f"({'; '.join(', '.join(map(print_literal, a)) for a in alternatives)})"
        case _:
            assert_never(literal)


def _argument(argument: tree.Argument) -> str:
    text = print_expression(argument.value)
    return text if argument.name is None else f".{argument.name} = {text}"


def _column(column: tree.Column) -> str:
    return f"{column.name}: {print_type(column.type)}"


# -- items, as an opening, parts and an ending


def _item(item: tree.Item) -> tuple[str, list[tuple[str, Span]], str, str]:
    """The opening, the parts with their places, the ending, and what separates the parts."""
    match item:
        case tree.Relation(role, name, columns, key):
            opening = f"{role} relation {name}(" if role else f"relation {name}("
            ending = f") primary key ({', '.join(k.name for k in key)})" if key is not None else ")"
            return opening, [(_column(c), c.span) for c in columns], ending, ","
        case tree.Alias(name, type_):
            return f"typedef {name} = ", [(print_type(type_), type_.span)], "", ""
        case tree.Function(name, parameters, result, body):
            params = ", ".join(_column(p) for p in parameters)
            opening = f"function {name}({params}): {print_type(result)} {{"
            statements = [(f"{_assignment(b)};", b.span) for b in body.bindings]
            return opening, [*statements, (print_expression(body.result), body.result.span)], "}", ""
        case tree.Rule(heads, body):
            opening = ", ".join(print_literal(h) for h in heads)
            opening += " :-" if body else ""
            return opening, [(print_literal(x), x.span) for x in body], ".", ","
        case _:
            assert_never(item)


def print_item(item: tree.Item) -> str:
    """The text of an item without its comments."""
    return "\n".join(_lines(item, _Comments(())))


def print_line(item: tree.Item) -> str:
    """The text of an item on one line, however long."""
    opening, parts, ending, separator = _item(item)
    inner = f"{separator} ".join(text for text, _ in parts)
    if isinstance(item, tree.Function):
        return f"{opening} {inner} {ending}"
    if isinstance(item, tree.Rule) and parts:
        return f"{opening} {inner}{ending}"
    return f"{opening}{inner}{ending}"


def _lines(item: tree.Item, comments: _Comments) -> list[str]:
    inside = comments.has_before(item.span.end)
    single = print_line(item)
    if not inside and len(single) <= WIDTH:
        return [single]
    opening, parts, ending, separator = _item(item)
    if not parts:
        return [single, *(c.text for c in comments.take_before(item.span.end))]
    return _broken(item, opening, parts, ending, separator, comments)


def _broken(
    item: tree.Item,
    opening: str,
    parts: list[tuple[str, Span]],
    ending: str,
    separator: str,
    comments: _Comments,
) -> list[str]:
    """One line a part, with the comments between them; a rule's ending stays with its last part."""
    lines = [opening.rstrip()]
    hugging = isinstance(item, tree.Rule | tree.Alias)
    for number, (text, span) in enumerate(parts):
        lines += [INDENT + c.text for c in comments.take_before(span.start)]
        last = number == len(parts) - 1
        lines.append(INDENT + text + ((ending if hugging else "") if last else separator))
        comments.trail(lines, comments.take_inside(span, parts[number + 1][1].start if not last else None))
    rest = comments.take_before(item.span.end)
    if hugging:
        return [*lines, *(c.text for c in rest)]
    return [*lines, *(INDENT + c.text for c in rest), ending]


# -- programs


class _Comments:
    """The comments not yet printed, in the order of the text."""

    def __init__(self, comments: tuple[tree.Comment, ...]) -> None:
        self._rest = list(comments)

    def has_before(self, offset: int) -> bool:
        return bool(self._rest) and self._rest[0].span.start < offset

    def take_before(self, offset: int) -> list[tree.Comment]:
        count = sum(1 for _ in self._prefix(offset))
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def _prefix(self, offset: int) -> Sequence[tree.Comment]:
        end = next((i for i, c in enumerate(self._rest) if c.span.start >= offset), len(self._rest))
        return self._rest[:end]

    def take_inside(self, span: Span, until: int | None) -> list[tree.Comment]:
        """Those inside a part, and the one behind it on its line if that comes before `until`."""
        taken = self.take_before(span.end)
        following = self._rest[0] if self._rest else None
        behind = following is not None and following.trailing and _same_line(span.end, following.span)
        if following and behind and (until is None or following.span.start < until):
            taken.append(self._rest.pop(0))
        return taken

    @staticmethod
    def trail(lines: list[str], comments: list[tree.Comment]) -> None:
        """Put comments behind the last line; a line holds one `//`, so more get lines of their own."""
        for number, comment in enumerate(comments):
            if number == 0 and "\n" not in comment.text:
                lines[-1] += f"  {comment.text}"
            else:
                lines.append(INDENT + comment.text)

    def rest(self) -> list[tree.Comment]:
        return self._rest


def _same_line(offset: int, span: Span) -> bool:
    return "\n" not in span.source.text[offset : span.start]


def print_program(program: tree.Program) -> str:
    """The whole text, with its comments; blank lines between things are kept, one at most."""
    comments = _Comments(program.comments)
    lines: list[str] = []
    previous: tuple[Span, tree.Item | tree.Comment] | None = None

    def put(new: list[str], span: Span, what: tree.Item | tree.Comment) -> None:
        nonlocal previous
        if previous is not None and _blank_between(previous, span, what):
            lines.append("")
        lines.extend(new)
        previous = span, what

    for item in program.items:
        for comment in comments.take_before(item.span.start):
            put([comment.text], comment.span, comment)
        put(_lines(item, comments), item.span, item)
        end = item.span
        behind = [] if end.source is NOWHERE.source else comments.take_inside(end, None)
        _Comments.trail(lines, behind)
        if behind:
            previous = behind[-1].span, item
    for comment in comments.rest():
        put([comment.text], comment.span, comment)
    return "\n".join(lines) + ("\n" if lines else "")


def _blank_between(
    previous: tuple[Span, tree.Item | tree.Comment], span: Span, what: tree.Item | tree.Comment
) -> bool:
    before, item = previous
    if span.source is NOWHERE.source:
        return type(item) is not type(what)
    return span.source.text[before.end : span.start].count("\n") > 1
