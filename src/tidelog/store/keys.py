"""Primary keys as data: the relation that they make, and the shapes in which people give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.program.typed import Relation

__all__ = ["key_of", "rows_of_keys"]


def key_of(relation: Relation) -> Relation:
    """The primary key of a relation that has one, as a relation."""
    assert relation.key is not None
    return Relation(relation.name, tuple(relation.columns[i] for i in relation.key), relation.role)


def rows_of_keys(keys: object) -> object:
    """Keys of one column as rows."""
    if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable) or hasattr(keys, "columns"):
        return keys
    return [key if isinstance(key, tuple | list | Mapping) else (key,) for key in keys]
