"""Saves the state of a session to a file, and resumes a session from one.

The file has ranks, counts, indexes and matrices as they are in memory (see `saved_state`), so that opening it
computes nothing. In return it only fits one version of everything, which the *stamp* describes.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
import sys
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from tidelog import __version__
from tidelog.engine import local
from tidelog.engine.local.storage.record import map_record, read_record, write_record
from tidelog.program.model import Program
from tidelog.session.session import Session

__all__ = ["can_save", "resume", "save", "stamp"]

_DIGITS: Final = 12


def stamp(functions: Iterable[Callable[..., object]] = ()) -> str:
    """What a state must match to be resumed: versions, machine and Python functions."""
    parts = [
        f"Tidelog {__version__}",
        f"Python {platform.python_version()}",
        f"NumPy {np.__version__}",
        f"{platform.machine()} ({sys.byteorder}-endian)",
        f"engine {_engine_print()}",
    ]
    modules = sorted({function.__module__ for function in functions})
    if modules:
        texts = "\n".join(_text(module) for module in modules)
        parts.append(f"functions {hashlib.sha256(texts.encode()).hexdigest()[:_DIGITS]}")
    return ", ".join(parts)


def _engine_print() -> str:
    """A fingerprint of the engine's modules, which alone define what its arrays mean."""
    files = sorted(Path(local.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()[:_DIGITS]


def _text(module: str) -> str:
    """The source of a module; without one, a different text each time."""
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return uuid.uuid4().hex


def can_save(session: Session) -> bool:
    """Whether the data of a session is in this process, and all of it can be saved."""
    return not session._kinds.is_needed and session._state.saved() is not None


def save(session: Session, out: Any) -> None:
    """Write the state of a session at its last commit, without its program."""
    with session._state.still():
        write_record(out, session._state.saved().record(), compressed=True)


def resume(session: Session, program: Program, state: Path | bytes) -> bool:
    """Switch a session to a program and its saved state, a file or its content; returns whether it fits."""
    record = read_record(state) if isinstance(state, bytes) else map_record(state)
    return session._state.resume(program, record)
