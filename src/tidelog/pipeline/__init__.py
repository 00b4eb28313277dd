"""Data pipelines: evaluate a program over tables, incrementally.

    from tidelog import pipeline

    outcome = pipeline.run("access.toml")  # or pipeline.open("access.toml") for several runs

Importing this package does not import Spark; the names that need it load it on first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.pipeline.spec import Spec, read_spec, spec_from

if TYPE_CHECKING:
    from tidelog.pipeline.inspection import status, stored_changes, stored_session
    from tidelog.pipeline.merged.reading import compact, read, view
    from tidelog.pipeline.report import Outcome
    from tidelog.pipeline.runner import Pipeline

__all__ = [
    "Outcome",
    "Pipeline",
    "Spec",
    "compact",
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

_WITH_SPARK = ("Outcome", "Pipeline", "follow")
_MODULES = {
    "Outcome": "report",
    "Pipeline": "runner",
    "compact": "merged.reading",
    "follow": "streams",
    "read": "merged.reading",
    "status": "inspection",
    "stored_changes": "inspection",
    "stored_session": "inspection",
    "view": "merged.reading",
}


def open(  # noqa: A001
    spec: Spec | Mapping[str, Any] | str | os.PathLike[str],
    *,
    spark: Any = None,
    progress: Callable[[Any], object] | None = None,
) -> Pipeline:
    """Open the pipeline described by a TOML file, by Python mappings, or by a `Spec`."""
    if isinstance(spec, Mapping):
        spec = spec_from(spec)
    elif not isinstance(spec, Spec):
        spec = read_spec(spec)
    made: Pipeline = __getattr__("Pipeline")(spec, spark=spark, progress=progress)
    return made


def run(
    spec: Spec | Mapping[str, Any] | str | os.PathLike[str],
    *,
    spark: Any = None,
    progress: Callable[[Any], object] | None = None,
    reread: bool = False,
) -> Outcome:
    """Bring the results of a pipeline up to date: apply the changes of its sources since the last run."""
    with open(spec, spark=spark, progress=progress) as pipeline:
        return pipeline.run(reread=reread)


def stream(
    spec: Spec | Mapping[str, Any] | str | os.PathLike[str],
    *,
    spark: Any = None,
    progress: Callable[[Any], object] | None = None,
    once: bool = False,
    interval: float = 0.0,
    report: Callable[[Outcome], object] | None = None,
) -> None:
    """Follow the streams of a pipeline until interrupted; with `once`, process the available data only.

    Every batch is a commit. Batches start at least `interval` seconds apart. `report` is called after every
    commit.
    """
    with open(spec, spark=spark, progress=progress) as pipeline:
        __getattr__("follow")(pipeline, once=once, interval=interval, report=report)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _WITH_SPARK:
        import_module("tidelog.engine.spark")  # raises an EngineError that says what to install
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
