"""The rows of relations that the steps of a script start from, and join with."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from pyspark.sql import functions as F

from tidelog.engine.spark.frames.checkpoints import Checkpoints
from tidelog.engine.spark.frames.relation_state import Work
from tidelog.engine.spark.joins.instances import Range
from tidelog.engine.spark.joins.matching import same, without
from tidelog.maintain.script import Assertions, Derive, Mode, View
from tidelog.program.typed import Absent, Match

__all__ = ["asserted_rows", "range_of"]


def range_of(step: Derive, work_of: Callable[[str], Work], checkpoints: Checkpoints, position: int) -> Range:
    """The rows that the literal at a position of a rule ranges over."""
    literal = step.rule.body[position]
    assert isinstance(literal, Match | Absent)
    work, view, positive = work_of(literal.relation), step.views[position], isinstance(literal, Match)
    match view:
        case View.FULL:
            return work.full()
        case View.REST:
            return work.rest()
        case View.DELTA:
            delta = work.delta or checkpoints.nothing(work.types)
            return Range(delta.frame, delta.size, is_ranked=True)
        case View.SUSPECTS:
            return work.suspects()
        case View.OLD:
            return Range(work.before.facts.frame, work.before.facts.size)
        case View.NEW:
            return Range(work.now.facts.frame, work.now.facts.size)
        case View.MIDDLE:
            return work.middle() if positive else _ever(work)
        case View.INSERTED | View.DELETED:
            checkpoint = work.inserted if (view is View.INSERTED) == positive else work.deleted
            checkpoint = checkpoint or checkpoints.nothing(work.types)
            return Range(checkpoint.frame, checkpoint.size)
        case _:
            assert_never(view)


def _ever(work: Work) -> Range:
    """The tuples present before or after the commit. A negation holds in both if it matches none."""
    old, inserted = work.before.facts, work.inserted
    if inserted is None or not inserted.size:
        return Range(old.frame, old.size)
    names = work.names
    frame = old.frame.select(*names).unionByName(inserted.frame.select(*names))
    return Range(frame, old.size + inserted.size)


def asserted_rows(step: Assertions, work: Work, checkpoints: Checkpoints) -> Range:
    """The facts that a step asserts or retracts."""
    if step.mode is Mode.REDERIVE:
        suspects, given = work.suspects(), work.before.given
        if not suspects.size or not given.size:
            return Range(suspects.frame, 0)
        there = same(given.frame, F.broadcast(suspects.frame), work.types)
        if work.given_deleted is not None and work.given_deleted.size:
            there = without(there, work.given_deleted.small, work.types)
        return Range(there, suspects.size)
    given = work.before.given if work.given is None else work.given
    changed = work.given_inserted if step.mode is Mode.INSERT else work.given_deleted
    checkpoint = given if step.all else changed or checkpoints.nothing(work.types)
    return Range(checkpoint.frame, checkpoint.size)
