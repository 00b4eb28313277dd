"""Commits in the log and in traces.

The logger `tidelog` gets one record per commit, at level INFO, with its numbers as extra fields
(`tidelog_commit`, `tidelog_seconds`, …). Nothing is computed unless the level is enabled. With
`Session.trace(tracer)`, every commit is also a span of an OpenTelemetry tracer, which the user brings along.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from tidelog.session.changes import Changes
from tidelog.session.statistics import CommitStats

__all__ = ["commit_fields", "log_commit", "span_of_commit"]

_LOG = logging.getLogger("tidelog")


def commit_fields(stats: CommitStats, changes: Changes) -> dict[str, int | float]:
    """The numbers of a commit, by name."""
    return {
        "commit": stats.commit,
        "seconds": stats.seconds,
        "rounds": stats.rounds,
        "instances": stats.instances,
        "relations": len(changes),
        "inserted": sum(change.counts[0] for change in changes.values()),
        "deleted": sum(change.counts[1] for change in changes.values()),
    }


def log_commit(stats: CommitStats, changes: Changes) -> None:
    if not _LOG.isEnabledFor(logging.INFO):
        return
    fields = commit_fields(stats, changes)
    _LOG.info(
        "commit %d: %d rows added, %d removed, %.3f s",
        *(fields[name] for name in ("commit", "inserted", "deleted", "seconds")),
        extra={f"tidelog_{name}": value for name, value in fields.items()},
    )


def span_of_commit(tracer: Any, changes: Changes, stats: CommitStats) -> None:
    """Record a commit that has just ended as a span of an OpenTelemetry tracer."""
    end = time.time_ns()
    attributes = {f"tidelog.{name}": value for name, value in commit_fields(stats, changes).items()}
    span = tracer.start_span(
        "tidelog.commit", start_time=end - round(stats.seconds * 1e9), attributes=attributes
    )
    span.end(end_time=end)
