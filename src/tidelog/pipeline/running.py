"""Opens and runs pipelines, however they are described. Importing this module does not import Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from tidelog.pipeline.spec import Spec, read_spec, spec_from

if TYPE_CHECKING:
    from tidelog.pipeline.report import Outcome
    from tidelog.pipeline.runner import Pipeline

__all__ = ["AnySpec", "Described", "on_spark", "open_pipeline", "run", "spec_of", "stream"]


@runtime_checkable
class Described(Protocol):
    """Anything that makes a spec, such as a `Definition`."""

    def spec(self) -> Spec: ...


AnySpec: TypeAlias = Spec | Described | Mapping[str, Any] | str | os.PathLike[str]


def spec_of(spec: AnySpec) -> Spec:
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return spec_from(spec)
    return spec.spec() if isinstance(spec, Described) else read_spec(spec)


def open_pipeline(
    spec: AnySpec, *, spark: Any = None, progress: Callable[[Any], object] | None = None
) -> Pipeline:
    """Open a pipeline: the path of a TOML file, Python mappings, a `Definition` or a `Spec`."""
    made: Pipeline = on_spark("runner").Pipeline(spec_of(spec), spark=spark, progress=progress)
    return made


def run(
    spec: AnySpec,
    *,
    spark: Any = None,
    progress: Callable[[Any], object] | None = None,
    reread: bool = False,
) -> Outcome:
    """Bring the results of a pipeline up to date: apply the changes of its sources since the last run."""
    with open_pipeline(spec, spark=spark, progress=progress) as pipeline:
        return pipeline.run(reread=reread)


def stream(
    spec: AnySpec,
    *,
    spark: Any = None,
    progress: Callable[[Any], object] | None = None,
    once: bool = False,
    interval: float = 0.0,
    with_sources: bool = False,
    report: Callable[[Outcome], object] | None = None,
) -> None:
    """Follow the streams of a pipeline until interrupted; with `once`, process the available data only.

    Every batch is a commit. `once` is Spark's trigger `availableNow`, and `interval` its `processingTime`, in
    seconds. With `with_sources`, each batch also takes what changed in the sources, in the same commit.
    `report` is called after every commit.
    """
    with open_pipeline(spec, spark=spark, progress=progress) as pipeline:
        on_spark("streams").follow(
            pipeline, once=once, interval=interval, with_sources=with_sources, report=report
        )


def on_spark(module: str) -> Any:
    """A module of this package that needs Spark; EngineError says what to install."""
    import_module("tidelog.engine.spark")
    return import_module(f"tidelog.pipeline.{module}")
