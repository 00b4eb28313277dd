"""Data pipelines: from tables through a program to tables, a difference at a time.

    from tidelog import pipeline

    outcome = pipeline.run("access.toml")  # or pipeline.open("access.toml") for several runs

Importing it imports no Spark: that is loaded when one of the names below is first asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.pipeline.spec import Spec, read_spec, spec_from

if TYPE_CHECKING:
    from tidelog.pipeline.report import Outcome
    from tidelog.pipeline.run import Pipeline
    from tidelog.pipeline.status import status

__all__ = ["Outcome", "Pipeline", "Spec", "open", "read_spec", "run", "spec_from", "status", "stream"]

_WITH_SPARK = ("Outcome", "Pipeline", "follow")
_MODULES = {"Outcome": "outcome", "Pipeline": "pipeline", "follow": "streaming", "status": "standing"}


def open(  # noqa: A001
    spec: Spec | Mapping[str, Any] | str | os.PathLike[str],
    *,
    spark: Any = None,
    progress: Callable[[Any], object] | None = None,
) -> Pipeline:
    """A pipeline that is described by a file, by tables of Python, or by a `Spec`."""
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
    """Bring the results of a pipeline up to date: apply what has changed in its sources since."""
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
    """Follow the streams of a pipeline until interrupted, or with `once` take what is there.

    Every batch is a commit; a batch begins at the earliest `interval` seconds after the one before. `report`
    is told of every commit.
    """
    with open(spec, spark=spark, progress=progress) as pipeline:
        __getattr__("follow")(pipeline, once=once, interval=interval, report=report)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _WITH_SPARK:
        import_module("tidelog.engine.spark")  # or EngineError that says what to install
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
