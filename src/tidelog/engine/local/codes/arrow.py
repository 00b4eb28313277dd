"""Conversion of Arrow tables to arrays of codes and back, a column at a time.

The codes are those that `Codec` assigns value by value: `encode_table` is `encode` for every cell, and
`decode_table` is its inverse. Scalars are in `columns`, structured values in `nested`.

Codes are always fresh arrays and tables own their memory, so neither sees later changes of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidelog.data import types
from tidelog.data.values import BadValue
from tidelog.engine.local.codes.codec import NONE, Codec, Codes
from tidelog.engine.local.codes.nested import decode_array, encode_array
from tidelog.errors import DataError
from tidelog.program.declared import Column, Relation
from tidelog.tables.arrow import UNIT, schema

__all__ = ["decode_table", "encode_table"]

AT_ONCE: Final = 2**19  # rows encoded between two calls of `check`


# -- encoding


def encode_table(
    codec: Codec, relation: Relation, table: Any, check: Callable[[], None] = lambda: None
) -> Codes:
    """Encode a table that has the relation's schema: one row of codes for each column.

    `check` is called regularly.
    """
    codes = np.empty((len(relation.columns), table.num_rows), np.int64)
    for row, column in enumerate(relation.columns):
        at = 0
        for whole in table.column(row).chunks:
            for start in range(0, len(whole), AT_ONCE):
                check()
                chunk = whole.slice(start, AT_ONCE)
                codes[row, at : at + len(chunk)] = _encoded(codec, relation, column, chunk)
                at += len(chunk)
        if isinstance(column.type, types.Option):
            _expect_no_false_none(relation, column, table.column(row), codes[row])
    return codes


def _encoded(codec: Codec, relation: Relation, column: Column, chunk: Any) -> Codes:
    try:
        return encode_array(codec, column.type, chunk)
    except BadValue as bad:
        raise DataError(relation.name, str(bad), column=column.name) from None


def _expect_no_false_none(relation: Relation, column: Column, values: Any, codes: Codes) -> None:
    """Raise DataError if an option holds the smallest 64-bit integer, whose code is that of `none`."""
    suspects = np.flatnonzero(codes == NONE)
    if len(suspects) == values.null_count:
        return
    row = next(int(i) for i in suspects if values[int(i)].is_valid)
    problem = f"{NONE} cannot be stored in a column of {column.type}: its code stands for none; use bigint"
    raise DataError(relation.name, problem, column=column.name, row=row, value=NONE)


# -- decoding


def decode_table(codec: Codec, relation: Relation, codes: Codes) -> Any:
    """Decode a table from its codes: one row of codes for each column."""
    if not relation.columns:
        return pa.table({UNIT: pa.repeat(True, codes.shape[1])}, schema=schema(relation))
    columns = [decode_array(codec, c.type, row) for c, row in zip(relation.columns, codes, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema(relation))
