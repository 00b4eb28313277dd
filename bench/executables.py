"""Engines that are programs of their own: Soufflé, interpreted and compiled, and FlowLog.

They read facts from files, which is measured, and print the number of tuples. Compiling a program is not
measured. Wall time is from the start of the process to its end, and processor time is what the kernel charges
to it. An engine is measured only if its executable is on the path.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import AnyStr, TypeAlias

from bench.data import Dataset
from bench.dialects import has_strings, translate, write_facts
from bench.programs import Program
from bench.result import Batch, Run, best
from tidelog.bench.isolate import Failed

__all__ = ["EXECUTABLES", "NAMES", "THREADS", "ending", "is_installed", "peak_of", "sizes"]

THREADS = 2
_SIZES = re.compile(r"^(?:(\w+)\t|\[size\]\[(\w+)\] .*size=)(\d+)$", re.MULTILINE)

# makes a command of the program's source file; it is run in the folder with the facts
Prepare: TypeAlias = Callable[[Program, Path], list[str]]


def _interpret(_program: Program, source: Path) -> list[str]:
    return ["souffle", f"-j{THREADS}", str(source)]


def _compile_souffle(_program: Program, source: Path) -> list[str]:
    binary = str(source.with_suffix(""))
    _build(["souffle", f"-j{THREADS}", "-o", binary, str(source)])
    return [binary, f"-j{THREADS}"]


def _compile_flowlog(program: Program, source: Path) -> list[str]:
    binary = str(source.with_suffix(""))
    options = ["--str-intern"] if has_strings(program) else []
    _build(["flowlog-compiler", str(source), "-o", binary, "-D", "-", *options])
    return [binary, "-w", str(THREADS)]


def _build(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [*(line for line in done.stderr.splitlines() if "rror" in line), done.stderr.strip()]
        raise Failed(f"not compiled: {lines[0][:100]}")


def _measure(
    engine: str, dialect: str, prepare: Prepare, program: Program, dataset: Dataset, repeat: int
) -> Batch:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.dl"
        write_facts(program, dataset.make(), source.parent)
        source.write_text(translate(program, dialect), encoding="utf-8")
        command = prepare(program, source)
        peaks: list[int] = []
        run = best(lambda: _execute(command, source.parent, program.result, peaks), repeat)
    return Batch(program.name, dataset.name, engine, run.seconds, run.cpu, run.size, max(peaks))


def _execute(command: list[str], facts: Path, result: str, peaks: list[int]) -> Run:
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=facts, stdout=output, stderr=subprocess.STDOUT)
        with ending(process):
            status, cpu, peak = _wait(process.pid)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise Failed(f"exited with code {process.returncode}")
        output.seek(0)
        found = sizes(output.read())
        if result not in found:
            raise Failed(f"printed no size of {result}")
        peaks.append(peak)
        return Run(seconds, cpu, found[result])


@contextmanager
def ending(process: subprocess.Popen[AnyStr]) -> Iterator[None]:
    """End the engine if this process is terminated, as it is after its time limit.

    The engine would go on and disturb later measurements.
    """
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        yield
    except BaseException:
        process.kill()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def sizes(output: str) -> dict[str, int]:
    """The sizes of relations in what Soufflé or FlowLog printed."""
    return {souffle or flowlog: int(size) for souffle, flowlog, size in _SIZES.findall(output)}


def _wait(process: int) -> tuple[int, float, int]:
    """Wait for a process to exit; return its status, processor time and peak memory.

    The peak is read while it runs, since that of `wait4` includes the process that started it.
    """
    peak = 0
    while True:
        ended, code, usage = os.wait4(process, os.WNOHANG)
        if ended:
            return code, usage.ru_utime + usage.ru_stime, peak
        peak = max(peak, peak_of(process))
        time.sleep(0.002)


def peak_of(process: int) -> int:
    """The peak memory of a running process in bytes; 0 if the kernel doesn't say."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return max((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), default=0)


NAMES = {
    "souffle": "souffle",
    "souffle compiled": "souffle",
    "flowlog": "flowlog-compiler",
    "differential-dataflow": "differential-dataflow",
}

EXECUTABLES: dict[str, Callable[[Program, Dataset, int], Batch]] = {
    "souffle": partial(_measure, "souffle", "souffle", _interpret),
    "souffle compiled": partial(_measure, "souffle compiled", "souffle", _compile_souffle),
    "flowlog": partial(_measure, "flowlog", "flowlog", _compile_flowlog),
}


def is_installed(engine: str) -> bool:
    return engine not in NAMES or shutil.which(NAMES[engine]) is not None
