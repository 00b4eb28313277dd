"""How often a source has each row, so that a change of a part of it is applied without reading the rest.

A relation has a row if its source has it at least once: in one of its files, or in one of the rows of a table
with more columns. What the store keeps beside the relation (`store.sidecars`) is the rows of each file, and
for rows that the source has more than once how often beyond the first time, its *surplus*. With these, a
change of the source, as a number for each row, gives the change of the relation:

- A row that the source lost is deleted if that takes away its surplus and one more.
- A row that the source gained is inserted. Whether the relation had it is known once it is inserted: only
  then is its new surplus known. So a change is *settled* with the changes of the commit.

All tables here are Arrow tables of the relation's columns, with `COUNT` or `FILE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidelog.store.matching import those_in
from tidelog.store.sidecars import COUNT, COUNTS, FILE, FILES, Dead, Kept, SidecarChange, added_up
from tidelog.tables import compute as pc
from tidelog.tables.grouping import grouped
from tidelog.tables.signed import SIGN

__all__ = [
    "Inconsistent",
    "Settling",
    "change_of_files",
    "counted",
    "once",
    "settled_whole",
    "settling",
]

_PLACE: Final = "#place"
_GAINED: Final = "#gained"
_LOST: Final = "#lost"


class Inconsistent(Exception):
    """The source lost a row that it did not have: what is known of it is wrong."""


@dataclass(frozen=True, slots=True)
class Settling:
    """A change of a relation, and what is left to settle.

    `surplus` is the change of the surplus of some rows. `gained` are rows, with how often the source gained
    them, of which it is unknown whether the relation had them.
    """

    inserted: Any
    deleted: Any
    described: str
    surplus: Any
    gained: Any
    files: Any = None
    dead: Mapping[str, Dead] = field(default_factory=dict)

    def settle(self, changes: Any) -> dict[str, SidecarChange]:
        """The changes of the sidecars; `changes` are the signed rows that the commit changed."""
        inserted = changes.filter(pc.greater(changes[SIGN], 0)).drop_columns([SIGN])
        new = _with_count(those_in(inserted, self.gained.drop_columns([COUNT])), -1)
        rows = pa.concat_tables([self.surplus, self.gained, new.cast(self.surplus.schema)])
        made = {COUNTS: SidecarChange(self.described, added_up(rows))}
        if self.files is not None:
            made[FILES] = SidecarChange(self.described, self.files, self.dead)
        return made


def settled_whole(described: str, rows: Any, files: Any = None) -> dict[str, SidecarChange]:
    """The sidecars of a source that was read in full: `rows` with how often it has each."""
    often = rows.filter(pc.greater(rows[COUNT], 1))
    index = often.schema.get_field_index(COUNT)
    surplus = often.set_column(index, often.schema.field(index), pc.subtract(often[COUNT], 1))
    made = {COUNTS: SidecarChange(described, surplus, is_whole=True)}
    if files is not None:
        made[FILES] = SidecarChange(described, files, is_whole=True)
    return made


def settling(
    described: str,
    change: Any,
    surplus: Kept | None,
    files: Any = None,
    dead: Mapping[str, Dead] | None = None,
) -> Settling:
    """What a change of a source does to the relation: a count for each row, not 0. Raises Inconsistent."""
    facts = change.drop_columns([COUNT])
    known = [] if surplus is None else surplus.matching(facts)
    before = _looked_up(change, known)
    counts = change[COUNT].to_numpy()
    after = before + counts
    is_lost = counts < 0
    if bool(np.any(is_lost & (after < -1))):
        raise Inconsistent
    is_deleted = is_lost & (after == -1)
    is_gained = ~is_lost & (before == 0)
    steps = np.where(is_deleted, -before, counts)
    is_step = ~is_gained & (steps != 0)
    return Settling(
        facts.filter(pa.array(is_gained)),
        facts.filter(pa.array(is_deleted)),
        described,
        _with_counts(facts, steps, change.schema).filter(pa.array(is_step)),
        change.filter(pa.array(is_gained)),
        files,
        dead or {},
    )


def once(rows: Any) -> Any:
    """The distinct rows of a table."""
    found = grouped(rows, rows.column_names, [(rows.column_names[-1], "count")])
    return found.select(rows.column_names).cast(rows.schema)


def change_of_files(added: Any, lost: list[Any]) -> tuple[Any, Any]:
    """The count of each row if files are added and lost, and the rows of added files, each once.

    `added` are rows with their files, `lost` tables of distinct ones. A single added file is the usual case:
    then one pass over all rows is enough for both.
    """
    files = pc.unique(added[FILE])
    if len(files) != 1:
        added = once(added)
    facts = added.drop_columns([FILE])
    names = facts.column_names
    parts = [_sided(facts, 1), *(_sided(table.drop_columns([FILE]).cast(facts.schema), -1) for table in lost)]
    gained = (_GAINED, "max" if len(files) == 1 else "sum")
    sums = grouped(pa.concat_tables(parts), names, [gained, (_LOST, "sum")])
    gains = sums[f"{_GAINED}_{gained[1]}"]
    counts = pc.add(gains, sums[f"{_LOST}_sum"])
    change = pa.Table.from_arrays([*(sums[name] for name in names), counts], names=[*names, COUNT])
    change = change.filter(pc.not_equal(counts, 0)).cast(_with_count(facts.slice(0, 0), 1).schema)
    if len(files) == 1:
        there = sums.filter(pc.greater(gains, 0)).select(names).cast(facts.schema)
        numbers = pa.repeat(files[0], there.num_rows)
        added = there.append_column(added.schema.field(FILE), numbers)
    return change, added


def _sided(facts: Any, sign: int) -> Any:
    """Rows that files gain (1) or lose (-1)."""
    for name, count in ((_GAINED, max(sign, 0)), (_LOST, min(sign, 0))):
        counts = pa.repeat(pa.scalar(count, pa.int64()), facts.num_rows)
        facts = facts.append_column(pa.field(name, pa.int64(), nullable=False), counts)
    return facts


def _looked_up(change: Any, known: list[Any]) -> Any:
    """The surplus of each row of a change, in its order."""
    found = np.zeros(change.num_rows, np.int64)
    if not known:
        return found
    names = [name for name in change.column_names if name != COUNT]
    surplus = added_up(pa.concat_tables([_with_count(change.select(names).slice(0, 0), 0), *known]))
    places = pa.array(range(change.num_rows), pa.int64())
    asked = change.select(names).append_column(_PLACE, places).append_column(COUNT, _zeros(change.num_rows))
    told = surplus.select(names).append_column(_PLACE, pa.nulls(surplus.num_rows, pa.int64()))
    told = told.append_column(COUNT, surplus[COUNT])
    groups = grouped(pa.concat_tables([asked, told]), names, [(_PLACE, "max"), (COUNT, "sum")])
    groups = groups.filter(pc.is_valid(groups[f"{_PLACE}_max"]))
    found[groups[f"{_PLACE}_max"].to_numpy()] = groups[f"{COUNT}_sum"].to_numpy()
    return found


def _zeros(rows: int) -> Any:
    return pa.repeat(pa.scalar(0, pa.int64()), rows)


def _with_count(facts: Any, count: int) -> Any:
    """The rows, each with the same count."""
    counts = pa.repeat(pa.scalar(count, pa.int64()), facts.num_rows)
    return facts.append_column(pa.field(COUNT, pa.int64(), nullable=False), counts)


def _with_counts(facts: Any, counts: Any, schema: Any) -> Any:
    return pa.Table.from_arrays([*facts.columns, pa.array(counts, pa.int64())], schema=schema)


def counted(rows: Any) -> Any:
    """Each row once, with how often the table has it."""
    facts = rows.drop_columns([FILE]) if FILE in rows.column_names else rows
    return added_up(_with_count(facts, 1))
