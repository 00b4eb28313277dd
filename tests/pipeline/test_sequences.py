"""The last event of a key counts: in any order, repeated, in any batches, with a store that is opened again.

The law: after every batch the relation has the row of each key's last event so far, if that leaves one;
computed from scratch over all events that were delivered.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sizes import size
from tidelog.data import types
from tidelog.errors import PipelineError
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources.sequencing import sequenced
from tidelog.program.declared import Column, Relation, Role
from tidelog.store.durable import Store, Update
from tidelog.store.sidecars import KEYS
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, difference

ROW = Relation("Row", (Column("k", types.INT), Column("v", types.Option(types.STRING))), Role.INPUT)
SOURCE = Source("Row", "json", key=("k",), sequence={"at": "int"})
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), ("#sequence0", pa.int64()), (SIGN, pa.int8())])

Event = tuple[int, str | None, int, int]  # key, value, sequence, sign


def batch(events: list[Event]) -> Any:
    columns = list(zip(*events, strict=True)) or [()] * 4
    return pa.table([pa.array(c, t) for c, t in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)


def commit(store: Store, events: list[Event]) -> set[tuple[Any, ...]]:
    """Commit a batch; the rows of the relation."""
    made = sequenced("streams.Row", store, SOURCE, ROW, batch(events))
    old = store.table(ROW)
    held = {tuple(row.values()) for row in old.to_pylist()}
    inserted = [tuple(row.values()) for row in made.inserted.to_pylist()]
    deleted = [tuple(row.values()) for row in made.deleted.to_pylist()]
    assert held >= set(deleted)
    assert not held & set(inserted)
    rows = held - set(deleted) | set(inserted)
    changes = difference(old, to_table(ROW, sorted(rows, key=repr)))
    store.commit(Update("", {"Row": ROW}, {"Row": changes}, sidecars={"Row": {KEYS: made.keys}}))
    return {tuple(row.values()) for row in store.table(ROW).to_pylist()}


def expected(events: list[Event]) -> set[tuple[Any, ...]]:
    """From scratch, in plain Python."""
    last: dict[int, Event] = {}
    for event in events:
        known = last.get(event[0])
        if known is None or (event[2], event[3]) > (known[2], known[3]):
            last[event[0]] = event
    return {(k, v) for k, v, _, sign in last.values() if sign > 0}


@pytest.mark.parametrize("seed", range(size(12, 300)))
def test_late_and_repeated_events_end_in_the_right_state(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    history: list[Event] = []
    for at in range(dice.randrange(5, 60)):
        key = dice.randrange(6)
        live = dice.random() < 0.7
        value = dice.choice(["a", "b", None])
        history += [(key, value, at, 1)] if live else [(key, None, at, -1)]
        if live and dice.random() < 0.4:  # an update is a deletion and an insertion
            history.append((key, "before", at, -1))
    arrivals = [*history, *dice.sample(history, len(history) // 2)]
    dice.shuffle(arrivals)
    done: list[Event] = []
    store = Store(tmp_path)
    while arrivals:
        number = dice.randrange(1, 9)
        now, arrivals = arrivals[:number], arrivals[number:]
        done += now
        assert commit(store, now) == expected(done)
        if dice.random() < 0.3:
            store.close()
            store = Store(tmp_path)
    kept = store.sidecar("Row", KEYS)
    assert kept is not None
    assert len(kept.sidecar.parts) <= 6
    store.close()


@pytest.mark.parametrize("batches", [[[0, 1]], [[0], [1]], [[1], [0]]])
def test_events_without_an_order_are_an_error(batches: list[list[int]], tmp_path: Path) -> None:
    events: list[Event] = [(1, "a", 5, 1), (1, "b", 5, 1)]
    *before, last = [[events[n] for n in numbers] for numbers in batches]
    with Store(tmp_path) as store:
        for given in before:
            commit(store, given)
        with pytest.raises(
            PipelineError, match="two events with k = 1 have the same at and different values"
        ):
            commit(store, last)


def test_another_key_needs_another_store(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        commit(store, [(1, "a", 5, 1)])
        other = Source("Row", "json", key=("v",), sequence={"at": "int"})
        with pytest.raises(PipelineError, match=r"streams\.Row\.key: the store has the last events of other"):
            sequenced("streams.Row", store, other, ROW, batch([]))
