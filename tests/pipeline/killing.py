"""Kills processes of a pipeline at random moments, Java included, and starts it on the same store again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pipeline.days import Kind, added_up, fans, left_behind, output, wanted, wanted_fans, write

__all__ = ["kill_again_and_again"]

SCRIPT = Path(__file__).parent / "run_until_killed.py"


def kill_again_and_again(
    folder: Path,
    kills: int,
    dice: random.Random,
    kind: Kind = "files",
    placements: tuple[str, ...] = ("",),
    conf: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """After each kill, readers find a whole version, none older than before; at the end, nothing is left.

    `conf` are settings of Spark; each process has one of the `placements`.
    """

    def start(day: int, last: int = -1) -> subprocess.Popen[str]:
        settings = [kind, dice.choice(placements), json.dumps(dict(conf or {}))]
        return _started([str(folder), str(day), str(last), *settings], environment or {})

    first = -1 if kind == "stream" else 0  # a stream begins with an empty version
    day, shown, run = 0, first - 1, 2.0
    write(folder, 0, kind)
    for _ in range(kills):
        day, run = _killed_in(start(day), dice, day, run)
        shown = _whole_version(folder, kind, first, shown, day)
        day += 1
    last = start(day, day)
    _, said = last.communicate()
    assert last.returncode == 0, said
    assert output(folder) == added_up(folder) == wanted(day, kind)
    assert fans(folder) == wanted_fans(day, kind)
    assert left_behind(folder) == set()


def _killed_in(
    process: subprocess.Popen[str], dice: random.Random, day: int, run: float
) -> tuple[int, float]:
    """Kill a process in one of its next runs; the last day that it began, and how long a run takes."""
    assert process.stdout is not None
    begun = 0.0
    for _ in range(dice.choice([1, 2, 2, 3])):
        line = process.stdout.readline()
        if not line.strip():
            raise AssertionError(process.communicate()[1])
        run, begun = (time.monotonic() - begun if begun else run), time.monotonic()
        day = int(line)
    time.sleep(dice.random() * run)
    return int([str(day), *_kill(process)][-1]), run


def _whole_version(folder: Path, kind: Kind, first: int, shown: int, day: int) -> int:
    """The version that readers find: one from what was `shown` to a day."""
    results = {d: wanted(d, kind) for d in range(max(shown, first), day + 1)}
    found = output(folder)
    versions = [d for d, rows in results.items() if rows == found]
    assert versions or (found is None and shown < first), (day, shown)
    assert added_up(folder) in [*results.values(), *([set()] if shown < first else [])], (day, shown)
    merged = fans(folder)
    allowed = [wanted_fans(d, kind) for d in results]
    assert merged in allowed or (merged is None and shown < first), (day, shown)
    return min(versions, default=shown)


def _started(arguments: list[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    tests = Path(__file__).parents[1]
    paths = [str(tests), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )


def _kill(process: subprocess.Popen[str]) -> list[str]:
    """Kill a process and those that it started, all at once; the lines that nobody has read."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    started_by_it = [int(pid) for pid in children.read_text().split()] if children.exists() else []
    for pid in (process.pid, *started_by_it):
        os.kill(pid, signal.SIGKILL)
    return process.communicate()[0].split()
