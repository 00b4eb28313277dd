"""Virtual environments for tests, which are kept between runs in the temporary folder of the machine.

A kept environment is brought up to date before each use: pip installs the newest that its requirements allow,
and the wheel of the checkout. A lock keeps other runs away from it while it is in use.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["installed", "kept", "run"]


@contextmanager
def kept(wheel: str, requirements: Sequence[str]) -> Iterator[Path]:
    """The Python of an environment with these requirements and a wheel, for use inside this block."""
    folder = Path(tempfile.gettempdir()) / f"tidelog-environments-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    key = hashlib.sha256("\n".join([platform.python_version(), *sorted(requirements)]).encode()).hexdigest()
    place = folder / key[:16]
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = place / "ready"
        if not ready.exists():
            shutil.rmtree(place, ignore_errors=True)
        python = installed(place, "--upgrade", *requirements)
        ready.touch()
        _pip(python, "--force-reinstall", "--no-deps", wheel)
        yield python


def installed(folder: Path, *requirements: str) -> Path:
    """The Python of an environment in a folder, with these requirements."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    _pip(python, *requirements)
    return python


def run(python: Path, *arguments: str, modules: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with nothing of this environment, except the modules of a folder."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(python.parent)}
    if modules is not None:
        env["PYTHONPATH"] = str(modules)
    return subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, env=env, cwd=python.parent, check=False
    )


def _pip(python: Path, *arguments: str) -> None:
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *arguments], check=True)
