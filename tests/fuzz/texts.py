"""Texts to try the language with: valid programs, and what becomes of them by mistakes that know the grammar.

A *graft* puts a part of one program (an item, literal, expression or type) in the place of a part of the same
kind of another; a *slip* deletes, repeats, swaps or replaces tokens; a *stretch* repeats some of them often.
Raw bytes come besides. What once went wrong is a file in `corpus`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

from syntax.trees import programs as trees
from tidelog.errors import Source, Span
from tidelog.syntax import tree
from tidelog.syntax.lexer import tokenize
from tidelog.syntax.parser import read
from tidelog.syntax.printer import print_program

__all__ = ["CORPUS", "raw", "texts"]

_TESTS = Path(__file__).parents[1]
CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
_SEEDS = [
    *(p.read_text(encoding="utf-8") for p in sorted(_TESTS.glob("conformance/cases/*/program.dl"))),
    *(p.read_text(encoding="utf-8") for p in sorted(_TESTS.glob("golden/diagnostics/*/program.dl"))),
]
_KINDS = (tree.TypeName, tree.Column, tree.Argument)
_SPARE = [
    *"( ) { } [ ] , ; . : :: :- = == != <= < > << >> + - * / % ++ & | ^ ~".split(),
    *"\" ' ${ } _ // /* */ # \\ \\u{ @ ≠".split(),
    *"0 1 -1 0x 0xff 0b1 1e9 1e999 9223372036854775807 9223372036854775808 -9223372036854775808".split(),
    *'1.5 .5 1. 1_0 08 x"0" x"00" "" "a" "${x}" "\\n" "\\q" "2024-02-30" "NaN"'.split(),
    *"not var if else none true false and or as group_by distinct count min max sum concat arg_min".split(),
    *"input output relation typedef function primary key int bigint bit<8> bit<0> decimal(38,38)".split(),
    *"decimal(39,0) option<int> option<option<int>> date timestamp bytes string double float".split(),
    *"x y Edge E é 日本".split(),
    *["\n", "\r", "\r\n", "\t", "\0", "\ufeff", "\u2028", "\x85", "\u00a0", "9" * 1001, "a" * 300],
]


def _kind(node: object) -> type | None:
    """What a node may stand in for: nodes of one kind can change places."""
    if isinstance(node, tree.Relation | tree.Alias | tree.Function | tree.Rule):
        return tree.Rule
    if isinstance(node, tree.Atom | tree.Negation | tree.Condition | tree.Assignment | tree.Disjunction):
        return tree.Atom
    if isinstance(node, _KINDS):
        return type(node)
    return tree.Variable if hasattr(node, "span") else None


def _parts(node: object) -> Iterator[tuple[type, Span]]:
    """The parts of a tree, each with its kind."""
    if isinstance(node, tuple):
        for part in node:
            yield from _parts(part)
    elif hasattr(node, "__slots__") and not isinstance(node, Span):
        kind, span = _kind(node), getattr(node, "span", None)
        if kind is not None and isinstance(span, Span) and span.end > span.start:
            yield kind, span
        for name in node.__slots__:
            yield from _parts(getattr(node, name, None))


def _by_kind(texts: list[str]) -> dict[type, list[str]]:
    found: dict[type, dict[str, None]] = defaultdict(dict)
    for text in texts:
        for kind, span in _parts(read(Source("<seed>", text))[0].items):
            found[kind][span.text] = None
    return {kind: list(parts) for kind, parts in found.items()}


_POOL = _by_kind(_SEEDS)


def _pieces(text: str) -> list[str]:
    """The tokens of a text, each with the blanks before it."""
    ends = [0, *(t.end for t in tokenize(Source("<text>", text))[0])]
    return [text[a:b] for a, b in pairwise(ends)]


def _graft(draw: st.DrawFn, text: str) -> str:
    parts = list(_parts(read(Source("<text>", text))[0].items))
    if not parts:
        return text
    kind, span = draw(st.sampled_from(parts))
    return text[: span.start] + draw(st.sampled_from(_POOL[kind])) + text[span.end :]


def _slip(draw: st.DrawFn, text: str) -> str:
    parts = _pieces(text)
    if not parts:
        return draw(st.sampled_from(_SPARE))
    i = draw(st.integers(0, len(parts) - 1))
    match draw(st.sampled_from(["delete", "repeat", "swap", "replace", "insert"])):
        case "delete":
            del parts[i]
        case "repeat":
            parts.insert(i, parts[i])
        case "swap":
            j = draw(st.integers(0, len(parts) - 1))
            parts[i], parts[j] = parts[j], parts[i]
        case "replace":
            parts[i] = draw(st.sampled_from(_SPARE))
        case _:
            parts.insert(i, draw(st.sampled_from(_SPARE)))
    return "".join(parts)


def _stretch(draw: st.DrawFn, text: str) -> str:
    parts = _pieces(text) or [" "]
    i = draw(st.integers(0, len(parts) - 1))
    j = draw(st.integers(i, min(i + 6, len(parts) - 1)))
    piece = draw(st.sampled_from(["".join(parts[i : j + 1]), *_SPARE]))
    return "".join([*parts[:i], piece * draw(st.sampled_from([10, 101, 300])), *parts[i:]])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A program with a few mistakes in it, or none."""
    text = draw(st.sampled_from(_SEEDS) | trees.map(print_program))
    for _ in range(draw(st.integers(0, 5))):
        change = draw(st.sampled_from([_graft, _graft, _graft, _slip, _slip, _stretch]))
        text = change(draw, text)[:20_000]
    return text


def raw() -> st.SearchStrategy[bytes]:
    """Bytes: of a program with some of them changed, or any."""
    return st.binary(max_size=300) | st.builds(_damaged, texts(), st.lists(_CHANGES, max_size=4))


_CHANGES = st.tuples(st.integers(0, 20_000), st.binary(max_size=3))


def _damaged(text: str, changes: list[tuple[int, bytes]]) -> bytes:
    content = bytearray(text.encode(errors="replace"))
    for start, new in changes:
        place = start % (len(content) + 1)
        content[place : place + len(new)] = new
    return bytes(content)
