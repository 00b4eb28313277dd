"""Every stage that looks at a program text takes time in proportion to its length.

Work is counted in lines of Python that are executed, which a loaded machine does not change: four times the
text may take five times the work, where a quadratic step would take sixteen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from sizes import size
from tidelog.errors import Severity, Source, report
from tidelog.program.describe import describe_program, describe_strata
from tidelog.program.draft import check, load
from tidelog.program.elaborate import problems
from tidelog.syntax.parser import read
from tidelog.syntax.printer import print_program

SMALL = size(30, 250)
FACTOR = 4
IO = "input relation A(x: int)\noutput relation B(x: int)\n"


def lines(n: int, text: str, separator: str = "") -> str:
    """A text repeated with `{i}` for its number and `{j}` for the next, which is 0 at the end."""
    return separator.join(text.replace("{i}", str(i)).replace("{j}", str((i + 1) % n)) for i in range(n))


TEXTS: dict[str, Callable[[int], str]] = {
    "relations, each derived from the next": lambda n: (
        lines(n, "relation R{i}(x: int)\n")
        + lines(n, "R{i}(x) :- R{j}(x), x > 0.\n")
        + "input relation A(x: int)\noutput relation B(x: int)\nR0(x) :- A(x).\nB(x) :- R0(x).\n"
    ),
    "relations, in the order of the data": lambda n: (
        "input relation R0(x: int)\n"
        + "".join(f"output relation R{i + 1}(x: int)\nR{i + 1}(x) :- R{i}(x).\n" for i in range(n))
    ),
    "relations, against the order of the data": lambda n: (
        f"output relation R0(x: int)\ninput relation R{n}(x: int)\n"
        + "".join(f"relation R{i}(x: int)\n" for i in range(1, n))
        + "".join(f"R{i}(x) :- R{i + 1}(x).\n" for i in range(n))
    ),
    "relations that are always empty": lambda n: (
        lines(n, "relation R{i}(x: int)\n") + lines(n, "R{i}(x) :- R{j}(x), (R{j}(x); R{i}(x)).\n")
    ),
    "a circle with a negation": lambda n: (
        lines(n, "relation R{i}(x: int)\n")
        + lines(n, "R{i}(x) :- R{j}(x).\n")
        + "R0(x) :- R1(x), not R2(x).\n"
    ),
    "heads and literals of one rule": lambda n: (
        lines(n, "relation R{i}(x: int)\n")
        + lines(n, "R{i}(x)", ", ")
        + " :- "
        + lines(n, "R{i}(x)", ", ")
        + "."
    ),
    "types": lambda n: lines(n, "typedef t{i} = u{i}\ntypedef u{i} = t{j}_\ntypedef t{j}_ = option<int>\n"),
    "types in a chain": lambda n: (
        "".join(f"typedef t{i} = t{i + 1}\n" for i in range(n)) + f"typedef t{n} = int\n"
    ),
    "types in a circle": lambda n: lines(n, "typedef t{i} = t{j}\n"),
    "functions in a chain": lambda n: (
        "".join(f"function f{i}(n: int): int {{ f{i + 1}(n) }}\n" for i in range(n))
        + f"function f{n}(n: int): int {{ n }}\n{IO}B(f0(x)) :- A(x).\n"
    ),
    "functions in a circle": lambda n: lines(n, "function f{i}(n: int): int { f{j}(n) + f0(n) }\n"),
    "rules": lambda n: IO + lines(n, "B(x) :- A(x), x > {i}.\n"),
    "variables, last first": lambda n: (
        IO
        + "B(x0) :- A(x0), "
        + "".join(f"var x{i} = x{i - 1} + 1, " for i in range(n, 0, -1))
        + f"x{n} > 0."
    ),
    "variables behind a group": lambda n: (
        f"{IO}B(x0) :- A(y), var x0 = y.group_by().count(), "
        + "".join(f"var x{i} = x{i - 1} + 1, " for i in range(n, 0, -1))
        + f"x{n} > 0."
    ),
    "aggregates": lambda n: f"{IO}B(y0) :- A(x), " + lines(n, "var y{i} = x.group_by().max()", ", ") + ".",
    "relations kept as best": lambda n: (
        "input relation E(x: int, y: int)\n"
        + lines(n, "output relation R{i}(x: int, v: int)\n")
        + lines(n, "R{i}(x, v) :- R{j}(x, w), E(x, _), var v = w.group_by(x).min().\n")
    ),
    "variables of two types": lambda n: (
        "input relation A(x: int)\ninput relation C(x: string)\noutput relation B(x: int)\nB(1) :- "
        + lines(n, "A(x{i}), not C(x{i})", ", ")
        + "."
    ),
    "unknown relations": lambda n: (
        lines(n, "output relation Relation{i}(x: int)\n") + lines(n, "Relation{i}(x) :- Rleation{i}(x).\n")
    ),
    "unknown types and functions": lambda n: (
        IO + lines(n, "typedef type{i} = int\nfunction call{i}(n: tpye{i}): int { clla{i}(n) }\n")
    ),
    "columns": lambda n: (
        f"input relation A({lines(n, 'c{i}: int', ', ')}) primary key ({lines(n, 'c{i}', ', ')})\n"
        f"output relation B(x: int)\nB(1) :- A({lines(n, '.c{i} = 1', ', ')})."
    ),
    "unreadable characters": lambda n: lines(n, "P(x) :- @ Q(x)\n"),
    "a line of mistakes": lambda n: "@ P(z). " * n,
    "a line of comments": lambda n: f"{IO}B(x) :- A(x). {'/* c */ ' * n}",
    "a line of types": lambda n: f"relation A({lines(n, 'x{i}: option<option<int>>', ', ')})",
    "a line of strings": lambda n: (
        f"output relation A(x: string)\n{'A(' + chr(34) + 'a' + chr(34) + '). '}" * n
    ),
    "holes in a string": lambda n: f'{IO}output relation S(s: string)\nS("{"${x}" * n}") :- A(x).\n',
}


def work(task: Callable[[], object]) -> int:
    """How many lines of Python a task executes."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        task()
    finally:
        sys.settrace(before)
    return count


def everything(text: str) -> None:
    """All that the command line does with a text before it is run."""
    found = check(text)
    report(found)
    print_program(read(Source("<text>", text))[0])
    if not any(d.severity is Severity.ERROR for d in found):
        program = load(text)
        describe_program(program)
        describe_strata(program)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_work_grows_as_the_text(text: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "_COMPARISONS", 200)  # names are compared up to a limit
    everything(text(2))  # what is made once
    few = work(lambda: everything(text(SMALL)))
    many = work(lambda: everything(text(SMALL * FACTOR)))
    assert many < 1.25 * FACTOR * few + 2000
