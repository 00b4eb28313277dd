"""The last event of each key counts, in whatever order events come, and however often.

An event is newer than another of its key if its sequence is higher; of two with the same sequence, the one
that leaves a row is newer, as an update is written as a deletion and an insertion. So the state of a key is
the maximum of its events, which is the same for any order and for repeated events. The store keeps it for
every key that ever had an event (`sidecars.KEYS`): a late event of a deleted row must not bring it back.

Two events of a key with the same sequence and different rows have no order: an error, also in different
batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tidelog.errors import PipelineError
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources.events import sequence_names
from tidelog.program.declared import Relation
from tidelog.store.durable import Store
from tidelog.store.matching import those_in
from tidelog.store.sidecars import KEYS, LIVE, SidecarChange, last_events
from tidelog.tables import compute as pc
from tidelog.tables.arrow import schema
from tidelog.tables.given import to_table
from tidelog.tables.grouping import grouped
from tidelog.tables.signed import SIGN, difference

__all__ = ["Sequenced", "expect_one", "newest_rows", "replaced", "sequenced"]

_NUMBER: Final = "#number"


@dataclass(frozen=True, slots=True)
class Sequenced:
    """What events change: the rows inserted and deleted, and the last events of their keys."""

    inserted: Any
    deleted: Any
    keys: SidecarChange


def sequenced(place: str, store: Store, source: Source, relation: Relation, events: Any) -> Sequenced:
    """What a batch of checked events changes. Raises PipelineError if two have no order."""
    names, order = [*source.key], sequence_names(source)
    described = " ".join([*names, "·", *(f"{n}:{events.schema.field(n).type}" for n in order)])
    kept = store.sidecar(relation.name, KEYS)
    if kept is not None and kept.sidecar.described != described:
        raise PipelineError(
            f"{place}.key: the store has the last events of other keys or sequences than {described}; "
            "write the former ones, or use a new store"
        )
    keys = _keys(events, names, order)
    newest = last_events(keys)
    old = [] if kept is None else kept.matching(newest.select(names))
    before = last_events(pa.concat_tables([keys.slice(0, 0), *(table.cast(keys.schema) for table in old)]))
    is_newer = _newer(newest, before)
    rows = _rows(place, relation, source, events, newest)
    present = store.matching(relation, newest.select(names))
    _expect_same(place, source, newest.filter(pc.invert(is_newer)), before, rows, present)
    newer = newest.filter(is_newer)
    inserted = those_in(rows, newer.select(names))
    deleted = those_in(present, newer.select(names))
    changes = difference(deleted, inserted)
    signs, facts = changes[SIGN].to_numpy(), changes.drop_columns([SIGN])
    return Sequenced(facts.filter(signs > 0), facts.filter(signs < 0), SidecarChange(described, newer))


def newest_rows(place: str, source: Source, relation: Relation, events: Any) -> Any:
    """The row of each key with the highest sequence. Raises PipelineError if there are two."""
    newest = last_events(_keys(events, [*source.key], sequence_names(source)))
    return _rows(place, relation, source, events, newest)


def replaced(store: Store, relation: Relation, key: Sequence[str], rows: Any) -> tuple[Any, Any]:
    """The rows to insert and to delete if these rows replace those with their keys."""
    present = store.matching(relation, rows.select([*key]))
    changes = difference(present, rows)
    signs, facts = changes[SIGN].to_numpy(), changes.drop_columns([SIGN])
    return facts.filter(signs > 0), facts.filter(signs < 0)


def _keys(events: Any, names: list[str], order: list[str]) -> Any:
    """The keys of events, with their sequence and whether they leave a row."""
    live = pc.greater(events[SIGN], 0) if SIGN in events.column_names else pa.repeat(True, events.num_rows)
    keys = events.select([*names, *order])
    return keys.append_column(pa.field(LIVE, pa.bool_()), live)


def _newer(newest: Any, before: Any) -> Any:
    """Which of these events are newer than those of the same keys before."""
    marked = pa.concat_tables([newest, before])
    numbers = pa.array([*range(newest.num_rows), *([-1] * before.num_rows)], pa.int64())
    # in their order, a known event is after a new one that equals it, and is the last
    order = [name for name in newest.column_names if name.startswith("#")]
    places = pc.sort_indices(
        marked.append_column(_NUMBER, numbers),
        sort_keys=[*((name, "ascending") for name in order), (_NUMBER, "descending")],
    )
    ordered = marked.append_column(_NUMBER, numbers).take(places)
    ordered = ordered.append_column("#rank", pa.array(range(len(ordered)), pa.int64()))
    keys = [name for name in newest.column_names if not name.startswith("#")]
    last = grouped(ordered.select([*keys, "#rank"]), keys, [("#rank", "max")])["#rank_max"]
    won = set(ordered[_NUMBER].take(last).to_pylist())
    return pa.array([number in won for number in range(newest.num_rows)], pa.bool_())


def _rows(place: str, relation: Relation, source: Source, events: Any, newest: Any) -> Any:
    """The rows that the newest events leave, one of each key. Raises PipelineError if there are two."""
    live = newest.filter(newest[LIVE])
    upserts = events.filter(pc.greater(events[SIGN], 0)) if SIGN in events.column_names else events
    last = those_in(upserts, live.drop_columns([LIVE]))
    names = schema(relation).names
    rows = to_table(relation, last.select(names))
    rows = grouped(
        rows.append_column(_NUMBER, pa.array(range(len(rows)), pa.int64())), names, [(_NUMBER, "min")]
    )
    rows = rows.select(names).cast(schema(relation))
    _expect_one_each(place, source, rows)
    return rows


def _expect_one_each(place: str, source: Source, rows: Any) -> None:
    keys = rows.select([*source.key])
    numbered = keys.append_column(_NUMBER, pa.array(range(len(rows)), pa.int64()))
    counts = grouped(numbered, [*source.key], [(_NUMBER, "count")])
    expect_one(place, source, counts.filter(pc.greater(counts[f"{_NUMBER}_count"], 1)).select([*source.key]))


def expect_one(place: str, source: Source, twice: Any) -> None:
    """Raise PipelineError if there are keys with several last rows."""
    if twice.num_rows:
        raise _unordered(place, source, twice.slice(0, 1))


def _expect_same(place: str, source: Source, old: Any, before: Any, rows: Any, present: Any) -> None:
    """Raise PipelineError if an event with the sequence of a known one leaves another row."""
    repeated = those_in(old, before)
    repeated = repeated.filter(repeated[LIVE]).select([*source.key])
    said, known = those_in(rows, repeated), those_in(present, repeated)
    changes = difference(known, said)
    if changes.num_rows:
        raise _unordered(place, source, changes.select([*source.key]).slice(0, 1))


def _unordered(place: str, source: Source, key: Any) -> PipelineError:
    shown = ", ".join(f"{name} = {value!r}" for name, value in key.to_pylist()[0].items())
    what, remedy = "events", f"add a column that orders them to {place}.sequence"
    if source.watermark is not None:
        what, remedy = "rows", f"name all columns of the key in {place}.key"
    return PipelineError(
        f"{place}: two {what} with {shown} have the same {', '.join(source.sequence)} and different values, "
        f"so none is the last; {remedy}; no changes applied"
    )
