"""Tidelog: an incremental, dynamic Datalog engine for Python and Spark.

Importing this package imports almost nothing. The rest is imported when a name is first used.
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

if TYPE_CHECKING:
    from tidelog.program.draft import check, load
    from tidelog.program.model import Program
    from tidelog.progress import Progress
    from tidelog.session import Changes, Facts, Session, Transaction, run
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
    "run",
]

__version__ = "0.1.0"

_IMPORTED = {  # where names that are imported later come from
    "Changes": ("tidelog.session", "Changes"),
    "Facts": ("tidelog.session", "Facts"),
    "Program": ("tidelog.program.model", "Program"),
    "Progress": ("tidelog.progress", "Progress"),
    "Session": ("tidelog.session", "Session"),
    "Transaction": ("tidelog.session", "Transaction"),
    "check": ("tidelog.program.draft", "check"),
    "load": ("tidelog.program.draft", "load"),
    "open": ("tidelog.session", "open_session"),
    "run": ("tidelog.session", "run"),
}


def __getattr__(name: str) -> object:
    if name not in _IMPORTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _IMPORTED[name]
    found = globals()[name] = getattr(import_module(module), attribute)
    return found


def load_ipython_extension(shell: object) -> None:
    """Called by `%load_ext tidelog` in notebooks."""
    import_module("tidelog.notebooks.magics").load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
