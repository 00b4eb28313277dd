"""What can follow a text: commands, relations, columns, fields, keywords, types, functions and aggregates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tidelog.cli.repl.statements import WORDS
from tidelog.program.describe import declared_functions, expanded
from tidelog.program.elaborate.definitions import TYPE_NAMES
from tidelog.program.library.catalog import AGGREGATE_NAMES, FUNCTION_NAMES
from tidelog.program.model import Program
from tidelog.program.typed import Relation
from tidelog.syntax import tree
from tidelog.syntax.quoting import KEYWORDS, written_field, written_function, written_relation

__all__ = ["Names", "Suggestion", "is_path", "suggestions"]

_WORD: Final = re.compile(r"[\w:`]*$")
_COMMAND: Final = re.compile(r"\s*:([^\s:]*)$")
_ARGUMENT: Final = re.compile(r"\s*:([^\s:]+)\s+(.*)$", re.DOTALL)
_OF_RELATIONS: Final = ("drop", "explain", "load", "rules")
_OF_FILES: Final = ("load", "save")
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
    """What can be named. `fields` are those of relations and constructors."""

    commands: Mapping[str, str]
    relations: Mapping[str, Relation]
    fields: Mapping[str, tuple[str, ...]]
    types: tuple[str, ...]
    functions: tuple[str, ...]

    @classmethod
    def of(cls, program: Program, relations: Mapping[str, Relation], commands: Mapping[str, str]) -> Names:
        fields = {name: tuple(c.name for c in relation.columns) for name, relation in relations.items()}
        for definition in program.types.values():
            if isinstance(definition, tree.TypeDefinition):
                for made in definition.constructors:
                    fields[made.name] = tuple(f.name for f in made.fields)
        types = tuple(
            sorted({t for t in TYPE_NAMES if t.isidentifier()} | {*program.types, *program.aliases})
        )
        functions = (
            *(f.name for f in (*declared_functions(program), *expanded(program))),
            *program.folds,
        )
        return cls(commands, relations, fields, types, tuple(dict.fromkeys(functions)))


def is_path(before: str) -> bool:
    """Whether the name of a file is being written: an argument of a command that takes one."""
    argument = _ARGUMENT.match(before)
    return argument is not None and argument[1] in _OF_FILES


def suggestions(before: str, names: Names) -> Iterator[Suggestion]:
    """What can stand in place of the last word of the text before the cursor, which it begins with."""
    command = _COMMAND.match(before)
    if command:
        yield from _beginning(command[1], ((name, about) for name, about in names.commands.items()))
        return
    argument = _ARGUMENT.match(before)
    word = _word(before)
    if argument and argument[1] in _OF_RELATIONS:
        yield from _beginning(word, _relations(names))
    elif _AFTER_VALUE.search(before):
        fields = {field for known in names.fields.values() for field in known}
        yield from _beginning(word, ((written_field(f), "field") for f in sorted(fields)))
        yield from _beginning(word, _functions(names))
    elif before[: len(before) - len(word)].endswith("."):
        known = names.fields.get(_enclosing(before), ())
        yield from _beginning(word, ((written_field(f), "column") for f in known))
    elif word or argument:
        yield from _beginning(word, _everything(before, names))


def _word(before: str) -> str:
    found = _WORD.search(before)
    return found[0].lstrip(":") if found else ""


def _beginning(word: str, found: Iterable[tuple[str, str]]) -> Iterator[Suggestion]:
    for text, about in found:
        if text.startswith(word):
            yield Suggestion(text, len(word), about)


def _everything(before: str, names: Names) -> Iterator[tuple[str, str]]:
    if before.strip().isalpha():
        yield from ((w, "command") for w in WORDS)
    yield from _relations(names)
    yield from ((written_relation(n), "constructor") for n in names.fields if n not in names.relations)
    if _TYPED.search(before) or "typedef" in before:
        yield from ((t, "type") for t in names.types)
    yield from ((k, "keyword") for k in sorted(KEYWORDS))
    yield from _functions(names)


def _relations(names: Names) -> Iterator[tuple[str, str]]:
    for name, relation in names.relations.items():
        columns = ", ".join(f"{c.name}: {c.type}" for c in relation.columns)
        yield written_relation(name), f"({columns})"


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
