"""How long the REPL takes from Enter until it has answered and shows its prompt again.

    python -m bench.repl

It is run in a pseudo terminal on a small program with 200 facts. Each statement is repeated. Times are
milliseconds: the best, the median and the worst, and the mean processor time, which includes typing and
showing the statement. The second table has the time until the first prompt of a process, and the processor
time of imports.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import pexpect
import psutil

__all__ = ["main"]

_REPEATS: Final = 40
_PROMPT: Final = "tidelog>"
_PROGRAM: Final = """input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
output relation Fan(src: int, n: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
"""
_FACTS: Final = "".join(f"+Edge({i // 4}, {i + 1}).\n" for i in range(200))
_STATEMENTS: Final = {  # what is typed, and what undoes it
    "assert a fact": ("+Edge(50, 1000).", "-Edge(50, 1000)."),
    "add a rule": ("Reach(x, x) :- Edge(x, _).", "-Reach(x, x) :- Edge(x, _)."),
    "declare a relation": ("relation New(x: int)", ":drop New"),
    "query": ("?- Reach(0, x), x > 190.", ""),
    "why": (":why Reach(0, 200)", ""),
    "a mistake": ("Reach(x, y) :- Egde(x, y).", ""),
}


def main() -> None:
    """Print two tables."""
    with tempfile.TemporaryDirectory() as folder:
        child, first = _started(folder)
        print(f"{'milliseconds':<22} {'best':>7} {'median':>7} {'worst':>7} {'CPU':>7}")
        for name, (text, undo) in _STATEMENTS.items():
            times, work = [], []
            for _ in range(_REPEATS):
                before = _worked(child)
                times.append(_answered(child, text))
                work.append(_worked(child) - before)
                if undo:
                    _answered(child, undo)
            _show(name, times, statistics.mean(work))
        child.sendeof()
        child.expect(pexpect.EOF)
    print(f"\n{'first prompt':<22} {first:>7.0f}")
    _show("import tidelog.cli", [_imported("import tidelog.cli") for _ in range(_REPEATS)])
    _show("import click", [_imported("import click") for _ in range(_REPEATS)])


def _started(folder: str) -> tuple[pexpect.spawn, float]:
    """The REPL in a terminal, with the program and its facts, and the milliseconds until its prompt."""
    start = time.perf_counter()
    child = pexpect.spawn(
        sys.executable,
        ["-m", "tidelog", "repl"],
        env={**os.environ, "TIDELOG_HISTORY": f"{folder}/history", "PROMPT_TOOLKIT_NO_CPR": "1"},
        timeout=120,
        encoding="utf-8",
        dimensions=(60, 150),
    )
    child.delaybeforesend = None
    child.expect_exact(_PROMPT)
    first = 1000 * (time.perf_counter() - start)
    with open(f"{folder}/program.dl", "w") as file:  # noqa: PTH123
        file.write(_PROGRAM + _FACTS)
    _answered(child, f":load {folder}/program.dl")
    return child, first


def _answered(child: pexpect.spawn, text: str) -> float:
    """Type a text, and measure how long Enter takes until the next prompt."""
    child.send(text)
    with suppress(pexpect.TIMEOUT):  # until the terminal shows what was typed
        while True:
            child.read_nonblocking(100_000, 0.05)
    child.buffer = ""
    start = time.perf_counter()
    child.send("\r")
    child.expect_exact("\x1b[?2004l")  # the input has ended
    child.expect_exact(_PROMPT)
    return 1000 * (time.perf_counter() - start)


def _worked(child: pexpect.spawn) -> float:
    """The milliseconds of processor time that the REPL has taken so far."""
    used = psutil.Process(child.pid).cpu_times()
    return 1000 * (used.user + used.system)


def _imported(code: str) -> float:
    """The milliseconds of processor time that some imports take in a fresh process."""
    timed = f"import time; start = time.process_time(); {code}; print(1000 * (time.process_time() - start))"
    done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)
    return float(done.stdout)


def _show(name: str, times: Sequence[float], work: float | None = None) -> None:
    cells = [min(times), statistics.median(times), max(times), *([] if work is None else [work])]
    print(f"{name:<22} {' '.join(f'{cell:>7.1f}' for cell in cells)}")


if __name__ == "__main__":
    main()
