"""Reports are bounded, whatever the text, and exceptions keep their contents when they are pickled."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

import tidelog
from tidelog.cli import main
from tidelog.errors import LONGEST, MOST, WIDTH, Diagnostic, Source, Span, clip, render, report, select

ENOUGH = MOST * 8 * (LONGEST + WIDTH)  # characters, for the longest report


def test_a_line_of_thousands_of_mistakes_gives_a_short_report(tmp_path: Path) -> None:
    file = tmp_path / "line.dl"
    file.write_text("§ " * 8000)
    result = CliRunner().invoke(main, ["check", str(file)])
    assert result.exit_code == 1
    assert len(result.stderr) < 60_000
    assert "7,900 more errors not shown" in result.stderr
    assert result.stderr.endswith("1 file checked: 8000 errors\n")


@pytest.mark.parametrize(
    "text",
    [
        "A" * 100_000 + "(1).",
        f"output relation A(x: int)\nA({'x' * 100_000}).",
        f'output relation A(x: int)\nA("{"x" * 100_000}" as int).',
        f"relation A({', '.join(f'c{i}: int' for i in range(3000))})\nA(1).",
        f"function f(): int {{ f{'()' * 3000} }}",
        "".join(f"relation R{i}(x: int)\nR{i}(x) :- not R{(i + 1) % 500}(x), R0(x).\n" for i in range(500)),
        "relation A(x: int)\n" + "A(y). " * 3000,
    ],
    ids=["relation", "variable", "constant", "columns", "calls", "cycle", "line"],
)
def test_a_report_is_bounded_whatever_the_text(text: str) -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.load(text)
    assert len(str(caught.value)) < ENOUGH
    assert all(len(d.message) <= LONGEST for d in caught.value.diagnostics)


def test_all_diagnostics_stay_with_the_error_when_few_are_shown() -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.load("§ " * 300)
    assert len(caught.value.diagnostics) == 300
    assert str(caught.value).endswith("200 more errors not shown")


def test_errors_are_shown_before_warnings_when_not_all_are() -> None:
    source = Source("a.dl", " " * 400)
    warnings = [Diagnostic("W001", Span(source, i, i + 1), "unused") for i in range(150)]
    error = Diagnostic("E001", Span(source, 300, 301), "wrong")
    shown, others = select([*warnings, error])
    assert len(shown) == MOST
    assert shown[-1] == error
    assert others == "51 more warnings not shown"
    assert report([error]) == render(error)


@pytest.mark.parametrize("column", [0, 5, 500, 4990, 4999])
def test_the_caret_stands_below_its_place_in_a_clipped_line(column: int) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(5000))
    _, _, line, caret = render(Diagnostic("E001", Span(Source("a", text), column, column + 1), "m")).split(
        "\n"
    )
    assert len(line) <= WIDTH + 10
    assert caret.count("^") == 1
    assert line[caret.index("^")] == text[column]


def test_a_clipped_text_keeps_its_beginning_and_its_end() -> None:
    assert clip("abcdef", 6) == "abcdef"
    assert clip("a" * 50 + "b" * 50, 30) == "a" * 19 + "…" + "b" * 10


def errors() -> list[tidelog.TidelogError]:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.load("relation A(x: int)\nA(y) :- B(y).\nA(1) :-")
    data = tidelog.DataError("A", "wrong", column="x", row=3, value=10**5000).in_file("a.csv", 7)
    kinds = (tidelog.EngineError, tidelog.SessionError, tidelog.StoreError, tidelog.PipelineError)
    return [caught.value, data, *(kind("what happened") for kind in kinds)]


@pytest.mark.parametrize("error", errors(), ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("passed_on", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_an_exception_keeps_its_contents_when_it_is_pickled(
    error: tidelog.TidelogError, passed_on: object
) -> None:
    assert callable(passed_on)
    error.add_note("seen in a worker")
    again = passed_on(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.args, vars(again)) == (error.args, vars(error))


def test_an_unknown_place_stays_unknown_when_it_is_pickled() -> None:
    with pytest.raises(tidelog.ProgramError) as caught, tidelog.open(text="").transaction() as tx:
        tx.drop("Nothing")
    again = pickle.loads(pickle.dumps(caught.value))
    assert report(again.diagnostics) == str(caught.value)


def test_an_exception_with_a_value_that_cannot_be_pickled_describes_it() -> None:
    value = lambda: 1  # noqa: E731
    again = pickle.loads(pickle.dumps(tidelog.DataError("A", "wrong", value=value)))
    assert again.value == repr(value)
    assert str(again) == "relation A: wrong"
