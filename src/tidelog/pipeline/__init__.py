"""Data pipelines: evaluate a program over tables, incrementally.

    from tidelog import pipeline

    outcome = pipeline.run("access.toml")  # or pipeline.open("access.toml") for several runs

Importing this package does not import Spark; the names that need it load it on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.pipeline.define import Definition, define
from tidelog.pipeline.running import on_spark, run, stream
from tidelog.pipeline.running import open_pipeline as open  # noqa: A004
from tidelog.pipeline.spec import Spec, read_spec, spec_from

if TYPE_CHECKING:
    from tidelog.pipeline.inspection import status, stored_changes, stored_session
    from tidelog.pipeline.merged.reading import compact, read, view
    from tidelog.pipeline.report import Outcome
    from tidelog.pipeline.runner import Pipeline

__all__ = [
    "Definition",
    "Outcome",
    "Pipeline",
    "Spec",
    "compact",
    "define",
    "open",
    "read",
    "read_spec",
    "run",
    "spec_from",
    "status",
    "stored_changes",
    "stored_session",
    "stream",
    "view",
]

_ON_SPARK = {"Outcome": "report", "Pipeline": "runner"}
_MODULES = {
    "compact": "merged.reading",
    "read": "merged.reading",
    "status": "inspection",
    "stored_changes": "inspection",
    "stored_session": "inspection",
    "view": "merged.reading",
}


def __getattr__(name: str) -> Any:
    if name in _ON_SPARK:
        return getattr(on_spark(_ON_SPARK[name]), name)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
