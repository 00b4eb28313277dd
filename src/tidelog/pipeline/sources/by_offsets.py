"""Takes the new messages of Kafka, by their offsets.

The next offset of each partition is in the manifest, so every message is applied exactly once, wherever a run
was stopped. Messages are read once, as a batch, and are events like those of a stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tidelog.errors import PipelineError
from tidelog.pipeline.failures import naming
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources.fingerprints import digest
from tidelog.pipeline.sources.prints import read_print, to_text
from tidelog.pipeline.sources.reading import Raw, read_raw
from tidelog.pipeline.sources.taking import Taking
from tidelog.program.declared import Relation

__all__ = ["ByOffsets", "repositioned"]

Offsets = dict[str, dict[str, int]]  # the next offset, by topic and partition

_START: Final = "startingOffsets"
_END: Final = "endingOffsets"
_ASSIGNED: Final = re.compile(r"Assigned: Set\(([^()]*)\)")
_EARLIEST: Final = -2  # in Spark's offsets
_GONE: Final = re.compile("data loss|data may have been lost|OffsetOutOfRange", re.IGNORECASE)
_LOST: Final = (
    "messages that were not read are gone: use --reread to go on with those that Kafka still has, "
    "or a new store"
)


@dataclass(frozen=True, slots=True)
class _Print:
    """What the manifest keeps: `described` is a digest of the spec."""

    described: str
    offsets: Offsets


class ByOffsets:
    """`take_events` takes checked events of a relation."""

    def __init__(
        self,
        taking: Taking,
        take_events: Callable[[Source, Relation, Raw], None],
        progress: Callable[[str], object],
    ) -> None:
        self._taking = taking
        self._take_events = take_events
        self._progress = progress

    def take(self, source: Source, relation: Relation, *, reread: bool) -> None:
        """Take the messages since the last commit; with `reread`, all that Kafka still has."""
        described = digest(source, relation)
        text = self._taking.before(relation)
        before = read_print(_Print, text, described)
        self._progress(f"reading {relation.name}")
        known = {} if before is None or reread else before.offsets
        frame, offsets = self._messages(source, relation, known)
        try:
            if before is not None and not reread and _read_to(offsets) == _read_to(before.offsets):
                self._taking.found.prints[relation.name] = text
                self._taking.unchanged(relation)
                return
            self._taking.found.prints[relation.name] = to_text(_Print(described, offsets))
            raw = read_raw(self._taking.spark, source, relation, refine=lambda _: frame)
            self._take_events(source, relation, raw)
        finally:
            frame.unpersist()

    def _messages(self, source: Source, relation: Relation, known: Offsets) -> tuple[DataFrame, Offsets]:
        """The messages from the known offsets on, read once, and the offsets after them."""
        place = f"sources.{relation.name}"
        try:
            with naming(place):
                return self._since(source, known)
        except PipelineError as error:
            assigned = _ASSIGNED.search(str(error.__cause__))  # in full
            if assigned is None:
                raise PipelineError(f"{error}; {_LOST}") if _GONE.search(str(error)) else error from None
        # Spark wants offsets for all partitions, also for those of which nothing is known
        with naming(place):
            return self._since(source, _with_partitions(known, assigned[1].split(", ")))

    def _since(self, source: Source, known: Offsets) -> tuple[DataFrame, Offsets]:
        frame = self._read(source, json.dumps(known) if known else "earliest")
        try:
            return frame, _after(known, frame)
        except BaseException:
            frame.unpersist()
            raise

    def _read(self, source: Source, start: str) -> DataFrame:
        options = {_END: "latest", **source.options, _START: start}
        return self._taking.spark.read.format("kafka").options(**options).load().persist()


def repositioned(text: str, source: Source, old: Relation, new: Relation) -> str:
    """The print of a topic whose relation has other columns from now on: its position stays."""
    found = read_print(_Print, text, digest(source, old))
    return "" if found is None else to_text(replace(found, described=digest(source, new)))


def _after(known: Offsets, frame: DataFrame) -> Offsets:
    """The offsets after the messages of a frame."""
    offsets = {topic: dict(partitions) for topic, partitions in known.items()}
    last = frame.groupBy("topic", "partition").agg(sf.max("offset").alias("offset"))
    for row in last.toArrow().to_pylist():
        offsets.setdefault(row["topic"], {})[str(row["partition"])] = row["offset"] + 1
    return offsets


def _read_to(offsets: Offsets) -> set[tuple[str, str, int]]:
    """The offsets of partitions that have messages."""
    return {(t, p, n) for t, partitions in offsets.items() for p, n in partitions.items() if n != _EARLIEST}


def _with_partitions(known: Offsets, assigned: list[str]) -> Offsets:
    """The known offsets of these partitions, and the beginning of the others."""
    made: Offsets = {}
    for name in assigned:
        topic, _, partition = name.rpartition("-")
        made.setdefault(topic, {})[partition] = known.get(topic, {}).get(partition, _EARLIEST)
    return made
