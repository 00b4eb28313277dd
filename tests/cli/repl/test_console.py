"""The REPL without a terminal: statements in, texts out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog
from cli.repl.consoles import Repl
from tidelog.cli.repl.commands import COMMANDS
from tidelog.errors import DataError, EngineError, ProgramError, SessionError
from tidelog.maintain.strategy import STRATEGIES

PROGRAM = """input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""


@pytest.fixture
def repl() -> Repl:
    return Repl(PROGRAM)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_commit_says_what_changed(strategy: str) -> None:
    repl = Repl(PROGRAM, strategy=strategy)
    assert repl('+Edge("a", "b").') == ['+ Edge("a", "b")', '+ Reach("a", "b")']
    assert repl('+Edge("b", "c").') == ['+ Edge("b", "c")', '+ Reach("a", "c")', '+ Reach("b", "c")']
    assert repl('-Edge("a", "b").') == ['- Edge("a", "b")', '- Reach("a", "b")', '- Reach("a", "c")']
    assert repl('+Edge("b", "c").') == ["no changes"]
    assert repl("Reach(x, x) :- Edge(x, _).") == ["rule 3: Reach(x, x) :- Edge(x, _).", '+ Reach("b", "b")']
    assert repl("-3") == ["rule 3 removed: Reach(x, x) :- Edge(x, _).", '- Reach("b", "b")']


def test_a_session_begins_with_nothing() -> None:
    repl = Repl()
    assert repl("input relation A(x: int)") == ["relation A declared"]
    assert repl("output relation B(x: int)\nB(x + 1) :- A(x).") == [
        "relation B declared",
        "rule 1: B(x + 1) :- A(x).",
    ]
    assert repl("+A(1).") == ["+ A(1)", "+ B(2)"]
    repl.fails(":drop A", "this rule still uses `A`")
    repl("-1")
    assert repl(":drop A") == ["relation A dropped", "- A(1)"]


def test_a_fact_of_the_program_is_a_rule_and_is_removed_as_a_fact(repl: Repl) -> None:
    assert repl('Edge("p", "q").') == ['rule 3: Edge("p", "q").', '+ Edge("p", "q")', '+ Reach("p", "q")']
    assert repl('+Edge("p", "q").') == ["no changes"]
    assert repl('-Edge("p", "q").') == [
        'rule 3 removed: Edge("p", "q").',
        '- Edge("p", "q")',
        '- Reach("p", "q")',
    ]
    assert repl('-Edge("p", "q").') == ['Edge("p", "q") is not asserted']


def test_a_fact_that_rules_derive_is_not_retracted(repl: Repl) -> None:
    repl('+Edge("a", "b").')
    assert repl('-Reach("a", "b").') == ['Reach("a", "b") is not asserted; rules derive it']


def test_rules_are_removed_by_their_text_whatever_the_variables(repl: Repl) -> None:
    assert repl("-Reach(a, c) :- Reach(a, b), Edge(b, c).")[0].startswith("rule 2 removed: Reach(x, z)")
    repl.fails("-Reach(a, c) :- Reach(a, b), Edge(b, c).", "the program does not contain this rule")
    repl.fails("-2", "there is no rule 2")
    assert repl("+Reach(x, z) :- Reach(x, y), Edge(y, z).")[0].startswith("rule 2: ")


def test_rules_keep_their_numbers(repl: Repl) -> None:
    repl("Reach(x, x) :- Edge(x, _).")
    repl("-1")
    assert [line.split()[0] for line in repl(":rules")] == ["2", "3"]
    repl("-2")
    assert repl(":rules Reach") == ["  3  Reach(x, x) :- Edge(x, _)."]
    repl.fails("Reach(x, y) :- Edge(x, z).", "unbound variable `y`")
    assert repl("Reach(y, x) :- Edge(x, y).")[0].startswith("rule 4: ")


