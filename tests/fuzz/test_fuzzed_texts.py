"""Whatever the text, it is read, checked, reported and printed: no traceback, no hang, no flood of output.

Work is counted in calls of Python functions, which no machine changes: each character may cost some.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz.texts import CORPUS, texts
from sizes import size
from tally import tally
from tidelog.errors import LONGEST, MOST, WIDTH, ProgramError, Severity, Source, report
from tidelog.plan.describe import describe_plan
from tidelog.plan.flatten import flatten
from tidelog.program.describe import describe_program, describe_strata
from tidelog.program.draft import check, load
from tidelog.program.model import Program
from tidelog.syntax.lexer import tokenize
from tidelog.syntax.outline import outline
from tidelog.syntax.parser import read
from tidelog.syntax.printer import print_program

LONGEST_REPORT = MOST * (4 * LONGEST + 3 * WIDTH)
CALLS = 2_000  # for each character, besides what any text costs
ALWAYS = 500_000

many = settings(
    max_examples=size(60, 10_000), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


class TooMuchWork(Exception):
    """More calls than the text is worth."""


def counted(task: Callable[[], None], limit: int) -> int:
    """The calls of Python functions that a task makes; TooMuchWork at the limit."""
    count = 0

    def watch(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += 1
        if count > limit:
            raise TooMuchWork(f"{limit} calls")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        task()
    finally:
        sys.setprofile(before)
    return count


def examine(text: str) -> None:
    """Do with a text what the command line does, and check the promises on the way."""
    source = Source("program.dl", text)
    tokens, comments, _ = tokenize(source)
    assert len(tokens) + len(comments) <= len(text) + 1
    found = check(text, "program.dl")
    assert all(0 <= d.span.start <= d.span.end <= len(text) for d in found)
    assert len(report(found)) < LONGEST_REPORT
    tree, unread = read(source)
    if not unread:
        printed = print_program(tree)
        assert print_program(read(Source("again.dl", printed))[0]) == printed
        assert len(outline(tree)) < 5_000 + 500 * len(text)
    errors = tuple(d for d in found if d.severity is Severity.ERROR)
    if errors:
        with pytest.raises(ProgramError) as caught:
            load(text, "program.dl")
        assert caught.value.diagnostics == errors
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        return
    examine_program(load(text, "program.dl"))


def examine_program(program: Program) -> None:
    """What is shown of a program is the program again."""
    described = describe_program(program)
    if "$" not in described:  # names that elaboration made cannot be read
        again = load(described)
        assert again.rules.keys() == program.rules.keys()
        assert describe_program(again) == described
    describe_strata(program)
    describe_plan(flatten(program))


def try_text(text: str) -> None:
    counted(lambda: examine(text), ALWAYS + CALLS * len(text))


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_what_once_went_wrong_is_read(file: Path) -> None:
    try_text(file.read_bytes().decode(errors="replace"))


@many
@given(texts())
def test_a_text_with_mistakes_is_read_checked_and_printed_in_bounds(text: str) -> None:
    tally("fuzzed programs")
    try_text(text)
