"""Converts facts to other columns, as a migration says, and finds what it does not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidelog.data.types import Option
from tidelog.errors import DataError
from tidelog.pipeline.migrations import Migration
from tidelog.program.declared import Column, Relation, Role
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.tables.arrow import schema
from tidelog.tables.given import make_table, to_table, unit_table
from tidelog.tables.grouping import grouped

__all__ = ["migrated", "problems_of_migration", "unexplained"]

# -- against the program


def problems_of_migration(key: str, migration: Migration, relation: Relation) -> Iterator[str]:
    """What doesn't fit the declared relation."""
    columns = {c.name: c for c in relation.columns}

    def unknown(name: str) -> str:
        hint = did_you_mean(name, columns) or f"the columns are {', '.join(columns)}"
        return f"unknown column {name} of {relation.name}; {hint}"

    for name, value in migration.added.items():
        if name not in columns:
            yield f"{key}.added: {unknown(name)}"
            continue
        try:
            _constant(columns[name], value)
        except DataError as error:
            yield f"{key}.added.{name}: {error.problem}"
    for old, new in migration.renamed.items():
        if new not in columns:
            yield f"{key}.renamed.{old}: {unknown(new)}"
    for name in migration.removed:
        if name in columns:
            yield f"{key}.removed: {relation.name} still has {name}; remove it from the declaration"


def unexplained(old: Relation, new: Relation, migration: Migration) -> list[str]:
    """A line with a remedy for each difference of the columns that the migration does not cover."""
    return list(_unexplained(old, new, migration))


def _unexplained(old: Relation, new: Relation, migration: Migration) -> Iterator[str]:
    key = f"[migrations.{new.name}]"
    names = [name for c in old.columns if (name := _name(c, migration)) is not None]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"  {name}: two stored columns would have this name; remove one of them, by {key} removed"
    stored = {name: (c.name, c.type) for c in old.columns if (name := _name(c, migration)) is not None}
    for column in new.columns:
        if column.name not in stored:
            if column.name not in migration.added and not isinstance(column.type, Option):
                yield (
                    f"+ {column.name}: {column.type}  give stored rows a value, by {key} "
                    f"added = {{ {column.name} = … }}, or rename a column"
                )
        elif stored[column.name][1] != column.type:
            name, type_ = stored[column.name]
            yield (
                f"  {name}: {type_}  is now  {column.name}: {column.type}; the type of a stored column "
                "cannot change: add a column with another name, or use a new store"
            )
    known = {c.name for c in new.columns}
    for name, (before_name, type_) in stored.items():
        if name not in known:
            yield (
                f'- {before_name}: {type_}  write {key} removed = ["{before_name}"], '
                f'or renamed = {{ {before_name} = "…" }}'
            )


def _name(column: Column, migration: Migration) -> str | None:
    """The new name of a stored column; None if it is removed."""
    if column.name in migration.removed:
        return None
    return migration.renamed.get(column.name, column.name)


# -- rows


def migrated(rows: Any, old: Relation, new: Relation, migration: Migration) -> Any:
    """The facts with the new columns; rows that only differed in removed columns become one."""
    if not new.columns:
        return unit_table(min(rows.num_rows, 1))
    stored = {name: c.name for c in old.columns if (name := _name(c, migration)) is not None}
    columns = [
        rows[stored[c.name]] if c.name in stored else _repeated(c, migration, rows.num_rows)
        for c in new.columns
    ]
    table = make_table(new, [column.cast(f.type) for column, f in zip(columns, schema(new), strict=True)])
    if not migration.removed:
        return table
    return grouped(table, table.column_names, []).select(table.column_names).cast(table.schema)


def _repeated(column: Column, migration: Migration, rows: int) -> Any:
    constant = _constant(column, migration.added.get(column.name))
    return constant.take([0] * rows) if rows else constant.slice(0, 0)


def _constant(column: Column, value: Any) -> Any:
    """A column with this one value. Raises DataError."""
    constant = to_table(Relation(column.name, (column,), Role.INPUT), [(value,)])
    return constant.column(0).combine_chunks()
