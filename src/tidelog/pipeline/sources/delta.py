"""What a pipeline asks of a Delta table: its identity and version, its rows, and its change feed.

A table at a local path is asked without a job of Spark, as long as its log has not changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from pyspark.sql import SparkSession

from tidelog.errors import PipelineError
from tidelog.pipeline.failures import naming
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources.paths import local
from tidelog.pipeline.sources.reading import Raw, read_raw
from tidelog.program.declared import Relation

__all__ = ["Delta", "State", "Tables", "is_followed"]

SIGNS: Final = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
CHANGE: Final = "_change_type"
_LOG: Final = "_delta_log"
_COMMIT: Final = re.compile(r"\d{20}\.json")
_ELSEWHERE: Final = "_staged_commits"  # commits that a catalog has not published yet
_PINNED: Final = frozenset("versionasof timestampasof readchangefeed readchangedata".split())
_IGNORES: Final = "spark.sql.files.ignoreMissingFiles"


@dataclass(frozen=True, slots=True)
class State:
    """A version of a table; a table that was dropped and created again has another `identity`."""

    identity: str
    version: int
    size: int  # bytes


class Tables(Protocol):
    """Tables with versions and a change feed."""

    def log(self, source: Source) -> str:
        """A text that differs if the table may have changed; empty if that takes a job to find out."""

    def state(self, source: Source) -> State: ...

    def rows(self, source: Source, relation: Relation, version: int) -> Raw: ...

    def feed(self, source: Source, relation: Relation, first: int, last: int) -> Raw:
        """The changes in these versions, as signed rows."""


def is_followed(source: Source) -> bool:
    """Whether a source is a Delta table at its present version."""
    return source.format == "delta" and _PINNED.isdisjoint(map(str.lower, source.options))


class Delta:
    """Delta tables, by SQL and the reader of a session that has its package."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def log(self, source: Source) -> str:
        folder = local(source.paths[0]) if len(source.paths) == 1 else None
        return "" if folder is None else _newest_commit(folder / _LOG)

    def state(self, source: Source) -> State:
        name = source.table or f"delta.`{source.paths[0].replace('`', '``')}`"
        with naming(f"sources.{source.relation}"):
            detail = self._spark.sql(f"describe detail {name}").select("id", "sizeInBytes").collect()[0]
            version = self._spark.sql(f"describe history {name} limit 1").select("version").collect()[0][0]
        return State(detail[0], version, detail[1])

    def rows(self, source: Source, relation: Relation, version: int) -> Raw:
        options = {**source.options, "versionAsOf": str(version)}
        return read_raw(self._spark, replace(source, options=options), relation)

    def feed(self, source: Source, relation: Relation, first: int, last: int) -> Raw:
        if self._spark.conf.get(_IGNORES, "false") == "true":
            raise PipelineError(f"{_IGNORES} is true, so changes could be missing")
        asked = {"readChangeFeed": "true", "startingVersion": str(first), "endingVersion": str(last)}
        signed = replace(source, options={**source.options, **asked}, sign=CHANGE, sign_map=SIGNS)
        return read_raw(self._spark, signed, relation)


def _newest_commit(log: Path) -> str:
    if (log / _ELSEWHERE).exists():
        return ""
    newest = max((file.name for file in log.glob("*.json") if _COMMIT.fullmatch(file.name)), default="")
    if not newest:
        return ""
    status = (log / newest).stat()
    return f"{newest} {status.st_size} {status.st_mtime_ns} {status.st_ino}"
