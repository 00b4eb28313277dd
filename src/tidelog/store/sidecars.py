"""Sidecars: what a store knows of the rows of an input relation beyond the relation itself.

A relation says which rows are present. To apply the changes of a source without reading all of it again, a
pipeline also needs to know why:

- `FILES`: the rows of each file of the source, with the file (`FILE`, a number).
- `COUNTS`: how often the source has a row beyond the first time (`COUNT`); only rows that it has more than
  once.
- `KEYS`: the last event of each key: its sequence, and whether it left a row (`LIVE`).

A sidecar is a bag of immutable Parquet files, its *parts*, which the manifest names. Their meaning doesn't
depend on their order: rows of files are united, counts are added, and of the events of a key the last one
wins. So a commit writes a part with what is new, and merges small parts into it: a part of up to twice its
size is read and written again, so there are only logarithmically many. (What others than this process
write is several files, which count as one here; see `distributed`.) Rows of removed files are not
rewritten: the manifest lists the *dead* files of each part, and a part is rewritten once half of its rows are
dead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from tidelog.data.file_names import file_name
from tidelog.store.distributed import Distributed, Piece, Workers, unit_of
from tidelog.store.files import Files, Output
from tidelog.store.matching import group_sizes, matching, row_groups
from tidelog.store.verifying import Verified, Verifier
from tidelog.tables import compute as pc
from tidelog.tables.grouping import grouped

__all__ = [
    "COUNT",
    "COUNTS",
    "FILE",
    "FILES",
    "KEYS",
    "LIVE",
    "SEQUENCE",
    "SIDECARS",
    "Dead",
    "Kept",
    "Part",
    "Sidecar",
    "SidecarChange",
    "added_up",
    "last_events",
    "with_change",
]

SIDECARS: Final = "sidecars"
FILES: Final = "files"
COUNTS: Final = "counts"
KEYS: Final = "keys"
FILE: Final = "#file"  # int64
COUNT: Final = "#count"  # int64
LIVE: Final = "#live"  # bool
SEQUENCE: Final = "#sequence"  # prefix of the columns by which events are ordered
_RANK: Final = "#rank"
_GROUP: Final = 1 << 16  # rows that are read at once
_MERGED: Final = 2  # parts of up to this many times the size of new rows are merged with them


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a sidecar. Rows of its `dead` files don't count any more; there are `dead_rows` of them."""

    file: str
    rows: int
    size: int
    digest: str
    dead: tuple[int, ...] = ()
    dead_rows: int = 0


@dataclass(frozen=True, slots=True)
class Sidecar:
    """`described` is a digest of what the rows depend on; with another one, the sidecar is of no use."""

    described: str
    parts: tuple[Part, ...] = ()

    @property
    def rows(self) -> int:
        return sum(part.rows - part.dead_rows for part in self.parts)


@dataclass(frozen=True, slots=True)
class Dead:
    """Files of a part that were removed, and the number of their rows."""

    files: tuple[int, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class SidecarChange:
    """`added` are new rows, a table or distributed, `dead` the removed files of each part.

    With `is_whole` all is replaced.
    """

    described: str
    added: Any
    dead: Mapping[str, Dead] = field(default_factory=dict)
    is_whole: bool = False


# -- reading


class Kept:
    """A sidecar of a store, for reading."""

    def __init__(self, sidecar: Sidecar, verifier: Verifier) -> None:
        self.sidecar = sidecar
        self._verifier = verifier

    def of_files(self, files: Iterable[int]) -> tuple[list[Any], dict[str, Dead]]:
        """The rows of these files, and where they are. Only row groups that may have some are read."""
        wanted = sorted(files)
        tables: list[Any] = []
        dead: dict[str, Dead] = {}
        for part in self.sidecar.parts:
            alive = sorted(set(wanted) - set(part.dead))
            found = list(self._rows_of(part, alive))
            tables += found
            rows = sum(table.num_rows for table in found)
            if rows:
                present = {f for table in found for f in table[FILE].unique().to_pylist()}
                dead[part.file] = Dead(tuple(sorted(present)), rows)
        return tables, dead

    def _rows_of(self, part: Part, files: list[int]) -> Iterator[Any]:
        wanted = pa.array(files, pa.int64())
        for rows in row_groups(self._verified(part), partial(_may_have, files)) if files else ():
            found = rows.filter(pc.is_in(rows[FILE], value_set=wanted))
            if found.num_rows:
                yield found

    def matching(self, asked: Any) -> list[Any]:
        """The rows with the values of one of the rows of `asked`, in tables."""
        return [rows for part in self.sidecar.parts for rows in matching(self._verified(part), asked)]

    def size_at_most(self, files: Iterable[int]) -> int:
        """A bound for the size of the rows of these files in bytes, as far as row groups tell."""
        wanted = sorted(files)
        size = 0
        for part in self.sidecar.parts:
            if not set(wanted) <= set(part.dead):
                rows = sum(group_sizes(self._verified(part), partial(_may_have, wanted)))
                size += -(-part.size * rows // part.rows)
        return size

    def live(self, part: Part) -> Any:
        """The rows of a part without those of its dead files."""
        return pa.concat_tables(self.live_groups(part))

    def live_groups(self, part: Part, wanted: Iterable[int] | None = None) -> Iterator[Any]:
        """The same, row group by row group; only rows of the files `wanted`, if given."""
        if wanted is not None:
            yield from self._rows_of(part, sorted(set(wanted) - set(part.dead)))
            return
        dead = pa.array(part.dead, pa.int64())
        for rows in row_groups(self._verified(part)):
            yield rows.filter(pc.invert(pc.is_in(rows[FILE], value_set=dead))) if part.dead else rows

    def _verified(self, part: Part) -> Verified:
        return self._verifier.verified(part.file, part.size, part.digest)


def _may_have(files: list[int], group: Any) -> bool:
    """Whether a row group may have rows of one of these files, which are sorted."""
    for index in range(group.num_columns):
        column = group.column(index)
        if column.path_in_schema == FILE and column.statistics is not None and column.statistics.has_min_max:
            first = bisect_left(files, column.statistics.min)
            return first < len(files) and files[first] <= column.statistics.max
    return True


# -- meaning


def added_up(table: Any) -> Any:
    """Each row once, with the sum of its counts, or not at all if that is 0."""
    keys = [name for name in table.column_names if name != COUNT]
    found = grouped(table, keys, [(COUNT, "sum")])
    found = found.filter(pc.not_equal(found[f"{COUNT}_sum"], 0))
    return found.rename_columns([*keys, COUNT]).select(table.column_names).cast(table.schema)


def last_events(table: Any) -> Any:
    """The last event of each key: that with the highest sequence, and of these one that left a row."""
    order = [name for name in table.column_names if name.startswith(SEQUENCE)] + [LIVE]
    keys = [name for name in table.column_names if name not in order]
    places = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in order])
    ordered = table.take(places).append_column(_RANK, pa.array(range(table.num_rows), pa.int64()))
    last = grouped(ordered.select([*keys, _RANK]), keys, [(_RANK, "max")])[f"{_RANK}_max"]
    return ordered.take(last).drop_columns([_RANK])


