"""Loads what sends events, which needs a package that few have."""

from __future__ import annotations

from importlib import import_module

from tidelog.errors import PipelineError
from tidelog.pipeline.lineage.spec import Lineage
from tidelog.pipeline.observing import Observer
from tidelog.pipeline.spec import Spec
from tidelog.program.model import Program

__all__ = ["lineage_of"]


def lineage_of(spec: Spec, lineage: Lineage, program: Program, spark_version: str) -> Observer:
    """The observer that sends events of OpenLineage. Raises PipelineError if its package is missing."""
    try:
        import_module("openlineage.client")
    except ImportError:
        raise PipelineError(
            f"{spec.name}: lineage: needs OpenLineage's client; run pip install 'tidelog[lineage]'"
        ) from None
    events = import_module("tidelog.pipeline.lineage.events")
    made: Observer = events.lineage_events(spec, lineage, program, spark_version)
    return made
