"""Text to tokens, with one regular expression.

Tokens are small tuples `(kind, text, start, end)`, since a file of ten thousand rules has about two hundred
thousand of them. Kinds: `name` (lower case), `Name` (capitalised, or namespaced with `::`), `quoted` (a name
with backticks, which belong to its `text` and not to its `name`), `int`, `fraction`, `string` (with quotes,
and with escapes and `${…}` not yet processed; a lone quote if it is unterminated), `raw` (a string without
escapes, `r"…"`), `bytes`, `width` (`8'hff`), `op`, `prefix` (a whole declaration), `keyword` (the text is the
keyword itself) and `end`. `prefixes` makes tokens of the kind `short`.
Comments are collected in a separate list.

Text that is not a token becomes a diagnostic and is skipped; the lexer never stops early. The comment and
string syntax of other languages is accepted as a comment or string, so that it causes only one diagnostic.
For `--` and `%`, which are also operators, this happens only in a second pass over a text with errors.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tidelog.errors import Diagnostic, Source, Span
from tidelog.syntax.quoting import KEYWORDS, NAME, unquoted
from tidelog.syntax.tree import Comment

__all__ = ["KEYWORDS", "PREFIX", "Token", "hole_end", "tokenize"]


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name that the token denotes."""
        return unquoted(self.text) if self.kind == "quoted" else self.text


PREFIX = r'@?[Pp][Rr][Ee][Ff][Ii][Xx][ \t]+[\w-]*:[ \t]*<[^<>"{}|^`\\\s]*>(?:[ \t]*\.)?'  # and a namespace
_TOKEN = re.compile(
    rf"""
      (?P<blank>\s+)
    | (?P<comment>//[^\n\r]*|/\*(?:[^*]|\*(?!/))*\*/)
    | (?P<bytes>x"[^"\n]*")
    | (?P<prefix>{PREFIX})
    | (?P<raw>r"[^"]*")
    | (?P<name>{NAME})
    | (?P<width>\d[\d_]*'(?:d[\d_]+|h[0-9A-Fa-f_]+|b[01_]+))
    | (?P<number>0x[0-9A-Fa-f_]+|0b[01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)
    | (?P<string>")
    | (?P<prime>(?<=[\w`])'(?=\())
    | (?P<foreign>--|%|\#(?!\[))
    | (?P<op>\#\[|:-|->|[-+*]%|\+\+|<<|>>|==|!=|<=|>=|/(?!\*)|[-+*&|^~<>=(){{}}\[\],;:.@?])
    """,
    re.VERBOSE,
)
_NAME = re.compile(NAME)
_MARK = "\ufeff"  # byte order mark, which some editors write
_DASHES = re.compile(r"--\s")
_PLAIN = re.compile(r'[^"\\$\n]+')
_QUOTED = re.compile(r"'[^'\n]*'|[“”][^“”\n]*[“”]|[‘’][^‘’\n]*[‘’]")
_BAD_NAME = re.compile(r"`(?:((?:[^`\\\r\n]|\\.)*)`|[^\r\n]*)")
_INSTEAD = {
    "≠": "`!=`",
    "≤": "`<=`",
    "≥": "`>=`",
    "!": "`not` to negate, `!=` to compare",
    "←": "`:-`",
    "∧": "`and`",
    "∨": "`or`",
    "¬": "`not`",
}


def tokenize(
    source: Source, start: int = 0, end: int | None = None, *, again: bool = False
) -> tuple[list[Token], list[Comment], list[Diagnostic]]:
    """All tokens of a range, ending in one of kind `end`; its comments; and its lexical errors.

    `again` marks the second pass over a text with errors.
    """
    text = source.text
    stop = len(text) if end is None else end
    tokens: list[Token] = []
    comments: list[Comment] = []
    problems: list[Diagnostic] = []
    foreign: list[Span] = []
    match_at = _TOKEN.match
    position = start or text.startswith(_MARK)
    while position < stop:
        match = match_at(text, position, stop)
        if match is None:
            position = _unreadable(source, position, tokens, problems)
            continue
        kind = match.lastgroup
        start, position = match.span()
        if kind == "blank":
            continue
        if kind == "comment":
            comments.append(_comment(source, tokens, start, position))
        elif kind == "string":
            position, closed = _string_end(text, start)
            if not closed:
                problems.append(_no_end(Span(source, start, position), "string", '`"` on the same line'))
            tokens.append(Token("string", text[start:position] if closed else '"', start, position))
        elif kind == "foreign":
            if _is_comment(text, tokens, start, again):
                line_end = text.find("\n", start, stop)
                position = stop if line_end < 0 else line_end
                foreign.append(Span(source, start, position))
            else:
                position = start + 1
                tokens.append(Token("op", text[start], start, position))
        else:
            assert kind is not None
            word = match.group()
            tokens.append(Token(_kind(kind, word), word, start, position))
    tokens.append(Token("end", "", stop, stop))
    if foreign:
        problems.append(_not_comments(foreign))
    return tokens, comments, problems


