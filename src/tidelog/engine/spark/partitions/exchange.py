"""Exchanges tuples between tasks in steps, until nothing is left to send.

A commit passes the changes below a stratum to its tasks. What they then find of relations that are sent or
copied (see `routes`) is passed to its recipients in the next step, and so on, until nothing new is found.
Only changes travel: tuples inserted and deleted.

A deleted tuple may support others that support it in turn, across partitions. So if a step deletes a tuple
that was sent, or one loses all its support and is derived in another way, the next steps retract it from all
its recipients and send nothing, until no more is deleted. Within a partition, a received tuple ranks above
all that were present before (it supports nothing older), and only tuples that keep their rank stay with their
recipients. So what is left after these steps can be ordered such that every tuple is supported by tuples
before it. Then what was held back is sent.

An update that exceeds its work limit is abandoned. Work is counted, not timed: the instances found and the
rows passed to tasks, plus a constant for each step. The time that a lost executor or a busy machine adds is
no reason for a bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.engine.protocol import Tell
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints, union
from tidelog.engine.spark.frames.layout import columns
from tidelog.engine.spark.joins.native import literal
from tidelog.engine.spark.partitions.divided import Divided, Settings
from tidelog.engine.spark.partitions.rerouting import arranged, received, sent
from tidelog.engine.spark.partitions.routes import Pattern, Routes
from tidelog.engine.spark.partitions.tasks import (
    ASSERTED,
    DELETED,
    HERE,
    INSERTED,
    MOVED,
    PART,
    SIGN,
    Answers,
    Changes,
    Given,
    Late,
    answers,
)
from tidelog.engine.statistics import StratumStats
from tidelog.errors import EngineError
from tidelog.plan.flat import FlatProgram

__all__ = ["STEP", "Deep", "Deletions", "Outcome", "advanced", "everywhere", "matches", "to_arrange"]


_ALL: Final = "true"
STEP: Final = 100_000  # instances found in the time that it takes to start the tasks of a step


class Deep(Exception):
    """Tuples travel through more steps than are allowed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a commit for a stratum: its state, the changes of its relations, and statistics."""

    divided: Divided
    changes: Mapping[str, tuple[Checkpoint, Checkpoint]]
    stats: StratumStats


@dataclass(frozen=True, slots=True)
class Deletions:
    """What deletes, if it comes before what inserts: the program without new rules, and its changes."""

    program: FlatProgram
    given: Mapping[str, Given]


def advanced(
    before: Divided,
    program: FlatProgram,
    given: Mapping[str, Given],
    size: int,
    settings: Settings,
    checkpoints: Checkpoints,
    tell: Tell,
    asserted: Mapping[str, Checkpoint],
    first: Deletions | None = None,
    later: Sequence[Mapping[str, Given]] = (),
    most_steps: int | None = None,
) -> Outcome:
    """Bring a stratum to its new state; `size` is its number of rows.

    What is to be inserted `later` comes when nothing is left to do before.

    For a bootstrap with routes, `asserted` has the asserted facts of its relations. `tell` is called before
    each step except the first. Raises EngineError if a task reports a problem, Late if the tasks exceed their
    work limit, and Deep if there are more than `most_steps`. Nothing has changed then, nor if `tell` raises.
    """
    work = _Exchange(program, size, settings, checkpoints, before, most_steps)
    if before.routes is None:
        work.step(given)
    else:
        work.exchange(before.routes, given, first, tell)
        for more in later:
            work.exchange(before.routes, more, None, tell)
    divided = work.divided if before.files else replace(work.divided, work=work.work)
    return Outcome(divided, work.changes(before.routes, asserted), work.stats)


class _Way(NamedTuple):
    """How tuples travel: from the relation in which they are found to the one in which they are received.

    `allowed` is the condition for a tuple to travel, `to` gives its destinations.
    """

    source: str
    target: str
    allowed: Callable[[str], str]
    to: str


# by the relation in which tuples are found, and the one in which they are received ("" for those that stay)
Counts: TypeAlias = Mapping[tuple[str, str], Changes]


class _Step(NamedTuple):
    made: Answers
    counts: Counts


@dataclass(slots=True)
class _Exchange:
    program: FlatProgram
    size: int
    settings: Settings
    checkpoints: Checkpoints
    divided: Divided
    most_steps: int | None = None
    work: int = 0
    steps: list[Answers] = field(default_factory=list)
    owned: dict[str, list[list[int]]] = field(default_factory=dict)  # by relation: inserted, deleted by step

    def step(self, given: Mapping[str, Given], program: FlatProgram | None = None) -> None:
        """Run the tasks on changes."""
        if self.most_steps is not None and len(self.steps) >= self.most_steps:
            raise Deep
        left = None if self.settings.most is None else self.settings.most - self.work
        if left is not None and left <= 0:
            raise Late
        settings = self.settings._replace(most=left)
        made = answers(self.divided, program or self.program, given, settings, self.checkpoints)
        self.work += STEP + made.stats.instances + sum(g.size for g in given.values())
        self.divided = made.divided
        self.steps.append(made)
        self.size += sum(sizes.inserted for sizes in made.sizes.values()) + sum(
            g.size for g in given.values()
        )

    @property
    def stats(self) -> StratumStats:
        first = self.steps[0].stats
        more = len(self.steps) - 1
        steps = f"{more} step{'s' if more > 1 else ''} of exchange between tasks"
        why = f"{first.why}, then {steps}" if more else first.why
        made = StratumStats(first.name, first.strategy, why, self._rounds, steps=len(self.steps))
        made.hot = next((step.stats.hot for step in reversed(self.steps) if step.stats.hot), "")
        for step in self.steps:
            made.instances += step.stats.instances
            made.written += step.stats.written
            made.take(step.stats.rules)
        return made

    # -- sending

    def exchange(
        self, routes: Routes, given: Mapping[str, Given], first: Deletions | None, tell: Tell
    ) -> None:
        """Run steps until nothing is left to send."""
        ways = list(self._ways(routes))
        waiting: list[_Step] = []
        if first is not None:
            self.step(first.given, first.program)
            waiting = self._retract(routes, ways, tell)
            given = {**given, **self._found(waiting, ways)}
        is_due = first is None or first.program.rules.keys() != self.program.rules.keys()
        while is_due or any(change.size for change in given.values()):
            is_due = False
            if self.steps:
                tell(self._rounds, sum(found.size for found in given.values()), self.size)
            self.step(given)
            if routes.in_phases:
                last = self._counted(routes, ways)
                given = self._replaced(last, ways)
            else:
                given = self._found(self._retract(routes, ways, tell), ways)

    def _retract(self, routes: Routes, ways: Sequence[_Way], tell: Tell) -> list[_Step]:
        """After a step, run steps that only retract; returns all of them."""
        waiting = [self._counted(routes, ways)]
        while given := self._lost(waiting[-1], ways):
            tell(self._rounds, sum(found.size for found in given.values()), self.size)
            self.step(given)
            waiting.append(self._counted(routes, ways))
        return waiting

    def _counted(self, routes: Routes, ways: Sequence[_Way]) -> _Step:
        """The last step, with the number of its changes."""
        self._check_rounds()
        return _Step(self.steps[-1], self._counts(self.steps[-1], routes, ways))

    @property
    def _rounds(self) -> int:
        return sum(step.stats.rounds for step in self.steps)

    def _check_rounds(self) -> None:
        most = self.settings.limits.max_iterations
        if most is not None and self._rounds > most:
            raise EngineError(
                f"{self.program.strata[-1].name} exceeded the iteration limit: it still changed after "
                f"{most:,} rounds; raise it with `max_iterations` (`--max-iterations` of `tidelog run`)"
            )

    def _ways(self, routes: Routes) -> Iterator[_Way]:
        for name in sorted(routes.owners):
            column = routes.owners[name]
            if sent(name) in self.program.relations:
                yield _Way(sent(name), received(name), lambda _: _ALL, f"xxhash64(c{column})")
            if name in routes.copied:
                mine = self._mine(routes, name, routes.copied[name])
                yield _Way(name, received(name), mine, _others(self.divided.partitions, self.checkpoints))
        for (name, column), patterns in routes.arranged.items():
            mine = self._mine(routes, name, patterns)
            yield _Way(name, arranged(name, column), mine, f"xxhash64(c{column})")

    def _mine(self, routes: Routes, name: str, patterns: Sequence[Pattern]) -> Callable[[str], str]:
        """The condition that a tuple matches a pattern and belongs to this partition."""
        own = self._own(routes, name)
        return lambda prefix: f"{own(prefix)} and ({matches(patterns, prefix)})"

    def _own(self, routes: Routes, name: str) -> Callable[[str], str]:
        """The condition that a tuple belongs to this partition."""
        if name not in routes.copied:
            return lambda _: _ALL
        return lambda prefix: f"{_owner(routes, name, self.divided.partitions, prefix)} = {HERE}"

    def _counts(self, made: Answers, routes: Routes, ways: Sequence[_Way]) -> Counts:
        """How many tuples were inserted, deleted and moved, by way, and of the stratum's own relations."""
        questions: dict[tuple[str, str], tuple[str, str]] = {}
        counts: dict[tuple[str, str], Changes] = {}
        staying = [_Way(name, "", self._own(routes, name), "") for name in routes.owners]
        for way in (*ways, *staying):
            counts[way.source, way.target] = made.sizes[way.source]
            allowed = way.allowed(made.prefix(way.source))
            if allowed != _ALL and any(made.sizes[way.source]):
                questions[way.source, way.target] = way.source, allowed
        for key, found in zip(questions, made.count(list(questions.values())), strict=True):
            counts[key] = found
        for name in routes.owners:
            self.owned.setdefault(name, []).append(list(counts[name, ""][:2]))
        return counts

    def _lost(self, step: _Step, ways: Sequence[_Way]) -> dict[str, Given]:
        """The tuples to retract from their recipients."""
        found: dict[str, list[Checkpoint]] = {}
        for way in ways:
            count = step.counts[way.source, way.target]
            self._add(found, step.made, way, (DELETED, MOVED), count.deleted + count.moved)
        return {target: Given(None, self._together(checkpoints)) for target, checkpoints in found.items()}

    def _found(self, waiting: Sequence[_Step], ways: Sequence[_Way]) -> dict[str, Given]:
        """The tuples to send: those inserted, and not retracted since."""
        found: dict[str, list[Checkpoint]] = {}
        for way in ways:
            if len(waiting) > 1:
                checkpoint = self._held_back(waiting, way)
                if checkpoint.size:
                    found.setdefault(way.target, []).append(checkpoint)
            else:
                count = waiting[0].counts[way.source, way.target]
                size = count.inserted + count.asserted
                self._add(found, waiting[0].made, way, (INSERTED, ASSERTED), size)
        return {target: Given(self._together(checkpoints), None) for target, checkpoints in found.items()}

    def _replaced(self, step: _Step, ways: Sequence[_Way]) -> dict[str, Given]:
        """The tuples to send, and those that better values replace."""
        inserted: dict[str, list[Checkpoint]] = {}
        deleted: dict[str, list[Checkpoint]] = {}
        for way in ways:
            count = step.counts[way.source, way.target]
            self._add(inserted, step.made, way, (INSERTED,), count.inserted)
            self._add(deleted, step.made, way, (DELETED,), count.deleted)
            if count.moved:
                self.divided = replace(self.divided, unsettled=True)
        return {
            target: Given(
                *(self._together(found[target]) if target in found else None for found in (inserted, deleted))
            )
            for target in sorted(inserted.keys() | deleted.keys())
        }

    def _add(
        self,
        found: dict[str, list[Checkpoint]],
        made: Answers,
        way: _Way,
        signs: Sequence[int],
        size: int,
    ) -> None:
        """Add the tuples with these signs, if there are any, to what their recipients get."""
        if size:
            found.setdefault(way.target, []).append(self._routed(made, way, signs, size))

    def _routed(self, made: Answers, way: _Way, signs: Sequence[int], size: int) -> Checkpoint:
        checkpoint = self._part(made, way, signs, size)
        return checkpoint.with_columns(_addressed(checkpoint.frame, way.to))

    @staticmethod
    def _part(made: Answers, way: _Way, signs: Sequence[int], size: int) -> Checkpoint:
        return made.part(way.source, signs, size, way.allowed(made.prefix(way.source)), [HERE])

    def _held_back(self, waiting: Sequence[_Step], way: _Way) -> Checkpoint:
        """The tuples to send after steps that sent nothing: those whose last event is not a deletion."""
        events = [
            self._part(made, way, (sign,), 1).frame.selectExpr("*", f"{at} as at", f"{sign} as {SIGN}")
            for at, (made, _) in enumerate(waiting)
            for sign in (INSERTED, DELETED, MOVED)
        ]
        every = union(events)
        names = [name for name in every.columns if name not in ("at", SIGN)]
        last = every.groupBy(*names).agg(F.expr(f"max_by({SIGN}, at) as {SIGN}")).where(f"{SIGN} >= 0")
        checkpoint = self.checkpoints.make(last.select(*names))
        return checkpoint.with_columns(_addressed(checkpoint.frame, way.to))

    def _together(self, checkpoints: Sequence[Checkpoint]) -> Checkpoint:
        if len(checkpoints) == 1:
            return checkpoints[0]
        return self.checkpoints.combined(
            union([c.frame for c in checkpoints]), sum(c.size for c in checkpoints), *checkpoints
        )

    # -- results

    def changes(
        self, routes: Routes | None, asserted: Mapping[str, Checkpoint]
    ) -> dict[str, tuple[Checkpoint, Checkpoint]]:
        """The tuples inserted into and deleted from the stratum's relations."""
        if routes is None:
            (made,) = self.steps
            return {
                name: (
                    made.part(name, (INSERTED,), sizes.inserted),
                    made.part(name, (DELETED,), sizes.deleted),
                )
                for name, sizes in made.sizes.items()
            }
        return {name: self._change(name, routes, asserted.get(name)) for name in routes.owners}

    def _change(
        self, name: str, routes: Routes, asserted: Checkpoint | None
    ) -> tuple[Checkpoint, Checkpoint]:
        parts: list[tuple[Checkpoint, int]] = (
            [(asserted, INSERTED)] if asserted is not None and asserted.size and not routes.in_phases else []
        )
        for made, sizes in zip(self.steps, self.owned[name], strict=True):
            own = self._own(routes, name)(made.prefix(name))
            signed = zip((INSERTED, DELETED), sizes, strict=True)
            parts += ((made.part(name, (sign,), size, own), sign) for sign, size in signed if size)
        types = self.program.relations[name].types
        if len(self.steps) > 1 and any(sign == DELETED for _, sign in parts):
            return self._net(parts, columns(len(types)))
        inserted, deleted = (
            [checkpoint for checkpoint, s in parts if s == sign] for sign in (INSERTED, DELETED)
        )
        nothing = self.checkpoints.nothing(types)
        return self._together(inserted) if inserted else nothing, self._together(
            deleted
        ) if deleted else nothing

    def _net(
        self, parts: Sequence[tuple[Checkpoint, int]], names: Sequence[str]
    ) -> tuple[Checkpoint, Checkpoint]:
        """The tuples inserted and deleted over all steps."""
        every = union(
            [checkpoint.frame.selectExpr(*names, f"{sign} as {SIGN}") for checkpoint, sign in parts]
        )
        total = every.groupBy(*names).agg(F.expr(f"sum({SIGN}) as {SIGN}")).where(f"{SIGN} <> 0")
        checkpoint, (inserted, deleted) = self.checkpoints.asked(
            total, f"count_if({SIGN} > 0)", f"count_if({SIGN} < 0)"
        )
        return checkpoint.part(f"{SIGN} > 0", inserted, names), checkpoint.part(f"{SIGN} < 0", deleted, names)


