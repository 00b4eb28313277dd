"""Attributes of relations: parsed, kept in the program, printed and compared."""

from __future__ import annotations

import pytest

from tidelog.errors import ProgramError
from tidelog.program.declared import FileOptions
from tidelog.program.describe import describe_program
from tidelog.program.draft import Draft, check, load
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

DECLARED = """// edges
#[file = "e.csv", delimiter = ";", header = false]  // from the survey
// of last year
input relation Edge(src: int, dst: int)  // directed
"""


def test_attributes_are_kept_and_printed() -> None:
    program = load(DECLARED)
    assert program.relations["Edge"].options == FileOptions("e.csv", ";", False)
    again = load(describe_program(program))
    assert again.relations == program.relations


def test_the_layout_keeps_attributes_and_comments() -> None:
    assert print_program(parse(DECLARED)) == DECLARED
    several = DECLARED.replace(', delimiter = ";"', '] #[delimiter = ";"')
    assert print_program(parse(several)) == DECLARED


def test_a_relation_declared_again_with_other_attributes_is_an_error() -> None:
    draft = Draft()
    draft.load(DECLARED)
    draft.load(DECLARED)
    with pytest.raises(ProgramError, match="declared twice"):
        draft.load(DECLARED.replace('";"', '","'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#[file]", "expected `=` after the attribute `file`"),
        ("#[file = x]", "expected a constant as the value of `file`"),
        ('#[file = "a.csv"', "expected `]` after the attributes"),
        ('#[file = "a.csv", file = "b.csv"]', "the attribute `file` is given twice"),
        ("#[delimiter = 3]", "`delimiter` must be one ASCII character"),
        ('#[file = ""]', "`file` must be the path of a file"),
    ],
)
def test_invalid_attributes_are_reported(text: str, message: str) -> None:
    found = check(f"{text}\ninput relation R(x: int)\noutput relation S(x: int)\nS(x) :- R(x).\n")
    assert message in next(d.message for d in found if d.severity.value == "error")


def test_only_relations_have_attributes() -> None:
    found = check('#[file = "a.csv"]\nfunction f(x: int): int { x }\n')
    assert found[0].message == "expected a relation after its attributes, found `function`"


def test_other_comments_with_a_hash_are_pointed_out() -> None:
    found = check("# a comment [with] brackets\n")
    assert [d.message for d in found] == ["`#` does not begin a comment"]
