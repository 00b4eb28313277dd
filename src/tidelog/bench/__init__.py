"""The experiments of the papers: all reasoners in one code base, with the data and tables of the papers.

Importing this package does not import an engine: `Experiments` is loaded on first use.
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
