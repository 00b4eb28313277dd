"""Tidelog: an incremental, dynamic Datalog engine for Python and Spark."""

from tidelog.errors import Diagnostic, EngineError, ProgramError, TidelogError
from tidelog.program.draft import check, load
from tidelog.program.model import Program

__all__ = [
    "Diagnostic",
    "EngineError",
    "Program",
    "ProgramError",
    "TidelogError",
    "__version__",
    "check",
    "load",
]

__version__ = "0.1.0"
