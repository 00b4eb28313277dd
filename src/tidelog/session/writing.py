"""Facts in text, such as `Edge("a", "b" ++ "c").`: their relations and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.data.values import Row, Value
from tidelog.errors import SessionError
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.text import print_value
from tidelog.program.typed import Bind, Expr, Literal, Rule
from tidelog.proofs.calculator import Calculator
from tidelog.proofs.model import Fact, Failed
from tidelog.session.rules import SessionRule

__all__ = ["WrittenFact", "facts_of"]


@dataclass(frozen=True, slots=True)
class WrittenFact:
    """A fact as it is written, which a program may have as a rule without a body, and its row."""

    rule: SessionRule
    relation: str
    row: Row


def facts_of(rule: Rule, functions: Mapping[str, Function | PythonFunction]) -> Iterator[Fact]:
    """The facts that a rule without a body denotes. SessionError if it has one, or a value fails."""
    calculator = Calculator(functions)
    known: dict[str, Value] = {}
    for literal in _body(rule):
        if not isinstance(literal, Bind):
            raise SessionError(f"`{SessionRule(rule)}` is a rule; a fact has no body")
        known[literal.variable.name] = _value(rule, calculator, literal.value, known)
    for head in rule.heads:
        yield Fact(head.relation, tuple(_value(rule, calculator, expr, known) for expr in head.values))


def _body(rule: Rule) -> tuple[Literal | None, ...]:
    """The literals of a rule; something else than a literal if it is certainly not a fact."""
    return rule.bodies[0] if len(rule.bodies) == 1 and rule.group is None else (None,)


def _value(rule: Rule, calculator: Calculator, expr: Expr, known: Mapping[str, Value]) -> Value:
    value = calculator.value(expr, known)
    if isinstance(value, Failed):
        place = SessionRule(rule).origin
        raise SessionError(f"{place}: a value of the fact cannot be computed: `{print_value(expr)}` fails")
    return value
