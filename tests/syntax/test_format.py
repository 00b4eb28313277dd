"""Formatting: what it keeps, whatever the program, and what it looks like."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sizes import size
from syntax.trees import programs
from tidelog.errors import Source
from tidelog.syntax import tree
from tidelog.syntax.lexer import Token, tokenize
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import WIDTH, print_item, print_program


def formatted(text: str) -> str:
    return print_program(parse(text))


# -- laws

_COMMENTS = (
    " // {} *\n",
    "\n// {} ${{\n",
    " /* {} */ ",
    "/*{}*/",
    "\n\n\n/* {} */\n\n",
    " /* {}\n   and \n\n more */",
    "\n/** {}\r\n ***/",
    "\n\n",
)


@st.composite
def commented(draw: st.DrawFn) -> tuple[tree.Program, str]:
    """A program, and a text of it with comments and blank lines between its tokens."""
    program = draw(programs)
    text = print_program(program)
    tokens, _, _ = tokenize(Source("", text))
    gaps = [b.start for a, b in zip([None, *tokens], tokens, strict=False) if not _are_one(a, b)]
    chosen = draw(st.lists(st.tuples(st.sampled_from(gaps), st.sampled_from(_COMMENTS)), max_size=8))
    pieces: list[str] = []
    end = 0
    for number, (gap, comment) in enumerate(sorted(chosen, key=lambda c: c[0])):
        pieces += text[end:gap], comment.format(number)
        end = gap
    return program, "".join([*pieces, text[end:]])


def _are_one(left: Token | None, right: Token) -> bool:
    """Whether two tokens mean something else with a blank in between: methods, arguments, primes."""
    return left is not None and left.end == right.start and (left.text == "." or right.text in "<('")


both: SearchStrategy[tuple[tree.Program, str]] = commented()


@settings(max_examples=size(100, 300))
@given(both)
def test_formatting_changes_no_meaning(given_: tuple[tree.Program, str]) -> None:
    program, text = given_
    assert parse(formatted(text)) == parse(text) == program


@settings(max_examples=size(100, 300))
@given(both)
def test_formatting_twice_is_formatting_once(given_: tuple[tree.Program, str]) -> None:
    once = formatted(given_[1])
    assert formatted(once) == once


@settings(max_examples=size(100, 300))
@given(both)
def test_every_comment_is_kept_in_its_order(given_: tuple[tree.Program, str]) -> None:
    assert _comments(formatted(given_[1])) == _comments(given_[1])


def _comments(text: str) -> list[str]:
    return [c.text.replace("\r\n", "\n") for c in parse(text).comments]


@given(programs)
def test_a_comment_behind_an_item_stays_there(program: tree.Program) -> None:
    text = "".join(f"{print_item(item)}  // {number}\n" for number, item in enumerate(program.items))
    assert formatted(text) == text


@given(both)
def test_a_formatted_text_is_tidy(given_: tuple[tree.Program, str]) -> None:
    program, text = given_
    text = formatted(text)
    for comment in parse(text).comments:
        text = text.replace(comment.text, "//")
    assert "\n\n\n" not in text
    assert not text.startswith("\n")
    assert text.endswith("\n") or not program.items
    assert all(line == line.rstrip() for line in text.split("\n"))


@given(both)
def test_line_ends_do_not_matter(given_: tuple[tree.Program, str]) -> None:
    text = given_[1].replace("\r\n", "\n")
    assert formatted(text.replace("\n", "\r\n")) == formatted(text.rstrip("\n")) == formatted(text)


# -- looks


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "// only this\n",
        "/* this */\n\n// and that\n",
        "R(1).  // one\n// two\n",
        "R(0xff, 1_000, 2.50, -1e3).\n",
    ],
)
def test_what_is_tidy_stays(text: str) -> None:
    assert formatted(text) == text.lstrip("\n")


def _case(name: str, before: str, after: str) -> object:
    return pytest.param(dedent(before), dedent(after).lstrip("\n"), id=name)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        _case("blanks", "R( x,y ):-A(x),\n  B(y) .", "R(x, y) :- A(x), B(y).\n"),
        _case(
            "blank lines",
            "\n\nA(1).\n\n\n\nB(1).\nC(1). D(1).",
            """
            A(1).

            B(1).
            C(1).
            D(1).
            """,
        ),
        _case(
            "comments of items",
            """
            /* whole */ A(1). // one
            // two

              // three
            B(1). /* four */ // five
            """,
            """
            /* whole */
            A(1).  // one
            // two

            // three
            B(1).  /* four */  // five
            """,
        ),
        _case(
            "comments between literals",
            """
            R(x) :- // start
              A(x), // first
              // before the second
              B(x), C(x). // last
            """,
            """
            R(x) :-  // start
                A(x),  // first
                // before the second
                B(x),
                C(x).  // last
            """,
        ),
        _case("a comment inside what fits", "R(x) :- A(/* key */ x).", "R(x) :- A(x).  /* key */\n"),
        _case(
            "a comment inside a literal",
            "R(x) :- A(/* key */ x), B(x).",
            """
            R(x) :-
                A(x),  /* key */
                B(x).
            """,
        ),
        _case("a comment before the full stop", "R(x) :- A(x)\n// why\n.", "R(x) :- A(x).  // why\n"),
        _case(
            "more comments than fit behind",
            "R(1 // a\n, // b\n 2). // c\nS(1).",
            """
            R(1, 2).  // a
            // b
            // c
            S(1).
            """,
        ),
        _case(
            "comments of columns",
            """
            input relation R( // facts
              a: int, // first
              // second
              b: string,
              // more to come
            ) primary key (a)  // the end
            """,
            """
            input relation R(  // facts
                a: int,  // first
                // second
                b: string
                // more to come
            ) primary key (a)  // the end
            """,
        ),
        _case(
            "comments of statements",
            """
            function f(x: int): int { // why
              var y = x + 1; // next
              /* the
                 result */
              y * 2 }
            """,
            """
            function f(x: int): int {  // why
                var y = x + 1;  // next
                /* the
                     result */
                y * 2
            }
            """.replace("         result", "     result"),
        ),
        _case(
            "a short function",
            "function f(x:int):int{var y=x;y}",
            "function f(x: int): int { var y = x; y }\n",
        ),
        _case("parentheses that say nothing", "R(((1 + 2) + (3)) * (4)).", "R((1 + 2 + 3) * 4).\n"),
        _case("strings", r'R("\u{41}\u{7}\$ $ \${x}", x"AB cd").', 'R("A\\u{7}$ $ \\${x}", x"abcd").\n'),
        _case("types", "typedef T=option<bit< 8>>", "typedef T = option<bit<8>>\n"),
        _case("no columns", "relation R( ) primary key ( )", "relation R() primary key ()\n"),
    ],
)
def test_how_it_looks(before: str, after: str) -> None:
    assert formatted(before) == after


def test_a_long_rule_has_a_line_for_each_literal() -> None:
    names = ["first", "second", "third", "fourth", "fifth"]
    body = ", ".join(f"Relation_{name}({name}, x)" for name in names)
    assert formatted(f"R(x), S(x) :- {body}, not T(x).") == (
        "R(x), S(x) :-\n"
        + "".join(f"    Relation_{name}({name}, x),\n" for name in names)
        + "    not T(x).\n"
    )


def test_a_long_literal_has_a_line_for_each_argument() -> None:
    arguments = [f".column_{i} = value_{i}" for i in range(8)]
    lines = ",\n".join(f"        {argument}" for argument in arguments)
    assert formatted(f"R() :- not S({', '.join(arguments)}), T().") == (
        f"R() :-\n    not S(\n{lines}\n    ),\n    T().\n"
    )


def test_a_long_disjunction_has_a_line_for_each_alternative() -> None:
    long = "x == " + "y" * WIDTH
    assert formatted(f"R() :- (A(x), B(x); C(x); D(x), {long}).") == (
        f"R() :-\n    (\n        A(x), B(x);\n        C(x);\n        D(x),\n        {long}\n    ).\n"
    )


def test_a_long_head_has_a_line_for_each_value() -> None:
    values = [f"value_{i}" for i in range(12)]
    lines = ",\n".join(f"    {value}" for value in values)
    assert formatted(f"R({', '.join(values)}) :- S().") == f"R(\n{lines}\n) :-\n    S().\n"


def test_a_long_declaration_has_a_line_for_each_column() -> None:
    columns = [f"column_{i}: option<string>" for i in range(64)]
    lines = ",\n".join(f"    {column}" for column in columns)
    assert formatted(f"relation R({', '.join(columns)})") == f"relation R(\n{lines}\n)\n"


def test_items_without_a_text_are_grouped_by_kind() -> None:
    alias = tree.Alias("T", tree.TypeName("int"))
    fact = tree.Rule((tree.Atom("R", ()),))
    assert print_program(tree.Program((alias, alias, fact, fact))) == (
        "typedef T = int\ntypedef T = int\n\nR().\nR().\n"
    )
