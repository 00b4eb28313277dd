"""Streams: every batch of changes becomes one commit, exactly once.

Spark numbers the batches of a stream and records its progress in a folder (`checkpoints` in the store). After
a stop it repeats the last batch, with the same rows and the same number. The manifest of a commit records the
number of its batch, so a repeated batch is recognised and skipped. At any moment a batch is in the store or
will be repeated. If the store is not on a local disk, the folder is a temporary one (see `positions`).

If a stream has a sign column, its rows are inserted or deleted; signs of equal rows in a batch are summed.
"""

from __future__ import annotations

import json
import logging
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tidelog.data.file_names import file_name
from tidelog.engine.spark.runtime.failures import reason
from tidelog.errors import PipelineError, StoreError
from tidelog.pipeline.failures import naming
from tidelog.pipeline.positions import packed, unpack
from tidelog.pipeline.report import Outcome
from tidelog.pipeline.runner import Pipeline
from tidelog.pipeline.sources.intake import Found
from tidelog.pipeline.sources.paths import as_uri
from tidelog.pipeline.sources.reading import Raw, in_batch, read_raw
from tidelog.pipeline.spec import Source
from tidelog.store.manifest import Batch

__all__ = ["follow"]

_CHECKPOINTS: Final = "checkpoints"
_POLL: Final = 0.2  # seconds


def follow(
    pipeline: Pipeline,
    *,
    once: bool = False,
    interval: float = 0.0,
    report: Callable[[Outcome], object] | None = None,
) -> None:
    """Bring the sources up to date, then follow the streams until interrupted.

    With `once`, process the available data and return. Batches start at least `interval` seconds apart.
    `report` is called after every commit.
    """
    told = report or (lambda _: None)
    if not pipeline.spec.streams:
        raise PipelineError(f"{pipeline.spec.name}: streams: is missing; write [streams.RELATION]")
    outcome = pipeline.run()
    if outcome.is_new:
        told(outcome)
    _Following(pipeline, told).until_the_end(once=once, interval=interval)


class _Following:
    """The running streams of a pipeline; one lock serialises the batches of all streams."""

    def __init__(self, pipeline: Pipeline, report: Callable[[Outcome], object]) -> None:
        self._pipeline = pipeline
        self._report = report
        self._turn = threading.Lock()
        self._failure: BaseException | None = None
        self._has_failed = threading.Event()

    def until_the_end(self, *, once: bool, interval: float) -> None:
        with self._folder() as folder, self._started(folder, once=once, interval=interval) as queries:
            while any(query.isActive for query in queries) and not self._has_failed.wait(_POLL):
                pass
            if self._failure is None:
                for query in queries:
                    self._expect_well(query)
        if self._failure is not None:
            raise self._failure

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """The folder for Spark's checkpoints."""
        local = self._pipeline.store.at.folder
        if local is not None:
            yield local / _CHECKPOINTS
            return
        with tempfile.TemporaryDirectory(prefix="tidelog-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    @contextmanager
    def _started(self, folder: Path, *, once: bool, interval: float) -> Iterator[list[Any]]:
        queries: list[Any] = []
        py4j = logging.getLogger("py4j.clientserver")
        level = py4j.level
        py4j.setLevel(logging.CRITICAL)  # it would print a traceback of an error that is raised anyway
        try:
            for name, source in self._pipeline.spec.streams.items():
                queries.append(self._start(name, source, folder, once=once, interval=interval))
            yield queries
        finally:
            for query in queries:
                query.stop()
            py4j.setLevel(level)

    def _start(self, name: str, source: Source, folder: Path, *, once: bool, interval: float) -> Any:
        pipeline = self._pipeline
        raw = read_raw(pipeline.spark, source, pipeline.program.relations[name], stream=True)
        checkpoint = folder / file_name(name)
        self._restore(name, checkpoint)
        self._expect_whole(name, checkpoint)

        def take(batch: DataFrame, number: int) -> None:
            with self._turn:
                try:
                    self._take(source, in_batch(raw, batch), checkpoint, number)
                except BaseException as error:
                    self._failure = error
                    self._has_failed.set()
                    # Java waits for an answer, and only an Exception counts as a failure
                    raise PipelineError("the batch was not committed") from None

        trigger: dict[str, Any] = (
            {"availableNow": True} if once else {"processingTime": f"{interval} seconds"}
        )
        with naming(raw.place):
            writer = raw.frame.writeStream.foreachBatch(take).queryName(raw.place).trigger(**trigger)
            return writer.option("checkpointLocation", as_uri(checkpoint)).start()

    def _restore(self, name: str, checkpoint: Path) -> None:
        """Restore the checkpoint of the last commit, if the store keeps it."""
        store = self._pipeline.store
        last = store.current.streams.get(name) if store.current is not None else None
        if store.at.folder is None and last is not None and last.file:
            unpack(store.verifier.content(last.file, last.size, last.digest), checkpoint)

    def _take(self, source: Source, raw: Raw, checkpoint: Path, number: int) -> None:
        """Commit a batch, unless it was committed before."""
        batch = Batch(_identity(checkpoint), number)
        current = self._pipeline.store.current
        last = current.streams.get(source.relation) if current is not None else None
        if last is not None and last.stream == batch.stream and last.number >= batch.number:
            return
        found = Found(streams={source.relation: batch})
        if self._pipeline.store.at.folder is None:
            found.positions[source.relation] = packed(checkpoint)
        relation = self._pipeline.program.relations[source.relation]
        try:
            self._pipeline.intake.take_batch(found, source, relation, raw)
            self._report(self._pipeline.commit(found))
        finally:
            found.release()

    def _expect_well(self, query: Any) -> None:
        try:
            failure = query.exception()
        except PySparkException as error:
            failure = error
        if failure is not None:
            raise PipelineError(f"{query.name}: {reason(failure)}")

    def _expect_whole(self, name: str, checkpoint: Path) -> None:
        """Raise StoreError if Spark has finished a batch that is missing from the store."""
        current = self._pipeline.store.current
        last = current.streams.get(name) if current is not None else None
        commits = checkpoint / "commits"
        done = max((int(f.name) for f in commits.glob("*") if f.name.isdigit()), default=-1)
        if done > (-1 if last is None else last.number):
            raise StoreError(
                f"the stream {name} has finished batch {done}, which is missing from the store; "
                f"delete {checkpoint} to read the stream from the beginning"
            )


def _identity(checkpoint: Path) -> str:
    """Spark's id of the stream that a checkpoint belongs to; a new stream starts again at batch 0."""
    identity: str = json.loads((checkpoint / "metadata").read_text())["id"]
    return identity
