"""`tidelog run` and what `tidelog show` says of plans."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from tidelog.cli import main
from tidelog.engine.limits import Limits

PROGRAM = """input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
output relation Fan(src: string, n: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Fan(x, n) :- Edge(x, y), var n = y.group_by(x).count().
"""
HIDDEN = """
output relation Last(place: string)
output relation Total(n: int, m: int)
output relation Hops(src: string, dst: string, hops: int)
relation Toll(src: string, km: int)
output relation Dear(src: string, other: int)
Last(y) :- Edge(_, y), not Edge(y, _).
Total(n, n + 1) :- Fan(_, k), var n = k.group_by().sum().
Hops(x, y, n) :- Edge(x, y), var n = 1.group_by(x, y).min().
Hops(x, z, n) :- Hops(x, y, k), Edge(y, z), var n = (k + 1).group_by(x, z).min().
Toll("a", 3).
Dear(x, l) :- Toll(x, k), Toll(x, l), l > k.
"""


def run(*args: object, stdin: str = "") -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], input=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.dl").write_text(PROGRAM)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "Edge.csv").write_text("src,dst\na,b\nb,c\n")
    return tmp_path


def lines(file: Path) -> list[str]:
    first, *rest = file.read_text().splitlines()
    return [first, *sorted(rest)]


def test_run_writes_what_follows(folder: Path) -> None:
    result = run("run", folder / "program.dl", "-F", folder / "facts", "-D", folder / "out")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert lines(folder / "out" / "Reach.csv") == ["src,dst", "a,b", "a,c", "b,c"]
    assert lines(folder / "out" / "Fan.csv") == ["src,n", "a,1", "b,1"]
    assert f"{folder / 'out' / 'Reach.csv'}: 3 rows" in result.stdout
    assert sorted(f.name for f in (folder / "out").iterdir()) == ["Fan.csv", "Reach.csv"]


@pytest.mark.parametrize("form", ["csv", "facts", "jsonl", "parquet"])
def test_run_writes_every_format(folder: Path, form: str) -> None:
    args = ("run", folder / "program.dl", "-F", folder / "facts", "-D", folder / "out")
    assert run(*args, "--format", form).exit_code == 0
    file = folder / "out" / f"Fan.{form}"
    if form == "parquet":
        assert parquet.read_table(file).num_rows == 2
    elif form == "jsonl":
        assert {"src": "a", "n": 1} in [json.loads(line) for line in file.read_text().splitlines()]
    else:
        assert ("a\t1" if form == "facts" else "a,1") in file.read_text().splitlines()


@pytest.mark.parametrize("name", ["Edge.facts", "Edge.tsv"])
def test_run_reads_by_extension(folder: Path, name: str) -> None:
    (folder / "facts" / "Edge.csv").unlink()
    (folder / "facts" / name).write_text("a\tb\n")
    result = run("run", folder / "program.dl", "-F", folder / "facts")
    assert result.stdout == "Reach: 1 row\nFan: 1 row\n"


def test_a_missing_file_names_file_and_folder(folder: Path) -> None:
    (folder / "facts" / "Edge.csv").rename(folder / "facts" / "Egde.csv")
    result = run("run", folder / "program.dl", "-F", folder / "facts", "-D", folder / "out")
    assert result.exit_code == 1
    assert f"error: relation Edge: {folder / 'facts'} has no Edge.csv" in result.stderr
    assert "Traceback" not in result.output
    assert not (folder / "out").exists()
    allowed = run("run", folder / "program.dl", "-F", folder / "facts", "--allow-missing")
    assert allowed.exit_code == 0
    assert f"warning: {folder / 'facts' / 'Egde.csv'} matches no input relation" in allowed.stderr
    assert "Reach: 0 rows" in allowed.stdout


def test_facts_that_do_not_fit_are_told_with_their_line(folder: Path) -> None:
    (folder / "facts" / "Edge.csv").write_text("src,dst\na,b\nb,c,d\n")
    result = run("run", folder / "program.dl", "-F", folder / "facts")
    assert result.exit_code == 1
    assert "Edge.csv:3" in result.stderr


def test_a_program_with_mistakes_is_told_with_carets(folder: Path) -> None:
    (folder / "program.dl").write_text(PROGRAM + "Reach(x, y) :- Egde(x, y).\n")
    result = run("run", folder / "program.dl", "-F", folder / "facts")
    assert result.exit_code == 1
    assert "error[E101]" in result.stderr
    assert "^^^^" in result.stderr


def test_a_run_that_fails_is_told_and_writes_nothing(folder: Path) -> None:
    (folder / "program.dl").write_text(PROGRAM + "Fan(x, 1 / 0) :- Edge(x, _).\n")
    result = run("run", folder / "program.dl", "-F", folder / "facts", "-D", folder / "out")
    assert result.exit_code == 1
    assert "division by zero" in result.stderr
    assert not (folder / "out").exists()


def test_misuse_exits_with_2(folder: Path) -> None:
    without = run("run", folder / "program.dl")
    assert without.exit_code == 2
    assert "missing facts for Edge; give their folder with -F FOLDER" in without.stderr
    assert run("run", folder / "program.dl", "-F", folder / "nowhere").exit_code == 2
    assert run("run", folder / "program.dl", "--format", "xml").exit_code == 2
    assert run("run", folder / "none.dl").exit_code == 2


def test_a_program_of_facts_alone_needs_no_folder() -> None:
    result = run("run", "-", stdin='output relation P(x: string)\nP("a").\n')
    assert (result.exit_code, result.stdout) == (0, "P: 1 row\n")


def test_limits_and_strategies_are_options(folder: Path) -> None:
    args = ("run", folder / "program.dl", "-F", folder / "facts")
    assert run(*args, "--strategy", "recompute").exit_code == 0
    result = run(*args, "--max-rows", 2)
    assert result.exit_code == 1
    assert "Reach exceeded the limit of 2 rows" in result.stderr


BOUNDED = """input relation Lim(x: int)
output relation Conf(x: int)
Conf(0).
Conf(x + 1) :- Conf(x), not Lim(x).
"""


def test_program_and_facts_are_one_commit(folder: Path) -> None:
    """Without the facts the recursion has no end."""
    (folder / "program.dl").write_text(BOUNDED)
    (folder / "facts" / "Lim.csv").write_text("x\n3\n")
    result = run("run", folder / "program.dl", "-F", folder / "facts", "--stats")
    assert result.exit_code == 0, result.output
    assert "Conf: 4 rows" in result.stdout
    assert re.search(r"^ +Lim +bootstrap", result.stdout, re.MULTILINE)


def test_the_number_of_rounds_is_an_option(folder: Path) -> None:
    (folder / "program.dl").write_text(BOUNDED)
    (folder / "facts" / "Lim.csv").write_text("x\n500\n")
    args = ("run", folder / "program.dl", "-F", folder / "facts", "-D", folder / "out")
    refused = run(*args, "--max-iterations", 10)
    assert (refused.exit_code, (folder / "out").exists()) == (1, False)
    assert "Conf exceeded the iteration limit: it still changed after 10 rounds" in refused.stderr
    assert run(*args, "--max-iterations", 1000).exit_code == 0
    assert run(*args, "--max-iterations", 0).exit_code == 0
    assert run(*args).exit_code == 0
    assert Limits().max_iterations == 100_000


def test_a_memory_limit_is_an_option(folder: Path) -> None:
    args = ("run", folder / "program.dl", "-F", folder / "facts")
    assert run(*args, "--max-memory", "4GB").exit_code == 0
    result = run(*args, "--max-memory", "plenty")
    assert result.exit_code == 1
    assert 'error: `max_memory` is "plenty"; write it as "500MB" or "4GB"' in result.stderr


def test_results_of_an_earlier_run_in_another_format_are_pointed_out(folder: Path) -> None:
    args = ("run", folder / "program.dl", "-F", folder / "facts", "-D", folder / "out")
    assert run(*args).stderr == ""
    assert run(*args).stderr == ""  # the same files are replaced
    result = run(*args, "--format", "parquet")
    assert result.exit_code == 0
    for name in ("Reach.csv", "Fan.csv"):
        assert f"warning: {folder / 'out' / name} is from an earlier run; remove it" in result.stderr
    assert (folder / "out" / "Reach.csv").exists()


def test_a_person_at_a_terminal_sees_what_is_going_on(folder: Path) -> None:
    """Standard error is a terminal; what was shown there is erased at the end, and results are left alone."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", "from tidelog.cli import main; main()", "run"]
    command += [str(folder / "program.dl"), "-F", str(folder / "facts"), "-D", str(folder / "out")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    none, half = "░" * 10, "█" * 5 + "░" * 5
    for text in ("loading ", f"{none} reading Edge.csv (1 of 1)", f"{half} writing Fan.csv (2 of 2)"):
        assert f"\r\x1b[2K{text}" in shown
    assert shown.endswith("\r\x1b[2K")
    assert "\x1b" not in done.stdout


def test_a_program_that_cannot_be_loaded_leaves_no_line_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "program.dl").write_text("P(x) :- Q(x).\n")
    monkeypatch.setattr("tidelog.cli.running.is_watched", lambda: True)
    result = run("run", folder / "program.dl")
    shown, error = result.stderr.removeprefix("\r\x1b[2K").split("\r\x1b[2K")
    assert shown.startswith("loading ")
    assert "error[E101]" in error


