"""Tree to text on one line: types, expressions and literals.

Parentheses are printed only where the table of `precedence` requires them. A number that comes
from a source text is printed as it was written (`0xff`, `1_000`), and so is a raw string (`r"\\d"`);
everything else has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from tidelog.syntax import tree
from tidelog.syntax.precedence import BINARY, CAST, COMPARISON, LOOSEST, NOT, POSTFIX, UNARY
from tidelog.syntax.quoting import (
    is_bare,
    written_column,
    written_field,
    written_function,
    written_relation,
    written_type,
    written_variable,
)

__all__ = [
    "print_aggregate",
    "print_alternatives",
    "print_argument",
    "print_assignment",
    "print_binding",
    "print_case",
    "print_column",
    "print_condition",
    "print_expression",
    "print_literal",
    "print_literals",
    "print_opening",
    "print_parameter",
    "print_parameters",
    "print_rule_opening",
    "print_rule_statement",
    "print_statement",
    "print_type",
    "print_version",
    "quote",
]

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\\": "\\\\", '"': '\\"'}
_WRITTEN = re.compile(r"-?\d[\w.+-]*")
_WIDTH = re.compile(r"\d[\d_]*'[dhb]\w+")


def print_type(type_: tree.TypeName) -> str:
    if not type_.args:
        return written_type(type_.name)
    *first, last = [str(a) if isinstance(a, int) else print_type(a) for a in type_.args]
    args = ", ".join([*first, last])
    if type_.name == "()":
        return f"({args})"
    if type_.name == "||":
        return f"|{', '.join(f'({p})' if p.startswith('|') else p for p in first)}|: {last}"
    return f"decimal({args})" if type_.name == "decimal" else f"{written_type(type_.name)}<{args}>"


def print_parameters(parameters: Sequence[tree.Variable]) -> str:
    """The type parameters of a definition."""
    return f"<{', '.join(written_type(p.name) for p in parameters)}>" if parameters else ""


def print_column(column: tree.Column) -> str:
    return f"{written_column(column.name)}: {print_type(column.type)}"


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
        case tree.Unary("?", operand):
            return f"{print_expression(operand, POSTFIX)}?", POSTFIX
        case tree.Unary("-", tree.IntLiteral() | tree.FractionLiteral() | tree.DurationLiteral() as number):
            return f"-({print_expression(number)})", UNARY  # otherwise it would be a negative number
        case tree.Unary(op, operand):
            return f"{op}{print_expression(operand, UNARY)}", UNARY
        case tree.Cast(operand, type_):
            return f"{print_expression(operand, CAST)} as {print_type(type_)}", CAST
        case tree.Conditional():
            return _branches(expr), LOOSEST
        case tree.Closure(parameters, body):
            return f"|{', '.join(map(print_parameter, parameters))}| {print_expression(body)}", LOOSEST
        case tree.At(name, pattern):
            return f"{written_variable(name)} @ {print_expression(pattern, UNARY)}", UNARY
        case tree.IntLiteral() | tree.FractionLiteral():
            text = _number(expr)
            return text, UNARY if text.startswith("-") else POSTFIX
        case tree.DurationLiteral(amount, unit):
            return f"{_number(amount)} {unit}", UNARY
        case (
            tree.BoolLiteral()
            | tree.WidthLiteral()
            | tree.StringLiteral()
            | tree.BytesLiteral()
            | tree.NoneLiteral()
            | tree.Interpolation()
            | tree.Variable()
            | tree.Wildcard()
            | tree.Block()
            | tree.Steps()
            | tree.Call()
            | tree.Aggregate()
            | tree.SubAggregate()
            | tree.Construct()
            | tree.TupleValue()
            | tree.VecLiteral()
            | tree.MapLiteral()
            | tree.FieldAccess()
            | tree.Slice()
            | tree.Match()
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


def _branches(expr: tree.Conditional) -> str:
    """A chain of `else if`, which may be long."""
    parts: list[str] = []
    otherwise: tree.Expr = expr
    while isinstance(otherwise, tree.Conditional):
        parts.append(f"if ({print_expression(otherwise.condition)}) {print_expression(otherwise.then)}")
        otherwise = otherwise.otherwise
    return " else ".join([*parts, print_expression(otherwise)])


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
        case tree.WidthLiteral(width, number, span):
            return span.text if _WIDTH.fullmatch(span.text) else f"{width}'d{number}"
        case tree.StringLiteral():
            return _text(expr)
        case tree.BytesLiteral(value):
            return f'x"{value.hex()}"'
        case tree.NoneLiteral():
            return "none"
        case tree.Interpolation(parts):
            return f'"{"".join(_part(p) for p in parts)}"'
        case tree.Variable(name):
            return written_variable(name)
        case tree.Wildcard():
            return "_"
        case tree.Block(bindings, result):
            statements = "".join(f"{print_assignment(b)}; " for b in bindings)
            return f"{{ {statements}{print_expression(result)} }}"
        case tree.Steps(steps, value):
            written = [*map(print_statement, steps), *([] if value is None else [print_expression(value)])]
            return f"{{ {' '.join(written)} }}" if written else "{ }"
        case tree.Call(function, args, method):
            called = written_function(function)
            if method:
                return f"{print_expression(args[0], POSTFIX)}.{called}({_commas(args[1:])})"
            return f"{called}({_commas(args)})"
        case tree.Aggregate(value, keys, function, args, distinct):
            grouped = f"{print_expression(value, POSTFIX)}.group_by({_commas(keys)})"
            return (
                f"{grouped}{'.distinct()' if distinct else ''}.{written_function(function)}({_commas(args)})"
            )
        case (
            tree.SubAggregate()
            | tree.Construct()
            | tree.TupleValue()
            | tree.VecLiteral()
            | tree.MapLiteral()
            | tree.FieldAccess()
            | tree.Slice()
            | tree.Match()
        ):
            return _structured(expr)
        case (
            tree.IntLiteral()
            | tree.FractionLiteral()
            | tree.DurationLiteral()
            | tree.Unary()
            | tree.Binary()
            | tree.Conditional()
            | tree.Cast()
            | tree.Closure()
            | tree.At()
        ):
            raise AssertionError(f"{expr!r} has an operator")
        case _:
            assert_never(expr)


def _text(literal: tree.StringLiteral) -> str:
    """The literal as it was written, if it is a short name or raw."""
    if literal.short is not None:
        return literal.short
    written = literal.span.text
    return written if written == f'r"{literal.value}"' else quote(literal.value)


def _structured(
    expr: tree.SubAggregate
    | tree.Construct
    | tree.TupleValue
    | tree.VecLiteral
    | tree.MapLiteral
    | tree.FieldAccess
    | tree.Slice
    | tree.Match,
) -> str:
    match expr:
        case tree.SubAggregate(alternatives=alternatives):
            return f"{print_aggregate(expr)} {{ {print_alternatives(alternatives)} }}"
        case tree.Construct(constructor, args, without_braces, is_open):
            fields = [*map(print_argument, args), *([".."] if is_open else [])]
            name = written_relation(constructor)
            return name if without_braces and is_bare(constructor) else f"{name}{{{', '.join(fields)}}}"
        case tree.TupleValue(items):
            return f"({_commas(items)})"
        case tree.VecLiteral(items):
            return f"[{_commas(items)}]"
        case tree.MapLiteral(entries):
            return f"[{', '.join(f'{print_expression(k)} -> {print_expression(v)}' for k, v in entries)}]"
        case tree.FieldAccess(operand, field):
            return f"{_accessed(operand)}.{field if isinstance(field, int) else written_field(field)}"
        case tree.Slice(operand, high, low):
            return f"{print_expression(operand, POSTFIX)}[{high}:{low}]"
        case tree.Match(subject, cases):
            return f"match ({print_expression(subject)}) {{ {', '.join(map(print_case, cases))} }}"
        case _:
            assert_never(expr)


def _accessed(operand: tree.Expr) -> str:
    """The value before a field. `1.0` would be one number."""
    text = print_expression(operand, POSTFIX)
    return f"({text})" if isinstance(operand, tree.IntLiteral | tree.FractionLiteral) else text


def print_aggregate(expr: tree.SubAggregate) -> str:
    """What comes before the body of an aggregate. `ns::best {` would be a constructor."""
    name = written_function(expr.function)
    has_arguments = expr.args or "::" in name or "`" in name
    return f"{name}({_commas(expr.args)})" if has_arguments else name


def print_case(case: tree.Case) -> str:
    return f"{print_expression(case.pattern, UNARY)} -> {print_expression(case.value)}"


def print_parameter(parameter: tree.Parameter) -> str:
    name = "_" if parameter.name == "_" else written_variable(parameter.name)
    return name if parameter.type is None else f"{name}: {print_type(parameter.type)}"


def print_statement(statement: tree.Statement) -> str:
    match statement:
        case tree.Assignment() | tree.Destructuring():
            return f"{print_assignment(statement)};"
        case tree.Update(target, value):
            return f"{print_expression(target, UNARY)} = {print_expression(value)};"
        case tree.Choice(branches, otherwise):
            parts = [f"{print_condition(b)} {print_expression(b.body)}" for b in branches]
            return " else ".join([*parts, *([] if otherwise is None else [print_expression(otherwise)])])
        case tree.Switch(_, arms):
            cases = (f"{print_expression(a.pattern, UNARY)} -> {print_expression(a.body)}" for a in arms)
            return f"{print_opening(statement)} {{ {', '.join(cases)} }}"
        case tree.Loop(body=body):
            return f"{print_opening(statement)} {print_expression(body)}"
        case tree.Jump(word):
            return f"{word};"
        case tree.Return(value):
            return f"return {print_expression(value)};"
        case _:
            assert_never(statement)


def print_condition(branch: tree.Branch) -> str:
    return f"if ({print_expression(branch.condition)})"


def print_opening(statement: tree.Switch | tree.Loop) -> str:
    """What comes before the braces of a statement."""
    if isinstance(statement, tree.Switch):
        return f"match ({print_expression(statement.subject)})"
    binary = tree.Binary("in", statement.pattern, statement.collection)
    return f"for ({print_expression(binary)})"


def _commas(exprs: Sequence[tree.Expr]) -> str:
    return ", ".join(print_expression(e) for e in exprs)


def print_assignment(assignment: tree.Assignment | tree.Destructuring) -> str:
    return f"{print_binding(assignment)} = {print_expression(assignment.value)}"


def print_binding(assignment: tree.Assignment | tree.Destructuring) -> str:
    """The left side of `var pattern = value`."""
    if isinstance(assignment, tree.Assignment):
        return f"var {written_variable(assignment.name)}"
    return f"var {print_expression(assignment.pattern, UNARY)}"


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
        case tree.Atom(args=args, is_whole=is_whole):
            listed = ", ".join(print_argument(a) for a in args)
            return f"{print_version(literal)}{f'[{listed}]' if is_whole else f'({listed})'}"
        case tree.Row(name, atom):
            return f"{written_variable(name)} in {print_literal(atom)}"
        case tree.Negation(atom):
            return f"not {print_literal(atom)}"
        case tree.Condition(value):
            return print_expression(value)
        case tree.Assignment() | tree.Destructuring():
            return print_assignment(literal)
        case tree.Generator(pattern, collection):
            return f"var {print_expression(pattern, UNARY)} in {print_expression(collection)}"
        case tree.Disjunction(alternatives):
            return f"({print_alternatives(alternatives)})"
        case tree.NegatedBody(alternatives):
            return f"not ({print_alternatives(alternatives)})"
        case _:
            assert_never(literal)


def print_version(atom: tree.Atom) -> str:
    """The relation of an atom, with its delay or prime."""
    delay = f"-{atom.delay}" if atom.delay else ""
    return f"{written_relation(atom.relation)}{delay}{chr(39) * atom.is_prime}"


def print_alternatives(alternatives: Sequence[Sequence[tree.Literal]]) -> str:
    return "; ".join(print_literals(a) for a in alternatives)


def print_literals(literals: Sequence[tree.Literal]) -> str:
    return ", ".join(print_literal(x) for x in literals)


def print_argument(argument: tree.Argument) -> str:
    text = print_expression(argument.value)
    return text if argument.name is None else f".{written_column(argument.name)} = {text}"


# -- statements


def print_rule_statement(statement: tree.RuleStatement | tree.Assignment | tree.Destructuring) -> str:
    match statement:
        case tree.Atom() | tree.Assignment() | tree.Destructuring():
            return print_literal(statement)
        case tree.RuleLoop(body=body):
            return f"{print_rule_opening(statement)} {print_rule_statement(body)}"
        case tree.RuleIf(then=then, otherwise=otherwise):
            other = "" if otherwise is None else f" else {print_rule_statement(otherwise)}"
            return f"{print_rule_opening(statement)} {print_rule_statement(then)}{other}"
        case tree.RuleSwitch(branches=branches):
            cases = (f"{print_expression(b.pattern)} -> {print_rule_statement(b.body)}" for b in branches)
            return f"{print_rule_opening(statement)} {{ {', '.join(cases)} }}"
        case tree.RuleSequence(parts):
            return f"{{ {'; '.join(map(print_rule_statement, parts))} }}" if parts else "{}"
        case _:
            assert_never(statement)


def print_rule_opening(statement: tree.RuleLoop | tree.RuleIf | tree.RuleSwitch) -> str:
    """What is before the statements inside a statement."""
    match statement:
        case tree.RuleLoop(source, condition):
            tested = "" if condition is None else f" if {print_expression(condition)}"
            return f"for ({print_literal(source)}{tested})"
        case tree.RuleIf(condition):
            return f"if ({print_expression(condition)})"
        case tree.RuleSwitch(subject):
            return f"match ({print_expression(subject)})"
        case _:
            assert_never(statement)
