"""Relations by name, and what to say about a name, or a text, that is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tidelog.errors import NOWHERE, Diagnostic, ProgramError, SessionError
from tidelog.program.problems import did_you_mean
from tidelog.program.typed import Relation

__all__ = ["expect_text", "find_relation", "unknown_relation"]


def unknown_relation(name: str, known: Iterable[str]) -> ProgramError:
    hint = did_you_mean(name, known)
    return ProgramError([Diagnostic("E101", NOWHERE, f"there is no relation `{name}`", hint=hint)])


def find_relation(name: str, relations: Mapping[str, Relation]) -> Relation:
    if name not in relations:
        raise unknown_relation(name, relations)
    return relations[name]


def expect_text(call: str, text: object) -> None:
    """SessionError if what should be a text of the language is something else, such as a path."""
    if isinstance(text, str):
        return
    remedy = "; give what is in the file: path.read_text()" if isinstance(text, Path) else ""
    raise SessionError(f"`{call}` takes text, not {text!r}{remedy}")
