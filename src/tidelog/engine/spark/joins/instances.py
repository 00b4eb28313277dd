"""The instances of a rule: a frame of their heads, with the highest rank among the tuples that they use.

Atoms are joined in the order of `plan.join_order`. Conditions and negations that Spark can compute are
applied on the way. What needs the local evaluator comes at the end, for the rows that are left (see
`evaluation`). No step merges instances: a head is in the frame once for each instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidelog.data.types import Option, Type
from tidelog.engine.spark.frames.checkpoints import BROADCAST, Checkpoints, looked_up
from tidelog.engine.spark.frames.layout import PROBLEM, columns
from tidelog.engine.spark.joins.evaluation import Remainder, evaluate
from tidelog.engine.spark.joins.native import literal, translate
from tidelog.plan.cost import SizesOnly
from tidelog.plan.flat import FlatLiteral, FlatRule, Role
from tidelog.plan.join_order import Compute, Expand, Filter, Join, Refute, order, values_first
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.typed import Absent, Binary, Bind, Constant, Each, Term, Test, Var

__all__ = ["RANK", "TOP", "Instances", "Range", "find"]

RANK: Final = "rank"
TOP: Final = "top"
_LOPSIDED: Final = 8  # times smaller than the other side: worth a broadcast, which loses the partitioning


@dataclass(frozen=True, slots=True)
class Range:
    """The rows that a literal ranges over, about how many there are, and whether they have ranks."""

    frame: DataFrame
    size: int
    is_ranked: bool = False


@dataclass(frozen=True, slots=True)
class Instances:
    """`in_place` says that they are partitioned like the delta that drove the search."""

    frame: DataFrame
    in_place: bool


def find(
    rule: FlatRule,
    driver: int | None,
    ranges: Callable[[int], Range],
    size: Callable[[str], int],
    checkpoints: Checkpoints,
    functions: Mapping[str, Function | PythonFunction],
) -> Instances:
    """All instances of a rule; `ranges` gives what the literal at each position ranges over."""
    search = _Search(rule, ranges, checkpoints)
    search.run(driver, size)
    return search.heads(functions)


@dataclass(slots=True)
class _Search:
    rule: FlatRule
    ranges: Callable[[int], Range]
    checkpoints: Checkpoints
    bound: dict[str, str] = field(default_factory=dict)  # variables and their columns
    types: dict[str, Type] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    ranks: list[str] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)  # variables that only the head to rederive has bound
    found: DataFrame | None = None
    size: int | None = None  # of `found`, if known
    most: int = 1  # at least the size of `found`
    in_place: bool = True
    left: list[tuple[int, FlatLiteral]] = field(default_factory=list)

    # -- the body

    def run(self, driver: int | None, size: Callable[[str], int]) -> None:
        done: set[int] = set()
        conditions: list[str] = []  # those without variables may precede all atoms
        for step in order(self.rule, driver, SizesOnly(size)):
            match step:
                case Join(position, _, terms):
                    self._join(position, terms)
                    done.add(position)
                case Refute(position, _, terms) if self._knows(terms):
                    self._refute(position, terms)
                    done.add(position)
                case Filter(condition, position) if (column := translate(condition, self.bound)) is not None:
                    conditions.append(column)
                    done.add(position)
                case Refute() | Filter() | Compute() | Expand():
                    pass  # evaluated in tasks
                case _:
                    assert_never(step)
            if self.found is not None and conditions:
                self.found = self.found.where(" and ".join(conditions))
                conditions.clear()
        if conditions:  # there are no atoms
            self.found = self._one().where(" and ".join(conditions))
        self.left = [(i, x) for i, x in enumerate(self.rule.body) if i not in done]

    def _knows(self, terms: tuple[Term, ...]) -> bool:
        return all(not isinstance(t, Var) or t.name in self.bound for t in terms)

    def _join(self, position: int, terms: tuple[Term, ...]) -> None:
        over = self.ranges(position)
        is_suspects = self._is_rederivation and position == 0
        frame, links = self._atom(position, terms, over, is_suspects)
        self.most *= over.size
        if self.found is None:
            self.found, self.size = frame, over.size
        else:
            self._combine(frame, over.size, links)
        for term in terms:
            if isinstance(term, Var) and not _is_head(term):
                if term.name not in self.bound:
                    self.bound[term.name] = self._column(term.name)
                    self.types[term.name] = term.type
                    if is_suspects:
                        self.loose.add(term.name)
                elif not is_suspects:
                    self.loose.discard(term.name)
        if over.is_ranked and not is_suspects:
            self.ranks.append(f"r{position}")

    def _column(self, name: str) -> str:
        """The column of a variable that an atom binds."""
        return f"v{self.numbers.setdefault(name, len(self.numbers))}"

    def _atom(
        self, position: int, terms: tuple[Term, ...], over: Range, is_suspects: bool
    ) -> tuple[DataFrame, list[str]]:
        """The rows that match an atom's own terms, and the conditions that join them with `found`."""
        allowed, kept, links = [], [], []
        first: dict[str, int] = {}
        for i, term in enumerate(terms):
            if isinstance(term, Constant):
                allowed.append(f"c{i} = {literal(term)}")
            elif isinstance(term, Var) and not _is_head(term):
                if term.name in first:
                    allowed.append(f"c{i} = c{first[term.name]}")
                    continue
                first[term.name] = i
                if term.name in self.bound:
                    kept.append(f"c{i} as a{position}_{i}")
                    links.append(self._equal(term, f"a{position}_{i}"))
                else:
                    kept.append(f"c{i} as {self._column(term.name)}")
        if over.is_ranked and not is_suspects:
            kept.append(f"{RANK} as r{position}")
        frame = over.frame.where(" and ".join(allowed)) if allowed else over.frame
        frame = frame.selectExpr(*(kept or [f"true as u{position}"]))
        return (frame.distinct() if is_suspects else frame), links

    def _equal(self, term: Var, there: str) -> str:
        """`none` joins with nothing, except that it equals the `none` of a head to rederive."""
        safe = term.name in self.loose and isinstance(term.type, Option)
        return f"{self.bound[term.name]} {'<=>' if safe else '='} {there}"

    def _combine(self, frame: DataFrame, size: int, links: list[str]) -> None:
        assert self.found is not None
        left_is_tiny = self.size is not None and self.size <= BROADCAST and self.size * _LOPSIDED < size
        if not links:
            self.found = self.found.crossJoin(F.broadcast(frame) if size <= BROADCAST else frame)
            self.in_place = self.in_place and size <= BROADCAST
        elif left_is_tiny:
            self.found = F.broadcast(self.found).join(frame, _all(links))
            self.in_place = False
        elif size <= BROADCAST:
            self.found = self.found.join(F.broadcast(frame), _all(links))
        else:
            self.found = self.found.join(looked_up(frame, size), _all(links))
            self.in_place = False
        self.size = None

    def _refute(self, position: int, terms: tuple[Term, ...]) -> None:
        over = self.ranges(position)
        frame, links = self._atom(position, terms, over, False)
        self._subtract(frame, over.size, links)

    def _subtract(self, frame: DataFrame, size: int, links: list[str]) -> None:
        if self.found is None:
            self.found = self._one()
        if not links:
            frame, links = frame.limit(1), ["true"]
        other = F.broadcast(frame) if size <= BROADCAST else frame
        self.in_place = self.in_place and size <= BROADCAST
        self.found = self.found.join(other, _all(links), "left_anti")

    def _one(self) -> DataFrame:
        """The single binding of no variables."""
        return self.checkpoints.spark.range(1, numPartitions=1).selectExpr("true as one")

    # -- the head

    @property
    def _is_rederivation(self) -> bool:
        return self.rule.role is not Role.DERIVE

    def heads(self, functions: Mapping[str, Function | PythonFunction]) -> Instances:
        found = self._one() if self.found is None else self.found
        left = [(i, x) for i, x in self.left if not _is_about_head(x)]
        values = [translate(v, self.bound) for v in self.rule.values]
        if not left and None not in values:
            made = [f"{v} as c{i}" for i, v in enumerate(values)]
            frame = found.selectExpr(*(made or ["true as c0"]), f"{self._top()} as {TOP}")
        else:
            frame = self._evaluated(found, left, functions)
        return Instances(self._wanted(frame), self.in_place)

    def _top(self) -> str:
        if not self.ranks:
            return "-1L"
        return f"greatest({', '.join(self.ranks)})" if len(self.ranks) > 1 else self.ranks[0]

    def _evaluated(
        self,
        found: DataFrame,
        left: Sequence[tuple[int, FlatLiteral]],
        functions: Mapping[str, Function | PythonFunction],
    ) -> DataFrame:
        """Compute the rest row by row, then apply the negations that use its results."""
        refuted = [(i, x) for i, x in left if isinstance(x, Absent)]
        asked = {t.name: t for _, x in refuted for t in x.terms if isinstance(t, Var)}
        body = tuple(x for _, x in values_first(left) if isinstance(x, Bind | Test | Each))
        remainder = Remainder(
            self.rule, body, dict(self.bound), dict(self.types), tuple(asked.values()), dict(functions)
        )
        given = found.selectExpr(*self.bound.values(), f"{self._top()} as {TOP}")
        names = columns(len(self.rule.values))
        made = evaluate(given, self.most, remainder, self.checkpoints)
        if not isinstance(made, DataFrame) and not refuted:
            return self.checkpoints.checked_rows(made).frame.select(*names, TOP)
        self.found = made if isinstance(made, DataFrame) else self.checkpoints.sessions.made(made)
        self.bound = {name: f"x{i}" for i, name in enumerate(asked)}
        self.loose = set()
        for position, literal_ in refuted:
            self._refute(position, literal_.terms)
        return self.checkpoints.checked(self.found.select(*names, TOP, PROBLEM)).frame

    def _wanted(self, frame: DataFrame) -> DataFrame:
        """Restrict a rederivation to the heads of suspects, if the joins do not."""
        if not any(_is_about_head(x) for x in self.rule.body):
            return frame
        from_head = self.ranges(0)
        names = columns(len(self.rule.values))
        aside = from_head.frame.selectExpr(*(f"{n} as o{i}" for i, n in enumerate(names)))
        links = [f"{n} <=> o{i}" for i, n in enumerate(names)]
        other = F.broadcast(aside) if from_head.size <= BROADCAST else aside
        return frame.join(other, _all(links), "left_semi")


def _is_head(term: Var) -> bool:
    return term.name.startswith("$head")


def _is_about_head(literal_: FlatLiteral) -> bool:
    return (
        isinstance(literal_, Test)
        and isinstance(literal_.condition, Binary)
        and literal_.condition.op == "is"
    )


def _all(links: Sequence[str]) -> Column:
    return F.expr(" and ".join(links))
