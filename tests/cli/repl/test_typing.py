"""What the terminal shows while something is typed: completion, colours, and whether Enter ends it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.cli.repl.commands import COMMANDS
from tidelog.cli.repl.completion import is_path, names_of, suggestions
from tidelog.cli.repl.highlighting import STYLES, highlighted
from tidelog.cli.repl.terminal import is_complete
from tidelog.editors.completion import Names

ABOUT = {name: command.about for name, command in COMMANDS.items()}
PROGRAM = """typedef Shape = Circle{radius: int} | Square{side: int}
function surface(s: Shape): int { 1 }
input relation Edge(src: string, dst: string)
input relation Figure(id: int, shape: Shape, `unit price`: int)
output relation `price list`(x: int)
"""


@pytest.fixture(scope="module")
def names() -> Names:
    program = tidelog.load(PROGRAM)
    return names_of(program, program.relations)


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (":", "begin"),
        (":wh", "why"),
        (":why Ed", "Edge"),
        (":explain ", "Edge"),
        (":drop F", "Figure"),
        ("be", "begin"),
        ("inp", "input"),
        ("+Ed", "Edge"),
        ("?- Edge(x, y), Fi", "Figure"),
        ("?- Edge(.", "src"),
        ("?- Edge(.src = x, .d", "dst"),
        ("?- Figure(1, Circle{.r", "radius"),
        ("?- Figure(1, Circle{.radius = 1}, .", "`unit price`"),
        ("?- Figure(_, s, _), s.ra", "radius"),
        ("?- Figure(_, s, _), var a = sur", "surface"),
        ("A(x) :- Edge(x, y), starts", "starts_with"),
        ("A(n) :- Edge(x, y), var n = y.group_by(x).cou", "count_distinct"),
        ("input relation A(x: stri", "string"),
        ("input relation A(x: Sh", "Shape"),
        ("?- Figure(_, Cir", "Circle"),
        ("?- `pr", "`price list`"),
        ('?- Edge("(", .', "src"),
    ],
)
def test_a_word_is_completed(names: Names, before: str, found: str) -> None:
    matching = [s for s in suggestions(before, names, ABOUT) if s.text == found]
    assert matching
    assert all(s.length == 0 or before.endswith(found[: s.length]) for s in matching)


def test_nothing_is_suggested_where_anything_could_stand(names: Names) -> None:
    assert not list(suggestions("", names, ABOUT))
    assert not list(suggestions("?- Edge(x, ", names, ABOUT))
    assert not list(suggestions(":wyh", names, ABOUT))


def test_files_are_completed_for_commands_that_take_them() -> None:
    assert is_path(":load fac")
    assert is_path(":save ")
    assert not is_path(":why Re")
    assert not is_path("load")


@given(st.text(alphabet='abAE(xy),.:-+?"/*\n {}|0`$', max_size=30))
def test_typing_never_fails_and_colours_keep_the_text(text: str) -> None:
    program = tidelog.load(PROGRAM)
    for suggestion in suggestions(text, names_of(program, program.relations), ABOUT):
        assert suggestion.length <= len(text)
    lines = highlighted(text)
    assert "\n".join("".join(piece for _, piece in line) for line in lines) == text
    assert {style for line in lines for style, _ in line} <= {"", *STYLES}
    is_complete(text)


def test_parts_of_a_text_have_colours() -> None:
    styled = {text.strip(): style for style, text in highlighted('Reach(x, 1) :- Edge("a", x). // end')[0]}
    assert {
        "Reach": "relation",
        "1": "number",
        '"a"': "string",
        "// end": "comment",
    }.items() <= styled.items()
    assert highlighted(":why Reach(1)")[0][0] == ("command", ":why")
    assert highlighted("?- Edge(x, y)")[0][0] == ("command", "?-")
    assert ("type", "string") in highlighted("input relation A(x: string)")[0]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("Reach(x, y) :- Edge(x,", False),
        ("Reach(x, y) :- Edge(x,\n", True),
        ("Reach(x, y) :- Edge(x,\n  y)", False),
        ("Reach(x, y) :- Edge(x, y).", True),
        ("?- Edge(x, y)", True),
        ("?- Edge(x, y),", False),
        ("typedef A = B | C", True),
        ("typedef A =", False),
        ("Reach(x :- .", True),
        ("function f(x: int): int {", False),
        (":why Edge(", True),
        ("+Edge(1, 2). Reach(x,", False),
    ],
)
def test_enter_ends_what_is_complete_or_wrong(text: str, complete: bool) -> None:
    assert is_complete(text) == complete
