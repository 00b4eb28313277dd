"""Text to tokens, with one regular expression.

Tokens are small tuples `(kind, text, start, end)`: a file of ten thousand rules has some two hundred
thousand of them. Kinds: `name` (lower case), `Name` (a relation: capitalised, or namespaced with `::`),
`int`, `fraction`, `string` (quotes included, with escapes and `${…}` still unread; a lone quote if it has no
end), `bytes`, `op`, `keyword` (the keyword itself is the text) and `end`. Comments go to a list of their own.

What cannot be read becomes a diagnostic and is left out; the lexer never stops early. What other languages
write for a comment or a string is read as one, so that its diagnostic is the only one; `--` and `%`, which
are operators, only on a second reading of a text that has mistakes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tidelog.errors import Diagnostic, Source, Span
from tidelog.syntax.tree import Comment

__all__ = ["KEYWORDS", "Token", "hole_end", "tokenize"]

KEYWORDS = frozenset(
    "input output relation typedef function primary key not var if else true false none and or as".split()
)


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
      (?P<blank>\s+)
    | (?P<comment>//[^\n\r]*|/\*(?:[^*]|\*(?!/))*\*/)
    | (?P<bytes>x"[^"\n]*")
    | (?P<name>[^\W\d]\w*(?:::[^\W\d]\w*)*)
    | (?P<number>0x[0-9A-Fa-f_]+|0b[01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)
    | (?P<string>")
    | (?P<foreign>--|[%#])
    | (?P<op>:-|\+\+|<<|>>|==|!=|<=|>=|/(?!\*)|[-+*&|^~<>=(){},;:.])
    """,
    re.VERBOSE,
)
_MARK = "\ufeff"  # some editors begin a file with it
_DASHES = re.compile(r"--\s")
_PLAIN = re.compile(r'[^"\\$\n]+')
_QUOTED = re.compile(r"'[^'\n]*'|[“”][^“”\n]*[“”]|[‘’][^‘’\n]*[‘’]")
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
    """All tokens of a stretch, ending in one of kind `end`; its comments; and what could not be read.

    `again` says that the text is known to have mistakes.
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
    """Whether `#` or, when the text is read again, `--` or `%` was meant to begin a comment.

    No item begins with an operator, and hardly anybody puts one in the first column, or `--` before a blank
    where a value begins.
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
    quoted = _QUOTED.match(source.text, position)
    if quoted:
        place, quotes = Span(source, *quoted.span()), 'strings stand in double quotes: `"…"`'
        problems.append(Diagnostic("E001", place, "this is not a string", hint=quotes))
        tokens.append(Token("string", place.text, place.start, place.end))
        return quoted.end()
    span = Span(source, position, position + 1)
    shown = f"`{span.text}`" if span.text.isprintable() else repr(span.text)
    hint = f"write {_INSTEAD[span.text]}" if span.text in _INSTEAD else None
    problems.append(Diagnostic("E001", span, f"unexpected character {shown}", hint=hint))
    return position + 1


def _no_end(span: Span, what: str, closing: str) -> Diagnostic:
    return Diagnostic("E002", span, f"this {what} has no end", hint=f"close it with {closing}")


def _string_end(text: str, start: int) -> tuple[int, bool]:
    """The position behind a string that starts with the quote at `start`, and whether it was closed."""
    return _end(text, start + 1, ['"'])


def hole_end(text: str, position: int) -> int:
    """The position behind the `}` of an interpolated expression, or of the line's end."""
    return _end(text, position, ["{"])[0]


def _end(text: str, position: int, opened: list[str]) -> tuple[int, bool]:
    """Where everything opened is closed again, and whether it was; at the line's end at the latest.

    Strings hold holes and holes hold strings, so `opened` is a stack: `"` for a string, `{` for a hole or a
    block inside one.
    """
    while opened and position < len(text) and text[position] != "\n":
        char = text[position]
        position += 1
        if opened[-1] == "{":
            if char in '"{':
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
