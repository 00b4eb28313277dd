"""Encodes a few plain rows directly, without a table of Arrow, whose overhead would be most of the work."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tidelog.data import types
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.program.declared import Relation

__all__ = ["FEW", "encode_few"]

FEW: Final = 32  # rows
_LOW, _HIGH = -(2**63), 2**63


def encode_few(codec: Codec, relation: Relation, data: list[Any]) -> Codes | None:
    """The codes of tuples of plain integers and strings; None for any other data.

    Other data may be valid or not; it must be encoded in the general way, which also says what is wrong.
    """
    if not data or not relation.columns:
        return None
    kinds = [column.type for column in relation.columns]
    rows: list[list[int]] = []
    for row in data:
        if type(row) is not tuple or len(row) != len(kinds):
            return None
        codes = [_code(codec, kind, value) for kind, value in zip(kinds, row, strict=True)]
        if None in codes:
            return None
        rows.append(codes)  # type: ignore[arg-type]
    return np.array(rows, np.int64)


def _code(codec: Codec, kind: types.Type, value: Any) -> int | None:
    """The code of a plain value of this type; None for anything else."""
    if isinstance(kind, types.String) and type(value) is str and value.isascii():
        return codec.dictionary(kind).code(value)
    if isinstance(kind, types.Int) and type(value) is int and _LOW <= value < _HIGH:
        return value
    return None
