"""Atoms for the results of a rule's group and of its earlier stages."""

from __future__ import annotations

from tidelog.program.typed import Group, Match, Rule, Stage

__all__ = ["number_of", "results_of", "rows_of"]


def results_of(rule: Rule, group: Group) -> Match:
    """The atom for the results of a rule's group."""
    return Match(f"{rule.id} [results]", group.columns)


def rows_of(rule: Rule, stage: Stage) -> Match:
    """The atom for the results of an earlier stage of a rule."""
    return Match(f"{rule.id} [stage {number_of(stage)}, results]", stage.columns)


def number_of(stage: Stage) -> int:
    """The number of a stage: those of a rule form a chain."""
    before = next((x for body in stage.bodies for x in body[:1] if isinstance(x, Stage)), None)
    return 1 if before is None else number_of(before) + 1