def test_queries_are_answered_as_tables(repl: Repl) -> None:
    repl('+Edge("a", "b"). +Edge("b", "c").')
    assert repl('?- Reach("a", x).') == ["  x", "  b", "  c", "2 answers"]
    assert repl('?- Reach("a", "c")') == ["yes"]
    assert repl('?- Reach("c", "a")') == ["no"]
    assert repl('?- Reach("c", x)') == ["no answers"]
    assert repl("?- var n = count { Edge(x, _) }, n > 1.")[1:] == ["  2", "1 answer"]


def test_long_results_are_cut() -> None:
    repl = Repl("input relation A(x: int)\nB(x) :- A(x).\nrelation B(x: int)")
    with repl.db.transaction() as tx:
        tx.insert("A", [(i,) for i in range(150)])
    assert repl("?- A(x)")[-1] == "150 answers, 100 of them shown"
    assert len(repl("?- A(x)")) == 102
    said = repl("-1")
    assert said[-1] == "  … and 130 more rows; B: 0 rows added, 150 removed"
    assert len(said) == 22


def test_values_are_computed_and_have_the_types_of_the_columns() -> None:
    repl = Repl(
        """typedef Shape = Circle{radius: int} | Square{side: int} | None_
        function twice(x: int): int { 2 * x }
        input relation Item(id: u8, shape: Shape, price: decimal(8, 2), day: option<date>,
            tags: vec<string>)"""
    )
    said = repl('+Item(1, Circle{twice(2)}, 1.5, "2026-02-01" as date, ["a", "b" ++ "c"]).')
    assert said == ['+ Item(1, Circle{radius: 4}, 1.50, 2026-02-01, ["a", "bc"])']
    assert repl("+Item(2, None_, 2, none, []).") == ["+ Item(2, None_, 2.00, none, [])"]
    assert repl('-Item(1, Circle{4}, 1.5, "2026-02-01" as date, ["a", "bc"]).')[0].startswith("- Item(1")
    repl.fails("+Item(300, None_, 2, none, []).", "300")
    repl.fails("+Item(1, Circle{1 / 0}, 2, none, []).", "cannot be computed")
    repl.fails("+Item(x, None_, 2, none, []).", "unbound variable `x`")


def test_a_transaction_takes_effect_as_a_whole(repl: Repl) -> None:
    repl('+Edge("a", "b").')
    assert repl("begin") == []
    assert repl('-Edge("a", "b").\n+Edge("b", "c").') == []
    assert repl("Reach(x, x) :- Edge(x, _).") == ["rule 3: Reach(x, x) :- Edge(x, _)."]
    assert repl('?- Edge("a", "b").')[0] == "yes"
    shown = repl("preview")
    assert shown[:2] == ['+ Edge("b", "c")', '- Edge("a", "b")']
    assert repl("commit") == shown
    assert repl("?- Edge(x, y).")[1] == "  b  c"


def test_a_transaction_can_be_discarded(repl: Repl) -> None:
    repl("begin")
    repl('+Edge("a", "b").\ninput relation New(x: int)\n+New(1).\n-1')
    assert repl("rollback") == []
    assert len(repl.db["Edge"]) == 0
    assert "New" not in repl.db
    assert len(repl.db.rules) == 2


def test_an_error_leaves_the_transaction_as_it_was(repl: Repl) -> None:
    repl('begin\n+Edge("a", "b").')
    repl.fails('+Edge("a", 1).', "expected `string`")
    repl.fails("begin", "a transaction is open already")
    repl.fails("-7", "there is no rule 7")
    repl.fails(":load Edge nowhere.csv", "nowhere.csv")
    assert repl("commit")[0] == '+ Edge("a", "b")'
    repl.fails("commit", "no transaction is open")


def test_a_commit_that_fails_changes_nothing(repl: Repl) -> None:
    repl("begin")
    repl("relation A(x: string)\nrelation B(x: string)")
    repl("A(x) :- Edge(x, _), not B(x).\nB(x) :- Edge(x, _), not A(x).")
    with pytest.raises(ProgramError, match="E501"):
        repl("commit")
    assert repl.console.open is None
    assert len(repl.db.rules) == 2
    assert repl('+Edge("a", "b").')[0] == '+ Edge("a", "b")'