def test_statistics_are_printed(folder: Path) -> None:
    result = run("run", folder / "program.dl", "-F", folder / "facts", "--stats")
    assert "commit 1: " in result.stdout
    assert "Reach(x, z) :- Reach(x, y), Edge(y, z)." in result.stdout


def test_hidden_relations_are_called_after_what_people_wrote(folder: Path) -> None:
    (folder / "program.dl").write_text(PROGRAM + HIDDEN)
    shown = run("run", folder / "program.dl", "-F", folder / "facts", "--stats").stdout
    shown += "".join(run("show", w, folder / "program.dl").stdout for w in ("plan", "indexes", "script"))
    for text in (
        "instances of `Fan(x, n) :- …`",
        "groups of `Fan(x, n) :- …`",
        "count of the instances of `Fan(x, n) :- …`, by x",
        "projection of Edge on src",
        "check not projection of Edge on src (y)",
        "insert: Last(y) :- Edge(_, y), not projection of Edge on src (y).",
        "sum of the instances of `Total(n, n + 1) :- …`\n",
        "keeps the min of hops of Hops per key",
        "Toll by src sorted by km, if keys have many rows",
    ):
        assert text in shown
    assert not re.search(r"\bv\d|\[(columns|instances|results)", shown)


def test_show_plan_tells_the_join_orders(folder: Path) -> None:
    shown = run("show", "plan", folder / "program.dl").stdout.splitlines()
    assert shown[0] == "Reach (recursive)"
    assert "    from Edge(y, z): scan Edge(y, z), look up Reach(x, y) by dst" in shown


