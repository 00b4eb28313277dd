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

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tidelog.pipeline.failures import naming
from tidelog.pipeline.formats import format_of
from tidelog.pipeline.sinks.texts import with_texts
from tidelog.pipeline.sources.paths import local, shown_path
from tidelog.pipeline.spec import Sink
from tidelog.program.typed import Relation
from tidelog.session.names import free_name
from tidelog.tables.arrow import UNIT

__all__ = [
    "CURRENT",
    "commit_column",
    "deliver",
    "discard",
    "is_file_sink",
    "place",
    "prepare",
    "show",
    "sign_column",
]

CURRENT: Final = "current"
_PREPARED: Final = "_prepared-"  # Spark ignores folders with this prefix
_HOLDS: Final = "holds"  # the column of a relation without columns


def is_file_sink(sink: Sink) -> bool:
    return sink.path is not None


def place(sink: Sink, version: int) -> str:
    """Where readers find the contents of a sink."""
    if sink.path is None:
        return f"{sink.format} table {sink.table}" if sink.table is not None else sink.format
    if sink.kind == "changes":
        return shown_path(sink.path)
    return f"{shown_path(sink.path)}/{_version(version) if local(sink.path) is None else CURRENT}"


def sign_column(relation: Relation) -> str:
    return free_name("sign", {c.name for c in relation.columns})


def commit_column(relation: Relation) -> str:
    return free_name("commit", {c.name for c in relation.columns})


def _version(number: int) -> str:
    return f"v{number}"


# -- files


def prepare(sink: Sink, relation: Relation, frame: DataFrame, number: int) -> None:
    """Write the files of a sink for the next commit, replacing those of an earlier attempt."""
    assert sink.path is not None
    folder = f"{sink.path}/{_prepared(sink, relation, number)}"
    with naming(sink.name):
        _writer(sink, relation, frame).mode("overwrite").save(folder)
    written = local(folder)
    if written is not None:
        _sync(written)


def _prepared(sink: Sink, relation: Relation, number: int) -> str:
    if sink.kind == "outputs":
        return _version(number)
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
        _point(folder, _version(number))
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


def _point(folder: Path, version: str) -> None:
    """Point the link to a version; the previous version remains for its readers."""
    link, new = folder / CURRENT, folder / f".{CURRENT}"
    before = str(link.readlink()) if link.is_symlink() else None
    if before != version:
        new.unlink(missing_ok=True)
        new.symlink_to(version)
        new.replace(link)
    kept = {version, before if before != version else _highest_below(folder, version)}
    for old in _versions(folder):
        if old.name not in kept:
            shutil.rmtree(old)


def _versions(folder: Path) -> Iterator[Path]:
    return (f for f in folder.glob("v*") if f.name[1:].isdigit())


def _highest_below(folder: Path, version: str) -> str | None:
    below = [int(f.name[1:]) for f in _versions(folder) if int(f.name[1:]) < int(version[1:])]
    return _version(max(below)) if below else None


def _sync(folder: Path) -> None:
    """Sync a folder to disk, which Spark does not do."""
    for path in (*folder.rglob("*"), folder, folder.parent):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- others


def deliver(sink: Sink, relation: Relation, frame: DataFrame, number: int) -> None:
    """Write a sink that is not a folder of files: all of an output, or changes with their commit."""
    if sink.kind == "changes":
        frame = frame.withColumn(commit_column(relation), sf.lit(number).cast("bigint"))
    with naming(sink.name):
        writer = _writer(sink, relation, frame).mode("overwrite" if sink.kind == "outputs" else "append")
        if sink.table is not None:
            writer.saveAsTable(sink.table)
        else:
            writer.save()


def _writer(sink: Sink, relation: Relation, frame: DataFrame) -> Any:
    usual = {"header": "true"} if format_of(sink.format).header else {}
    rows = with_texts(frame, relation, sink.format).withColumnRenamed(UNIT, _HOLDS)
    return rows.write.format(sink.format).options(**{**usual, **sink.options})
