"""Names as written: a name that is not an identifier of its kind is quoted, as in `` `unit price` ``.

A quoted name has the escape sequences of strings, with a backslash before a backtick in place of a quote.
A name is a sequence of components, separated by `::`. The tree has the name itself; the printer quotes what
needs it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "CONTEXTUAL",
    "KEYWORDS",
    "NAME",
    "STARTS",
    "is_bare",
    "unquoted",
    "written_column",
    "written_field",
    "written_function",
    "written_path",
    "written_relation",
    "written_type",
    "written_variable",
]

KEYWORDS: Final = frozenset(
    "input output relation typedef function primary key not var if else true false none and or as".split()
)
CONTEXTUAL: Final = frozenset(  # keywords only in their place; elsewhere they are names
    "break continue for import in index match module multiset on return stream".split()
)
STARTS: Final = frozenset(["input", "output", "relation", "typedef", "function"])  # they begin an item
_WORD: Final = r"[^\W\d]\w*"
_CODE: Final = r"\\u\{(?!0*[dD][89a-fA-F][0-9A-Fa-f]{2}\})0*(?:10|[0-9A-Fa-f])?[0-9A-Fa-f]{1,4}\}"
_COMPONENT: Final = rf"(?:{_WORD}|`(?:[^`\\\r\n]|\\[ntr0\\`]|{_CODE})+`)"
NAME: Final = rf"{_COMPONENT}(?:::{_COMPONENT})*"  # a regular expression
_PLAIN: Final = re.compile(_WORD)
_PIECES: Final = re.compile(rf"({_WORD})|`((?:[^`\\]|\\.)*)`|::")
_ESCAPED: Final = re.compile(r"\\u\{([0-9A-Fa-f]+)\}|\\(.)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "`": "`"}
_UNESCAPED: Final = {value: f"\\{key}" for key, value in _ESCAPES.items()}


def unquoted(text: str) -> str:
    """The name that a text with quoted components denotes."""
    return _PIECES.sub(lambda piece: piece[1] or _decoded(piece[2]) if piece[0] != "::" else "::", text)


def _decoded(text: str) -> str:
    return _ESCAPED.sub(lambda e: chr(int(e[1], 16)) if e[1] else _ESCAPES[e[2]], text)


def _quoted(name: str) -> str:
    return f"`{''.join(_UNESCAPED.get(c) or _printable(c) for c in name)}`"


def _printable(char: str) -> str:
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def written_path(name: str) -> str:
    """A name of several components, each quoted if it is not a word. The name of a module."""
    parts = name.split("::")
    if not all(parts):
        return _quoted(name)
    if name in KEYWORDS:
        return _quoted(name)
    return "::".join(p if _PLAIN.fullmatch(p) else _quoted(p) for p in parts)


def written_relation(name: str) -> str:
    """The name of a relation or a constructor."""
    if "::" in name:
        return written_path(name)
    return name if _PLAIN.fullmatch(name) and name[0].isupper() else _quoted(name)


def is_bare(constructor: str) -> bool:
    """Whether a constructor can be written without braces. A quoted name alone is a variable."""
    is_path = "::" in constructor and all(constructor.split("::"))
    return constructor.rpartition("::")[2][:1].isupper() and (is_path or bool(_PLAIN.fullmatch(constructor)))


def written_function(name: str) -> str:
    if "::" in name:
        return written_path(name)
    return written_variable(name)


def written_type(name: str) -> str:
    if "::" in name:
        return written_path(name)
    return name if _PLAIN.fullmatch(name) and name not in KEYWORDS and name != "_" else _quoted(name)


def written_variable(name: str) -> str:
    """Names that begin with `$` are made by elaboration, and have no text in the language."""
    is_plain = _PLAIN.fullmatch(name) and not name[0].isupper() and name not in KEYWORDS and name != "_"
    return name if is_plain or name.startswith("$") else _quoted(name)


def written_column(name: str) -> str:
    """The name of a column, or of a field where it is declared: any word."""
    return name if _PLAIN.fullmatch(name) and name != "_" else _quoted(name)


def written_field(name: str) -> str:
    """The name of a field after a dot, which ends a rule before a capital or a declaration."""
    return name if _PLAIN.fullmatch(name) and not name[0].isupper() and name not in STARTS else _quoted(name)
