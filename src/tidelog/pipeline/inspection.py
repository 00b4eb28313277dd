"""The status of a pipeline: the contents of its store, read without Spark."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.pipeline.spec import Spec
from tidelog.store.durable import latest
from tidelog.store.manifest import StoredRelation

__all__ = ["status"]


def status(spec: Spec) -> str:
    return "\n".join(_lines(spec))


def _lines(spec: Spec) -> Iterator[str]:
    manifest = latest(spec.store)
    if manifest is None:
        yield f"{spec.store}: no commits yet; `tidelog pipeline run {spec.name}` makes the first one"
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


def _size(relation: StoredRelation) -> str:
    rows = sum(s.rows for s in relation.segments if s.is_base)
    changes = sum(s.rows for s in relation.segments if not s.is_base)
    more = f", and {changes:,} change{'s' * (changes != 1)} since" if changes else ""
    return f"{rows:,} row{'s' * (rows != 1)}{more}"
