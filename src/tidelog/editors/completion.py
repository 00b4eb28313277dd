"""What can follow a text: relations, columns, fields, variables, keywords, types, functions and
aggregates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tidelog.program.declared import Relation
from tidelog.program.describe import declared_functions, expanded
from tidelog.program.elaborate.definitions import TYPE_NAMES
from tidelog.program.library.catalog import AGGREGATE_NAMES, FUNCTION_NAMES
from tidelog.program.model import Program
from tidelog.syntax import tree
from tidelog.syntax.quoting import (
    CONTEXTUAL,
    KEYWORDS,
    written_field,
    written_function,
    written_relation,
    written_variable,
)

__all__ = ["Names", "Suggestion", "beginning", "last_word", "relations", "suggestions"]

_WORD: Final = re.compile(r"[\w:`]*$")
_SKIPPED: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_OPENED: Final = re.compile(r"([\w:]+)\s*[({]$")
_AFTER_VALUE: Final = re.compile(r"[\w)\]}`]\.\w*$")
_TYPED: Final = re.compile(r":\s*[\w<]*$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that can replace the last `length` characters; `about` says what it is."""

    text: str
    length: int
    about: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """What can be named. `relations` says what each is; `fields` are those of relations and constructors.

    `words` can begin a text that is one word; `variables` are those that are in use.
    """

    relations: Mapping[str, str]
    fields: Mapping[str, tuple[str, ...]]
    types: tuple[str, ...]
    functions: tuple[str, ...]
    words: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    @classmethod
    def of(cls, program: Program, relations: Mapping[str, Relation], words: tuple[str, ...] = ()) -> Names:
        fields = {name: tuple(c.name for c in relation.columns) for name, relation in relations.items()}
        for definition in program.types.values():
            if isinstance(definition, tree.TypeDefinition):
                for made in definition.constructors:
                    fields[made.name] = tuple(f.name for f in made.fields)
        types = tuple(
            sorted({t for t in TYPE_NAMES if t.isidentifier()} | {*program.types, *program.aliases})
        )
        declared = [f.name for f in (*declared_functions(program), *expanded(program))]
        functions = tuple(dict.fromkeys((*declared, *program.folds)))
        about = {
            name: f"({', '.join(f'{c.name}: {c.type}' for c in r.columns)})" for name, r in relations.items()
        }
        return cls(about, fields, types, functions, words)


def suggestions(before: str, names: Names) -> Iterator[Suggestion]:
    """What can stand in place of the last word of the text before the cursor, which it begins with."""
    word = last_word(before)
    if _AFTER_VALUE.search(before):
        fields = {field for known in names.fields.values() for field in known}
        yield from beginning(word, ((written_field(f), "field") for f in sorted(fields)))
        yield from beginning(word, _functions(names))
    elif before[: len(before) - len(word)].endswith("."):
        known = names.fields.get(_enclosing(before), ())
        yield from beginning(word, ((written_field(f), "column") for f in known))
    elif word:
        yield from beginning(word, _everything(before, names))


def last_word(before: str) -> str:
    found = _WORD.search(before)
    return found[0].lstrip(":") if found else ""


def beginning(word: str, found: Iterable[tuple[str, str]]) -> Iterator[Suggestion]:
    """The texts that begin with a word, with what they are."""
    for text, about in found:
        if text.startswith(word):
            yield Suggestion(text, len(word), about)


def _everything(before: str, names: Names) -> Iterator[tuple[str, str]]:
    if before.strip().isalpha():
        yield from ((w, "command") for w in names.words)
    yield from ((written_variable(v), "variable") for v in names.variables)
    yield from relations(names)
    yield from ((written_relation(n), "constructor") for n in names.fields if n not in names.relations)
    if _TYPED.search(before) or "typedef" in before:
        yield from ((t, "type") for t in names.types)
    yield from ((k, "keyword") for k in sorted(KEYWORDS | CONTEXTUAL))
    yield from _functions(names)


def relations(names: Names) -> Iterator[tuple[str, str]]:
    return ((written_relation(name), about) for name, about in names.relations.items())


def _functions(names: Names) -> Iterator[tuple[str, str]]:
    yield from ((written_function(n), "function") for n in names.functions)
    yield from ((n, "function") for n in FUNCTION_NAMES if n not in names.functions)
    yield from ((n, "aggregate") for n in (*AGGREGATE_NAMES, "group_by") if n not in FUNCTION_NAMES)


def _enclosing(before: str) -> str:
    """The name before the innermost bracket that is open."""
    text = _SKIPPED.sub(lambda found: " " * len(found[0]), before)
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        if text[place] in ")}]":
            depth += 1
        elif text[place] in "({[":
            if not depth:
                opened = _OPENED.search(text[: place + 1])
                return opened[1] if opened else ""
            depth -= 1
    return ""