def test_show_plan_with_facts_tells_what_was_estimated_and_found(folder: Path) -> None:
    shown = run("show", "plan", "-F", folder / "facts", folder / "program.dl").stdout.splitlines()
    assert any(
        re.match(r"    from Edge\(y, z\): .* \(about [\d.,]+ instances? per row\)", line) for line in shown
    )
    assert any(
        re.match(r"    last commit: [\d,]+ instances found, [\d.,]+ estimated", line) for line in shown
    )


def test_show_accepts_facts_only_for_plans(folder: Path) -> None:
    done = run("show", "strata", "-F", folder / "facts", folder / "program.dl")
    assert done.exit_code == 2
    assert "--facts applies to show plan, not to show strata" in done.stderr


def test_show_indexes_tells_what_is_looked_up(folder: Path) -> None:
    assert run("show", "indexes", folder / "program.dl").stdout == "Edge by src\nReach by dst\n"


def test_show_script_tells_what_a_commit_does(folder: Path) -> None:
    shown = run("show", "script", folder / "program.dl").stdout
    assert shown.startswith("Reach\n  bootstrap\n    clear Reach\n")
    assert "  update: re-derive\n" in shown
    assert "regroup touched groups" in shown


def test_show_script_tells_what_another_strategy_does(folder: Path) -> None:
    shown = run("show", "script", "--strategy", "dred", folder / "program.dl").stdout
    assert "    overdelete: changed asserted facts of Reach\n" in shown
    shown = run("show", "script", "--strategy", "differential", folder / "program.dl").stdout
    assert "  update: iterate\n    for each iteration that changed:\n" in shown


def test_modules_are_searched_in_the_folders_given(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "graph.dl").write_text(PROGRAM)
    main_file = folder / "main.dl"
    main_file.write_text("import graph\noutput relation N(n: int)\nN(n) :- graph::Fan(_, n).\n")
    (folder / "facts" / "Edge.csv").rename(folder / "facts" / "graph.Edge.csv")
    done = run("run", main_file, "-F", folder / "facts", "-L", folder / "lib")
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "N: 1 row")
    assert run("check", main_file, "-L", folder / "lib").exit_code == 0
    assert run("check", main_file).exit_code == 1
    assert "graph::Reach" in run("show", "program", main_file, "-L", folder / "lib").output
    assert run("fmt", "--check", main_file).exit_code == 0


def test_attributes_name_the_files_of_relations(folder: Path) -> None:
    program = folder / "attributes.dl"
    program.write_text(
        """#[file = "raw/edges.csv", delimiter = ";", header = false]
input relation Edge(src: string, dst: string)
#[file = "deep/reach.csv", delimiter = "|"]
output relation Reach(src: string, dst: string)
#[file = "bare.csv", header = false]
output relation Back(dst: string, src: string)
output relation Plain(dst: string)
Reach(x, y) :- Edge(x, y).
Back(y, x) :- Edge(x, y).
Plain(y) :- Edge(_, y).
"""
    )
    done = run("run", program, "-F", folder / "facts", "-D", folder / "out")
    assert (done.exit_code, "has no raw/edges.csv; " in done.output) == (1, True)
    (folder / "facts" / "raw").mkdir()
    (folder / "facts" / "raw" / "edges.csv").write_text('a;"b|c"\nb;"c,d"\n')
    done = run("run", program, "-F", folder / "facts", "-D", folder / "out")
    assert done.exit_code == 0, done.output
    assert "Edge.csv matches no input relation" in done.output
    assert sorted(lines(folder / "out" / "deep" / "reach.csv")) == ['a|"b|c"', "b|c,d", "src|dst"]
    assert sorted(lines(folder / "out" / "bare.csv")) == ['"c,d",b', "b|c,a"]
    assert sorted(lines(folder / "out" / "Plain.csv")) == ['"c,d"', "b|c", "dst"]
    assert '#[file = "bare.csv", header = false]' in run("show", "program", program).output
    assert run("fmt", "--check", program).exit_code == 0
