"""What a pipeline holds, read from its store without Spark and without a lock: its status, and a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tidelog.errors import PipelineError
from tidelog.pipeline.opening import Opening
from tidelog.pipeline.programs import functions_of
from tidelog.pipeline.spec import Spec
from tidelog.session import Session
from tidelog.store.manifest import StoredRelation
from tidelog.store.reading import StoredVersion, latest

__all__ = ["status", "stored_session"]


def status(spec: Spec) -> str:
    return "\n".join(_lines(spec))


def stored_session(spec: Spec, progress: Callable[[Any], object] | None = None) -> Session:
    """A session in this process with the program and facts of the last commit, for reading."""
    version = StoredVersion(spec.store, latest(spec.store))
    if version.current is None:
        raise PipelineError(_unmade(spec))
    here = replace(spec, placement=None)
    opening = Opening(here, functions_of(spec), None, version, progress, progress or (lambda _: None))
    return opening.open("").session


def _lines(spec: Spec) -> Iterator[str]:
    manifest = latest(spec.store)
    if manifest is None:
        yield _unmade(spec)
        return
    yield f"{spec.store}: commit {manifest.commit}"
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
        yield f"  saved state: as of commit {manifest.state.commit}, {manifest.state.size / 1e6:,.1f} MB"


def _unmade(spec: Spec) -> str:
    return f"{spec.store}: no commits yet; `tidelog pipeline run {spec.name}` makes the first one"


def _size(relation: StoredRelation) -> str:
    rows = sum(s.rows for s in relation.segments if s.is_base)
    changes = sum(s.rows for s in relation.segments if not s.is_base)
    more = f", and {changes:,} change{'s' * (changes != 1)} since" if changes else ""
    return f"{rows:,} row{'s' * (rows != 1)}{more}"
