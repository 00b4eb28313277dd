"""What a pipeline holds, read from its store without Spark and without a lock: its status, and a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tidelog.errors import PipelineError
from tidelog.pipeline.opening import Opening, inputs
from tidelog.pipeline.programs import functions_of
from tidelog.pipeline.spec import Spec
from tidelog.program.model import Program
from tidelog.session import Changes, Session
from tidelog.store.history import changes_between, explainable, version_at
from tidelog.store.manifest import StoredRelation
from tidelog.store.reading import StoredVersion, latest
from tidelog.tables import compute as pc
from tidelog.tables.signed import SIGN

__all__ = ["Repeated", "repeated", "status", "stored_changes", "stored_session"]


def status(spec: Spec) -> str:
    return "\n".join(_lines(spec))


def stored_session(
    spec: Spec, progress: Callable[[Any], object] | None = None, commit: int | None = None
) -> Session:
    """A session in this process with the program and facts of a commit, for reading; usually of the last.

    StoreError if the store no longer has the facts of that commit.
    """
    version = StoredVersion(spec.store, latest(spec.store))
    if version.current is None:
        raise PipelineError(_unmade(spec))
    if commit is not None and commit != version.current.commit:
        version = version_at(spec.store, commit)
    return _opened(spec, version, progress)


class Repeated(NamedTuple):
    """A commit that was computed again, with the program before it."""

    session: Session
    changes: Changes
    before: Program


def stored_changes(spec: Spec, commit: int, progress: Callable[[Any], object] | None = None) -> Changes:
    """The changes of a commit, which can be explained, in a session in this process.

    They are computed again from the facts before the commit. StoreError if the store no longer has these.
    """
    return repeated(spec, commit, progress).changes


def repeated(spec: Spec, commit: int, progress: Callable[[Any], object] | None = None) -> Repeated:
    """A commit computed again in a session in this process."""
    if latest(spec.store) is None:
        raise PipelineError(_unmade(spec))
    newer = version_at(spec.store, commit)
    older = StoredVersion(spec.store, None) if commit == 0 else version_at(spec.store, commit - 1)
    session = _opened(spec, older, progress)
    before = session.program
    assert newer.current is not None
    with session.transaction() as tx:
        if older.current is None or older.current.program != newer.current.program:
            tx.replace_program(newer.current.program, str(spec.program))
        for relation in inputs(tx.relations.values()):
            rows = changes_between(older, newer, relation)
            facts = rows.drop_columns([SIGN])
            tx.delete(relation.name, facts.filter(pc.less(rows[SIGN], 0)))
            tx.insert(relation.name, facts.filter(pc.greater(rows[SIGN], 0)))
    return Repeated(session, tx.changes, before)


def _opened(spec: Spec, version: StoredVersion, progress: Callable[[Any], object] | None) -> Session:
    here = replace(spec, placement=None)
    opening = Opening(here, functions_of(spec), None, version, progress, progress or (lambda _: None))
    return opening.open("").session


def _lines(spec: Spec) -> Iterator[str]:
    manifest = latest(spec.store)
    if manifest is None:
        yield _unmade(spec)
        return
    yield f"{spec.store}: commit {manifest.commit}"
    known = explainable(spec.store)
    if known:
        yield f"  `pipeline why --commit` explains the changes of {_ranges(known)}"
    for name, relation in manifest.relations.items():
        yield f"  {name}: {_size(relation)}"
    for name, batch in manifest.streams.items():
        yield f"  streams.{name}: batch {batch.number}"
    for sink in spec.sinks:
        written = manifest.sinks.get(sink.key)
        yield f"  {sink.name}: {'not written yet' if written is None else f'as of commit {written.commit}'}"
    if manifest.state is None:
        yield "  no saved state: the next run recomputes everything"
    else:
        yield f"  saved state: as of commit {manifest.state.commit}, {manifest.state.all_bytes / 1e6:,.1f} MB"


def _ranges(numbers: list[int]) -> str:
    """Numbers in order, such as `3, 5 to 9`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    shown = ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]} to {p[-1]}" for p in parts)
    return f"commit{'s' * (len(numbers) > 1)} {shown}"


def _unmade(spec: Spec) -> str:
    return f"{spec.store}: no commits yet; `tidelog pipeline run {spec.name}` makes the first one"


def _size(relation: StoredRelation) -> str:
    rows = sum(s.rows for s in relation.segments if s.is_base)
    changes = sum(s.rows for s in relation.segments if not s.is_base)
    more = f", and {changes:,} change{'s' * (changes != 1)} since" if changes else ""
    return f"{rows:,} row{'s' * (rows != 1)}{more}"