def matches(patterns: Sequence[Pattern], prefix: str = "") -> str:
    """The SQL condition that a tuple matches one of the patterns."""
    return " or ".join(
        "(" + " and ".join(f"{prefix}c{i} = {literal(value)}" for i, value in pattern) + ")"
        if pattern
        else _ALL
        for pattern in patterns
    )


def everywhere(
    frame: DataFrame, patterns: Sequence[Pattern], owner: int, parts: int, checkpoints: Checkpoints
) -> DataFrame:
    """Tuples with their destinations: all partitions if they match a pattern, otherwise their own."""
    keys = ", ".join(f"{key}L" for key in _keys(parts, checkpoints))
    to = f"if({matches(patterns)}, array({keys}), array(xxhash64(c{owner})))"
    return frame.selectExpr("*", f"explode({to}) as {PART}")


def to_arrange(asserted: Mapping[str, Checkpoint], routes: Routes, parts: int) -> dict[str, Given]:
    """The asserted facts of a stratum to be bootstrapped, addressed to where they are arranged."""
    made: dict[str, Given] = {}
    for (name, column), patterns in routes.arranged.items():
        checkpoint = asserted.get(name)
        if checkpoint is not None:
            owner = f"{_owner(routes, name, parts)} as {HERE}"
            rows = checkpoint.frame.where(matches(patterns)).selectExpr("*", owner)
            made[arranged(name, column)] = Given(
                checkpoint.with_columns(_addressed(rows, f"xxhash64(c{column})")), None
            )
    return made