def test_an_engine_error_changes_nothing() -> None:
    repl = Repl("input relation A(x: int)\noutput relation B(x: int)\nB(10 / x) :- A(x).")
    assert isinstance(repl.fails("+A(0).", "B(10 / x)"), EngineError)
    assert repl("+A(5).") == ["+ A(5)", "+ B(2)"]


def test_a_primary_key_is_kept() -> None:
    repl = Repl("input relation A(k: int, v: int) primary key (k)")
    repl("+A(1, 2).")
    assert isinstance(repl.fails("+A(1, 3).", "key"), DataError)
    repl("relation B(x: int)\nbegin")
    repl.fails("+B(1), A(1, 3).", "assert facts of one relation at a time")
    repl.fails("+A(5, 5), A(1, 3).", "key")
    assert repl("commit") == ["no changes"]


def test_diagnostics_point_into_what_was_typed(repl: Repl) -> None:
    repl.fails('?- Edge(x, x). +Edge("c", 1).', '1 | ?- Edge(x, x). +Edge("c", 1).')
    repl.fails("\n\nReach(x, y) :-\n    Egde(x, y).", "<input>:4:5: error[E101]")
    repl.fails('?- Reach("a", x), x > 1.', '1 | ?- Reach("a", x), x > 1.')
    repl.fails("?- Raech(x, y)", "<input>:1:4: error[E101]")
    repl.fails("-Raech(x, y) :- Edge(x, y).", "<input>:1:2: error[E101]")


def test_questions_are_answered_about_the_program(repl: Repl) -> None:
    repl('+Edge("a", "b"). +Edge("b", "c").')
    assert repl(':why Reach("a", "c")')[-1] == '└─ Edge("b", "c")  asserted'
    assert repl(':why Reach("a", x)')[0] == 'Reach("a", x) matches 2 rows; this is about the first'
    assert repl(':why Reach("c", x)') == repl(':why-not Reach("c", x)')
    assert repl(':why-not Reach("c", "a")')[0] == 'no Reach("c", "a")'
    repl.fails(':why-not Reach("a", "c")', 'Reach("a", "c") is there; `why` says why')
    assert "Reach" in "\n".join(repl(":profile"))
    assert any(line.split()[:3] == ["Reach", "2", "yes"] for line in repl(":explain"))
    whole = repl(":explain Reach")
    assert whole[0] == "stratum Reach: 2 rules, recursive"
    assert any("look up Reach(x, y) by dst" in line for line in whole)
    one = repl(":explain 1")
    assert any("scan Edge(x, y)" in line for line in one)
    assert not any("Reach(x, z)" in line for line in one)
    repl.fails(":explain Edge", "no rule derives Edge")
    repl.fails(":explain Raech", "did you mean `Reach`?")
    assert repl(":stats")[0].startswith("commit ")
    assert repl(":relations")[1:] == [
        "  input   Edge(src: string, dst: string)   2",
        "  output  Reach(src: string, dst: string)  3",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (":wyh Reach(1)", "did you mean `:why`?"),
        (":", "unknown command `:`; `:help` lists the commands"),
        (":why", "write `:why ROW`"),
        (":stats now", "`:stats` takes no argument"),
        (":drop Nothing", "unknown relation `Nothing`"),
        (":rules Nothing", "unknown relation `Nothing`"),
        (":load", "write `:load [RELATION] FILE`"),
        ("preview", "no transaction is open; `begin` opens one"),
        ("rollback", "no transaction is open"),
    ],
)
def test_wrong_commands_are_explained(repl: Repl, text: str, problem: str) -> None:
    assert isinstance(repl.fails(text, problem), SessionError | ProgramError)


def test_help_has_every_command(repl: Repl) -> None:
    shown = "\n".join(repl(":help"))
    assert all(f":{name}" in shown for name in COMMANDS)
    assert repl("help") == repl(":help")


@pytest.mark.parametrize("word", ["quit", "exit", ":quit", ":exit"])
def test_the_repl_can_be_left(repl: Repl, word: str) -> None:
    repl(word)
    assert repl.console.is_over


