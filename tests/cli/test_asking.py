"""`tidelog query`, `tidelog why` and rows on standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tidelog.cli import _COMMANDS, main
from tidelog.cli.asking import _value

PROGRAM = """input relation Edge(src: string, dst: string)
input relation Weight(src: string, n: int)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


def call(*args: object, stdin: str = "") -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], input=stdin)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "Edge.csv").write_text("src,dst\na,b\nb,c\n")
    (tmp_path / "facts" / "Weight.csv").write_text("src,n\na,1\nb,22\n")
    (tmp_path / "program.dl").write_text(PROGRAM)
    return tmp_path / "program.dl"


def ask(program: Path, *args: object, stdin: str = "") -> Result:
    command, *rest = args
    return call(command, program, *rest, "-F", program.parent / "facts", stdin=stdin)


def test_answers_are_printed_as_csv_in_a_pipe(program: Path) -> None:
    header, *rows = ask(program, "query", 'Reach("a", x)').stdout.splitlines()
    assert header == "x"
    assert sorted(rows) == ["b", "c"]


def test_answers_are_printed_as_json_lines(program: Path) -> None:
    done = ask(program, "query", "Weight(s, n), n > 2", "--json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"s": "b", "n": 22}]


@pytest.mark.parametrize(("row", "answer"), [('Reach("a", "c")', "true"), ('Reach("c", "a")', "false")])
def test_a_query_without_variables_is_true_or_false(program: Path, row: str, answer: str) -> None:
    assert ask(program, "query", row).stdout == f"{answer}\n"


def test_parameters_are_numbers_or_texts(program: Path) -> None:
    done = ask(program, "query", "Weight(s, n), n > least, Reach(s, to)", "-p", "least=0", "-p", "to=c")
    assert sorted(done.stdout.splitlines()[1:]) == ["a,1", "b,22"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("1", "int 1"),
        ("-0.5", "float -0.5"),
        ("1e3", "float 1000.0"),
        ("true", "bool True"),
        ('"1"', "str 1"),
        ("007", "str 007"),
        ("nan", "str nan"),
        ("Infinity", "str Infinity"),
        ("1_0", "str 1_0"),
        ("١", "str ١"),
        ("", "str "),
        ("a=b", "str a=b"),
    ],
)
def test_the_value_of_a_parameter_is_what_it_looks_like(value: str, found: str) -> None:
    made = _value(value)
    assert f"{type(made).__name__} {made}" == found


def test_facts_are_read_from_standard_input(program: Path) -> None:
    given = ("-i", "Edge=-", "-i", f"Weight={program.parent / 'facts' / 'Weight.csv'}")
    done = call("query", program, "Reach(x, y)", *given, stdin="src,dst\np,q\n")
    assert done.stdout == "x,y\np,q\n"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["-i", "Edge"], "`Edge` is not --input RELATION=FILE"),
        (["-i", "Edges=-"], "the program has no relation `Edges`, which --input names"),
        (["-i", "Edge=-"], "missing facts for Weight; give their folder with -F FOLDER"),
        (["-p", "x"], "`x` is not --param NAME=VALUE"),
    ],
)
def test_wrong_options_are_named(program: Path, args: list[str], problem: str) -> None:
    done = call("query", program, "Reach(x, y)", *args, stdin="src,dst\n")
    assert done.exit_code != 0
    assert problem in done.stderr


def test_a_row_is_explained(program: Path) -> None:
    done = ask(program, "why", 'Reach("a", "c")')
    assert 'Edge("b", "c")  asserted' in done.stdout
    assert done.stdout.startswith('Reach("a", "c")  by Reach(x, z) :-')
    assert done.stderr == ""


@pytest.mark.parametrize(("option", "start"), [("--json", "{"), ("--html", "<"), ("--svg", "<svg")])
def test_explanations_have_other_forms(program: Path, option: str, start: str) -> None:
    assert ask(program, "why", 'Reach("a", "c")', option).stdout.startswith(start)


def test_the_first_of_several_rows_is_explained(program: Path) -> None:
    done = ask(program, "why", 'Reach("a", row)')
    assert done.stdout.startswith('Reach("a", "b")  by')
    assert 'Reach("a", row) matches 2 rows; this is about the first' in done.stderr


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("Reach(x, x)", "no row matches `Reach(x, x)`; to see why not, give constants"),
        ("Reach(x, y), Edge(x, y)", "expected one atom"),
        ("Reach(", "error[E003]"),
        ("Reaches(x)", "did you mean `Reach`?"),
    ],
)
def test_a_row_that_cannot_be_explained_is_an_error(program: Path, row: str, problem: str) -> None:
    done = ask(program, "why", row)
    assert done.exit_code == 1
    assert problem in done.stderr


