"""A Spark cluster for tests: a master and workers as processes of this machine, on its loopback addresses.

Its Java and Spark are those that Tidelog would take, and are started as Tidelog starts them, without Spark's
scripts. Every worker has an address of its own, so that Spark takes them for different machines.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil

from sparks import BRIEF
from tidelog.engine.spark.runtime.class_archive import class_path, spark_home
from tidelog.engine.spark.runtime.gateway import MODULE_OPTIONS
from tidelog.engine.spark.runtime.java import find_java

HOST = "127.0.0.1"
PATIENCE = 120.0  # seconds without progress; only so that a failure ends
ALIVE = 5.0  # seconds of work that all processes together do in that time, unless they only wait
AT_MOST = 1800.0  # seconds
PATHS = os.pathsep.join([str(Path(__file__).parents[2]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])

QUICK = {
    "spark.executor.memory": "512m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.locality.wait": "0",
    "spark.task.maxFailures": "3",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "100ms",
}
SPECULATIVE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "50ms",
    "spark.speculation.task.duration.threshold": "200ms",
}
# a lost executor's blocks go to others before it ends
DECOMMISSIONED = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    "spark.storage.decommission.rddBlocks.enabled": "true",
}
# whatever is killed how often: no job gives up
PATIENT = {"spark.task.maxFailures": "100", "spark.stage.maxConsecutiveAttempts": "100"}
# every step has tasks that are slow after they have written their state (see `slow_daemon`)
SLOW = {
    "spark.python.daemon.module": "engine.spark.slow_daemon",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.01",
}

Found = TypeVar("Found")


def wait_for(what: str, look: Callable[[], Found | None]) -> Found:
    """What is looked for, however long it takes, as long as the processes of this one are at work."""
    end = time.monotonic() + AT_MOST
    while time.monotonic() < end:
        before, deadline = work_done(), time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if (found := look()) is not None:
                return found
            time.sleep(0.05)
        if work_since(before) < ALIVE:
            raise AssertionError(f"{what} did not come about, and nothing was done for {PATIENCE:.0f} s")
    raise AssertionError(f"{what} did not come about within {AT_MOST:.0f} s")


def work_done() -> dict[int, float]:
    """The seconds that each process has worked which this one, or one of those, has started."""
    done: dict[int, float] = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            done[process.pid] = sum(process.cpu_times()[:2])
    return done


def work_since(before: dict[int, float]) -> float:
    """The seconds that processes have worked since then; not those of processes that have ended."""
    return sum(seconds - before.get(process, 0.0) for process, seconds in work_done().items())


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.java_home = java_home_in(folder / "java")
        self.workers: list[subprocess.Popen[bytes]] = []
        self.retired: list[subprocess.Popen[bytes]] = []
        self._started = 0
        self._port = free_port()
        names = ["--host", HOST, "--port", str(self._port), "--webui-port", "0"]
        self._master = self._start("master.Master", HOST, "-Xmx256m", *names)

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self._port}"

    @property
    def conf(self) -> dict[str, str]:
        """The settings of drivers."""
        return {
            "spark.master": self.url,
            "spark.driver.extraJavaOptions": BRIEF,
            "spark.executor.extraJavaOptions": BRIEF,
            "spark.executorEnv.PYTHONPATH": PATHS,
        }

    def add_worker(self, memory: str = "700m") -> None:
        """Start a worker of one core on an address that no other had; it will report to the master."""
        wait_for("the master", lambda: listens(self._port) or None)
        self._started += 1
        host = f"127.0.0.{self._started + 1}"
        room = ["--cores", "1", "--memory", memory, "--webui-port", "0", "--host", host]
        room += ["--work-dir", str(self.folder / f"work{self._started}")]
        self.workers.append(self._start("worker.Worker", host, "-Xmx128m", *room, self.url))

    def kill_worker_of(self, process: int) -> None:
        """Kill the worker that a process of some task belongs to, and all that it has started."""
        from engine.spark.runtime.session_probe import descendants

        [worker] = [w for w in self.workers if process in descendants(w.pid)]
        doomed = [worker.pid, *descendants(worker.pid)]
        for one in doomed:
            _kill(one)
        worker.wait()
        self.workers.remove(worker)

    def kill_python(self, number: int) -> bool:
        """Kill one of the Python processes of a worker's executors; whether there was any."""
        with suppress(psutil.Error):
            started = psutil.Process(self.workers[number % len(self.workers)].pid).children(recursive=True)
            pythons = [process for process in started if "python" in process.name()]
            if pythons:
                pythons[number % len(pythons)].kill()
                return True
        return False

    def decommission(self, number: int) -> None:
        """Take a worker out of service, as an administrator would; another one takes its place."""
        for retired in self.retired:  # its executors have ended meanwhile
            retired.terminate()
            retired.wait()
        worker = self.workers.pop(number % len(self.workers))
        self.retired = [worker]
        self.add_worker()
        worker.send_signal(signal.SIGPWR)

    def kill_executor(self, number: int) -> bool:
        """Kill all that one of the workers has started; whether there was anything."""
        from engine.spark.runtime.session_probe import descendants

        doomed = descendants(self.workers[number % len(self.workers)].pid)
        for one in doomed:
            _kill(one)
        return bool(doomed)

    def stop(self) -> None:
        for process in (*self.workers, *self.retired, self._master):
            process.terminate()
            process.wait()

    # -- how

    def _start(self, main: str, host: str, heap: str, *arguments: str) -> subprocess.Popen[bytes]:
        java = self.java_home / "bin" / "java"
        options = [heap, *shlex.split(BRIEF), *MODULE_OPTIONS, "-Dspark.decommission.enabled=true"]
        command = [str(java), "-cp", class_path(), *options, f"org.apache.spark.deploy.{main}"]
        here = {
            "JAVA_HOME": str(self.java_home),
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": host,
            "SPARK_SCALA_VERSION": _scala_version(),
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{main}{self._started}.log").open("wb") as log:
            return subprocess.Popen(
                [*command, *arguments],
                env={**os.environ, **here},
                stdout=log,
                stderr=subprocess.STDOUT,
            )


class Driver:
    """A Python process with a Spark session on the cluster, that does what it is told line by line."""

    def __init__(self, cluster: Cluster, marks: Path, conf: dict[str, str]) -> None:
        marks.mkdir()
        self.marks = marks
        here = {"PYTHONPATH": PATHS, "JAVA_HOME": str(cluster.java_home)}
        conf = {**cluster.conf, "spark.executorEnv.TIDELOG_MARKS": str(marks), **conf}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("cluster_probe.py")), json.dumps(conf)],
            env={**os.environ, **here},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, what: str, *arguments: str | int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([what, *arguments]) + "\n")
        self._process.stdin.flush()

    @property
    def has_answered(self) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def answer(self) -> Any:
        assert self._process.stdout is not None
        wait_for("the driver's answer", lambda: self.has_answered or None)
        line = self._process.stdout.readline()
        assert line, "the driver ended"
        return json.loads(line)

    def mark(self, *names: str) -> None:
        """Ask tasks that come to the gate for something, and for nothing else."""
        for old in self.marks.iterdir():
            old.unlink()
        for name in names:
            (self.marks / name).touch()

    def let_go(self) -> None:
        """Let a task go on that was held."""
        (self.marks / "go").touch()

    def await_mark(self, name: str) -> int:
        """Wait until a task has left a mark; the number of its process."""
        return wait_for(name, lambda: next((int(m.suffix[1:]) for m in self.marks.glob(f"{name}.*")), None))

    def kill(self) -> None:
        """End it in the middle of whatever it does, and Java with it."""
        from engine.spark.runtime.session_probe import descendants

        for one in (*descendants(self._process.pid), self._process.pid):
            _kill(one)
        self._process.wait()

    def stop(self) -> None:
        assert self._process.stdin is not None
        with self._process:  # its end is that of its input
            self._process.stdin.close()


def java_home_in(folder: Path) -> Path:
    """A folder whose `bin/java` goes without the module that trimmed runtimes lack and Spark asks for."""
    java = find_java().executable.resolve()
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(f"""#!/bin/bash
for option do
  shift
  [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec {shlex.quote(str(java))} "$@"
""")
    wrapper.chmod(0o755)
    return folder


def _scala_version() -> str:
    """What Spark's scripts tell workers, which look for executors' classes by it."""
    [core] = (spark_home() / "jars").glob("spark-core_*.jar")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:  # it went when its parent did
        return
