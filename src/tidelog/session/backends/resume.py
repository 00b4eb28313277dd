"""A session that goes on where another one was: what the engine knew is a file, and is mapped back.

The file has ranks, counts, indexes and matrices as they lie in memory (see `engine.local.saving`), so that
opening it works nothing out. In return it is of one version of everything: the *stamp* says of which.
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
from tidelog.engine.local.storage import saved_state as saving
from tidelog.engine.local.storage.record import map_record, write_record
from tidelog.program.model import Program
from tidelog.session.session import Session

__all__ = ["can_save", "resume", "save", "stamp"]

_DIGITS: Final = 12


def stamp(functions: Iterable[Callable[..., object]] = ()) -> str:
    """What a state has to be of to be gone on from here: versions, machine and Python functions."""
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
    """What tells engines apart: what their arrays mean is nowhere but in their modules."""
    files = sorted(Path(saving.__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()[:_DIGITS]


def _text(module: str) -> str:
    """The source of a module; where there is none, a text that is another one each time."""
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return uuid.uuid4().hex


def can_save(session: Session) -> bool:
    """Whether the data of a session is in this process."""
    return session._state.saved() is not None


def save(session: Session, out: Any) -> None:
    """Write what a session holds at its last commit, but for its program."""
    with session._state.still():
        write_record(out, session._state.saved().record())


def resume(session: Session, program: Program, file: Path) -> bool:
    """Let a session hold a program and what was saved of one with it; whether that is possible."""
    return session._state.resume(program, map_record(file))
