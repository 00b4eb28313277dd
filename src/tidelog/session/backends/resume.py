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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import numpy as np

from tidelog import __version__, engine, plan
from tidelog.engine.local.storage.record import Corrupt, map_record, read_record, write_record
from tidelog.program.model import Program
from tidelog.session.backends.protocol import InFrames
from tidelog.session.session import Session
from tidelog.store.files import Files, Output
from tidelog.store.states import IN_FRAMES, KeptState, Offer, StatePart, Unusable, usable_state

__all__ = ["offer", "resume", "save", "stamp"]

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
    """A fingerprint of the modules that define what arrays mean, and what relations a program has."""
    files = sorted(file for package in (engine, plan) for file in _folder(package).rglob("*.py"))
    return hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()[:_DIGITS]


def _folder(package: ModuleType) -> Path:
    assert package.__file__ is not None, "a package with an __init__"
    return Path(package.__file__).parent


def _text(module: str) -> str:
    """The source of a module; without one, a different text each time."""
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return uuid.uuid4().hex


def offer(
    session: Session, stamp: str, progress: Callable[[str], object], *, is_missed: bool
) -> Offer | None:
    """The state of a session, to be saved with its last commit; None if not all of it can be saved."""
    if session._kinds.is_needed:
        return None
    saved = session._state.saved()

    def write_parts(files: Files, state: str) -> Sequence[StatePart]:
        progress("saving the state")
        try:
            return saved.write_parts(files, state)
        except OSError as error:
            progress(f"the state was not saved: {error.strerror}")
            raise

    def write(out: Output) -> None:
        with session._state.still():
            write_record(out, saved.record(), compressed=True)

    return Offer(write, stamp, is_missed, saved.place, write_parts)


def save(session: Session, out: Any) -> None:
    """Write the state of a session at its last commit, without its program."""
    with session._state.still():
        write_record(out, session._state.saved().record(), compressed=True)


def resume(
    session: Session, program: Program, kept: KeptState, files: Files, stamp: str
) -> Mapping[str, str]:
    """Switch a session to a program and its saved state.

    Returns why some strata are bootstrapped, by their names, also by the next commits. Raises Unusable or an
    EngineError.
    """
    where = files.where(kept.file)
    state = usable_state(files, kept, stamp)
    try:
        record = read_record(state) if isinstance(state, bytes) else map_record(state)
        if kept.place == IN_FRAMES:
            return _in_frames(session).resume_frames(program, record, kept.known(files))
        if session._state.resume(program, record):
            return {}
    except Corrupt as problem:
        raise Unusable(f"the saved state {where} is corrupt: {problem}") from None
    except OSError as error:
        raise Unusable(f"the saved state {where} cannot be read: {error.strerror}") from None
    raise Unusable(f"the saved state {where} belongs to another program")


def _in_frames(session: Session) -> InFrames:
    backend = session._state
    if not hasattr(backend, "resume_frames"):
        raise Unusable("the saved state is of data in DataFrames, and the placement is the driver")
    return cast(InFrames, backend)
