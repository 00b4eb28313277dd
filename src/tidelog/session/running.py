"""One call from a program and its facts to its results, for those who need no session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidelog.errors import SessionError, shown
from tidelog.program.declared import Role
from tidelog.session.session import Snapshot, open_session
from tidelog.syntax.parser import is_file_name
from tidelog.syntax.written import Written

__all__ = ["run"]


def run(
    program: str | os.PathLike[str] | Written,
    /,
    *,
    facts: str | os.PathLike[str] | Mapping[str, object] | None = None,
    functions: Iterable[Callable[..., object]] = (),
    spark: Any = None,
    **relations: object,
) -> Snapshot:
    """The output relations of a program over some facts, by name.

    The program is a text, or a file with the ending `.dl`. Facts are given by relation, as in
    `run(program, Edge=frame)`, or as `facts`, a folder or a mapping. For more than one answer, limits and
    changes, see `tidelog.open`.
    """
    unknown = [name for name in relations if not (name[0].isupper() or "::" in name)]
    if unknown:
        raise SessionError(f"unknown argument `{unknown[0]}`; give facts by relation, as in `Edge=rows`")
    given = _together(facts, relations)
    if isinstance(program, Written) or (isinstance(program, str) and not is_file_name(program)):
        session = open_session(text=program, facts=given, functions=functions, spark=spark)
    elif isinstance(program, str | os.PathLike):
        session = open_session(program, facts=given, functions=functions, spark=spark)
    else:
        raise SessionError(f"`program` is {shown(program)}; give the text of a program, or a path")
    views = {n: v for n, v in session.snapshot().items() if v.relation.role is Role.OUTPUT}
    return Snapshot(session.commit, views)


def _together(
    facts: str | os.PathLike[str] | Mapping[str, object] | None, relations: Mapping[str, object]
) -> str | os.PathLike[str] | Mapping[str, object] | None:
    if not relations:
        return facts
    if isinstance(facts, str | os.PathLike):
        raise SessionError("give facts as a folder or by relation, not both")
    twice = [name for name in relations if name in (facts or {})]
    if twice:
        raise SessionError(f"the facts of `{twice[0]}` are given twice")
    return {**(facts or {}), **relations}
