"""Two sessions of Spark: the user's, whose settings are the user's alone, and one of our own for our work.

What users hand over may mean one thing under one setting and another under another: a text read as a
timestamp, a view, a table of the current database. So their frames are evaluated in the session that they
belong to, under its settings, and held there; only what is evaluated crosses into our session, where adaptive
execution and automatic broadcasts are off: the one forgets how results are partitioned, the other costs a job
to find out what we know. Results cross back, so that users get frames of their own session.

Invariants:

- No setting of a session that was passed in is ever changed.
- Our session is never the active one of a thread, not even for a moment: PySpark keeps one for all threads.

Frames cross by a global temporary view, which all sessions of one application see, and which is gone again
as soon as the frame is named on the other side. Over Connect sessions cannot be mixed: there both are the
user's, and Spark plans as its settings say; rows are right under any, since plans ask for their partitioning.
"""

from __future__ import annotations

from itertools import count
from os import getpid
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

__all__ = ["SETTINGS", "Sessions", "created", "shuffle_partitions"]

# of our own session
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
    """How many partitions the shuffles of a session have."""
    return int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200)


class Sessions:
    """`user` is the session that was passed in, `own` the one that work is done in."""

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
        """A frame of whatever session, which is held there, in our session."""
        return _crossed(frame, self.own)

    def outward(self, frame: DataFrame) -> DataFrame:
        """A frame of our session in the user's."""
        return _crossed(frame, self.user)

    def made(self, rows: Any, schema: str | None = None) -> DataFrame:
        """A frame of our session with these rows: a table of Arrow, or none."""
        return created(self.own, rows, schema)


def created(session: SparkSession, rows: Any, schema: str | None = None) -> DataFrame:
    """A frame of a session with these rows, which leaves the active session as it is.

    PySpark makes the session active that makes a frame of rows, so the active one makes it.
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


def _frame(session: SparkSession, rows: Any, schema: str | None) -> DataFrame:
    return session.createDataFrame(rows) if schema is None else session.createDataFrame(rows, schema)


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
    """This thread has no active session again, which Python's API cannot say."""
    java: Any = session._jvm
    java.org.apache.spark.sql.classic.SparkSession.clearActiveSession()
