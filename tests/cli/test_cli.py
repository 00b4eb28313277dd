"""The command line as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tidelog.cli import main

GOOD = "input relation E(x: int)\noutput relation P(x: int)\nP(x) :- E(x).\n"
BAD = "input relation E(x: int)\noutput relation P(x: int)\nP(y) :- F(y).\nP(x) :- E(x), z > 1.\n"
WARNING = "input relation E(x: int, y: int)\noutput relation P(x: int)\nP(x) :- E(x, y).\n"


def run(*args: object, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], input=stdin)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "program.dl"


def test_check_says_that_all_is_well(file: Path) -> None:
    file.write_text(GOOD)
    result = run("check", file)
    assert (result.exit_code, result.stdout) == (0, "1 file checked: no problems found\n")


def test_check_reports_everything_at_once_and_exits_with_1(file: Path) -> None:
    file.write_text(BAD)
    result = run("check", file)
    assert result.exit_code == 1
    assert f"{file}:3:9: error[E101]: unknown relation `F`" in result.stderr
    assert f"{file}:4:15: error[E301]: unbound variable `z`" in result.stderr
    assert result.stderr.endswith("1 file checked: 2 errors\n")


def test_check_passes_warnings_unless_it_is_strict(file: Path) -> None:
    file.write_text(WARNING)
    assert run("check", file).exit_code == 0
    assert "warning[W003]" in run("check", file).stderr
    assert run("check", "--strict", file).exit_code == 1


def test_check_reads_several_files_and_standard_input(file: Path) -> None:
    file.write_text(GOOD)
    result = run("check", file, "-", stdin=BAD)
    assert result.exit_code == 1
    assert "<stdin>:3:9" in result.stderr
    assert "2 files checked" in result.stderr


def test_check_knows_the_functions_of_a_python_module(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.parent / "my_functions.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    file.write_text(GOOD + "P(twice(x)) :- E(x).\n")
    monkeypatch.syspath_prepend(file.parent)
    assert run("check", file, "--functions", "my_functions").exit_code == 0
    assert "unknown function `twice`" in run("check", file).stderr
    missing = run("check", file, "--functions", "no_such_module")
    assert missing.exit_code == 1
    assert "the module no_such_module cannot be imported" in missing.stderr


def test_a_function_that_cannot_be_used_is_told_without_a_traceback(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file.parent / "bad_functions.py").write_text("def f(x) -> int:\n    return 1\n")
    file.write_text(GOOD)
    monkeypatch.syspath_prepend(file.parent)
    result = run("check", file, "--functions", "bad_functions")
    assert result.exit_code == 1
    assert "the parameter `x` has no annotation" in result.stderr


def test_files_that_cannot_be_read_are_told_without_a_traceback(file: Path) -> None:
    assert run("check", file).exit_code == 2
    file.write_bytes(b"P(\xff)")
    result = run("check", file)
    assert result.exit_code == 1
    assert "is not UTF-8 text (at byte 2)" in result.stderr


def test_show_tree_is_an_outline(file: Path) -> None:
    file.write_text(GOOD)
    lines = run("show", "tree", file).stdout.splitlines()
    assert lines[0] == "Relation role='input' name='E'"
    assert "  body:" in lines


def test_show_program_can_be_read_again(file: Path) -> None:
    file.write_text(GOOD + "P(x + 1) :- E(.x = x), (x > 2; x < 1).\n")
    shown = run("show", "program", file).stdout
    assert "P(x + 1) :- (E(x), x > 2; E(x), x < 1)." in shown
    again = file.with_name("again.dl")
    again.write_text(shown)
    assert run("show", "program", again).stdout == shown


def test_show_strata_tells_the_order_and_what_is_recursive(file: Path) -> None:
    file.write_text(GOOD + "P(x) :- P(x), not Q(x).\nrelation Q(x: int)\nQ(x) :- E(x), x > 1.\n")
    lines = run("show", "strata", file).stdout.splitlines()
    assert [line.split()[1] for line in lines] == ["E", "Q", "P"]
    assert lines[2].endswith("output; 2 rules; recursive; reads E, not Q")


def test_show_refuses_a_program_with_errors(file: Path) -> None:
    file.write_text(BAD)
    result = run("show", "program", file)
    assert result.exit_code == 1
    assert "error[E101]" in result.stderr
    assert result.stdout == ""


def test_fmt_rewrites_a_file_and_then_leaves_it(file: Path) -> None:
    file.write_text("P( x ):-E(x).// why\n")
    assert run("fmt", "--check", file).exit_code == 1
    assert file.read_text() == "P( x ):-E(x).// why\n"
    assert run("fmt", file).exit_code == 0
    assert file.read_text() == "P(x) :- E(x).  // why\n"
    assert run("fmt", "--check", file).exit_code == 0


def test_fmt_of_standard_input_goes_to_standard_output() -> None:
    assert run("fmt", "-", stdin="P( 1 ).").stdout == "P(1).\n"


def test_fmt_leaves_a_file_that_it_cannot_read(file: Path) -> None:
    file.write_text("P(1\nQ(2).\n")
    result = run("fmt", file)
    assert result.exit_code == 1
    assert "error[E003]" in result.stderr
    assert file.read_text() == "P(1\nQ(2).\n"
