"""Whom a pipeline sends events of OpenLineage, and what it is called there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.pipeline.spec_tables import Table

__all__ = ["Lineage", "read_lineage"]


@dataclass(frozen=True, slots=True)
class Lineage:
    """The job in OpenLineage: its namespace and its name, by default that of the pipeline.

    `transport` is the configuration of the client; without it, the client looks at its environment variables
    and its file.
    """

    namespace: str = "tidelog"
    job: str | None = None
    transport: Mapping[str, Any] = field(default_factory=dict)


def read_lineage(table: Table) -> Lineage | None:
    """The table `[lineage]` of a spec."""
    given = table.table("lineage")
    if given is None:
        return None
    transport = {k: _setting(given, f"transport.{k}", v) for k, v in given.values("transport").items()}
    lineage = Lineage(given.text("namespace") or "tidelog", given.text("job"), transport)
    given.end()
    return lineage


def _setting(table: Table, key: str, value: Any) -> Any:
    """A value with environment variables substituted, also in tables."""
    if isinstance(value, Mapping):
        return {name: _setting(table, f"{key}.{name}", inner) for name, inner in value.items()}
    return table.setting(key, value) if isinstance(value, str) else value
