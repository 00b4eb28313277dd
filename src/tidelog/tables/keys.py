"""Primary keys as data: the relation of the key columns, and the shapes in which users give keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass

from tidelog.errors import DataError, shown
from tidelog.program.declared import Relation

__all__ = ["key_of", "rows_of_keys"]


def key_of(relation: Relation) -> Relation:
    """The key columns, as a relation, of a relation that has a primary key."""
    assert relation.key is not None
    return Relation(relation.name, tuple(relation.columns[i] for i in relation.key), relation.role)


def rows_of_keys(key: Relation, keys: object) -> object:
    """Keys as rows. For a key of one column, single values are accepted as well."""
    if isinstance(keys, Mapping) or hasattr(keys, "columns") or getattr(keys, "ndim", 1) > 1:
        return keys  # a table
    width = len(key.columns)
    form = "values" if width == 1 else f"tuples of {width} values"
    remedy = f"give a list of {form}: {', '.join(c.name for c in key.columns)}"
    if _is_single(keys):
        raise DataError(key.name, f"{shown(keys)} is not a collection of keys; {remedy}", value=keys)
    assert isinstance(keys, Iterable)
    rows = list(keys)
    if width == 1:
        return [(row,) if _is_single(row) else row for row in rows]
    for number, row in enumerate(rows):
        if _is_single(row):
            raise DataError(key.name, f"{shown(row)} is not a key; {remedy}", row=number, value=row)
    return rows


def _is_single(value: object) -> bool:
    """Whether this is a single value, not a row or a collection."""
    return isinstance(value, str | bytes) or not (isinstance(value, Iterable) or is_dataclass(value))
