"""Finds and loads the compiled kernels.

An installed package has their library beside this file. A source checkout compiles it at first use, into a
cache. The name of the library contains a digest of the sources that it was compiled from, so that kernels and
the Python code beside them always agree on the layout of memory.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import CDLL, c_int64
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

from tidelog.engine.local.kernels.signatures import SIGNATURES
from tidelog.engine.local.native.targets import Target, here, versions
from tidelog.errors import EngineError, TidelogError
from tidelog.store.disk import try_lock

__all__ = ["Kernels", "compile_to", "digest", "file_name", "load", "prepare"]

Kernel: TypeAlias = Callable[..., int]

_HERE: Final = Path(__file__).parent
_SOURCES: Final = _HERE.parent / "kernels"
_PREFIX: Final = "kernels-"
_LOCK: Final = "compiling-kernels"
_PAUSE: Final = 0.1  # seconds
# the sources may be in a folder that only this process finds modules in
_BUILD: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from tidelog.engine.local.native.build import main
main(*sys.argv[2:])
"""
_NEEDED: Final = ("numba", "ziglang")  # to compile


def digest() -> str:
    """A digest of all that the library is made from."""
    found = hashlib.sha256()
    for file in (*sorted(_SOURCES.glob("*.py")), _HERE / "build.py", _HERE / "targets.py"):
        found.update(f"{file.name}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:32]


def file_name(target: Target) -> str:
    """The name of the library for a platform."""
    return f"{_PREFIX}{digest()}{target.suffix}"


@cache
def load() -> tuple[CDLL, str]:
    """The library, compiled first if need be, and the prefix of the functions for this processor."""
    target = here()
    if target is None:
        raise EngineError(
            f"Tidelog does not support this platform, {sys.platform} on {platform.machine()}; "
            "it supports Linux and macOS on x86-64 and ARM64, and Windows on x86-64"
        )
    library = CDLL(str(_found(target)))
    able = versions(target, library)
    if not able:
        raise EngineError("this processor is too old: x86-64-v2 (SSE4.2 and POPCNT) is needed")
    return library, able[0].name


class Kernels:
    """The functions of the library, as attributes. The library is loaded when one is first used."""

    def __getattr__(self, name: str) -> Kernel:
        library, version = load()
        function = library[f"{version}_{name}"]
        function.argtypes = [c_int64] * len(SIGNATURES[name].split())
        function.restype = c_int64
        setattr(self, name, function)
        return function


def prepare() -> None:
    """Load the library in the background, which takes long only where it must be compiled first."""

    def work() -> None:
        with suppress(TidelogError):  # raised again where the library is needed
            load()

    threading.Thread(target=work, daemon=True).start()


def _found(target: Target) -> Path:
    """The file of the library."""
    name = file_name(target)
    shipped = _HERE / name
    if shipped.exists():
        return shipped
    folder = _cache_folder()
    file = folder / name
    if not file.exists():
        with _turn(folder):
            if not file.exists():
                _compile(file)
                _clean(folder, name)
    return file


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process compiles."""
    with (folder / _LOCK).open("ab") as lock:
        while True:
            try:
                try_lock(lock)
                break
            except BlockingIOError:
                time.sleep(_PAUSE)
        yield


def _clean(folder: Path, name: str) -> None:
    """Delete the libraries of other sources. A process that uses one may still do so, except on Windows."""
    for other in folder.glob(f"{_PREFIX}*"):
        if other.name != name:
            with suppress(OSError):
                other.unlink()


def _cache_folder() -> Path:
    """Where a checkout has its library: in Python's own cache or, without permission, in the user's."""
    beside = _HERE / "__pycache__"
    if os.access(beside if beside.exists() else _HERE, os.W_OK):
        folder = beside
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tidelog")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _compile(file: Path) -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"this is a source checkout, whose kernels must be compiled; that needs {' and '.join(missing)}: "
            f"pip install {' '.join(missing)}"
        )
    sys.stderr.write("tidelog: compiling the kernels of this checkout, once (about 10 s)\n")
    done = compile_to(file)
    if done.returncode:
        raise EngineError(f"the kernels could not be compiled: {done.stderr.strip()[-2000:]}")


def compile_to(file: Path, platform_: str = "") -> subprocess.CompletedProcess[str]:
    """Compile the kernels, in a process of its own so that this one needs no compiler."""
    command = [sys.executable, "-c", _BUILD, str(_HERE.parents[3]), str(file), platform_]
    return subprocess.run(command, capture_output=True, text=True, check=False)
