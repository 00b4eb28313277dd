"""The law of the printer: reading what it wrote gives the tree back."""

from __future__ import annotations

from hypothesis import example, given, settings

from sizes import size
from syntax.trees import expressions, items, literals, programs
from tidelog.syntax import tree
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_expression, print_item, print_line, print_literal, print_program

_CALLED = tree.Call(
    "F", ()
)  # a quoted capital begins a call, if something follows that a relation cannot have


def _with_body(*body: tree.Literal) -> tree.Program:
    return tree.Program((tree.Rule((tree.Atom("R", ()),), body),))


@settings(max_examples=size(200, 1000))
@example(_with_body(tree.Condition(tree.FieldAccess(_CALLED, "x"))))
@example(_with_body(tree.Condition(tree.Unary("not", tree.FieldAccess(_CALLED, "x")))))
@example(_with_body(tree.Condition(tree.Binary("==", _CALLED, tree.IntLiteral(1)))))
@given(programs)
def test_a_printed_program_is_read_as_the_same_program(program: tree.Program) -> None:
    assert parse(print_program(program)) == program


@given(items)
def test_an_item_is_the_same_on_one_line_or_on_many(item: tree.Item) -> None:
    assert "\n" not in print_line(item)
    assert parse(print_line(item)) == parse(print_item(item)) == tree.Program((item,))


@given(expressions)
def test_an_expression_stands_on_one_line_wherever_it_is(expr: tree.Expr) -> None:
    text = print_expression(expr)
    argument = tree.Argument(expr)
    assert "\n" not in text
    assert parse(f"R({text}, {text}).") == tree.Program((tree.Rule((tree.Atom("R", (argument, argument)),)),))


@given(literals)
def test_a_literal_stands_on_one_line_wherever_it_is(literal: tree.Literal) -> None:
    text = print_literal(literal)
    assert "\n" not in text
    assert parse(f"R() :- {text}, {text}.") == tree.Program(
        (tree.Rule((tree.Atom("R", ()),), (literal,) * 2),)
    )
