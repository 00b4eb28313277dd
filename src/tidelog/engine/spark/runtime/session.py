"""The Spark session that Tidelog makes when none is passed in.

It is a local one, quiet, private to this machine, and configured by measurement: see `_settings`. Where
Java comes from is `java`'s matter, how it is started and ended `gateway`'s.

Invariants:

- No port listens on an address other than 127.0.0.1, the web pages included (off unless asked for).
- Nothing is printed, but which master is used if Spark was running already. The log is the file named by the
  setting `spark.tidelog.log`.
- Nothing stays: tables, spilled data and sockets are in one temporary directory, gone at exit.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from tidelog.engine.spark.runtime.gateway import Gateway, failure, launch, reachable
from tidelog.engine.spark.runtime.java import find_java
from tidelog.errors import EngineError

__all__ = ["local_session"]

# Spark's sockets are named after a UUID; the system allows a path about a hundred bytes.
_SOCKET_NAME = len("/.00000000-0000-0000-0000-000000000000.sock")
_SOCKET_PATH = 100

_REST_TIMEOUT = 10.0  # seconds

_gateways: list[Gateway] = []  # at most one: PySpark's own gateway is per process too


def local_session(
    app_name: str = "tidelog", cores: int | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A Spark session in this process: the running one, or a new one on `cores` cores (all, by default).

    `conf` goes over Tidelog's own settings; memory, class path and Java options are taken from the usual
    `spark.driver.*` keys. Spark has one context per process, so asking for settings while one runs is an
    error. `stop()` ends the context; its Java stays for the next one and ends with Python.

    A Spark that others have started is used as it is, and its master is told: the context that runs, or what
    `spark-submit` started this Python for. A second Java is never started beside it.
    """
    _hush()
    running = SparkContext._active_spark_context
    if running is not None:
        return _told(_running(running, cores, conf))
    if _is_submitted():
        return _told(_submitted(app_name, cores, conf))
    if SparkContext._gateway is None:
        _gateways[:] = [launch(find_java(), conf or {})]
        atexit.register(_stop)  # runs before Java is ended, which was registered earlier
    if not _gateways or _gateways[0].process.poll() is not None:
        raise EngineError("The Java that is bound to this Python has ended: start Python anew.")
    settings = {**_settings(cores or _cores(), _gateways[0]), **(conf or {})}
    return _connect(_gateways[0], app_name, settings)


def _hush() -> None:
    """Drop PySpark's remark that it has not been tried with all of pandas 3; Tidelog hands it Arrow."""
    remark = "PySpark does not yet fully support pandas"
    warnings.filterwarnings("ignore", message=remark, category=FutureWarning)


def _stop() -> None:
    """At exit, before Java ends: bring to rest what would print a traceback if Java went first.

    That is a context left running, and Py4J's thread that tells Java which objects Python has dropped.
    """
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    py4j = import_module("py4j.clientserver")
    client = getattr(SparkContext._gateway, "_gateway_client", None)
    if isinstance(client, py4j.JavaClient):
        client.finalizer_deque.appendleft(py4j.SHUTDOWN_FINALIZER_WORKER)  # the end of its queue
        for thread in threading.enumerate():
            if isinstance(thread, py4j.FinalizerWorker):
                thread.join(_REST_TIMEOUT)


def _running(context: SparkContext, cores: int | None, conf: Mapping[str, str] | None) -> SparkSession:
    if cores is not None or conf:
        raise EngineError(
            f"Spark is running in this process already ({context.appName}): stop it to start it with other "
            "settings, or ask for a session without any."
        )
    return SparkSession.getActiveSession() or SparkSession(context)


def _is_submitted() -> bool:
    """Whether a Java that is not ours waits for this Python to make a context."""
    return not _gateways and ("PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None)


def _submitted(app_name: str, cores: int | None, conf: Mapping[str, str] | None) -> SparkSession:
    """A session in the Java that others have started; they have said what its master is."""
    if cores is not None:
        raise EngineError(
            "Spark's Java was started by others, spark-submit perhaps: say there how many cores it may use."
        )
    made: SparkSession = SparkSession.builder.appName(app_name).config(map=dict(conf or {})).getOrCreate()
    return made


def _told(session: SparkSession) -> SparkSession:
    """The session, after it was said which one it is, if it is not of our making."""
    if not _gateways:
        print(f"Tidelog uses the Spark that is running: {session.sparkContext.master}", file=sys.stderr)
    return session


def _connect(gateway: Gateway, app_name: str, settings: Mapping[str, str]) -> SparkSession:
    """Let PySpark take the gateway, and start the context."""
    conf = SparkConf().setAppName(app_name).setAll(list(settings.items()))
    try:
        with reachable(gateway):
            return SparkSession(SparkContext(conf=conf))
    except Exception as error:  # Py4J's, PySpark's or the system's: to a user they are one
        raise failure(f"Spark did not start ({_first_line(error)})", gateway.directory) from error


def _first_line(error: Exception) -> str:
    """What a person needs of an exception that carries a Java stack: its class if it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if not line.startswith(("at ", "An error occurred"))]
    return next(iter(causes or lines), type(error).__name__).removeprefix(": ")


def _cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _settings(cores: int, gateway: Gateway) -> dict[str, str]:
    """Tidelog's settings; the numbers are those of measurements on two cores."""
    files = gateway.directory
    return {
        # The 4 is for attempts: without it one killed Python worker fails the whole job.
        "spark.master": f"local[{cores},4]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # What is brought to the driver is limited by us, in rows.
        "spark.driver.maxResultSize": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A step with Spark's 200 partitions takes over a second, whatever its size.
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        # Lets joins on part of a relation's partitioning keep it, instead of shuffling again.
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
        # Half the overhead of a Python task.
        "spark.python.unix.domain.socket.enabled": str(_sockets_fit(files)).lower(),
        "spark.python.unix.domain.socket.dir": str(files),
        # Else PySpark looks at Python's stack whenever a column is named.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (files / "warehouse").as_uri(),
        "spark.local.dir": str(files),
        "spark.tidelog.log": str(gateway.log),
    }


def _sockets_fit(directory: Path) -> bool:
    return os.name == "posix" and len(os.fsencode(directory)) + _SOCKET_NAME <= _SOCKET_PATH
