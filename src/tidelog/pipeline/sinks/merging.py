"""Writes the next version of a merged folder: what changed, or everything if that is due.

The layout is that of `merged.layout`. The next version continues from that of the store's last commit, if it
is complete; otherwise it is written as a whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.engine.spark.runtime.sessions import from_table
from tidelog.errors import PipelineError
from tidelog.pipeline.bulk.rows import Bulk, Frames, quoted
from tidelog.pipeline.failures import naming
from tidelog.pipeline.merged.layout import (
    BASE,
    CHANGES,
    MANIFEST,
    Merged,
    Part,
    folded,
    is_long,
    listed,
    read_layout,
    to_bytes,
)
from tidelog.pipeline.merged.reading import rows_of
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.sinks.writing import HOLDS, partition_names, sign_column, writer
from tidelog.pipeline.sources.paths import as_pattern, as_uri, local
from tidelog.pipeline.sources.reading import spark_schema
from tidelog.pipeline.versions import sync, version
from tidelog.program.declared import Relation
from tidelog.store.disk import Disk
from tidelog.tables.arrow import UNIT
from tidelog.tables.casting import cast_table
from tidelog.tables.signed import SIGN, total

__all__ = ["Contents", "prepare_merged"]

_WRITTEN: Final = "_written"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a version must hold: the changes since the commit `before` (None: all rows), and all rows.

    `changes` are a table or `Bulk`. `origin` is that of the sink.
    """

    number: int
    origin: str
    before: int | None
    changes: Any
    rows: Callable[[], DataFrame]
    count: int


def prepare_merged(spark: SparkSession, sink: Sink, relation: Relation, contents: Contents) -> None:
    """Write a version, replacing that of an earlier attempt at the same commit."""
    root = None if sink.path is None else local(sink.path)
    assert root is not None, "only local folders have links"
    Version(spark, sink, relation, root / version(contents.number)).write(root, contents)


class Version:
    """A version that is being written in a folder."""

    def __init__(self, spark: SparkSession, sink: Sink, relation: Relation, folder: Path) -> None:
        self._spark = spark
        self._sink = sink
        self._relation = relation
        self._folder = folder
        self._sign = sign_column(relation)
        self._frames = Frames(spark)

    def write(self, root: Path, contents: Contents) -> None:
        basis = None if contents.before is None else root / version(contents.before)
        merged = None if basis is None else self._continued(basis, contents)
        shutil.rmtree(self._folder, ignore_errors=True)
        with naming(self._sink.name):
            if basis is None or merged is None:
                made = self._whole(contents)
            else:
                made = self._extended(basis, merged, contents)
        self._frames.release()
        shutil.rmtree(self._folder / _WRITTEN, ignore_errors=True)
        Disk().create(self._folder / MANIFEST, lambda out: out.write(to_bytes(made)))
        sync(self._folder)

    def _continued(self, basis: Path, contents: Contents) -> Merged | None:
        """The version to continue from; None if it is not usable, or too much has changed since its base."""
        try:
            merged = read_layout(basis)
        except PipelineError:
            return None
        is_ours = merged.origin == contents.origin and merged.schema.equals(self._schema)
        return merged if is_ours and not is_long(merged, contents.changes.num_rows) else None

    @property
    def _schema(self) -> Any:
        """The schema of changes, as they are named in files."""
        names = {SIGN: self._sign, UNIT: HOLDS}
        fields = spark_schema(self._relation, sign=True)
        return pa.schema([f.with_name(names.get(f.name, f.name)) for f in fields]).remove_metadata()

    def _whole(self, contents: Contents) -> Merged:
        base = as_uri(self._folder / BASE)
        writer(self._sink, self._relation, contents.rows()).mode("overwrite").save(base)
        if not listed(self._folder, BASE):  # no rows, hence no partitions
            empty = from_table(self._spark, spark_schema(self._relation).empty_table())
            plain = replace(self._sink, partition_by=())
            writer(plain, self._relation, empty.coalesce(1)).mode("overwrite").save(base)
        names = partition_names(self._sink, self._relation)
        part = Part(contents.number, contents.count, listed(self._folder, BASE))
        return Merged(contents.number, part, (), self._schema, names, contents.origin)

    def _extended(self, basis: Path, merged: Merged, contents: Contents) -> Merged:
        count = len(merged.changes) - folded(merged.changes, contents.changes.num_rows)
        kept = merged.changes[:count]
        _link(basis, self._folder, [f for part in (merged.base, *kept) for f in part.files])
        add = self._added_in_frames if isinstance(contents.changes, Bulk) else self._added
        added, rows = add(basis, merged.changes[count:], contents.changes)
        changes = (*kept, self._changes(contents.number, added, rows)) if rows else kept
        return replace(merged, commit=contents.number, changes=changes)

    def _added(self, basis: Path, parts: Sequence[Part], changes: Any) -> tuple[DataFrame, int]:
        """Changes together with those of earlier parts, and their number."""
        target = spark_schema(self._relation, sign=True)
        added = cast_table(changes, target)
        if parts:
            added = total(pa.concat_tables([rows_of(basis, parts, target), added]))
        return from_table(self._spark, added).coalesce(1), added.num_rows

    def _added_in_frames(self, basis: Path, parts: Sequence[Part], changes: Bulk) -> tuple[DataFrame, int]:
        """The same of many changes."""
        if not parts:
            return changes.frame, changes.num_rows
        *names, _ = spark_schema(self._relation, sign=True).names
        files = [as_pattern(basis / file) for part in parts for file in part.files]
        earlier = self._spark.read.parquet(*files).toDF(*names, SIGN)
        both = changes.frame.select(*quoted([*names, SIGN])).unionByName(earlier)
        sums = both.groupBy(*quoted(names)).agg(sf.sum(f"`{SIGN}`").cast("tinyint").alias(SIGN))
        added = self._frames.hold(sums.where(f"`{SIGN}` <> 0"))
        return added, added.count()

    def _changes(self, number: int, frame: DataFrame, rows: int) -> Part:
        """Write signed rows; the files of a commit have its number in their names."""
        written, prefix = self._folder / _WRITTEN, f"{number}-"
        named = frame.withColumnRenamed(SIGN, self._sign)
        plain = replace(self._sink, partition_by=())
        writer(plain, self._relation, named).mode("overwrite").save(as_uri(written))
        (self._folder / CHANGES).mkdir(exist_ok=True)
        for file in written.glob("*.parquet"):
            file.rename(self._folder / CHANGES / f"{prefix}{file.name}")
        return Part(number, rows, listed(self._folder, CHANGES, prefix))


def _link(basis: Path, folder: Path, files: Iterable[str]) -> None:
    """Share the files of an earlier version: by hard links, or as copies where there are none."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(basis / file, folder / file)
        except OSError:
            shutil.copy2(basis / file, folder / file)
