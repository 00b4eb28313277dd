"""A pipeline whose processes are killed, Java included, leaves whole versions, and goes on from there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.days import added_up, fans, output, wanted, wanted_fans, write
from sizes import size
from tally import tally

pytestmark = pytest.mark.spark

KILLS = {"driver": size(1, 100), "tasks": size(0, 30)}
SCRIPT = Path(__file__).parent / "run_until_killed.py"


def started(folder: Path, day: int, *last: str) -> subprocess.Popen[str]:
    tests = Path(__file__).parents[1]
    paths = [str(tests), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), str(day), *last],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )


def kill(process: subprocess.Popen[str]) -> list[str]:
    """Kill a process and those that it started, all at once; the lines that nobody has read."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    started_by_it = [int(pid) for pid in children.read_text().split()] if children.exists() else []
    for pid in (process.pid, *started_by_it):
        os.kill(pid, signal.SIGKILL)
    return process.communicate()[0].split()


@pytest.mark.parametrize("placement", ["driver", "tasks"][: size(1, 2)])
def test_killed_pipelines_leave_whole_versions_and_go_on(tmp_path: Path, placement: str) -> None:
    (tmp_path / "placement").write_text(placement)
    dice = random.Random(2)
    write(tmp_path, 0)
    day, shown, run = 0, -1, 2.0
    for _ in range(KILLS[placement]):
        process = started(tmp_path, day)
        assert process.stdout is not None
        begun = 0.0
        for _ in range(dice.choice([1, 2, 2, 3])):
            line = process.stdout.readline()
            if not line.strip():
                raise AssertionError(process.communicate()[1])
            run, begun = (time.monotonic() - begun if begun else run), time.monotonic()
            day = int(line)
        time.sleep(dice.random() * run)
        day = int([str(day), *kill(process)][-1])
        results = {d: wanted(d) for d in range(max(shown, 0), day + 1)}
        found = output(tmp_path)
        versions = [d for d, rows in results.items() if rows == found]
        assert versions or (found is None and shown < 0), (day, shown)
        assert added_up(tmp_path) in [*results.values(), *([set()] if shown < 0 else [])], (day, shown)
        merged = fans(tmp_path)
        assert merged in [wanted_fans(d) for d in results] or (merged is None and shown < 0), (day, shown)
        shown = min(versions, default=-1)
        day += 1
    last = started(tmp_path, day, str(day))
    _, said = last.communicate()
    assert last.returncode == 0, said
    assert output(tmp_path) == added_up(tmp_path) == wanted(day)
    assert fans(tmp_path) == wanted_fans(day)
    tally("kills of pipelines", KILLS[placement])