def test_warnings_about_a_rule_are_shown_once(repl: Repl) -> None:
    said = repl("Reach(x, x) :- Edge(x, y).")
    assert any("warning[W003]" in line for line in said)
    assert not any("warning" in line for line in repl("Reach(y, y) :- Edge(_, y)."))


def test_weights_of_multisets_are_said() -> None:
    repl = Repl(
        "input multiset Sale(item: string)\noutput relation N(n: int)\n"
        "N(n) :- Sale(x), var n = x.group_by().count()."
    )
    assert repl('+Sale("a").')[0] == '+ Sale("a")'
    repl("begin")
    repl('+Sale("a").\n+Sale("a").')
    assert repl("commit")[0] == '+ Sale("a")  (2 times)'
    assert repl('-Sale("a").')[0] == '- Sale("a")'


def test_names_that_need_quotes_are_quoted() -> None:
    repl = Repl("input relation `price list`(`unit price`: int)")
    assert repl("+`price list`(3).") == ["+ `price list`(3)"]
    assert repl("-`price list`(3).") == ["- `price list`(3)"]


def test_rows_without_columns_are_facts() -> None:
    repl = Repl("input relation Go()\noutput relation Gone()\nGone() :- Go().")
    assert repl("+Go().") == ["+ Go()", "+ Gone()"]
    assert repl("?- Gone()") == ["yes"]


def test_an_interrupt_during_a_commit_changes_nothing(repl: Repl, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    repl('+Edge("a", "b").')
    with monkeypatch.context() as patch:
        patch.setattr(repl.db._kinds, "carry_out", interrupted)
        with pytest.raises(KeyboardInterrupt):
            repl('+Edge("b", "c").')
        repl("begin")
        with pytest.raises(KeyboardInterrupt):
            repl("commit")
    assert repl('+Edge("b", "c").')[0] == '+ Edge("b", "c")'


def test_an_interrupt_that_comes_too_late_shows_what_was_committed(repl: Repl) -> None:
    commit: Callable[..., object] = tidelog.Transaction.commit

    def late(tx: tidelog.Transaction) -> object:
        commit(tx)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tidelog.Transaction, "commit", late)
        with pytest.raises(KeyboardInterrupt):
            repl('+Edge("a", "b").')
    assert [line.text for line in repl.said] == ['+ Edge("a", "b")', '+ Reach("a", "b")']


def test_files_of_facts_are_loaded(repl: Repl, tmp_path: Path) -> None:
    (tmp_path / "Edge.csv").write_text("src,dst\na,b\n")
    (tmp_path / "more edges.jsonl").write_text('{"src": "b", "dst": "c"}\n')
    assert repl(f":load {tmp_path / 'Edge.csv'}")[:2] == ["Edge: 1 row read", '+ Edge("a", "b")']
    assert repl(f":load Edge {tmp_path / 'more edges.jsonl'}")[1] == '+ Edge("b", "c")'
    repl.fails(f":load {tmp_path / 'more edges.jsonl'}", "write `:load RELATION ")
    repl('-Edge("a", "b").')
    assert repl(f":load {tmp_path}")[0].endswith("more edges.jsonl matches no input relation")
    (tmp_path / "Edge.csv").write_text("src,dst\na\n")
    repl.fails(f":load {tmp_path / 'Edge.csv'}", "Edge.csv:2")


PAGE = Path(__file__).parents[3] / "docs" / "repl.md"


def test_the_documentation_shows_what_is_said() -> None:
    block = PAGE.read_text().split("```console\n")[1].split("```")[0].splitlines()[2:]
    typed = [line[9:] for line in block if line.startswith(("tidelog> ", "     ... "))]
    said = [line for line in block if not line.startswith(("tidelog> ", "     ... "))]
    assert Repl()("\n".join(typed)) == said


def test_the_documentation_has_every_command() -> None:
    assert [name for name in COMMANDS if f"`:{name}" not in PAGE.read_text()] == []
