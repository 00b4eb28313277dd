"""Highlighting: one source of tokens for the REPL, Pygments and editors."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments import token
from pygments.token import Token

from editors.textmate import Grammar
from tidelog.editors.pygments_lexer import TidelogLexer
from tidelog.editors.textmate import grammar
from tidelog.editors.tokens import Kind, pieces
from tidelog.errors import Source

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
GRAMMAR = ROOT / "editors" / "vscode" / "syntaxes" / "tidelog.tmLanguage.json"
PROGRAMS = sorted((ROOT / "tests" / "conformance" / "cases").rglob("*.dl"))
SAMPLE = (GOLDEN / "program.dl").read_text()


def texts() -> list[str]:
    blocks = [
        block
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for block in re.findall(r"```(?:tidelog|dl)\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    return [*(p.read_text() for p in PROGRAMS), *blocks]


def listed(text: str) -> str:
    """The pieces of a text, one on each line."""
    found = ((text[a:b], kind) for a, b, kind in pieces(Source("", text)) if kind is not Kind.BLANK)
    return "".join(f"{kind.value:12} {json.dumps(piece, ensure_ascii=False)}\n" for piece, kind in found)


def test_the_pieces_of_a_text_with_all_kinds_of_tokens() -> None:
    assert listed(SAMPLE) == (GOLDEN / "program.pieces").read_text(), "renew it with what `listed` returns"


def test_every_program_is_highlighted_without_errors() -> None:
    for text in texts():
        found = list(pieces(Source("", text)))
        assert "".join(text[a:b] for a, b, _ in found) == text
        assert [text[a:b] for a, b, kind in found if kind is Kind.ERROR] == []


@given(st.text(alphabet="abAE(xy),.:-+?\"/*\n {}|0`$\\u8'h", max_size=40))
def test_the_pieces_of_any_text_are_the_text(text: str) -> None:
    found = list(pieces(Source("", text)))
    assert "".join(text[a:b] for a, b, _ in found) == text
    assert all(a < b for a, b, _ in found)


def test_strings_in_strings_have_no_limit() -> None:
    text = '"${' * 500 + "1" + '}"' * 500
    assert "".join(text[a:b] for a, b, _ in pieces(Source("", text))) == text


def test_the_grammar_in_the_extension_is_the_one_that_is_made_here() -> None:
    text = json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"
    assert GRAMMAR.read_text() == text, "renew it with what `grammar` returns"


@pytest.mark.parametrize("text", [SAMPLE, *texts()], ids=lambda text: text[:20])
def test_the_grammar_sees_what_the_lexer_sees(text: str) -> None:
    kinds = Grammar(json.loads(GRAMMAR.read_text())).kinds(text)
    for start, end, kind in pieces(Source("", text)):
        if kind is not Kind.BLANK:
            assert set(kinds[start:end]) == {kind}, Source("", text).position(start)


def test_pygments_finds_the_lexer_by_its_entry_point() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    found = re.search(r'\[project.entry-points."pygments.lexers"\]\ntidelog = "(.*):(.*)"', project)
    assert found is not None
    assert getattr(import_module(found[1]), found[2]) is TidelogLexer


def test_pygments_has_no_error_tokens_and_keeps_the_text() -> None:
    lexer = TidelogLexer()
    for text in texts():
        found = list(lexer.get_tokens_unprocessed(text))
        assert "".join(piece for _, _, piece in found) == text
        assert not [piece for _, kind, piece in found if kind is Token.Error]
    tokens = {piece: kind for _, kind, piece in lexer.get_tokens_unprocessed(SAMPLE)}
    assert tokens["relation"] is token.Keyword
    assert tokens["Packet"] is token.Name.Class
    assert tokens["decimal"] is token.Keyword.Type


def test_pygments_recognises_programs() -> None:
    assert TidelogLexer.analyse_text(SAMPLE) > 0.5
    assert not TidelogLexer.analyse_text("parent(a, b).")
