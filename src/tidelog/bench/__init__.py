"""The papers' experiments: every reasoner on one code base, on the papers' data, in the papers' tables.

Importing it imports no engine: `Experiments` is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.bench.experiments import Experiments

__all__ = ["Experiments"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("tidelog.bench.experiments"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
