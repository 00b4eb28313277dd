"""Tidelog: an incremental, dynamic Datalog engine for Python and Spark.

Importing this package imports no engine. Sessions are loaded when one of their names is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.errors import (
    DataError,
    Diagnostic,
    EngineError,
    PipelineError,
    ProgramError,
    SessionError,
    StoreError,
    TidelogError,
)
from tidelog.program.draft import check, load
from tidelog.program.model import Program
from tidelog.progress import Progress

if TYPE_CHECKING:
    from tidelog.session import Changes, Facts, Session, Transaction
    from tidelog.session import open_session as open  # noqa: A004

__all__ = [
    "Changes",
    "DataError",
    "Diagnostic",
    "EngineError",
    "Facts",
    "PipelineError",
    "Program",
    "ProgramError",
    "Progress",
    "Session",
    "SessionError",
    "StoreError",
    "TidelogError",
    "Transaction",
    "__version__",
    "check",
    "load",
    "open",
]

__version__ = "0.1.0"

_OF_SESSIONS = {
    "Changes": "Changes",
    "Facts": "Facts",
    "Session": "Session",
    "Transaction": "Transaction",
    "open": "open_session",
}


def __getattr__(name: str) -> object:
    if name not in _OF_SESSIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tidelog.session"), _OF_SESSIONS[name])


def __dir__() -> list[str]:
    return sorted(__all__)
