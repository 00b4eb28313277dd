"""Tree to text on one line: types, expressions and literals.

Parentheses are printed only where the precedence table of `expressions` requires them. A number that comes
from a source text is printed as it was written (`0xff`, `1_000`); everything else has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from tidelog.syntax import tree
from tidelog.syntax.expressions import BINARY, CAST, COMPARISON, LOOSEST, NOT, POSTFIX, UNARY

__all__ = [
    "print_argument",
    "print_assignment",
    "print_column",
    "print_expression",
    "print_literal",
    "print_literals",
    "print_type",
    "quote",
]

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\\": "\\\\", '"': '\\"'}
_WRITTEN = re.compile(r"-?\d[\w.+-]*")


def print_type(type_: tree.TypeName) -> str:
    if not type_.args:
        return type_.name
    args = ", ".join(str(a) if isinstance(a, int) else print_type(a) for a in type_.args)
    return f"{type_.name}({args})" if type_.name == "decimal" else f"{type_.name}<{args}>"


def print_column(column: tree.Column) -> str:
    return f"{column.name}: {print_type(column.type)}"


# -- expressions


def print_expression(expr: tree.Expr, level: int = LOOSEST) -> str:
    """The text of an expression, parenthesized if it binds less tightly than `level`."""
    text, binds = _expression(expr)
    return text if binds >= level else f"({text})"


def _expression(expr: tree.Expr) -> tuple[str, int]:
    """The text of an expression, and how tightly its outermost operator binds."""
    match expr:
        case tree.Binary(op):
            return _row(expr), BINARY[op]
        case tree.Unary("not", operand):
            return f"not {print_expression(operand, NOT)}", NOT
        case tree.Unary("-", tree.IntLiteral() | tree.FractionLiteral() as number):
            return f"-({_number(number)})", UNARY  # without parentheses it would be a negative number
        case tree.Unary(op, operand):
            return f"{op}{print_expression(operand, UNARY)}", UNARY
        case tree.Cast(operand, type_):
            return f"{print_expression(operand, CAST)} as {print_type(type_)}", CAST
        case tree.Conditional(condition, then, otherwise):
            branches = f"{print_expression(then)} else {print_expression(otherwise)}"
            return f"if ({print_expression(condition)}) {branches}", LOOSEST
        case tree.IntLiteral() | tree.FractionLiteral():
            text = _number(expr)
            return text, UNARY if text.startswith("-") else POSTFIX
        case (
            tree.BoolLiteral()
            | tree.StringLiteral()
            | tree.BytesLiteral()
            | tree.NoneLiteral()
            | tree.Interpolation()
            | tree.Variable()
            | tree.Wildcard()
            | tree.Block()
            | tree.Call()
            | tree.Aggregate()
        ):
            return _value(expr), POSTFIX
        case _:
            assert_never(expr)


def _row(expr: tree.Binary) -> str:
    """A chain of operators, as far as their left sides need no parentheses."""
    parts: list[str] = []
    left: tree.Expr = expr
    level = LOOSEST
    while isinstance(left, tree.Binary) and BINARY[left.op] >= level:
        level = BINARY[left.op]
        parts += [print_expression(left.right, level + 1), left.op]
        left = left.left
        level += level == COMPARISON
    return " ".join([print_expression(left, level), *reversed(parts)])


def _number(expr: tree.IntLiteral | tree.FractionLiteral) -> str:
    written = expr.span.text
    if _WRITTEN.fullmatch(written):
        return written
    text = str(expr.value)
    if isinstance(expr, tree.IntLiteral):
        return text
    text = text.replace("E", "e")
    return text if "." in text or "e" in text else f"{text}e0"


def _value(expr: tree.Expr) -> str:
    match expr:
        case tree.BoolLiteral(value):
            return "true" if value else "false"
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
            statements = "".join(f"{print_assignment(b)}; " for b in bindings)
            return f"{{ {statements}{print_expression(result)} }}"
        case tree.Call(function, args, method):
            if method:
                return f"{print_expression(args[0], POSTFIX)}.{function}({_commas(args[1:])})"
            return f"{function}({_commas(args)})"
        case tree.Aggregate(value, keys, function, args, distinct):
            grouped = f"{print_expression(value, POSTFIX)}.group_by({_commas(keys)})"
            return f"{grouped}{'.distinct()' if distinct else ''}.{function}({_commas(args)})"
        case (
            tree.IntLiteral()
            | tree.FractionLiteral()
            | tree.Unary()
            | tree.Binary()
            | tree.Conditional()
            | tree.Cast()
        ):
            raise AssertionError(f"{expr!r} has an operator")
        case _:
            assert_never(expr)


def _commas(exprs: Sequence[tree.Expr]) -> str:
    return ", ".join(print_expression(e) for e in exprs)


def print_assignment(assignment: tree.Assignment) -> str:
    return f"var {assignment.name} = {print_expression(assignment.value)}"


# -- strings


def quote(text: str) -> str:
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    out = "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text)
    return out.replace("${", "\\${")


def _part(part: str | tree.Expr) -> str:
    return _escape(part) if isinstance(part, str) else f"${{{print_expression(part)}}}"


# -- literals


def print_literal(literal: tree.Literal) -> str:
    match literal:
        case tree.Atom(relation, args):
            return f"{relation}({', '.join(print_argument(a) for a in args)})"
        case tree.Negation(atom):
            return f"not {print_literal(atom)}"
        case tree.Condition(value):
            return print_expression(value)
        case tree.Assignment():
            return print_assignment(literal)
        case tree.Disjunction(alternatives):
            return f"({'; '.join(print_literals(a) for a in alternatives)})"
        case _:
            assert_never(literal)


def print_literals(literals: Sequence[tree.Literal]) -> str:
    return ", ".join(print_literal(x) for x in literals)


def print_argument(argument: tree.Argument) -> str:
    text = print_expression(argument.value)
    return text if argument.name is None else f".{argument.name} = {text}"
