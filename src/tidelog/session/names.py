"""Relations by name, and what to say about a name that is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.errors import NOWHERE, Diagnostic, ProgramError
from tidelog.program.problems import did_you_mean
from tidelog.program.typed import Relation

__all__ = ["find_relation", "unknown_relation"]


def unknown_relation(name: str, known: Iterable[str]) -> ProgramError:
    hint = did_you_mean(name, known)
    return ProgramError([Diagnostic("E101", NOWHERE, f"there is no relation `{name}`", hint=hint)])


def find_relation(name: str, relations: Mapping[str, Relation]) -> Relation:
    if name not in relations:
        raise unknown_relation(name, relations)
    return relations[name]
