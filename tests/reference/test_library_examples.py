"""Every example of the standard library's table, read as a program and evaluated."""

from __future__ import annotations

import pytest

from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.problems import Problems
from tidelog.program.library.catalog import COLLECTIONS, GROUPS, Example
from tidelog.reference.evaluate import Failure, evaluate
from tidelog.syntax import tree
from tidelog.syntax.parser import parse

EXAMPLES = [
    example
    for groups in (GROUPS, COLLECTIONS)
    for group in groups.values()
    for function in group
    for example in function.examples
]


def _expression(text: str) -> tree.Expr:
    item = parse(f"X({text}).").items[0]
    assert isinstance(item, tree.Rule)
    return item.heads[0].args[0].value


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.call)
def test_an_example_gives_what_the_table_says(example: Example) -> None:
    problems = Problems()
    typer = Typer(Declarations(), problems)
    call = typer.infer(_expression(example.call))
    assert call is not None, problems.found
    got = evaluate(call, {}, {})
    if example.result is None:
        assert isinstance(got, Failure)
        return
    wanted = typer.check(_expression(example.result), call.type)
    assert wanted is not None, problems.found
    assert (got,) == (evaluate(wanted, {}, {}),)  # as an element: NaN is itself
