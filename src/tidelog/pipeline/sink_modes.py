"""Sinks of a spec, and how rows get into them.

Without a mode, an output is written as a whole at each commit that changes it, and changes are a folder for
each commit. With `mode = "merge"`, only the changes of an output are written:

- to a local folder of Parquet files, which then has a layout of its own (`merged.layout`),
- to a Delta table, at a path or in the catalog, or any other table with row-level operations,
- to a database, by JDBC.

With `mode = "append"`, changes are appended to one table of a format with transactions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tidelog.data.types import Bytes, is_structured, present
from tidelog.pipeline.spec_tables import Table
from tidelog.program.declared import Relation
from tidelog.program.elaborate.problems import did_you_mean

__all__ = ["MODES", "TABLES", "Sink", "expect_mode", "problems_of_columns"]

MODES: Final = {"outputs": "merge", "changes": "append"}
TABLES: Final = ("delta",)  # formats that are tables with transactions, also at a path
_MERGED: Final = ("parquet", "jdbc", *TABLES)
_WITH_ROWS: Final = (*TABLES, "iceberg")  # formats of tables with row-level operations


@dataclass(frozen=True, slots=True)
class Sink:
    """Where an output relation (`outputs`) or its changes (`changes`) are written.

    `described` is the path as written in the spec, wherever the spec is. `mode` is "merge" for an output
    into which changes are merged, and "append" for one table of all changes. `key_columns` are the columns
    that identify a row of an output; without them, all do.
    """

    kind: str
    relation: str
    format: str
    path: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    described: str | None = None
    mode: str | None = None
    key_columns: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.relation}"

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of files with a version for each commit, not a table."""
        return self.path is not None and (self.mode is None or self.format not in TABLES)

    @property
    def key(self) -> str:
        """Its key in the manifest: another place, format or mode makes another sink."""
        place: list[Any] = [self.format, self.described, self.table]
        more: list[Any] = [self.mode, self.key_columns, self.partition_by]
        if self.mode is not None and self.format == "jdbc":
            more += [self.options.get("url"), self.options.get("dbtable")]
        described = json.dumps([*place, *more] if any(more) else place)
        return f"{self.name}:{hashlib.sha256(described.encode()).hexdigest()[:12]}"


def expect_mode(sink: Sink, table: Table) -> None:
    """Report modes, keys and partitions that a sink cannot have."""
    if sink.mode is not None and sink.table is None:
        known = _MERGED if sink.kind == "outputs" else TABLES
        if sink.format not in known:
            table.problem("mode", f"is not supported for {sink.format}; the formats are {', '.join(known)}")
    if sink.mode == "merge" and sink.table is not None and sink.format not in _WITH_ROWS:
        formats = ", ".join(_WITH_ROWS)
        table.problem("mode", f"is not supported for {sink.format} tables; the formats are {formats}")
    if sink.mode == "merge" and sink.format == "jdbc":
        for option in ("url", "dbtable"):
            if option not in sink.options:
                table.problem(f"options.{option}", "is missing; it says where the table is")
    if sink.key_columns and sink.mode is None:
        table.problem("key", 'needs mode = "merge"; otherwise remove the key')
    if sink.key_columns and sink.is_folder:
        table.problem("key", "is not used: folders compare whole rows; remove it")
    if sink.partition_by and sink.format == "jdbc" and sink.table is None:
        table.problem("partition_by", "is not supported for jdbc; remove it")


def problems_of_columns(sink: Sink, relation: Relation) -> list[str]:
    """Keys and partitions that are not columns of the relation."""
    names = [c.name for c in relation.columns]
    return [
        f"{sink.name}.{key}: unknown column `{n}` of {relation.name}; "
        f"{did_you_mean(n, names) or 'the columns are ' + ', '.join(names)}"
        for key, columns in (("key", sink.key_columns), ("partition_by", sink.partition_by))
        for n in columns
        if n not in names
    ] + [
        f"{sink.name}.partition_by: {c.name} has the type {c.type}; partition by columns with plain values"
        for c in relation.columns
        if c.name in sink.partition_by
        and (is_structured(present(c.type)) or isinstance(present(c.type), Bytes))
    ]
