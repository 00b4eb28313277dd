"""The Pygments lexer, which documentation tools and notebooks find by its entry point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from pygments import token
from pygments.lexer import Lexer

from tidelog.editors.tokens import Kind, pieces
from tidelog.errors import Source

__all__ = ["TidelogLexer"]

_TYPES: Final = {
    Kind.BLANK: token.Text.Whitespace,
    Kind.COMMENT: token.Comment,
    Kind.ERROR: token.Error,
    Kind.ESCAPE: token.String.Escape,
    Kind.FUNCTION: token.Name.Function,
    Kind.KEYWORD: token.Keyword,
    Kind.NUMBER: token.Number,
    Kind.OPERATOR: token.Operator,
    Kind.PUNCTUATION: token.Punctuation,
    Kind.RELATION: token.Name.Class,
    Kind.STRING: token.String,
    Kind.TYPE: token.Keyword.Type,
    Kind.VARIABLE: token.Name,
}


class TidelogLexer(Lexer):
    """Programs and rules of Tidelog."""

    name = "Tidelog"
    url = "https://pypi.org/project/tidelog/"
    aliases: ClassVar = ["tidelog", "tidelog-error"]  # the second for programs with an error
    filenames: ClassVar = ["*.dl"]
    mimetypes: ClassVar = ["text/x-tidelog"]
    priority = 0.1  # other Datalog systems use *.dl as well

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, token._TokenType, str]]:
        for start, end, kind in pieces(Source("", text)):
            yield start, _TYPES[kind], text[start:end]

    @staticmethod
    def analyse_text(text: str) -> float:
        """How certain it is that a text is one of ours, from 0 to 1."""
        is_declared = "input relation " in text or "output relation " in text
        return 0.8 if is_declared else 0.0
