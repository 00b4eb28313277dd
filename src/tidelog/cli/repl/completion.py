"""What can follow a text in the REPL: commands, their arguments, and whatever can follow in a program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tidelog.cli.repl.statements import WORDS
from tidelog.editors import completion
from tidelog.editors.completion import Names, Suggestion, beginning, last_word
from tidelog.program.declared import Relation
from tidelog.program.model import Program

__all__ = ["is_path", "names_of", "suggestions"]

_COMMAND: Final = re.compile(r"\s*:([^\s:]*)$")
_ARGUMENT: Final = re.compile(r"\s*:([^\s:]+)\s+(.*)$", re.DOTALL)
_OF_RELATIONS: Final = ("drop", "explain", "load", "rules")
_OF_FILES: Final = ("load", "save")


def names_of(program: Program, relations: Mapping[str, Relation]) -> Names:
    return Names.of(program, relations, tuple(WORDS))


def is_path(before: str) -> bool:
    """Whether the name of a file is being written: an argument of a command that takes one."""
    argument = _ARGUMENT.match(before)
    return argument is not None and argument[1] in _OF_FILES


def suggestions(before: str, names: Names, commands: Mapping[str, str]) -> Iterator[Suggestion]:
    """What can stand in place of the last word of the text before the cursor, which it begins with."""
    command = _COMMAND.match(before)
    argument = _ARGUMENT.match(before)
    if command:
        yield from beginning(command[1], commands.items())
    elif argument and argument[1] in _OF_RELATIONS:
        yield from beginning(last_word(before), completion.relations(names))
    else:
        yield from completion.suggestions(before, names)
