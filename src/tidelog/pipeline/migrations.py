"""Migrations: what becomes of stored facts when their relation has other columns.

    [migrations.Edge]
    added = { weight = 1 }              # the value for rows that were stored without the column
    renamed = { dst = "to" }
    removed = ["note"]

A migration says how facts get from the columns that the store has to those that the program declares. It
is applied once, by the run that finds the difference, and does no harm later. An added column with an option
type needs none: stored rows have `none` in it. Whatever else differs, such as the type of a column, is
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.pipeline.spec_tables import Table

__all__ = ["Migration", "read_migration"]


@dataclass(frozen=True, slots=True)
class Migration:
    """The values of added columns, the new names of columns by the old ones, and the removed columns."""

    added: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def read_migration(table: Table) -> Migration:
    added = table.values("added")
    migration = Migration(added, table.mapping("renamed", table.word), table.texts("removed"))
    table.end()
    return migration
