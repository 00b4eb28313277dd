"""Long rows of choices, of an `if` with many `else if` or of a `match` with many cases.

A row is a right-leaning tree whose depth is its length. A long one is divided: if any condition of its first
half holds, the first half decides, else the second. Conditions are evaluated in the same order as before and
only as far as needed, some of them more than once; so the result and the failures are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.data.types import BOOL, Type
from tidelog.program.elaborate.calls import Calls
from tidelog.program.elaborate.operators import choice_of
from tidelog.program.typed import Expr
from tidelog.syntax import tree

__all__ = ["Choices"]


class Choices(Calls):
    def _long_conditional(self, row: Sequence[tree.Conditional], wanted: Type | None) -> Expr | None:
        """A row of `else if`. Unlike in a short one, the branches are typed together, as those of `match`."""
        first = self._check(row[0].condition, BOOL)
        with self._perhaps():
            others = [self._check(x.condition, BOOL) for x in row[1:]]
        branches = [*(x.then for x in row), row[-1].otherwise]
        with self._perhaps(row[0]):
            values = self._branches(branches, wanted)
        conditions = [c for c in (first, *others) if c is not None]
        if values is None or len(conditions) < len(row):
            return None
        return choice_of(conditions, values)

    def _branches(self, branches: Sequence[tree.Expr], wanted: Type | None) -> list[Expr] | None:
        found = [self._infer(branch, wanted) for branch in branches]
        common: Type | None = None
        for typed in found:
            common = common if typed is None else self._common(common, typed)
        if common is None:
            return None
        fitted = [
            None if typed is None else self._fit_case(typed, common, branch.span, "branches of an `if`")
            for typed, branch in zip(found, branches, strict=True)
        ]
        sound = [x for x in fitted if x is not None]
        return sound if len(sound) == len(fitted) else None
