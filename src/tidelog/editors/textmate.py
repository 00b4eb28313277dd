"""The grammar for editors that highlight by TextMate's rules, made from the words of the language.

`editors/vscode/syntaxes/tidelog.tmLanguage.json` is this grammar as JSON. The regular expressions mean the
same in Oniguruma and in Python, so a test compares the grammar with `tokens`, piece by piece. What it cannot
see: an editor applies a grammar line by line, so the word that decides on a keyword must be on its line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tidelog.editors.tokens import Kind
from tidelog.program.elaborate.definitions import TYPE_NAMES
from tidelog.syntax.constants import UNITS
from tidelog.syntax.lexer import PREFIX
from tidelog.syntax.quoting import KEYWORDS, NAME

__all__ = ["SCOPES", "grammar"]

SCOPES: Final = {  # by the beginning of a scope's name
    "comment": Kind.COMMENT,
    "constant.character.escape": Kind.ESCAPE,
    "constant.numeric": Kind.NUMBER,
    "entity.name.function": Kind.FUNCTION,
    "entity.name.type": Kind.RELATION,
    "keyword.control": Kind.KEYWORD,
    "keyword.operator": Kind.OPERATOR,
    "punctuation.definition": Kind.PUNCTUATION,
    "punctuation.section.embedded": Kind.ESCAPE,
    "string": Kind.STRING,
    "support.type": Kind.TYPE,
    "variable": Kind.VARIABLE,
}
_WORD: Final = r"[^\W\d]\w*"
_NUMBER: Final = r"0x[0-9A-Fa-f_]+|0b[01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?"
_PATH: Final = r"(?!\w|::)"  # what ends a name

Rule = dict[str, Any]


def grammar() -> Rule:
    """The grammar as JSON."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "Tidelog",
        "scopeName": "source.tidelog",
        "fileTypes": ["dl"],
        "patterns": [{"include": "#code"}],
        "repository": {
            "code": {
                "patterns": [
                    *_prefixes(),
                    *_comments(),
                    *_strings(),
                    *_numbers(),
                    *_keywords(),
                    *_names(),
                    *_signs(),
                ]
            },
            "braces": {
                "begin": r"\{",
                "end": r"\}",
                "captures": {"0": {"name": "punctuation.definition.tidelog"}},
                "patterns": [{"include": "#braces"}, {"include": "#code"}],
            },
        },
    }


def _rule(scope: str, match: str, **captures: str) -> Rule:
    """A rule for one scope, or for the scopes of its groups, which are named `_1`, `_2`, …"""
    if not captures:
        return {"match": match, "name": f"{scope}.tidelog"}
    named = {number[1:]: {"name": f"{name}.tidelog"} for number, name in captures.items()}
    return {"match": match, "captures": named}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words))


def _prefixes() -> list[Rule]:
    """First of all, since `//` in a namespace is no comment."""
    return [
        _rule("", rf"(?={PREFIX})(@?\w+)(\s[^>]*>(?:[ \t]*\.)?)", _1="keyword.control", _2="string.unquoted")
    ]


def _comments() -> list[Rule]:
    block = {"begin": r"/\*", "end": r"\*/", "name": "comment.block.tidelog"}
    return [_rule("comment.line.double-slash", r"//[^\n\r]*"), block]


def _strings() -> list[Rule]:
    hole = {
        "begin": r"\$\{",
        "end": r"\}",
        "captures": {"0": {"name": "punctuation.section.embedded.tidelog"}},
        "contentName": "meta.embedded.tidelog",
        "patterns": [{"include": "#braces"}, {"include": "#code"}],
    }
    escape = _rule("constant.character.escape", r"\\(?:u\{[0-9A-Fa-f]*\}|.)")
    return [
        _rule("string.quoted.other.bytes", r'x"[^"\n]*"'),
        {"begin": r'r"', "end": '"', "name": "string.quoted.other.raw.tidelog"},
        {
            "begin": '"',
            "end": r'"|(?=\n)',
            "name": "string.quoted.double.tidelog",
            "patterns": [escape, hole],
        },
    ]


def _numbers() -> list[Rule]:
    numeric = "constant.numeric"
    return [
        _rule(numeric, r"\d[\d_]*'(?:d[\d_]+|h[0-9A-Fa-f_]+|b[01_]+)"),
        _rule("", rf"({_NUMBER})\s*({_any(UNITS)}){_PATH}(?!\s*\()", _1=numeric, _2=numeric),
        _rule(numeric, _NUMBER),
    ]


def _keywords() -> list[Rule]:
    word = "keyword.control"
    not_a_keyword = rf"(?!(?:{_any(KEYWORDS)})\b)"
    return [
        _rule("", rf"(\.)({_WORD}){_PATH}(?=\s*\()", _1="punctuation.definition", _2="entity.name.function"),
        _rule("", rf"(\.)((?![A-Z]){_WORD}){_PATH}", _1="punctuation.definition", _2="variable.other"),
        _rule("", rf"(\))\s*(on){_PATH}(?=\s+[\w`])", _1="punctuation.definition", _2=word),
        _rule(word, rf"(?:{_any(KEYWORDS)}){_PATH}"),
        _rule(
            word, rf"(?:aggregate|import|index|module|multiset|stream)\b(?=\s+{not_a_keyword}[^\W\d]|\s*`)"
        ),
        _rule(word, r"(?:for|match)\b(?=\s*\()"),
        _rule(word, r"(?:insert|delete)\b(?=\s*\{)"),
        _rule(word, r"(?:break|continue)\b(?=\s*;)"),
        _rule(word, r"(?:return|in)(?=\s+[^\s.,)])"),
        _rule("support.type", rf"(?:{_any(n for n in TYPE_NAMES if n.isidentifier())}){_PATH}(?!\s*\()"),
        _rule("support.type", r"decimal\b(?=\s*\()"),
    ]


def _names() -> list[Rule]:
    relation, function = "entity.name.type.relation", "entity.name.function"
    return [
        _rule(relation, rf"{NAME}(?<=`)(?=\s*\()"),
        _rule(function, rf"(?!`)(?=[^A-Z]){_WORD}{_PATH}(?=\s*\()"),
        _rule(relation, rf"(?=[A-Z]|\w+::|`[^`]*`::){NAME}"),
        _rule("variable.other", NAME),
    ]


def _signs() -> list[Rule]:
    operators = r"(?<=[\w`])'(?=\()|:-|->|[-+*]%|\+\+|<<|>>|==|!=|<=|>=|[-+*&|^~<>=@?%/]"
    return [_rule("keyword.operator", operators), _rule("punctuation.definition", r"#\[|[(){}\[\],;:.]")]
