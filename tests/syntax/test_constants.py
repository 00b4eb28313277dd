"""Reading constants with a unit, a width, or no escapes."""

from __future__ import annotations

from decimal import Decimal

import pytest

from syntax.texts import problems, value
from tidelog.syntax import tree
from tidelog.syntax.constants import UNITS
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

# -- durations


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_number_and_a_unit_are_a_duration(unit: str) -> None:
    assert value(f"3 {unit}") == tree.DurationLiteral(tree.IntLiteral(3), unit)
    assert value(f"- 3 {unit}") == tree.DurationLiteral(tree.IntLiteral(-3), unit)
    assert value(f"1.5 {unit}") == tree.DurationLiteral(tree.FractionLiteral(Decimal("1.5")), unit)
    assert value(unit) == tree.Variable(unit)
    assert value(f"{unit}(3)") == tree.Call(unit, (tree.IntLiteral(3),))
    assert problems(f"R(3 {unit}(3)).")


def test_a_duration_is_printed_as_it_was_written() -> None:
    text = "R(1_000 ms, x + 0x10 days, (1 h).f(), -(2 s), -3 s).\n"
    assert print_program(parse(text)) == text


# -- raw strings


def test_a_raw_string_has_no_escapes_and_may_have_lines() -> None:
    assert value(r"""r"\d ${x} \"""") == tree.StringLiteral("\\d ${x} \\")
    assert value('r"a\n // b\n"') == tree.StringLiteral("a\n // b\n")
    assert value("r") == tree.Variable("r")
    assert [d.code for d in problems('R(r"a).\nS(1).')] == ["E002"]


@pytest.mark.parametrize("text", ['R(r"\\d+", "${f(r"a")}").\n', 'R(r"one\n  two\n") :- S(1).  // why\n'])
def test_a_raw_string_is_printed_as_it_was_written(text: str) -> None:
    assert print_program(parse(text)) == text
    assert print_program(parse(print_program(parse(text)))) == text


# -- numbers with a width


@pytest.mark.parametrize(
    ("text", "width", "number"),
    [("32'd15", 32, 15), ("8'hfF", 8, 255), ("4'b1010", 4, 10), ("64'd1_000", 64, 1000)],
)
def test_a_number_may_have_a_width(text: str, width: int, number: int) -> None:
    assert value(text) == tree.WidthLiteral(width, number)
    assert value(f"-{text}") == tree.Unary("-", tree.WidthLiteral(width, number))
    assert print_program(parse(f"R({text}).")) == f"R({text}).\n"


@pytest.mark.parametrize("text", ["4'b_", "4'b", "4'b12", "8'x1", "'d1", "8'd" + "9" * 5000])
def test_numbers_with_a_bad_width_are_mistakes(text: str) -> None:
    assert problems(f"R({text}).")
