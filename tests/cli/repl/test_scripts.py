"""The statements of the REPL from files and pipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tidelog.cli import main

PROGRAM = """input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


def call(*args: object, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["repl", *map(str, args)], input=stdin)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "Edge.csv").write_text("src,dst\na,b\n")
    (tmp_path / "program.dl").write_text(PROGRAM)
    return tmp_path / "program.dl"


def test_statements_come_from_standard_input(program: Path) -> None:
    done = call(program, "-F", program.parent / "facts", stdin='+Edge("b", "c").\n?- Reach("a", x).\n')
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        '+ Edge("b", "c")',
        '+ Reach("a", "c")',
        '+ Reach("b", "c")',
        "  x",
        "  b",
        "  c",
        "2 answers",
    ]
    assert done.stderr == ""


def test_statements_come_from_a_file(tmp_path: Path) -> None:
    script = tmp_path / "script.tl"
    script.write_text(PROGRAM + '+Edge("a", "b").\n:quit\n+Edge("b", "c").\n')
    for args in (["-f", script], ["-f", "-"]):
        done = call(*args, stdin=script.read_text())
        assert done.exit_code == 0
        assert done.stdout.splitlines()[-1] == '+ Reach("a", "b")'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('?- Edge(x, y).\n\n+Egde("a",\n  "b").\n', "<stdin>:3:2: error[E101]: unknown relation `Egde`"),
        ("Reach(x, y) :-\n\n  Edge(x, z).\n", "<stdin>:1:10: error[E301]"),
        ("\n:wyh\n", "error: <stdin>:2: unknown command `:wyh`"),
        ('\n\n:why Reach("a", 1)\n', "<stdin>:3:\n<query>:1:19: error[E201]"),
        ('\n+Edge("a", "b" as string, 1).', "<stdin>:2:"),
        ("Reach(x, y) :- Edge(x, y)", "the end of the text"),
        ("begin\n-1\n", "error: <stdin>: the input ends in an open transaction"),
        ("/* never closed\n", "<stdin>:1:1: error[E002]"),
        (b"\xff\n", "is not UTF-8 text"),
    ],
)
def test_the_first_error_names_its_line_and_ends_the_script(
    program: Path, text: str | bytes, said: str
) -> None:
    done = call(program, stdin=text)
    assert done.exit_code == 1
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_what_follows_an_error_is_not_executed(program: Path) -> None:
    done = call(program, stdin='+Edge("a", "b").\n+Edge(1).\n+Edge("b", "c").\n')
    assert done.exit_code == 1
    assert done.stdout.splitlines() == ['+ Edge("a", "b")', '+ Reach("a", "b")']


def test_a_program_with_errors_ends_the_repl(program: Path) -> None:
    program.write_text("P(x) :- Q(x).\n")
    done = call(program, stdin=":rules\n")
    assert done.exit_code == 1
    assert "program.dl:1:1: error[E101]" in done.stderr
    assert done.stdout == ""


def test_another_process_gets_each_answer_before_it_sends_the_next_line(program: Path) -> None:
    command = [sys.executable, "-m", "tidelog", "repl", str(program)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text, answer in (('+Edge("a", "b").', '+ Edge("a", "b")'), ('?- Edge("é", "b")', "no")):
            process.stdin.write(f"{text}\n")
            process.stdin.flush()
            found = process.stdout.readline()
            while found.startswith("+ Reach"):
                found = process.stdout.readline()
            assert found == f"{answer}\n"
        process.stdin.close()
        assert process.wait() == 0


def test_all_strategies_and_functions_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repl_functions.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = "input relation A(x: int)\nrelation B(x: int)\nB(twice(x)) :- A(x).\n+A(twice(2)).\n"
    done = call("--functions", "repl_functions", "--strategy", "dred", stdin=text)
    assert done.stdout.splitlines()[-2:] == ["+ A(4)", "+ B(8)"]
