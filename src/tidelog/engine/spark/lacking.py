"""The optional operators that an engine on DataFrames lacks. Strata that need them run on local engines."""

from __future__ import annotations

from tidelog.engine.protocol import Extrema, Fusion, Totals, Traces

__all__ = ["LackingOperators"]


class LackingOperators:
    @property
    def traces(self) -> Traces | None:
        return None

    @property
    def extrema(self) -> Extrema | None:
        """None: strata with recursive `min` and `max` are claimed."""
        return None

    @property
    def totals(self) -> Totals | None:
        """None: strata with recursive `sum` and `count` are claimed."""
        return None

    @property
    def fusion(self) -> Fusion | None:
        return None