def _kind(kind: str, word: str) -> str:
    if kind == "name":
        if "`" in word:
            return "quoted"
        if word in KEYWORDS:
            return "keyword"
        return "Name" if word[0].isupper() or "::" in word else "name"
    if kind == "number":
        is_fraction = word[:2] not in ("0x", "0b") and not word.replace("_", "").isdigit()
        return "fraction" if is_fraction else "int"
    return kind


def _comment(source: Source, tokens: list[Token], start: int, end: int) -> Comment:
    trailing = bool(tokens) and tokens[-1].end > source.line_start(start)
    return Comment(source.text[start:end].rstrip(), trailing, Span(source, start, end))


def _is_comment(text: str, tokens: list[Token], position: int, again: bool) -> bool:
    """Whether `#` or, in the second pass, `--` or `%` was meant to begin a comment.

    No item begins with an operator. An operator in the first column, or `--` and a space where a value
    begins, is unlikely.
    """
    if text[position] == "#" or not again:
        return text[position] == "#"
    before = tokens[-1].text if tokens else "."
    if before == "." or text[position - 1] == "\n":
        return True
    return before in (",", ":-", ";") and bool(_DASHES.match(text, position))


def _not_comments(spans: list[Span]) -> Diagnostic:
    place, *others = spans
    note = f"the same on {len(others)} other line{'s' * (len(others) > 1)}" if others else None
    mark = "--" if place.text.startswith("--") else place.text[0]
    return Diagnostic(
        "E001", place, f"`{mark}` does not begin a comment", note=note, hint="comments begin with `//`"
    )


def _unreadable(source: Source, position: int, tokens: list[Token], problems: list[Diagnostic]) -> int:
    if source.text.startswith("/*", position):
        problems.append(_no_end(Span(source, position, position + 2), "comment", "`*/`"))
        return len(source.text)
    if source.text[position] == "`":
        return _bad_name(source, position, problems)
    quoted = _QUOTED.match(source.text, position)
    if quoted:
        place, quotes = Span(source, *quoted.span()), 'strings use double quotes: `"…"`'
        problems.append(Diagnostic("E001", place, "unsupported string quotes", hint=quotes))
        tokens.append(Token("string", place.text, place.start, place.end))
        return quoted.end()
    span = Span(source, position, position + 1)
    shown = f"`{span.text}`" if span.text.isprintable() else repr(span.text)
    hint = f"write {_INSTEAD[span.text]}" if span.text in _INSTEAD else None
    problems.append(Diagnostic("E001", span, f"unexpected character {shown}", hint=hint))
    return position + 1


def _bad_name(source: Source, position: int, problems: list[Diagnostic]) -> int:
    """Report a quoted name that is empty, not closed, or has an unknown escape sequence."""
    found = _BAD_NAME.match(source.text, position)
    assert found is not None
    span = Span(source, *found.span())
    if found[1] is None:
        problems.append(_no_end(span, "name", "a backtick on the same line"))
    elif not found[1]:
        problems.append(Diagnostic("E001", span, "a name cannot be empty"))
    else:
        hint = r"supported escapes are \n \t \r \0 \\ \` and \u{1F600}"
        problems.append(Diagnostic("E004", span, "unknown escape sequence in a name", hint=hint))
    return found.end()


def _no_end(span: Span, what: str, closing: str) -> Diagnostic:
    return Diagnostic("E002", span, f"unterminated {what}", hint=f"close it with {closing}")


def _string_end(text: str, start: int) -> tuple[int, bool]:
    """The position after a string that starts with the quote at `start`, and whether it is terminated."""
    return _end(text, start + 1, ['"'])


def hole_end(text: str, position: int) -> int:
    """The position after the `}` of an interpolated expression, or the end of the line."""
    return _end(text, position, ["{"])[0]


def _end(text: str, position: int, opened: list[str]) -> tuple[int, bool]:
    """The position where everything opened is closed, and whether it was closed before the line ends.

    Strings can contain holes and holes can contain strings, so `opened` is a stack: `"` for a string, `{` for
    a hole or a block inside one.
    """
    while opened and position < len(text) and text[position] != "\n":
        char = text[position]
        position += 1
        if opened[-1] == "{":
            if char == "`":
                name = _NAME.match(text, position - 1)
                position = name.end() if name else position
            elif char in '"{':
                opened.append(char)
            elif char == "}":
                opened.pop()
        elif char == '"':
            opened.pop()
        elif char == "\\":
            position += not text.startswith("\n", position)
        elif char == "$" and text.startswith("{", position):
            opened.append("{")
            position += 1
        else:
            plain = _PLAIN.match(text, position)
            position = plain.end() if plain else position
    return min(position, len(text)), not opened
