"""Opens a store with a program that no transaction can turn the stored one into.

The stored facts are brought into the form of the program, and the store continues as if it had been so at
its last commit: `rebase`. All results are then computed from these facts, and the next commit of the store
has the difference, with what changed in the sources, so that a run stays atomic. What cannot be kept is
dropped here: saved states, contents of results with other columns, what is known of the rows of sources, and
the places of outputs that are to be written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.errors import StoreError
from tidelog.pipeline.migrating import migrated, unexplained
from tidelog.pipeline.migrations import Migration
from tidelog.pipeline.sources.by_offsets import repositioned
from tidelog.pipeline.spec import Spec
from tidelog.program.declared import Relation
from tidelog.program.model import Program
from tidelog.program.text import print_relation
from tidelog.store.durable import Store
from tidelog.store.manifest import Manifest
from tidelog.store.migration import Breaks, breaks, expect_no_new_inputs, expect_same, listed
from tidelog.store.sidecars import KEYS, Sidecar

__all__ = ["expect_program", "rebase"]


def expect_program(spec: Spec, store: Store, old: Program, new: Program) -> Breaks:
    """What no transaction can apply. Raises StoreError if the program cannot replace the stored one."""
    if spec.program_changes == "refuse":
        expect_same(old, new, store.place)
    expect_no_new_inputs(old, new, store.place)
    found = breaks(old, new)
    problems = [
        *_problems_of_inputs(spec, found),
        *_problems_of_keys(store, found, spec),
        *_problems_of_sinks(spec, store, found),
    ]
    if problems:
        raise StoreError(listed(f"the store {store.place} does not fit this program", problems))
    return found


def rebase(spec: Spec, store: Store, found: Breaks, text: str) -> None:
    """Let the store continue from its facts in the form of the program `text`, without its results."""
    before = store.current
    assert before is not None, "there is a stored program"
    contents = {
        name: (new, migrated(store.table(old), old, new, _migration(spec, name)))
        for name, (old, new) in found.inputs.items()
    }
    relations = {name: stored for name, stored in before.relations.items() if name not in found.results}
    sinks = {sink.key for sink in spec.sinks if sink.relation in found.reshaped}
    store.rebase(
        replace(
            before,
            program=text,
            relations=relations,
            changes={},
            state=None,
            sources=_positions(spec, before, found),
            sidecars=_sidecars(before, found),
            sinks={key: written for key, written in before.sinks.items() if key not in sinks},
        ),
        contents,
    )


def _migration(spec: Spec, relation: str) -> Migration:
    return spec.migrations.get(relation, Migration())


def _positions(spec: Spec, before: Manifest, found: Breaks) -> dict[str, str]:
    """Where the sources of the relations are. Those of relations with other columns are read again."""
    positions = {name: print_ for name, print_ in before.sources.items() if name not in found.inputs}
    for name, (old, new) in found.inputs.items():
        source = spec.sources.get(name)
        if source is not None and source.format == "kafka":
            positions[name] = repositioned(before.sources.get(name, ""), source, old, new)
    return positions


def _sidecars(before: Manifest, found: Breaks) -> dict[str, dict[str, Sidecar]]:
    """What is known of rows: of relations with other columns, only the last events of their keys."""
    kept = {
        name: {kind: made for kind, made in kinds.items() if kind == KEYS or name not in found.inputs}
        for name, kinds in before.sidecars.items()
        if name not in found.former_inputs
    }
    return {name: kinds for name, kinds in kept.items() if kinds}


# -- what cannot be done


def _problems_of_inputs(spec: Spec, found: Breaks) -> Iterator[str]:
    for name, (old, new) in found.inputs.items():
        problems = unexplained(old, new, _migration(spec, name))
        if problems:
            yield _pair(old, new)
            yield from (f"  {problem}" for problem in problems)


def _problems_of_keys(store: Store, found: Breaks, spec: Spec) -> Iterator[str]:
    """Events are known by the columns of their key."""
    for name, (old, new) in found.inputs.items():
        if store.sidecar(name, KEYS) is None:
            continue
        migration = _migration(spec, name)
        source = spec.streams.get(name) or spec.sources.get(name)
        changed = {*migration.added, *migration.renamed.values()} & {*(source.key if source else ())}
        if changed:
            yield _pair(old, new)
            yield f"  the key of its events cannot change: {', '.join(sorted(changed))}; use a new store"


def _problems_of_sinks(spec: Spec, store: Store, found: Breaks) -> Iterator[str]:
    """What has changes so far cannot go on with other columns."""
    written = {} if store.current is None else store.current.sinks
    for sink in spec.sinks:
        keeps = sink.kind == "changes" or sink.mode == "merge"
        if keeps and sink.relation in found.reshaped and sink.key in written:
            yield _pair(*found.reshaped[sink.relation])
            yield f"  {sink.name} has rows with the former columns; write another path or table"


def _pair(old: Relation, new: Relation) -> str:
    return f"{print_relation(old)}  is now  {print_relation(new)}"