def test_run_prints_one_relation(program: Path) -> None:
    done = ask(program, "run", "-D", "-")
    assert done.stdout.startswith("src,dst\n")
    assert len(done.stdout.splitlines()) == 4
    other = ask(program, "run", "-D", "-", "--only", "Weight", "--format", "jsonl")
    assert {"src": "b", "n": 22} in [json.loads(line) for line in other.stdout.splitlines()]


def test_run_prints_nothing_if_it_is_unclear_what(program: Path) -> None:
    program.write_text(PROGRAM + "output relation Other(x: int)\n")
    assert "2 output relations; name one with --only" in ask(program, "run", "-D", "-").stderr
    assert "--only applies to -D -" in ask(program, "run", "--only", "Reach").stderr
    assert "not parquet" in ask(program, "run", "-D", "-", "--format", "parquet").stderr


def test_the_list_of_commands_says_what_each_command_says() -> None:
    for name, (_, _, text) in _COMMANDS.items():
        command = main.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        assert (command.help or "").partition("\n")[0] == text


def test_help_imports_no_engine() -> None:
    code = (
        "import sys; from tidelog.cli import main; main(['--help'], standalone_mode=False); "
        "print('numpy' in sys.modules, 'tidelog.session' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False False"


def test_a_profile_is_text_json_a_page_or_a_picture(program: Path) -> None:
    assert "Reach(x, z) :- Reach(x, y), Edge(y, z)." in ask(program, "profile").output
    found = json.loads(ask(program, "profile", "--json").output)
    assert {stratum["name"] for stratum in found["strata"]} == {"Edge", "Weight", "Reach"}
    assert ask(program, "profile", "--html").output.startswith("<!doctype html>")
    assert ask(program, "profile", "--svg").output.startswith("<svg ")


def test_why_not_says_what_fails_in_each_rule(program: Path) -> None:
    done = ask(program, "why-not", 'Reach("a", "z")')
    assert done.exit_code == 0
    assert 'it would be there if Edge("b", "z") were asserted' in done.stdout
    assert ask(program, "why", 'Reach("a", "z")').stdout == done.stdout
    assert json.loads(ask(program, "why-not", 'Reach("c", _)', "--json").stdout)["row"] == ["c", None]
    assert "<details" in ask(program, "why-not", 'Reach("c", _)', "--html").stdout


def test_why_not_computes_the_values_of_a_row(program: Path) -> None:
    assert ask(program, "why-not", 'Weight("a", -1 + 3)').stdout.startswith('no Weight("a", 2)')


def test_why_not_of_a_row_that_is_there_is_an_error(program: Path) -> None:
    done = ask(program, "why-not", 'Reach("a", "c")')
    assert done.exit_code == 1
    assert 'Reach("a", "c") is there; `why` says why' in done.stderr


def test_facts_of_the_only_input_relation_come_from_standard_input(tmp_path: Path) -> None:
    program = tmp_path / "program.dl"
    program.write_text(PROGRAM.replace("input relation Weight(src: string, n: int)\n", ""))
    rows = "src,dst\na,b\nb,c\n"
    assert call("query", program, 'Reach("a", "c")', "-F", "-", stdin=rows).stdout == "true\n"
    done = call("run", program, "-F", "-", "-D", "-", stdin=rows)
    assert sorted(done.stdout.splitlines()) == ["a,b", "a,c", "b,c", "src,dst"]
    assert call("run", program, "-i", "Edge=-", "-D", "-", stdin=rows).stdout == done.stdout
    assert 'Edge("a", "b")  asserted' in call("why", program, 'Reach("a", "c")', "-F", "-", stdin=rows).stdout


def test_standard_input_has_the_facts_of_one_relation(program: Path) -> None:
    done = call("query", program, "Weight(x, _)", "-F", "-", stdin="src,n\na,1\n")
    assert done.exit_code == 2
    assert "this one has Edge, Weight; write -i RELATION=- instead" in " ".join(done.stderr.split())
    done = call("run", "-", "-F", "-", stdin="input relation A(x: int)")
    assert done.exit_code == 2
    assert "standard input can be the program or the facts" in " ".join(done.stderr.split())
    done = call("query", program, "Weight(x, _)", "-F", "-", "-i", "Edge=-", stdin="src,n\na,1\n")
    assert "standard input can be the program or the facts" in " ".join(done.stderr.split())
    facts = program.parent / "facts" / "Edge.csv"
    done = call("query", program, "Weight(x, _)", "-F", "-", "-i", f"Edge={facts}", stdin="src,n\na,1\n")
    assert done.stdout == "x\na\n"