def _by_file(table: Any) -> Any:
    return table.take(pc.sort_indices(table[FILE]))


_CONSOLIDATED: Final[Mapping[str, Callable[[Any], Any]]] = {
    FILES: _by_file,
    COUNTS: added_up,
    KEYS: last_events,
}
# those that workers can consolidate, too
_DISTRIBUTED: Final = (FILES, COUNTS)


# -- writing


def with_change(
    files: Files,
    place: tuple[str, str, str, int],
    before: Sidecar | None,
    change: SidecarChange,
    verifier: Verifier,
    workers: Workers | None = None,
) -> Sidecar:
    """The sidecar after a change; `place` are commit, relation, kind and epoch, which name the new file."""
    commit, name, kind, epoch = place
    parts = () if before is None or change.is_whole else before.parts
    parts = tuple(_with_dead(part, change.dead.get(part.file)) for part in parts)
    merged = _merged(parts, change.added.num_rows)
    if not merged and not change.added.num_rows:
        return Sidecar(change.described, parts)
    rest = tuple(part for part in parts if part not in merged)
    rows = change.added.num_rows + sum(map(_live, merged))
    stem = f"{SIDECARS}/{file_name(name)}/{commit}-{kind}-{epoch}"
    verifier.forget(f"{stem}.parquet")
    is_bulk = workers is not None and kind in _DISTRIBUTED and workers.takes(rows)
    if workers is not None and (is_bulk or isinstance(change.added, Distributed)):
        pieces = workers.consolidated(kind, change.added, merged).write(files, stem)
    else:
        kept = Kept(Sidecar(change.described, parts), verifier)
        pieces = _written(files, stem, kind, change.added, [kept.live(part) for part in merged])
    return Sidecar(change.described, (*rest, *(Part(*piece) for piece in pieces)))


def _written(files: Files, stem: str, kind: str, added: Any, others: list[Any]) -> list[Piece]:
    """Write rows together with others to a file, if there are any."""
    assert not isinstance(added, Distributed), "workers write what is distributed"
    whole = _CONSOLIDATED[kind](pa.concat_tables([added, *(rows.cast(added.schema) for rows in others)]))
    if not whole.num_rows:
        return []
    file = f"{stem}.parquet"
    return [Piece(file, whole.num_rows, *files.put(file, partial(_write, whole)))]


def _with_dead(part: Part, dead: Dead | None) -> Part:
    if dead is None:
        return part
    files = tuple(sorted({*part.dead, *dead.files}))
    return replace(part, dead=files, dead_rows=part.dead_rows + dead.rows)


def _merged(parts: Iterable[Part], rows: int) -> list[Part]:
    """The parts to write again: small ones, and those with mostly dead rows."""
    merged = [part for part in parts if part.dead_rows * 2 > part.rows]
    rows += sum(map(_live, merged))
    units: dict[str, list[Part]] = {}
    for part in parts:
        if part not in merged:
            units.setdefault(unit_of(part.file), []).append(part)
    for unit in sorted(units.values(), key=lambda unit: sum(map(_live, unit))):
        live = sum(map(_live, unit))
        if rows and live <= _MERGED * rows:
            merged += unit
            rows += live
    return merged


def _live(part: Part) -> int:
    return part.rows - part.dead_rows


def _write(table: Any, out: Output) -> None:
    parquet.write_table(
        table,
        pa.PythonFile(out, "w"),
        compression="zstd",
        write_page_checksum=True,
        row_group_size=_GROUP,
    )
