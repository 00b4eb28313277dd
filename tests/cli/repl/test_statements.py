"""What is typed becomes statements, each at its place, whatever the lines it is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.cli.repl.statements import (
    Add,
    Assert,
    Command,
    Query,
    Reader,
    RemoveNumber,
    Retract,
    Statement,
    statements,
)
from tidelog.errors import ProgramError

TEXTS: list[tuple[type[Statement], str]] = [
    (Add, "input relation Edge(src: string,\n    dst: string)"),
    (Add, "relation Key(k: int) primary key (k)"),
    (Add, "typedef Shape = Circle{radius: int}\n    | Square{side: int}"),
    (Add, "function f(x: int): int {\n    x + 1\n}"),
    (Add, "Reach(x, y) :-\n    Edge(x, y), // the base\n    x != y."),
    (Add, 'Edge("a. b", "c").'),
    (Add, "P(t.x) :- Q(t), t.x > 1."),
    (Assert, '+Edge("a", "b").'),
    (Retract, "-Edge(r\"a\nb\", 'c').".replace("'", '"')),
    (Retract, "-Reach(x, y) :- Edge(x, y)."),
    (RemoveNumber, "-3"),
    (RemoveNumber, "- 3."),
    (Query, '?- Reach("a", x).'),
    (Query, "?- Reach(x, y),\n   x != y."),
    (Query, "?- not Edge(1, 2)"),
    (Command, ':why Reach("a", "b")'),
    (Command, "begin"),
    (Command, "commit;"),
    (Command, ":"),
]


def read(text: str) -> list[Statement]:
    return list(statements(text, "<text>"))


@pytest.mark.parametrize(("kind", "text"), TEXTS, ids=[t for _, t in TEXTS])
def test_a_statement_is_recognised_and_complete(kind: type[Statement], text: str) -> None:
    (found,) = read(text)
    assert type(found) is kind


@given(st.lists(st.sampled_from(TEXTS), max_size=8), st.sampled_from(["\n", "\n\n", " // x\n", "\r\n"]))
def test_statements_are_read_one_after_the_other(parts: list[tuple[type[Statement], str]], end: str) -> None:
    whole = "".join(text + end for _, text in parts)
    found = read(whole)
    assert [type(s) for s in found] == [kind for kind, _ in parts]
    for statement in found:
        place = statement.place
        start = place.offset + place.start
        assert whole[start : start + len(place.text)] == place.text
        assert whole.count("\n", 0, start) + 1 == place.line
        assert len(place.aligned) == place.end


@given(st.lists(st.sampled_from(TEXTS), max_size=5))
def test_lines_give_the_same_statements_as_the_whole_text(parts: list[tuple[type[Statement], str]]) -> None:
    whole = "\n".join(text for _, text in parts)
    reader, found = Reader("<text>"), []
    for line in whole.splitlines(keepends=True):
        found += list(reader.feed(line))
    found += list(reader.end())
    assert [s.place.text for s in found] == [s.place.text for s in read(whole)]


def test_several_statements_share_a_line() -> None:
    found = read("+A(1). +A(2). ?- A(x). :why A(1)")
    assert [type(s) for s in found] == [Assert, Assert, Query, Command]
    assert found[1].place.lines.position(found[1].place.start) == (1, 9)


def test_a_declaration_waits_for_the_line_that_may_continue_it() -> None:
    reader = Reader("<text>")
    assert not list(reader.feed("typedef T = A\n"))
    assert not reader.is_inside
    assert not list(reader.feed("  | B{x: int}\n"))
    (found,) = reader.feed("\n")
    assert found.place.text == "typedef T = A\n  | B{x: int}"


@pytest.mark.parametrize(
    "text", ["A(x, y", "A(x) :- B(x),", "?- A(x),", "/* x", "function f(): int {", "+A(1)"]
)
def test_what_must_go_on_is_known(text: str) -> None:
    reader = Reader("<text>")
    assert not list(reader.feed(text))
    assert reader.is_inside
    with pytest.raises(ProgramError):
        list(reader.end())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\n  A(1) B(2).", "<text>:2:8: error[E003]"),
        ("+A(1).\n+A(2)).\n", "<text>:2:6: error[E003]"),
        ('\n?- A("x', "<text>:2:6: error[E002]"),
        ("-input relation A(x: int)", "only facts and rules are removed"),
        ("+", "the end of the text"),
        ("hello", "expected a declaration or a rule, found `hello`"),
        ("a(1).", "relation names must be capitalised"),
    ],
)
def test_a_text_that_is_no_statement_is_reported_in_its_line(text: str, place: str) -> None:
    with pytest.raises(ProgramError) as caught:
        read(text)
    assert place in str(caught.value)


@given(st.text(alphabet='AE(xy),.:-+?"/*\n\r \u2028{}|0', max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        found = read(text)
    except ProgramError:
        return
    starts = [s.place.offset + s.place.start for s in found]
    assert starts == sorted(starts)
