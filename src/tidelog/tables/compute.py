"""The functions of `pyarrow.compute`, which is imported when one is first used: that takes a while."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    found = globals()[name] = getattr(import_module("pyarrow.compute"), name)
    return found
