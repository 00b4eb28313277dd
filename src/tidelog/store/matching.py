"""Looks up rows of Parquet files by some of their columns: one row group after the other, in bounded memory.

Equal means what it means in a relation: a missing value equals a missing value, and nested values are
compared by their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from tidelog.store.verifying import Verified, corrupt
from tidelog.tables import compute as pc
from tidelog.tables.grouping import grouped

__all__ = ["group_sizes", "matching", "row_groups", "those_in"]

_PLACE: Final = "#place"
_ASKED: Final = -1


def row_groups(file: Verified, chooses: Callable[[Any], bool] = lambda _: True) -> Iterator[Any]:
    """The row groups of a verified file, as tables; `chooses` gets the metadata of each one."""
    try:
        with parquet.ParquetFile(file.source, page_checksum_verification=True) as source:
            for number in range(source.num_row_groups):
                if chooses(source.metadata.row_group(number)):
                    yield source.read_row_group(number)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise corrupt(file.where, f"it cannot be parsed ({error})") from None


def group_sizes(file: Verified, chooses: Callable[[Any], bool]) -> list[int]:
    """The numbers of rows in row groups; `chooses` gets the metadata of each one."""
    try:
        metadata = parquet.read_metadata(file.source)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise corrupt(file.where, f"it cannot be parsed ({error})") from None
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return [group.num_rows for group in groups if chooses(group)]


def matching(file: Verified, asked: Any) -> Iterator[Any]:
    """The rows of a file whose values in the columns of `asked` are those of one of its rows."""
    for rows in row_groups(file):
        found = those_in(rows, asked)
        if found.num_rows:
            yield found


def those_in(rows: Any, asked: Any) -> Any:
    """The rows whose values in the columns of `asked` are those of one of its rows, in their order."""
    names = asked.column_names
    if not rows.num_rows or not asked.num_rows:
        return rows.slice(0, 0)
    keys = rows.select(names).cast(asked.schema) if rows.select(names).schema != asked.schema else rows
    both = pa.concat_tables([_placed(asked, asked=True), _placed(keys.select(names), asked=False)])
    found = grouped(both, names, [(_PLACE, "min"), (_PLACE, "list")])
    found = found.filter(pc.equal(found[f"{_PLACE}_min"], _ASKED))
    places = pc.list_flatten(found[f"{_PLACE}_list"])
    kept = places.filter(pc.not_equal(places, _ASKED))
    return rows.take(kept.take(pc.sort_indices(kept)))


def _placed(table: Any, *, asked: bool) -> Any:
    places = pa.repeat(pa.scalar(_ASKED), len(table)) if asked else pa.array(range(len(table)), pa.int64())
    return table.append_column(_PLACE, places)
