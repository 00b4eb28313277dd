"""Writes sinks so that a reader sees one complete version or the next, even if a run is interrupted.

Files on this machine are written *before* the commit, where no reader looks, and shown *after* it by one
rename. Showing them twice does no harm.

- An output has a folder for each version (`v12`), and a link `current` to the valid one.
- Changes have a folder for each commit (`commit=12`), which Spark reads as a column `commit`.

Files elsewhere (`s3a://…`) are written before the commit under the same names, without a link. Readers must
ignore folders of commits later than the last one of the store. All other sinks (tables, JDBC) are written
after the commit, from the store, and again if a run is interrupted in between. The rows of a commit are
always the same, so an output ends up correct, and repeated changes can be recognised by their commit.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tidelog.pipeline.failures import naming
from tidelog.pipeline.formats import format_of
from tidelog.pipeline.sink_modes import TABLES, Sink
from tidelog.pipeline.sinks.texts import with_texts
from tidelog.pipeline.sources.paths import local, shown_path
from tidelog.pipeline.versions import CURRENT, point, sync, version
from tidelog.program.declared import Relation
from tidelog.session.names import free_name
from tidelog.store.manifest import Written
from tidelog.tables.arrow import UNIT

__all__ = [
    "HOLDS",
    "commit_column",
    "deliver",
    "discard",
    "partition_names",
    "place",
    "prepare",
    "show",
    "sign_column",
    "writer",
]

_PREPARED: Final = "_prepared-"  # Spark ignores folders with this prefix
HOLDS: Final = "holds"  # the column of a relation without columns


def place(sink: Sink, number: int) -> str:
    """Where readers find the contents of a sink."""
    if sink.path is None:
        return f"{sink.format} table {sink.table}" if sink.table is not None else sink.format
    if sink.kind == "changes" or not sink.is_folder:
        return shown_path(sink.path)
    return f"{shown_path(sink.path)}/{version(number) if local(sink.path) is None else CURRENT}"


def sign_column(relation: Relation) -> str:
    return free_name("sign", {c.name for c in relation.columns})


def commit_column(relation: Relation) -> str:
    return free_name("commit", {c.name for c in relation.columns})


# -- files


def prepare(sink: Sink, relation: Relation, frame: DataFrame, number: int) -> None:
    """Write the files of a sink for the next commit, replacing those of an earlier attempt."""
    assert sink.path is not None
    folder = f"{sink.path}/{_prepared(sink, relation, number)}"
    with naming(sink.name):
        writer(sink, relation, frame).mode("overwrite").save(folder)
    written = local(folder)
    if written is not None:
        sync(written)


def _prepared(sink: Sink, relation: Relation, number: int) -> str:
    if sink.kind == "outputs":
        return version(number)
    return _shown(relation, number) if local(sink.path or "") is None else f"{_PREPARED}{number}"


def _shown(relation: Relation, number: int) -> str:
    return f"{commit_column(relation)}={number}"


def show(sink: Sink, relation: Relation, number: int) -> None:
    """Show readers the files prepared for a commit, and delete obsolete ones."""
    assert sink.path is not None
    folder = local(sink.path)
    if folder is None:
        return
    if sink.kind == "outputs":
        point(folder, version(number))
        return
    prepared, shown = folder / f"{_PREPARED}{number}", folder / _shown(relation, number)
    if prepared.exists():
        shutil.rmtree(shown, ignore_errors=True)  # left by a commit that a damaged store has lost
        prepared.rename(shown)
    discard(sink)


def discard(sink: Sink) -> None:
    """Delete changes that were prepared and never shown."""
    folder = None if sink.path is None else local(sink.path)
    if folder is not None:
        for left in folder.glob(f"{_PREPARED}*"):
            shutil.rmtree(left)


# -- others


def deliver(sink: Sink, relation: Relation, frame: DataFrame, written: Written) -> None:
    """Write a sink that is not a folder of files: all of an output, or changes with their commit.

    Delta writes a commit only once, by its number and the origin of the sink.
    """
    if sink.kind == "changes":
        frame = frame.withColumn(commit_column(relation), sf.lit(written.commit).cast("bigint"))
        if sink.format in TABLES:
            once = {"txnAppId": f"tidelog-{written.origin}", "txnVersion": str(written.commit)}
            sink = replace(sink, options={**sink.options, **once})
    with naming(sink.name):
        made = writer(sink, relation, frame).mode("overwrite" if sink.kind == "outputs" else "append")
        if sink.table is not None:
            made.saveAsTable(sink.table)
        else:
            made.save(sink.path)


def writer(sink: Sink, relation: Relation, frame: DataFrame) -> Any:
    """Spark's writer for a sink.

    A table is partitioned by columns. In folders, files keep these columns, since the name of a folder does
    not tell an empty text from none, or a text from a number.
    """
    usual = {"header": "true"} if format_of(sink.format).header else {}
    rows = with_texts(frame, relation, sink.format).withColumnRenamed(UNIT, HOLDS)
    names = partition_names(sink, relation)
    for name, column in names.items():
        if name != column:
            rows = rows.withColumn(name, sf.col(f"`{column}`"))
    made = rows.write.format(sink.format).options(**{**usual, **sink.options})
    return made.partitionBy(*names) if names else made


def partition_names(sink: Sink, relation: Relation) -> dict[str, str]:
    """The columns by which a sink is partitioned, by their names as partitions."""
    if sink.path is None or sink.format in TABLES:
        return {name: name for name in sink.partition_by}
    taken = {c.name for c in relation.columns}
    return {free_name(f"by_{name}", taken): name for name in sink.partition_by}
