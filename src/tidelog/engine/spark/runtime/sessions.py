"""Two Spark sessions: the user's, whose settings belong to the user, and Tidelog's own for its work.

The meaning of a user's frame may depend on the settings of its session: a text read as a timestamp, a view, a
table of the current database. So frames are evaluated in their own session, under its settings, and persisted
there. Only the results cross into Tidelog's session, where adaptive execution and automatic broadcasts are
off: the first loses the partitioning of results, the second runs a job to find out what is known already.
Results cross back, so that users get frames of their own session.

Invariants:

- No setting of a session that was passed in is ever changed.
- Tidelog's session is never a thread's active one, not even briefly: PySpark has one for all threads.

Frames cross through a global temporary view, which all sessions of one application see, and which is dropped
as soon as the other session has a frame for it. Over Connect, sessions cannot be mixed: both are the user's,
and Spark plans by its settings. Results are right under any settings, because plans state their partitioning.
"""

from __future__ import annotations

from itertools import count
from os import getpid
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

__all__ = ["SETTINGS", "Sessions", "created", "from_table", "shuffle_partitions"]

# of Tidelog's own session
SETTINGS: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
}

_numbers = count()


def shuffle_partitions(spark: SparkSession) -> int:
    """The number of shuffle partitions of a session."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200)


class Sessions:
    """`user` is the session that was passed in, `own` the one that does the work."""

    def __init__(self, user: SparkSession) -> None:
        self.user = user
        self.own = user
        if _is_classic(user):
            self.own = user.newSession()
            for name, value in SETTINGS.items():
                self.own.conf.set(name, value)
            self.own.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions(user)))

    @property
    def are_two(self) -> bool:
        return self.own is not self.user

    def inward(self, frame: DataFrame) -> DataFrame:
        """A frame of another session, which is persisted there, as a frame of Tidelog's session."""
        return _crossed(frame, self.own)

    def outward(self, frame: DataFrame) -> DataFrame:
        """A frame of Tidelog's session as a frame of the user's."""
        return _crossed(frame, self.user)

    def made(self, rows: Any, schema: str | None = None) -> DataFrame:
        """A frame of Tidelog's session with these rows: an Arrow table, or an empty list with a schema."""
        return created(self.own, rows, schema)


def created(session: SparkSession, rows: Any, schema: str | None = None) -> DataFrame:
    """A frame of a session with these rows; the active session does not change.

    PySpark activates the session that creates a frame from rows, so the active session creates it.
    """
    if not _is_classic(session):
        return _frame(session, rows, schema)
    active = SparkSession.getActiveSession()
    maker = active or getattr(SparkSession, "_activeSession", None) or session
    frame = _frame(maker, rows, schema)
    if active is None:
        _clear_active(maker)
    return _crossed(frame, session)


def _is_classic(session: SparkSession) -> bool:
    return getattr(session, "sparkContext", None) is not None  # over Connect there is none


def from_table(session: SparkSession, table: Any) -> DataFrame:
    """A frame with the rows of an Arrow table, which may be empty: over Connect, that has no schema."""
    if not table.num_rows:
        return session.createDataFrame([], from_arrow_schema(table.schema))
    return session.createDataFrame(table)


def _frame(session: SparkSession, rows: Any, schema: str | None) -> DataFrame:
    return from_table(session, rows) if schema is None else session.createDataFrame(rows, schema)


def _crossed(frame: DataFrame, session: SparkSession) -> DataFrame:
    if frame.sparkSession is session:
        return frame
    name = f"tidelog_{getpid()}_{next(_numbers)}"
    frame.createGlobalTempView(name)
    try:
        return session.table(f"{session.conf.get('spark.sql.globalTempDatabase', 'global_temp')}.{name}")
    finally:
        session.catalog.dropGlobalTempView(name)


def _clear_active(session: SparkSession) -> None:
    """Leave this thread without an active session, which the Python API cannot do."""
    java: Any = session._jvm
    java.org.apache.spark.sql.classic.SparkSession.clearActiveSession()
