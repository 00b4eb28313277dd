"""Whatever the text, `check` returns diagnostics in order: it never raises.

Texts are valid programs with tokens deleted, repeated, swapped and replaced. What once went wrong is kept as
an example.
"""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidelog.errors import ProgramError, Severity, Source, sort
from tidelog.program.draft import check, load
from tidelog.syntax.lexer import tokenize

GOLDEN = Path(__file__).parents[1] / "golden" / "diagnostics"

RULES = """
typedef Money = decimal(10, 2)
input relation Edge(src: string, dst: string)
input relation Road(from: string, to: string, km: int)
input relation Order(
    id: bit<16>, who: string, amount: Money, at: timestamp, note: option<string>
) primary key (id)
output relation Reach(src: string, dst: string)
output relation Distance(to: string, km: int)
output relation Fan(src: string, n: int)
output relation Label(text: string, big: bigint, small: signed<8>, raw: bytes, ratio: double)
relation Flag()
function twice(n: int): int { var m = n + n; if (m > 10) m else -m }
Reach(x, y) :- Edge(x, y), x != y.
Reach(x, z) :- Reach(x, y), Edge(.src = y, .dst = z), not Edge(z, _).
Reach(x, "end"), Flag() :- (Edge(x, _), Edge(_, x); Road(x, _, k), k * 2 < 0xff).
Distance("home", 0).
Distance(z, d) :- Distance(y, a), Road(y, z, b), var d = (a + b).group_by(z).min().
Fan(x, n) :- Edge(x, y), var n = y.group_by(x).distinct().count(), Flag(), n > 1, not Road(x, "a", n).
Label("${who} paid ${a}", 99999999999999999999, -1, x"00ff", 1.5e3) :-
    Order(_, who, a, t, note), is_some(note), unwrap_or(note, "-").length() > 2,
    t > "2024-01-01T00:00:00Z" as timestamp, a >= 10.25, var m = twice(3) as double, m != 2.0.
"""
GOOD = [RULES, *(p.read_text(encoding="utf-8") for p in sorted(GOLDEN.glob("*/program.dl")))]
SPARE = [
    *'( ) { } , ; . : :- = == + - * < > " ${ _ // /* 0 1e9'.split(),
    "not",
    "var",
    "none",
    "as",
    "if",
    "é",
]
SPARE += ["x", "Edge", "group_by", "count", "min", "input", "relation", "bit<8>", "0x", 'x"0"', "\n", "\\"]


def pieces(text: str) -> list[str]:
    """The tokens of a text with the blanks before them."""
    ends = [0, *(t.end for t in tokenize(Source("<text>", text))[0])]
    return [text[a:b] for a, b in pairwise(ends)]


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    parts = pieces(draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(1, 6))):
        if not parts:
            break
        i = draw(st.integers(0, len(parts) - 1))
        j = draw(st.integers(0, len(parts) - 1))
        match draw(st.sampled_from(["delete", "repeat", "swap", "copy", "replace"])):
            case "delete":
                del parts[i]
            case "repeat":
                parts.insert(i, parts[i])
            case "swap":
                parts[i], parts[j] = parts[j], parts[i]
            case "copy":
                parts[i] = parts[j]
            case _:
                parts[i] = draw(st.sampled_from(SPARE))
    return "".join(parts)


def assert_checked(text: str) -> None:
    found = check(text, "program.dl")
    assert found == sort(found)
    assert all(0 <= d.span.start <= d.span.end <= len(text) for d in found)
    assert all(str(d) for d in found)
    errors = tuple(d for d in found if d.severity is Severity.ERROR)
    with pytest.raises(ProgramError) if errors else nullcontext() as caught:
        load(text, "program.dl")
    assert caught is None or caught.value.diagnostics == errors


@settings(max_examples=300)
@given(spoilt())
@example("relation A(x: nothing)\nA(1).")
@example("relation A(x: bit<08>)")
@example("relation A(x: bit<0x_>)")
@example("output relation A(x: double)\nA(1e99999999999999999999).")
@example('output relation A(x: string)\nA("${").')
@example('output relation A(x: string)\nA("a\\\n").')
@example("output relation A(x: int)\nA(1). /* no end")
def test_a_spoilt_program_is_told_what_is_wrong_with_it(text: str) -> None:
    assert_checked(text)


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_any_text_is_told_what_is_wrong_with_it(text: str) -> None:
    assert_checked(text)


@pytest.mark.parametrize(
    "value",
    [
        "9" * 5000,
        "0x" + "f" * 5000,
        f'"{"9" * 5000}" as bigint',
        "+".join(["1"] * 3000),
        "(" * 3000 + "1" + ")" * 3000,
        "-" * 3000 + "x",
        "x" + ".abs()" * 3000,
        "if (true) 1 else " * 3000 + "1",
        "{" + " ".join(f"var a{i} = 1;" for i in range(3000)) + " 1 }",
        '"' + "${x}" * 3000 + '"',
    ],
    ids=lambda value: f"{value[:8]}…",
)
def test_a_very_long_expression_is_read_or_refused(value: str) -> None:
    assert_checked(f"input relation A(x: int)\noutput relation B(x: bigint)\nB({value}) :- A(x).")


@pytest.mark.parametrize(
    "text",
    [
        "relation A(x: " + "option<" * 3000 + "int" + ">" * 3000 + ")",
        "relation A(x: int)\nA(x) :- " + "(" * 3000 + "A(x)" + ")" * 3000 + ".",
        "".join(f"relation R{i}(x: int)\nR{i}(x) :- R{i + 1}(x).\n" for i in range(2000)),
        "".join(f"typedef t{i} = t{i + 1}\n" for i in range(300)),
        "".join(f"function f{i}(n: int): int {{ f{i + 1}(n) }}\n" for i in range(300)),
    ],
    ids=["type", "alternatives", "strata", "types", "functions"],
)
def test_a_very_deep_program_is_read_or_refused(text: str) -> None:
    assert_checked(text)
