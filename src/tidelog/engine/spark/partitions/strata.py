"""The strata of a session that local engines maintain, in tasks or in the driver, from commit to commit.

In tasks, a stratum falls into independent partitions, or its tasks send each other what they find (see
`routes`).

The state of a stratum can be updated by the next commit if it is in the same place and divided in the same
way. Otherwise the stratum is bootstrapped from everything that it reads, and the result is compared with the
tuples that it had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from tidelog.engine.limits import Limits
from tidelog.engine.protocol import Tell
from tidelog.engine.spark.frames.checkpoints import BROADCAST, Checkpoint, Checkpoints
from tidelog.engine.spark.frames.relation_state import Work
from tidelog.engine.spark.partitions.best_first import best_first
from tidelog.engine.spark.partitions.divided import Divided, Settings
from tidelog.engine.spark.partitions.exchange import (
    STEP,
    Deep,
    Deletions,
    advanced,
    everywhere,
    matches,
    to_arrange,
)
from tidelog.engine.spark.partitions.rerouting import (
    Copy,
    copies,
    leaves_by_insertion,
    shares,
    through,
    with_routes,
    with_shares,
    without_new_rules,
)
from tidelog.engine.spark.partitions.routes import WIDE, Pattern, Routes, find_routes, named
from tidelog.engine.spark.partitions.tasks import Failed, Given, Late, collected
from tidelog.engine.spark.partitions.worker import Worker, program_of, read_by, signed_rows
from tidelog.engine.spark.placement import passed_through
from tidelog.engine.statistics import StratumStats
from tidelog.maintain.strategy import ELASTIC, Strategy
from tidelog.plan.flat import FlatProgram, Stored, Stratum
from tidelog.program.declared import Function, PythonFunction

__all__ = ["Here", "LocalStrata"]

Relations: TypeAlias = frozenset[str]

# where tasks send each other what they find:
_MOST: Final = 0.5  # of the rows of a stratum and its inputs may be deleted before a bootstrap is cheaper
_PATIENCE: Final = 0.5  # of the work of a bootstrap is the limit of an update with deletions
_LITTLE: Final = 10 * STEP  # work that is always allowed


@dataclass(slots=True)
class _Task:
    """What the tasks of a stratum run: their `stratum` and program.

    They have lower relations under other names (`copies`), and are divided by the columns in `through`.
    """

    stratum: Stratum
    program: FlatProgram
    copies: tuple[Copy, ...]
    through: Mapping[str, int] | None


@dataclass(slots=True)
class Here:
    """A stratum maintained in the driver."""

    worker: Worker
    program: FlatProgram


@dataclass(slots=True)
class LocalStrata:
    """`room` is the most rows that a stratum, with what it reads, may have in the driver.

    A recursive `min` or `max` that takes more than `most_steps` continues in a single task.
    """

    checkpoints: Checkpoints
    strategy: Strategy
    limits: Limits
    room: int
    most_steps: int | None = None
    outgrown: set[Relations] = field(default_factory=set)  # strata that did not fit in the driver
    deep: set[Relations] = field(default_factory=set)  # strata that took too many steps
    divided: dict[Relations, Divided] = field(default_factory=dict)
    here: dict[Relations, Here] = field(default_factory=dict)
    _next_divided: dict[Relations, Divided] = field(default_factory=dict)
    _next_here: dict[Relations, Here] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)  # why states of strata were of no use, by their names
    late: dict[Relations, int] = field(default_factory=dict)  # rows deleted when an update was too costly
    _left: set[Relations] = field(default_factory=set)  # strata whose state is invalid after this commit

    # -- commits

    def in_tasks(
        self,
        stratum: Stratum,
        relations: Mapping[str, Stored],
        functions: Mapping[str, Function | PythonFunction],
        work: Callable[[str], Work],
        tell: Tell,
        routes: Routes | None = None,
    ) -> StratumStats:
        """Bring a stratum to its new state in tasks, which send each other what they find by `routes`."""
        task = self.task(stratum, relations, functions, routes)
        known = self._known(stratum, task.through, routes, work)
        fresh = self._undivided(task, routes)
        start = known or fresh
        try:
            return self._advance(stratum, start, task, work, tell)
        except Late:
            self.late[stratum.relations] = self._going(stratum, work)
            again = self._advance(stratum, fresh, task, work, tell)
            return replace(again, why="the update turned out to cost more")
        except Deep:
            self.deep.add(stratum.relations)
            return self.in_tasks(stratum, relations, functions, work, tell)
        except Failed:  # perhaps for values that are superseded, which one engine would know
            if routes is None or not stratum.best:
                raise
            return self.in_tasks(stratum, relations, functions, work, tell)

    def _undivided(self, task: _Task, routes: Routes | None) -> Divided:
        """The state before a bootstrap."""
        parts = 1 if task.through is None else self.checkpoints.partitions
        return Divided((), task.through, parts, routes)

    def task(
        self,
        stratum: Stratum,
        relations: Mapping[str, Stored],
        functions: Mapping[str, Function | PythonFunction],
        routes: Routes | None,
    ) -> _Task:
        """What the tasks of a stratum run."""
        owners = passed_through(stratum) if routes is None else routes.owners
        if owners is None:
            return _Task(stratum, program_of(stratum, relations, functions), (), None)
        copied, by = shares(stratum, owners), dict(owners)
        own, stored = stratum, relations
        if routes is not None:
            own, stored = with_routes(stratum, relations, routes)
            copied += copies(stratum, relations, routes)
            by |= through(routes)
        own, stored = with_shares(own, stored)
        by |= {copy.name: copy.by for copy in copied if copy.by is not None}
        return _Task(own, program_of(own, stored, functions), tuple(copied), by)

    def _advance(
        self, stratum: Stratum, start: Divided, task: _Task, work: Callable[[str], Work], tell: Tell
    ) -> StratumStats:
        """Bring a stratum to its new state from `start`; Late if that exceeds the work limit of an update."""
        known, routes = (start if start.files else None), start.routes
        program = task.program
        before = None if known is None else known.programs[-1]
        given = _given(stratum, read_by(task.stratum), before, work, task.copies)
        asserted: dict[str, Checkpoint] = {}
        first = None
        if routes is not None:
            if known is None and not routes.in_phases:
                asserted = {
                    n: g.inserted
                    for n, g in given.items()
                    if n in stratum.relations and g.inserted is not None
                }
            parts = start.partitions
            given = {n: self._routed(n, found, task.copies, routes, parts) for n, found in given.items()}
            given |= to_arrange(asserted, routes, parts)
            if before is not None and routes.in_phases:
                leaving, given = _split(given, leaves_by_insertion(task.stratum))
                if leaving or before.rules.keys() - program.rules.keys():
                    first = Deletions(without_new_rules(program, before), leaving)
                    if start.unsettled:
                        return self._advance(stratum, self._undivided(task, routes), task, work, tell)
        size = sum(work(name).before.facts.size for name in stratum.relations)
        settings = Settings(self.strategy, self.limits)
        if routes is not None:
            most = max(int(_PATIENCE * start.work), _LITTLE)
            loses = self._going(stratum, work) or (known and known.programs[-1].rules != program.rules)
            settings = Settings(ELASTIC, self.limits, most if known and loses else None)
        batches = [given]
        if known is None and stratum.best and routes is not None:
            batches = best_first(stratum, given, task.copies, self.checkpoints)
        given, *later = batches
        outcome = advanced(
            start,
            program,
            given,
            size,
            settings,
            self.checkpoints,
            tell,
            asserted,
            first,
            later,
            self.most_steps if stratum.best else None,
        )
        self.leave(stratum)
        self._next_divided[stratum.relations] = outcome.divided
        for name, (inserted, deleted) in outcome.changes.items():
            _take(work(name), inserted, deleted, is_new=known is None)
        return outcome.stats

    def _known(
        self,
        stratum: Stratum,
        divided: Mapping[str, int] | None,
        routes: Routes | None,
        work: Callable[[str], Work],
    ) -> Divided | None:
        """The state of a stratum at the last commit, if it can be updated."""
        before = self.divided.get(stratum.relations)
        if before is None or before.through != divided or before.routes != routes:
            self._lose(stratum, "it is divided in another way")
            return None
        if routes is None:
            return before
        deleted, size = (
            self._going(stratum, work),
            sum(w.before.facts.size for w in self._works(stratum, work)),
        )
        is_much = deleted > _MOST * size or 2 * deleted > self.late.get(stratum.relations, 2 * deleted)
        return None if is_much or not self.strategy.updates else before

    @staticmethod
    def _works(stratum: Stratum, work: Callable[[str], Work]) -> list[Work]:
        return [work(name) for name in (*stratum.relations, *read_by(stratum))]

    def _going(self, stratum: Stratum, work: Callable[[str], Work]) -> int:
        """How many rows are deleted from what a stratum depends on."""
        checkpoints = (
            checkpoint for w in self._works(stratum, work) for checkpoint in (w.given_deleted, w.deleted)
        )
        return sum(checkpoint.size for checkpoint in checkpoints if checkpoint is not None)

    def is_new(self, stratum: Stratum) -> bool:
        """Whether there is no state of a stratum."""
        return stratum.relations not in self.divided and stratum.relations not in self.here

    def has_routes(self, stratum: Stratum) -> bool:
        """Whether the tasks of a stratum sent each other what they found in the last commit."""
        before = self.divided.get(stratum.relations)
        return before is not None and before.routes is not None

    def routes(self, stratum: Stratum, work: Callable[[str], Work]) -> Routes | None:
        """What the tasks of a stratum send each other; None if there are no routes."""
        before = self.divided.get(stratum.relations)
        divided = frozenset[str]()
        if before is not None and before.routes is not None:
            divided = frozenset(beside.relation for beside in before.routes.beside)

        def beside(name: str) -> int:
            """The size of a lower relation; one that was divided stays divided."""
            rows = work(name).size_now
            return max(rows, WIDE + 1) if name in divided else rows

        works = [work(name) for name in stratum.relations]
        inserted = sum(w.given_inserted.size for w in works if w.given_inserted is not None)
        if (
            before is not None
            and before.routes is not None
            and inserted <= sum(w.before.facts.size for w in works)
        ):
            copied = before.routes.copied
            again = find_routes(
                stratum, lambda name, pattern: 0 if pattern in copied.get(name, ()) else None, beside
            )
            if again == before.routes:
                return again
        known = self._sizes(stratum, work)

        def size(name: str, pattern: Pattern) -> int | None:
            return known[name, pattern] if known[name, pattern] <= BROADCAST else None

        return find_routes(stratum, size, beside)

    def _sizes(self, stratum: Stratum, work: Callable[[str], Work]) -> Counter[tuple[str, Pattern]]:
        """How many facts and seeds match each pattern in the rules of a stratum."""
        copied, found = shares(stratum, dict.fromkeys(stratum.relations, 0)), Counter[tuple[str, Pattern]]()
        given = _given(stratum, frozenset(), None, work, copied)
        for name, patterns in named(stratum).items():
            parts = [given[name], *(given[share.name] for share in copied if share.head == name)]
            for checkpoint in (
                part.inserted for part in parts if part.inserted is not None and part.inserted.size
            ):
                questions = [f"count_if({matches([pattern])})" for pattern in patterns]
                counts = self.checkpoints.collect(checkpoint.frame.selectExpr(*questions))[0]
                found.update({(name, p): count for p, count in zip(patterns, counts, strict=True)})
        return found

    def _routed(self, name: str, given: Given, copied: Sequence[Copy], routes: Routes, parts: int) -> Given:
        """Changes, with copied tuples addressed to all partitions."""
        head = next((copy.head for copy in copied if copy.name == name), name)
        if head not in routes.copied:
            return given
        patterns, owner = routes.copied[head], routes.owners[head]
        return Given(
            *(
                None
                if checkpoint is None
                else checkpoint.with_columns(
                    everywhere(checkpoint.frame, patterns, owner, parts, self.checkpoints)
                )
                for checkpoint in (given.inserted, given.deleted)
            )
        )

    def in_driver(
        self,
        stratum: Stratum,
        relations: Mapping[str, Stored],
        functions: Mapping[str, Function | PythonFunction],
        work: Callable[[str], Work],
        check: Callable[[], None],
    ) -> StratumStats | None:
        """Bring a stratum to its new state in the driver; None if it turns out not to fit."""
        program = program_of(stratum, relations, functions)
        known = self.here.get(stratum.relations)
        if known is None:
            self._lose(stratum, "it is evaluated in the driver now")
        given = _given(stratum, read_by(stratum), None if known is None else known.program, work)
        worker = Worker(self.strategy) if known is None else known.worker
        self.leave(stratum)
        self._next_here[stratum.relations] = Here(worker, program)
        changes = {
            name: signed_rows(
                program,
                name,
                *(collected(c, work(name).names, self.checkpoints) for c in (g.inserted, g.deleted)),
            )
            for name, g in given.items()
        }
        stats = worker.advance_within(self.room, program, changes, self.limits, check)
        if stats is None:
            self.outgrown.add(stratum.relations)
            self.leave(stratum)
            return None
        for name in sorted(stratum.relations):
            types = program.relations[name].types
            inserted, deleted = (self.checkpoints.table(types, rows) for rows in worker.changes(name))
            _take(work(name), inserted, deleted, is_new=known is None)
        return stats

    def go(self, stratum: Stratum) -> None:
        """Leave a stratum to frames."""
        self._lose(stratum, "it is evaluated by joins now")
        self.leave(stratum)

    def _lose(self, stratum: Stratum, why: str) -> None:
        """Note that the state of a stratum is of no use, if there is one."""
        if not self.is_new(stratum):
            self.lost[stratum.name] = why

    def leave(self, stratum: Stratum) -> None:
        """Invalidate the state of a stratum, which is brought to its new state in another way."""
        self._left.add(stratum.relations)
        here = self._next_here.pop(stratum.relations, None)
        if here is not None:
            here.worker.rollback()

    # -- ending a commit

    def commit(self) -> None:
        for relations in self._left:
            self.divided.pop(relations, None)
            self.here.pop(relations, None)
        for here in self._next_here.values():
            here.worker.commit()
        self.divided |= self._next_divided
        self.here |= self._next_here
        self._clear()

    def rollback(self) -> None:
        for here in self._next_here.values():
            here.worker.rollback()
        self._clear()

    def _clear(self) -> None:
        self._next_divided.clear()
        self._next_here.clear()
        self._left.clear()

    def forget(self, program: FlatProgram) -> None:
        """Drop the state of strata that a program does not have; between commits."""
        strata = {stratum.relations for stratum in program.strata}
        for kept in (self.divided, self.here, self.late):
            for relations in kept.keys() - strata:
                del kept[relations]
        self.outgrown &= strata
        self.deep &= strata
        self.checkpoints.scratch.keep(name for divided in self.divided.values() for name in divided.all_files)


def _given(
    stratum: Stratum,
    reads: frozenset[str],
    before: FlatProgram | None,
    work: Callable[[str], Work],
    copied: Sequence[Copy] = (),
) -> dict[str, Given]:
    """The input of a stratum's worker: changes, and all rows of relations that are new to it."""
    given: dict[str, Given] = {}
    for name in stratum.relations:
        own = work(name)
        if before is None:
            given[name] = Given(own.before.given if own.given is None else own.given, None)
        else:
            given[name] = Given(own.given_inserted, own.given_deleted)
    for name in reads - {copy.name for copy in copied}:
        given[name] = _read(work(name), before is not None and name in before.relations)
    for copy in copied:
        whole = _read(work(copy.relation), before is not None and copy.name in before.relations)
        turned = [f"c{column} as c{i}" for i, column in enumerate(copy.columns)]
        given[copy.name] = Given(
            *(_turned(checkpoint, turned) for checkpoint in (whole.inserted, whole.deleted))
        )
    return given


def _split(given: Mapping[str, Given], turned: frozenset[str]) -> tuple[dict[str, Given], dict[str, Given]]:
    """What deletes and what inserts; of the relations `turned`, insertions delete."""
    leaving, entering = dict[str, Given](), dict[str, Given]()
    for name, (inserted, deleted) in ((name, (g.inserted, g.deleted)) for name, g in given.items()):
        for change, more in ((Given(inserted, None), True), (Given(None, deleted), False)):
            if change.size:
                (entering if more is not (name in turned) else leaving)[name] = change
    return leaving, entering


def _read(work: Work, is_known: bool) -> Given:
    return Given(work.inserted, work.deleted) if is_known else Given(work.now.facts, None)


def _turned(checkpoint: Checkpoint | None, columns: Sequence[str]) -> Checkpoint | None:
    return None if checkpoint is None else checkpoint.with_columns(checkpoint.frame.selectExpr(*columns))


def _take(work: Work, inserted: Checkpoint, deleted: Checkpoint, *, is_new: bool) -> None:
    if is_new and work.before.facts.size:
        work.replace(inserted.with_columns(work.unranked(inserted.frame)), is_ranked=False)
    else:
        work.move(inserted, deleted)
