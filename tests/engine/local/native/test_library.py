"""The compiled kernels are those of the sources beside them, and fit the processor."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from ctypes import CDLL
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tidelog.engine.local.native import calls, library, targets
from tidelog.errors import EngineError

LINUX = targets.TARGETS["linux", "x86_64"]

# forces a version of the kernels, and compares results on rows and on bits
FORCED = """
import sys
from tidelog.engine.local.native import library, targets
all_versions = targets.versions
library.versions = lambda target, lib: [v for v in all_versions(target, lib) if v.name == sys.argv[1]]
import tidelog
db = tidelog.open(text='''
input relation E(x: int, y: int)
output relation P(x: int, y: int)
output relation Same(x: int, y: int)
P(x, y) :- E(x, y).
P(x, z) :- P(x, y), E(y, z).
Same(x, y) :- E(p, x), E(p, y), x < y.
''')
edges = [(i, (i * 7 + 1) % 200) for i in range(200)] + [(i, (i * 13 + 5) % 200) for i in range(200)]
with db.transaction() as tx:
    tx.insert("E", edges)
with db.transaction() as tx:
    tx.delete("E", edges[::3])
print(hash(frozenset(db["P"])), hash(frozenset(db["Same"])), len(db["P"]), library.load()[1])
"""


class Processor:
    """A library on a processor whose registers are given by leaf."""

    def __init__(self, leaves: dict[int, tuple[int, int, int, int]], saved: int) -> None:
        self._leaves = leaves

        class Saved:
            restype: Any = None

            def __call__(self) -> int:
                return saved

        self.xgetbv = Saved()

    def cpuid(self, leaf: Any, sub: Any, registers: Any) -> None:
        for i, value in enumerate(self._leaves.get(leaf.value, (0, 0, 0, 0))):
            registers[i] = value


def bits(*numbers: int) -> int:
    return sum(1 << n for n in numbers)


OLD = bits(0, 9, 13, 19, 20, 23)
LEAVES = {
    0: (13, 0, 0, 0),
    0x80000000: (0x80000008, 0, 0, 0),
    1: (0, 0, OLD | bits(12, 22, 27, 28, 29), 0),
    7: (0, bits(3, 5, 8), 0, 0),
    0x80000001: (0, 0, bits(0, 5), 0),
}


def _names(leaves: dict[int, tuple[int, int, int, int]], saved: int = 7) -> list[str]:
    found = targets.versions(LINUX, cast(CDLL, Processor(leaves, saved)))
    return [version.name for version in found]


def test_the_version_is_what_the_processor_and_the_system_allow() -> None:
    assert _names(LEAVES) == ["v3", "v2"]
    assert _names(LEAVES, saved=3) == ["v2"]  # the system does not save wide registers
    assert _names({**LEAVES, 7: (0, bits(3, 8), 0, 0)}) == ["v2"]
    assert _names({**LEAVES, 0: (1, 0, 0, 0)}) == ["v2"]  # there is no leaf 7 to ask
    assert _names({**LEAVES, 1: (0, 0, OLD & ~bits(23), 0)}) == []


def test_a_processor_that_is_too_old_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "versions", lambda target, loaded: [])
    with pytest.raises(EngineError, match="too old"):
        library.load.__wrapped__()


def test_an_unknown_platform_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "here", lambda: None)
    with pytest.raises(EngineError, match="does not support this platform"):
        library.load.__wrapped__()


def test_every_version_gives_the_same_results() -> None:
    target = targets.here()
    assert target is not None
    able = targets.versions(target, library.load()[0])
    outputs = []
    for version in able:
        command = [sys.executable, "-c", FORCED, version.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        *results, used = done.stdout.split()
        assert used == version.name
        outputs.append(results)
    assert all(results == outputs[0] for results in outputs)


class TestFinding:
    """A checkout, with a compiler that writes an empty file."""

    @pytest.fixture(autouse=True)
    def checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path / "native"
        self.folder.mkdir()
        for name in ("build.py", "targets.py"):
            shutil.copy(Path(library.__file__).parent / name, self.folder)
        shutil.copytree(library._SOURCES, tmp_path / "kernels")
        monkeypatch.setattr(library, "_HERE", self.folder)
        monkeypatch.setattr(library, "_SOURCES", tmp_path / "kernels")
        self.compiled: list[str] = []

        def compile_(file: Path) -> None:
            self.compiled.append(file.name)
            file.touch()

        monkeypatch.setattr(library, "_compile", compile_)

    def test_it_is_compiled_once(self) -> None:
        first = library._found(LINUX)
        assert library._found(LINUX) == first
        assert self.compiled == [first.name]

    @pytest.mark.parametrize("source", ["layout.py", "rows.py", "../native/build.py", "../native/targets.py"])
    def test_it_is_compiled_again_when_any_source_changes(self, source: str) -> None:
        first = library._found(LINUX)
        with (library._SOURCES / source).open("a") as file:
            file.write("\n# changed\n")
        second = library._found(LINUX)
        assert self.compiled == [first.name, second.name]
        assert not first.exists()

    def test_the_one_in_the_package_is_preferred(self) -> None:
        shipped = self.folder / library.file_name(LINUX)
        shipped.touch()
        assert library._found(LINUX) == shipped
        assert not self.compiled

    def test_several_at_once_compile_once(self) -> None:
        found: list[Path] = []
        threads = [threading.Thread(target=lambda: found.append(library._found(LINUX))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(found)) == 1
        assert len(self.compiled) == 1


def test_without_a_compiler_the_error_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match="pip install numba ziglang"):
        library._compile(tmp_path / "kernels.so")


class TestCalls:
    def test_an_array_that_is_not_contiguous_is_refused(self) -> None:
        with pytest.raises(ValueError, match="not a contiguous array"):
            calls.count_pairs(np.zeros((4, 4), np.uint64)[:, ::2], np.zeros(4, np.int64))

    def test_an_array_of_another_type_is_refused(self) -> None:
        with pytest.raises(ValueError, match="not a contiguous array"):
            calls.grouped(np.zeros(3, np.int32), np.zeros(3, np.int64), 1)

    def test_pairs_are_grouped_in_their_order(self) -> None:
        random = np.random.default_rng(7)
        for size in (1, 2, 50):
            first, second = random.integers(0, size, 200), random.integers(0, 1000, 200)
            starts, members = calls.grouped(first, second, size)
            for x in range(size):
                assert members[starts[x] : starts[x + 1]].tolist() == second[first == x].tolist()
        nothing = np.zeros(0, np.int64)
        assert [part.tolist() for part in calls.grouped(nothing, nothing, 3)] == [[0] * 4, []]
