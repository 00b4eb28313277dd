"""Takes the changes of all sources, each by what its kind allows, and those of batches of streams."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession

from tidelog.pipeline.sources.by_feed import ByFeed
from tidelog.pipeline.sources.by_files import ByFiles
from tidelog.pipeline.sources.by_offsets import ByOffsets
from tidelog.pipeline.sources.by_rows import ByRows, is_given
from tidelog.pipeline.sources.by_watermark import ByWatermark
from tidelog.pipeline.sources.delta import Delta, is_followed
from tidelog.pipeline.sources.listing import spark_listing
from tidelog.pipeline.sources.reading import Raw
from tidelog.pipeline.sources.sequencing import sequenced
from tidelog.pipeline.sources.taking import Found, Taking
from tidelog.pipeline.spec import Source
from tidelog.program.declared import Relation
from tidelog.store.durable import Store
from tidelog.store.sidecars import KEYS
from tidelog.tables.given import to_table
from tidelog.tables.signed import SIGN, sums

__all__ = ["Found", "Intake"]


class Intake:
    def __init__(self, spark: SparkSession, store: Store, progress: Callable[[str], object]) -> None:
        self._spark = spark
        self._store = store
        self._progress = progress
        self._listing = spark_listing(spark)

    def take(self, found: Found, source: Source, relation: Relation, *, reread: bool) -> None:
        """Take the changes of a source since the last commit; an unchanged source is not read."""
        taking = Taking(self._spark, self._store, found)
        if is_followed(source):
            ByFeed(taking, Delta(self._spark), self._progress).take(source, relation, reread=reread)
            return
        if is_given(source):
            ByRows(taking).take(source, relation)
            return
        if source.format == "kafka":
            ByOffsets(taking, partial(self._take_events, taking), self._progress).take(
                source, relation, reread=reread
            )
            return
        if source.watermark is not None:
            ByWatermark(taking, self._progress).take(source, relation, reread=reread)
            return
        ByFiles(taking, self._listing, self._progress).take(source, relation, reread=reread)

    def take_batch(self, found: Found, source: Source, relation: Relation, raw: Raw) -> None:
        """Take a batch of a stream."""
        self._take_events(Taking(self._spark, self._store, found), source, relation, raw)

    def _take_events(self, taking: Taking, source: Source, relation: Relation, raw: Raw) -> None:
        """Take events: the last one of each key, or the sums of their signs.

        A positive sum inserts a row, a negative one deletes it.
        """
        found = taking.found
        good = taking.small_rows(source, raw)
        if source.key:
            last = sequenced(raw.place, self._store, source, relation, good)
            found.sidecars[relation.name] = {KEYS: last.keys}
            taking.report(relation, last.inserted, last.deleted)
        elif raw.layout.sign is None:
            taking.report(relation, to_table(relation, good), to_table(relation, []))
        else:
            rows = sums(good)
            signs, facts = rows[SIGN].to_numpy(), rows.drop_columns([SIGN])
            inserted, deleted = (to_table(relation, facts.filter(kept)) for kept in (signs > 0, signs < 0))
            taking.report(relation, inserted, deleted)
