"""The Spark session that Tidelog creates when none is passed in.

It is local, quiet, private to this machine, and tuned by measurement (see `_settings`). `java` finds Java;
`gateway` starts and ends it.

Invariants:

- No port listens on an address other than 127.0.0.1, including the web UI (which is off by default).
- Nothing is printed, except the master if Spark was already running. The log is the file named by the setting
  `spark.tidelog.log`.
- Nothing is left behind: tables, spilled data and sockets are in one temporary directory, removed at exit.
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

from tidelog.engine.local.native.library import prepare
from tidelog.engine.spark.runtime.gateway import Gateway, failure, launch, python, reachable
from tidelog.engine.spark.runtime.java import find_java
from tidelog.errors import EngineError

__all__ = ["local_session"]

# Spark names its sockets after a UUID; the system limits a socket's path to about a hundred bytes.
_SOCKET_NAME = len("/.00000000-0000-0000-0000-000000000000.sock")
_SOCKET_PATH = 100

_REST_TIMEOUT = 10.0  # seconds

_gateways: list[Gateway] = []  # at most one: PySpark's own gateway is per process too


def local_session(
    app_name: str = "tidelog", cores: int | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A Spark session in this process: the running one, or a new one on `cores` cores (all, by default).

    `conf` overrides Tidelog's own settings; memory, class path and Java options are taken from the usual
    `spark.driver.*` keys. Spark has one context per process, so passing settings while one runs is an error.
    `stop()` ends the context; its Java process stays for the next one and ends with Python.

    A Spark that Tidelog did not start is used as it is, and its master is printed: the running context, or
    the one for which `spark-submit` started this Python. A second Java process is never started beside it.
    """
    _hush()
    running = SparkContext._active_spark_context
    if running is not None:
        return _told(_running(running, cores, conf))
    if _is_submitted():
        return _told(_submitted(app_name, cores, conf))
    if SparkContext._gateway is None:
        prepare()  # while Java starts
        _gateways[:] = [launch(find_java(), conf or {})]
        atexit.register(_stop)  # runs before Java is ended, which was registered earlier
    if not _gateways or _gateways[0].process.poll() is not None:
        raise EngineError("Spark's Java process has ended; restart Python to start another.")
    settings = {**_settings(cores or _cores(), _gateways[0]), **(conf or {})}
    return _connect(_gateways[0], app_name, settings)


def _hush() -> None:
    """Suppress PySpark's warning about pandas 3; Tidelog passes it Arrow."""
    remark = "PySpark does not yet fully support pandas"
    warnings.filterwarnings("ignore", message=remark, category=FutureWarning)


def _stop() -> None:
    """At exit, before Java ends: stop what would print a traceback if Java ended first.

    That is a context left running, and Py4J's thread that informs Java of objects that Python has dropped.
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
            f"Spark is already running in this process ({context.appName}); stop it to start it with other "
            "settings, or request a session without any."
        )
    return SparkSession.getActiveSession() or SparkSession(context)


def _is_submitted() -> bool:
    """Whether a Java process that Tidelog did not start waits for this Python to create a context."""
    return not _gateways and ("PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None)


def _submitted(app_name: str, cores: int | None, conf: Mapping[str, str] | None) -> SparkSession:
    """A session in a Java process that others started, and for which they set the master."""
    if cores is not None:
        raise EngineError(
            "Tidelog did not start Spark's Java process (spark-submit did, for example); set the number of "
            "cores there."
        )
    made: SparkSession = SparkSession.builder.appName(app_name).config(map=dict(conf or {})).getOrCreate()
    return made


def _told(session: SparkSession) -> SparkSession:
    """Print the master of a session that Tidelog did not start; returns the session."""
    if not _gateways:
        print(f"Tidelog uses the running Spark: {session.sparkContext.master}", file=sys.stderr)
    return session


def _connect(gateway: Gateway, app_name: str, settings: Mapping[str, str]) -> SparkSession:
    """Connect PySpark to the gateway and start the context."""
    conf = SparkConf().setAppName(app_name).setAll(list(settings.items()))
    try:
        with reachable(gateway):
            return SparkSession(SparkContext(conf=conf))
    except Exception as error:  # from Py4J, PySpark or the system: all the same to users
        raise failure(f"Spark did not start ({_first_line(error)})", gateway.directory) from error


def _first_line(error: Exception) -> str:
    """The first informative line of an exception with a Java stack; its class if it has no message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if not line.startswith(("at ", "An error occurred"))]
    return next(iter(causes or lines), type(error).__name__).removeprefix(": ")


def _cores() -> int:
    """The cores that this process may use, which in a container may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _settings(cores: int, gateway: Gateway) -> dict[str, str]:
    """Tidelog's settings; the numbers were measured on two cores."""
    files = gateway.directory
    return {
        # 4 attempts per task: otherwise one killed Python worker fails the whole job.
        "spark.master": f"local[{cores},4]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Tidelog itself limits what is collected in the driver, in rows.
        "spark.driver.maxResultSize": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # With Spark's default of 200 partitions, a step takes over a second, whatever its size.
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        # Lets joins on some columns of a partitioning reuse it, instead of shuffling again.
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
        # Halves the overhead of a Python task.
        "spark.python.unix.domain.socket.enabled": str(_sockets_fit(files)).lower(),
        "spark.python.unix.domain.socket.dir": str(files),
        **_daemon(),
        # Otherwise PySpark inspects Python's stack whenever a column is named.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (files / "warehouse").as_uri(),
        "spark.local.dir": str(files),
        "spark.tidelog.log": str(gateway.log),
    }


def _daemon() -> dict[str, str]:
    """Let workers be forked from a process that has imported Tidelog, if they use this Python."""
    if python() != sys.executable:
        return {}
    return {"spark.python.daemon.module": "tidelog.engine.spark.runtime.daemon"}


def _sockets_fit(directory: Path) -> bool:
    return os.name == "posix" and len(os.fsencode(directory)) + _SOCKET_NAME <= _SOCKET_PATH
