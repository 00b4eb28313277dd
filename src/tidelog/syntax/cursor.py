"""A position in a list of tokens, with the lookahead and error reporting that parsing needs.

`Unexpected` carries one diagnostic out of the construct being parsed, up to the caller that can recover.
"""

from __future__ import annotations

from tidelog.errors import Diagnostic, Source, Span
from tidelog.syntax.lexer import Token

__all__ = ["MAX_DEPTH", "Cursor", "Unexpected", "describe"]

MAX_DEPTH = 100  # levels of a tree, so that it can be walked recursively


class Unexpected(Exception):
    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


def describe(token: Token) -> str:
    if token.kind == "end":
        return "the end of the text"
    if token.kind == "quoted":
        return token.text if len(token.text) <= 30 else f"{token.text[:27]}…`"
    return f"`{token.text}`" if len(token.text) <= 30 else f"`{token.text[:27]}…`"


class Cursor:
    """`token` is the next token to read; `depth` is its depth in the tree.

    `read` is the end offset of the last token read.
    """

    __slots__ = ("depth", "index", "problems", "read", "source", "token", "tokens")

    def __init__(self, source: Source, tokens: list[Token], problems: list[Diagnostic]) -> None:
        self.source = source
        self.tokens = tokens
        self.problems = problems
        self.index = 0
        self.depth = 0
        self.token = tokens[0]
        self.read = 0

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.index += 1
            self.token = self.tokens[self.index]
            self.read = token.end
        return token

    def at(self, text: str) -> bool:
        return self.token.text == text and self.token.kind in ("op", "keyword")

    def accept(self, text: str) -> bool:
        if self.at(text):
            self.advance()
            return True
        return False

    def expect(self, text: str, where: str, hint: str | None = None) -> Token:
        if self.at(text):
            return self.advance()
        raise self.unexpected(f"expected `{text}` {where}, found {describe(self.token)}", hint)

    def expect_kind(self, kind: str, what: str) -> Token:
        """The next token, if it is of a kind or a quoted name."""
        if self.token.kind in (kind, "quoted"):
            return self.advance()
        raise self.unexpected(f"expected {what}, found {describe(self.token)}")

    def deepen(self) -> None:
        """Go one level down. The caller restores `depth` at the end of the construct."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.unexpected(
                f"nesting exceeds the limit of {MAX_DEPTH} levels",
                "split it into named parts",
                "E006",
            )

    def split(self) -> None:
        """Read the first half of `>>`, for nested type arguments. The other half becomes the next token."""
        kind, text, start, end = self.token
        self.token = self.tokens[self.index] = Token(kind, text[1:], start + 1, end)
        self.read = start + 1

    # -- spans

    def span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def since(self, start: int) -> Span:
        """The span from an offset to the end of the last token read."""
        return Span(self.source, start, max(start, self.read))

    def starts_line(self) -> bool:
        """Whether the next token is the first on its line."""
        return self.index == 0 or "\n" in self.source.text[self.read : self.token.start]

    # -- errors

    def unexpected(self, message: str, hint: str | None = None, code: str = "E003") -> Unexpected:
        """The error at the next token, or after the last token if the next one is on another line."""
        if self.index and self.starts_line():
            return Unexpected(Diagnostic(code, Span(self.source, self.read, self.read), message, hint=hint))
        return Unexpected(Diagnostic(code, self.span(self.token), message, hint=hint))

    def complain(self, code: str, span: Span, message: str, hint: str | None = None) -> None:
        """Report a problem and continue parsing."""
        self.problems.append(Diagnostic(code, span, message, hint=hint))