def _owner(routes: Routes, name: str, parts: int, prefix: str = "") -> str:
    """The SQL expression for the partition that a tuple belongs to."""
    return f"pmod(hash(xxhash64({prefix}c{routes.owners[name]})), {parts})"


def _addressed(frame: DataFrame, to: str) -> DataFrame:
    """Tuples as they are received, with their destinations."""
    names = [name for name in frame.columns if name != HERE]
    moved = [f"{name} as c{i + 1}" for i, name in enumerate(names)]
    return frame.selectExpr(f"cast({HERE} as bigint) as c0", *moved, f"{to} as {PART}")


def _others(parts: int, checkpoints: Checkpoints) -> str:
    """The SQL expression for all partitions except this one."""
    keys = ", ".join(f"{key}L" for key in _keys(parts, checkpoints))
    others = f"filter(sequence(0, {parts - 1}), p -> p <> {HERE})"
    return f"explode(transform({others}, p -> element_at(array({keys}), p + 1)))"


_KEYS: dict[int, list[int]] = {}


def _keys(parts: int, checkpoints: Checkpoints) -> list[int]:
    """For each of so many partitions, a number that hashes to it."""
    found: dict[int, int] = {}
    many = 16 * parts
    while parts not in _KEYS:
        rows: list[Any] = checkpoints.collect(
            checkpoints.spark.range(many).selectExpr("id", f"pmod(hash(id), {parts}) as p")
        )
        found = {row.p: row.id for row in rows}
        if len(found) == parts:
            _KEYS[parts] = [found[p] for p in range(parts)]
        many *= 2
    return [*_KEYS[parts]]
