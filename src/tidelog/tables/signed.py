"""Changes as Arrow tables: a relation's columns plus `SIGN`, which is 1 or -1.

Such a table is a Z-set: the signs of equal rows add up. Column names starting with `#` are free for other
data about a row, since no column of a relation can have such a name.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tidelog.program.declared import Relation
from tidelog.tables import compute as pc
from tidelog.tables.arrow import schema
from tidelog.tables.grouping import grouped

__all__ = ["SIGN", "difference", "signed", "signed_schema", "sums", "total"]

SIGN: Final = "#sign"


def signed_schema(relation: Relation) -> Any:
    return schema(relation).append(pa.field(SIGN, pa.int8(), nullable=False))


def signed(table: Any, sign: int) -> Any:
    """A relation's table with the same sign for all rows."""
    signs = pa.repeat(pa.scalar(sign, pa.int8()), table.num_rows)
    return table.append_column(pa.field(SIGN, pa.int8(), nullable=False), signs)


def total(table: Any) -> Any:
    """The sum of signed rows: each row once, with the sum of its signs, or not at all if the sum is 0."""
    return sums(table).cast(table.schema)


def sums(table: Any) -> Any:
    """The same as `total`, for any number of equal rows: sums are 64-bit integers."""
    keys = [name for name in table.column_names if name != SIGN]
    found = grouped(table, keys, [(SIGN, "sum")])
    found = found.filter(pc.not_equal(found[f"{SIGN}_sum"], 0))
    made = table.schema.set(table.schema.get_field_index(SIGN), pa.field(SIGN, pa.int64(), nullable=False))
    return pa.Table.from_arrays([found[f"{SIGN}_sum" if n == SIGN else n] for n in made.names], schema=made)


def difference(old: Any, new: Any) -> Any:
    """The signed rows that turn one table of a relation into the other.

    A table may repeat rows. A row differs if all its signs are equal: then only one table has it.
    """
    both = pa.concat_tables([signed(new, 1), signed(old, -1)])
    found = grouped(both, old.column_names, [(SIGN, "min"), (SIGN, "max")])
    found = found.filter(pc.equal(found[f"{SIGN}_min"], found[f"{SIGN}_max"]))
    return pa.Table.from_arrays(
        [*(found[name] for name in old.column_names), found[f"{SIGN}_min"]], schema=both.schema
    )
