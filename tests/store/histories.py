"""A store with a short history, for tests that harm it: what it holds, and all that can be read from it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tidelog.data import types
from tidelog.program.declared import Column, Relation, Role
from tidelog.store.durable import Store, Update
from tidelog.store.files import Files
from tidelog.store.log import find_slots
from tidelog.store.manifest import SEGMENTS
from tidelog.store.places import files_at
from tidelog.store.states import Offer, Unusable, usable_state
from tidelog.tables.given import to_table
from tidelog.tables.signed import difference

EDGE = Relation("Edge", (Column("src", types.INT), Column("dst", types.INT)), Role.INPUT)
NODE = Relation("Node", (Column("name", types.Option(types.STRING)),), Role.OUTPUT)
BOTH = {"Edge": EDGE, "Node": NODE}
STAMP = "a stamp"

Rows = set[tuple[Any, ...]]


@dataclass(frozen=True)
class Content:
    """What a store says: relations, the last commit's changes, what was asserted since the state, the state.

    `state` is None if it cannot be used.
    """

    commit: int
    relations: dict[str, Rows]
    changes: dict[str, Rows]
    asserted: Rows
    state: bytes | None


def rows(table: Any) -> Rows:
    listed = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
    assert len(set(listed)) == len(listed)
    return set(listed)


def update(store: Store, edges: Rows, state: bytes | None = None) -> Update:
    """The update after which the store has these edges, and a name for each node."""
    wanted: dict[str, Rows] = {"Edge": edges, "Node": {(None,), *((f"node {s}",) for s, _ in edges)}}
    changes = {
        name: difference(store.table(BOTH[name]), to_table(BOTH[name], sorted(found, key=repr)))
        for name, found in wanted.items()
    }
    content = repr(sorted(edges)).encode() if state is None else state
    return Update(
        "// a program", BOTH, changes, {"Edge": "print"}, state=Offer(lambda out: out.write(content), STAMP)
    )


def make(folder: Path | Files, commits: int, seed: int = 0) -> Rows:
    """Commit some versions to a store, and mark them as shown; the edges at the end."""
    dice = random.Random(seed)
    edges: Rows = {(i, i + 1) for i in range(40)}
    with Store(folder) as store:
        for _ in range(commits):
            edges = edges ^ {(dice.randrange(9), dice.randrange(9))}
            store.commit(update(store, edges))
            store.mark_shown()
    return edges


class NoContent(Exception):
    """A store without a commit or a state."""


def content(store: Store) -> Content:
    """Everything that can be read from a store."""
    current = store.current
    if current is None or current.state is None:
        raise NoContent
    files = {name: store.changes_segments(name) for name in BOTH}
    if store.at.folder is not None:
        for name in BOTH:
            store.paths(files[name])
    try:
        found = usable_state(store.at, current.state, STAMP)
        state = found if isinstance(found, bytes) else found.read_bytes()
    except Unusable:
        state = None
    return Content(
        current.commit,
        {name: rows(store.table(relation)) for name, relation in BOTH.items()},
        {name: rows(_segment(store, file.file)) for name, found in files.items() for file in found},
        rows(store.asserted_since(EDGE)),
        state,
    )


def _segment(store: Store, file: str) -> Any:
    return parquet.read_table(pa.BufferReader(store.at.read(f"{SEGMENTS}/{file}")))


def commits(place: Path | Files) -> dict[int, str]:
    """The last entry for each commit in the log of a store: its manifest, if it was made."""
    return {slot.commit: slot.name for slot in find_slots(files_at(place))}


def file_of(folder: Path, commit: int) -> Path:
    """The manifest of a commit in a local store."""
    return folder / commits(folder)[commit]


def files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "lock")
