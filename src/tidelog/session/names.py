"""Relations by name, and errors for invalid names, texts and paths."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from tidelog.errors import NOWHERE, Diagnostic, ProgramError, SessionError, TidelogError, shown
from tidelog.program.declared import Relation
from tidelog.program.elaborate.problems import did_you_mean, expect_text

__all__ = ["as_path", "expect_text", "find_relation", "free_name", "is_name", "unknown_relation"]


def unknown_relation(name: object, known: Iterable[str]) -> TidelogError:
    """The error for a name that no relation has, or for a value that is not a name."""
    if not isinstance(name, str):
        return SessionError(f"the name of a relation must be a string, not {shown(name)}")
    hint = did_you_mean(name, known)
    return ProgramError([Diagnostic("E101", NOWHERE, f"unknown relation `{name}`", hint=hint)])


def find_relation(name: str, relations: Mapping[str, Relation]) -> Relation:
    if not is_name(name, relations):
        raise unknown_relation(name, relations)
    return relations[name]


def is_name(name: object, known: Container[str]) -> bool:
    """Whether a value is one of the names; values that are not strings, even unhashable ones, are not."""
    return isinstance(name, str) and name in known


def free_name(name: str, taken: Container[str]) -> str:
    """The name, with `_` appended until it is not taken."""
    while name in taken:
        name += "_"
    return name


def as_path(call: str, path: object) -> Path:
    """The value as a path; SessionError if it is not one."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise SessionError(f"`{call}` takes a path, not {shown(path)}")
    return Path(text)
