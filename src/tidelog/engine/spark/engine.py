"""The engine on DataFrames: the leaf operators of scripts as joins, anti joins and aggregates.

Tuples, ranks and counts are columns (see `relation_state`). Steps that find instances only build plans; the
end of the round combines and evaluates them. So a round takes a few jobs, however many rules a stratum has.

`placement` decides where a stratum runs. A stratum placed in tasks or in the driver is claimed as a whole and
maintained by local engines (see `partitions`). That is always so for recursive aggregates, and, while `sends`
is set, for strata whose tasks can send each other what they find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final, assert_never

from tidelog.data.types import Type
from tidelog.engine.limits import Limits
from tidelog.engine.protocol import Check, Claimed, Claims, Tell
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints, union
from tidelog.engine.spark.frames.relation_state import RelationState, Work, empty_state, taken_over
from tidelog.engine.spark.joins.groups import results
from tidelog.engine.spark.joins.instances import find
from tidelog.engine.spark.joins.matching import same, without
from tidelog.engine.spark.joins.ranges import asserted_rows, range_of
from tidelog.engine.spark.lacking import LackingOperators
from tidelog.engine.spark.partitions.routes import BESIDE, find_routes, is_routable
from tidelog.engine.spark.partitions.strata import LocalStrata
from tidelog.engine.spark.partitions.worker import read_by
from tidelog.engine.spark.placement import Placed, Placement, Sizes, passed_through, place
from tidelog.engine.statistics import StratumStats
from tidelog.errors import EngineError
from tidelog.maintain.script import Assertions, Derive, EndRound, Mode, Regroup, View
from tidelog.maintain.strategy import ELASTIC, Strategy
from tidelog.plan.flat import FlatProgram, Kind, Stratum
from tidelog.plan.flatten import flatten
from tidelog.plan.seeds import is_inner, with_seeds
from tidelog.program.declared import Function, PythonFunction
from tidelog.program.model import Program
from tidelog.program.typed import Match

__all__ = ["SparkEngine"]


_DEEP: Final = 200  # steps after which a single task is faster, if it has the memory


class SparkEngine(LackingOperators):
    """`strategy` is that of strata on local engines.

    A `placement` applies to all strata that support it. `room` is the most rows that a stratum, with what it
    reads, may have in the driver.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        placement: Placement | None,
        limits: Limits,
        strategy: Strategy = ELASTIC,
        room: int = 0,
    ) -> None:
        self.checkpoints = checkpoints
        self.states: dict[str, RelationState] = {}
        self.sends = True
        self._placement = placement
        self._is_whole = not strategy.in_frames
        most_steps = None if placement == "shuffled" else _DEEP
        self.whole = LocalStrata(checkpoints, strategy, limits, room, most_steps)
        self._work: dict[str, Work] = {}
        self._made: list[str] = []
        self._placed: dict[frozenset[str], Placed] = {}
        self._by: dict[str, tuple[str, ...]] = {}
        self._sending: dict[frozenset[str], bool] = {}  # strata whose tasks can send each other tuples
        self._known: Mapping[str, Function | PythonFunction] = {}
        self._functions: dict[str, Function | PythonFunction] = {}
        self._program: FlatProgram | None = None
        self._program_before: FlatProgram | None = None
        self._check: Callable[[], None] = lambda: None
        self._tell: Tell = lambda rounds, found, rows: None
        self._rank = 0  # of what the current round finds

    def flat(self, program: Program) -> FlatProgram:
        """The flat program that this engine runs for a program."""
        return with_seeds(flatten(program), self._is_apart)

    def _is_apart(self, stratum: Stratum) -> bool:
        """Whether a recursion may be divided into partitions, so that its seeds need their own relations."""
        if stratum.totals is not None:
            return False
        whole = self._placement != "shuffled" or bool(stratum.best) or self._is_whole
        return (whole and passed_through(stratum) is not None) or (self.sends and is_routable(stratum))

    # -- relations

    def prepare(self, program: FlatProgram) -> None:
        """Begin a commit: create the relations of a program that do not exist."""
        for name, stored in program.relations.items():
            if name not in self.states:
                self.states[name] = empty_state(stored.types, self.checkpoints)
                self._made.append(name)
            elif self.states[name].types != stored.types:
                raise EngineError(
                    f"the columns of `{name}` cannot change in one commit; "
                    "drop it and declare it again in the next commit"
                )
        self._program_before = self._program
        self._work_on(program)
        # removed rules may call functions that are removed with them
        self._functions = {**self._known, **program.functions}

    def _work_on(self, program: FlatProgram | None) -> None:
        if program is self._program:
            return
        self._program, self._by = program, {}
        self._sending.clear()
        for stratum in () if program is None else program.strata:
            places = passed_through(stratum) or {}
            self._by |= {n: (f"c{places[n]}",) for n in stratum.relations if n in places}

    def forget(self, program: FlatProgram) -> None:
        """Drop the relations that are not in a program."""
        for name in [n for n in self.states if n not in program.relations]:
            del self.states[name]
        self.whole.forget(program)
        self._known = program.functions

    def adopt(
        self,
        relation: str,
        types: tuple[Type, ...],
        facts: Checkpoint,
        given: Checkpoint,
        *,
        is_derived: bool,
    ) -> None:
        """Adopt a relation from another backend. What supports its tuples is unknown."""
        self.states[relation] = taken_over(types, facts, given, is_derived=is_derived)

    def restore(self, program: FlatProgram, states: Mapping[str, RelationState]) -> None:
        """Take over the relations of a program, as they were saved."""
        self.states |= states
        self._work_on(program)
        self._known = program.functions

    def divided_by(self, program: FlatProgram, relation: str) -> tuple[str, ...]:
        """The columns by which the tuples of a relation are partitioned; all of them if there are none."""
        self._work_on(program)
        return self._by.get(relation, ())

    def work(self, relation: str) -> Work:
        """What the current commit has done to a relation so far."""
        found = self._work.get(relation)
        if found is None:
            state = self.states[relation]
            by = self._by.get(relation) or tuple(state.names)
            found = self._work[relation] = Work(state, self.checkpoints, state.facts, state.highest, by)
        return found

    def size(self, relation: str) -> int:
        return self.states[relation].facts.size

    def _size_now(self, relation: str) -> int:
        work = self._work.get(relation)
        return self.size(relation) if work is None else work.size_now

    def assert_rows(self, relation: str, inserted: Checkpoint, deleted: Checkpoint) -> None:
        self.work(relation).assert_rows(inserted, deleted)

    def copy_asserted(self, relation: str, copy: str) -> None:
        """Assert the asserted facts of a relation in a copy."""
        state = self.states[relation]
        self.assert_rows(copy, state.given, self.checkpoints.nothing(state.types))

    # -- what has changed

    def changed_relations(self) -> None:
        """Every stratum is looked at: where it runs may change with what it reads."""

    def has_changed(self, relation: str) -> bool:
        return any((*self.changed_rows(relation), *self.asserted_changes(relation)))

    def was_touched(self, relation: str) -> bool:
        work = self._work.get(relation)
        return work is not None and bool(work.is_booting or self._moved(work))

    @staticmethod
    def _moved(work: Work) -> list[Checkpoint]:
        return [*work.removed, *work.added, *work.lowered, *work.raised]

    def changed_rows(self, relation: str) -> tuple[int, int]:
        work = self._work.get(relation)
        return (0, 0) if work is None else (_size(work.inserted), _size(work.deleted))

    def asserted_changes(self, relation: str) -> tuple[int, int]:
        work = self._work.get(relation)
        return (0, 0) if work is None else (_size(work.given_inserted), _size(work.given_deleted))

    # -- leaf operators

    def enter(self, stratum: Stratum) -> int:
        return max((self.work(n).highest for n in stratum.relations), default=0)

    def is_idle(self, step: Derive) -> bool:
        """Whether there are no rows to start from."""
        return step.driver is not None and not range_of(step, self.work, self.checkpoints, step.driver).size

    def prepared(self) -> int:
        return 0  # Spark plans every step

    def expected(self, step: Derive, rows: int | None = None) -> None:
        """Unknown: Spark's own plans decide."""
        return

    def derive(self, step: Derive, rank: int) -> int:
        """Plan the search for a rule's instances. They are found and counted at the end of the round."""
        self._rank = rank
        ranges = cache(partial(range_of, step, self.work, self.checkpoints))
        if any(isinstance(x, Match) and not ranges(i).size for i, x in enumerate(step.rule.body)):
            return 0
        found = find(
            step.rule,
            step.driver,
            ranges,
            self._size_now,
            self.checkpoints,
            self._functions,
        )
        driven = step.driver is not None and step.views[step.driver] is View.DELTA
        in_place = found.in_place and driven and step.rule.head in self._by
        self.work(step.rule.head).pending.append((found.frame, in_place))
        return 0

    def assertions(self, step: Assertions, rank: int) -> int:
        """Apply asserted facts as instances with an empty body; returns their number."""
        self._rank = rank
        total = 0
        for name in step.relations:
            work = self.work(name)
            rows = asserted_rows(step, work, self.checkpoints)
            if rows.size:
                work.pending.append((rows.frame.selectExpr(*work.names, "-1 as top"), False))
                total += rows.size
        return total

    def end_round(self, step: EndRound) -> int:
        """Evaluate the round. What it found becomes the next delta."""
        self._check()
        total = 0
        for name in step.relations:
            work = self.work(name)
            match step.mode:
                case Mode.INSERT:
                    total += work.end_insertion(self._rank)
                case Mode.REMOVE:
                    total += work.end_removal()
                case Mode.REDERIVE:
                    total += work.end_rederivation(self._rank)
                case (
                    Mode.SETTLE
                    | Mode.IMPROVE
                    | Mode.REPLACE
                    | Mode.OVERDELETE
                    | Mode.ADD
                    | Mode.SUBTRACT as other
                ):
                    raise EngineError(f"internal error: strata in frames have no `{other.value}` steps")
                case _:
                    assert_never(step.mode)
        for name in step.relations:
            self.work(name).tidy()
        return total

    def done_so_far(self, relation: str) -> None:
        """Not known: a round is evaluated as a whole, at its end."""
        return

    def found_so_far(self, relations: Iterable[str]) -> int:
        """Always 0: a round is evaluated at its end."""
        return 0

    def watch(self, check: Check, tell: Tell) -> None:
        self._check = self.checkpoints.check = check
        self._tell = tell

    def delta(self, relations: Iterable[str]) -> int:
        return sum(_size(self.work(name).delta) for name in relations)

    def clear(self, relations: Iterable[str], traced: bool) -> bool:
        for name in relations:
            self.work(name).empty()
        return False

    def raise_highest(self, relations: Iterable[str], rank: int) -> None:
        for name in relations:
            self.work(name).highest = max(self.work(name).highest, rank)

    def mean_rank(self, relations: Iterable[str]) -> float:
        return 0.0  # to find it would take a job

    def merge(self, parts: Sequence[frozenset[str]]) -> None:
        """Merge strata into one: raise the ranks of each part by the highest ranks of those before it."""
        below = 0
        for relations in parts:
            works = [self.work(name) for name in relations]
            highest = max(work.highest for work in works)
            for work in works:
                work.lift(below)
            below += highest

    def finish(self, stratum: Stratum) -> None:
        """End work on a stratum: find the tuples inserted and deleted, for the strata above."""
        for name in stratum.relations & self._work.keys():
            self._work[name].settle()

    # -- optional operators

    @property
    def claims(self) -> Claims | None:
        return self

    def follow_scripts(self) -> None:
        """Evaluate strata in frames, by joins."""
        self._placement, self.sends = "shuffled", False

    # -- strata on local engines

    def placed(self, stratum: Stratum) -> str:
        """Where a stratum runs, and why."""
        placed = self._placed.get(stratum.relations) or self._decide(stratum)
        return f"{placed.where}: {placed.why}"

    def _place(self, stratum: Stratum) -> Placed:
        """Where a stratum runs; decided once per commit."""
        if stratum.relations not in self._placed:
            self._placed[stratum.relations] = self._decide(stratum)
        return self._placed[stratum.relations]

    def _decide(self, stratum: Stratum) -> Placed:
        beside = read_by(replace(stratum, rules=tuple(r for r in stratum.rules if is_inner(r, stratum))))
        sizes = Sizes(
            sum(self._size_now(name) for name in (*stratum.relations, *(read_by(stratum) - beside))),
            sum(self._size_now(name) for name in beside),
        )
        return place(
            stratum,
            self._placement,
            sizes,
            whole=self._is_whole,
            room=self._room(stratum),
            sends=self._can_send(stratum, sizes.beside),
            sent=self.whole.has_routes(stratum),
        )

    def _can_send(self, stratum: Stratum, beside: int) -> bool:
        """Whether tasks can send each other what they find, with so many rows that they read from below."""
        if stratum.relations in self.whole.deep:
            return False
        if stratum.relations not in self._sending:
            self._sending[stratum.relations] = self.sends and is_routable(stratum)
        if beside <= BESIDE or not self._sending[stratum.relations]:
            return self._sending[stratum.relations]
        return find_routes(stratum, lambda _, pattern: 0, self._size_now) is not None

    def _room(self, stratum: Stratum) -> int:
        """The most rows that a stratum, with what it reads, may have in the driver."""
        assert self._program is not None
        counted = any(self._program.relations[n].kind is Kind.INSTANCES for n in stratum.relations)
        counted = counted and stratum.totals is None  # otherwise the counts stay in the local engine
        return -1 if counted or stratum.relations in self.whole.outgrown else self.whole.room

    def must_bootstrap(self, stratum: Stratum) -> bool:
        if not stratum.rules or self._place(stratum).where != "shuffled" or self._place(stratum).sends:
            return False
        return not all(self.states[name].is_ranked for name in stratum.relations)

    def claim(self, stratum: Stratum, start: bool = False) -> Claimed | None:
        """Evaluate a stratum that has no rules, or that local engines maintain; None for all others."""
        if not stratum.rules:
            for name in stratum.relations:
                self.work(name).take_given()
            return Claimed(0, "it has no rules, only asserted facts")
        jobs = self.checkpoints.jobs_run
        stats = self._run_whole(stratum)
        if stats is None:
            return None
        return Claimed(
            stats.rounds,
            stats.why,
            stats.strategy,
            stats.instances,
            jobs=self.checkpoints.jobs_run - jobs,
            steps=stats.steps,
            written=stats.written,
            hot=stats.hot,
            rules=stats.rules,
        )

    def _run_whole(self, stratum: Stratum) -> StratumStats | None:
        """Run a stratum on local engines, if it is placed there."""
        assert self._program is not None
        known = self._program.relations, self._functions, self.work
        if self._place(stratum).where == "driver":
            stats = self.whole.in_driver(stratum, *known, self._check)
            if stats is not None:
                return stats
            del self._placed[stratum.relations]  # it does not fit in the driver
        placed = self._place(stratum)
        kept_whole = placed.where == "tasks" or placed.sends
        if kept_whole and self.whole.is_new(stratum) and not self._has_rows(stratum):
            return StratumStats(stratum.name, "bootstrap", "it and all relations that it reads are empty")
        if placed.where == "tasks":
            return self.whole.in_tasks(stratum, *known, self._tell)
        if placed.sends:
            routes = self.whole.routes(stratum, self.work)
            if routes is not None:
                return self.whole.in_tasks(stratum, *known, self._tell, None if routes.is_plain else routes)
            why = "too many rows match the constants in its rules to copy them to every task"
            if stratum.best:
                self._placed[stratum.relations] = Placed("tasks", f"{why}; in a single task")
                return self.whole.in_tasks(stratum, *known, self._tell)
            why += "; by joins"
            self._placed[stratum.relations] = Placed("shuffled", why)
        self.whole.go(stratum)
        return None

    def _has_rows(self, stratum: Stratum) -> bool:
        """Whether a stratum or what it reads has rows, or had any before the commit."""
        works = [self.work(name) for name in (*stratum.relations, *read_by(stratum))]
        return any(w.before.facts.size or w.now.facts.size or _size(w.given_inserted) for w in works)

    # -- groups

    def regroup(self, step: Regroup) -> None:
        """Replace the results of touched groups, or of all groups."""
        grouping = step.grouping
        source, target = self.work(grouping.instances), self.work(grouping.results)
        instances, old = source.now.facts, target.before.facts
        keys = None
        is_large = instances.size > self.checkpoints.small  # otherwise all groups are soon computed
        if is_large and not step.all and not source.is_booting and grouping.keys:
            names = source.names[: grouping.keys]
            moved = union([checkpoint.frame.select(*names) for checkpoint in self._moved(source)])
            keys = self.checkpoints.make(moved.distinct())
        chosen = instances.frame
        if keys is not None:
            chosen = same(chosen, keys.small, source.types[: grouping.keys])
        types = source.types, target.types
        new = results(grouping, chosen, instances.size, *types, self.checkpoints, self._functions)
        if keys is None:
            target.replace(new, is_ranked=True)
            return
        untouched = without(old.frame, keys.small, target.types[: grouping.keys])
        target.replace(self.checkpoints.make(untouched.unionByName(new.frame)), is_ranked=True)

    # -- ending a commit

    def commit(self) -> None:
        """Make the new state current."""
        for name, work in self._work.items():
            self.states[name] = work.now
        self.whole.commit()
        self._program_before = self._program
        self._end()

    def rollback(self) -> None:
        """Restore the state before the commit."""
        for name in self._made:
            self.states.pop(name, None)
        self.whole.rollback()
        self._work_on(self._program_before)
        self._end()

    def _end(self) -> None:
        self._work.clear()
        self._made.clear()
        self._placed.clear()

    def checkpoints_in_use(self) -> list[Checkpoint]:
        return [checkpoint for state in self.states.values() for checkpoint in (state.facts, state.given)]

    # -- reading

    def changes(self, relation: str) -> tuple[Checkpoint, Checkpoint]:
        """The tuples that the current commit inserted into and deleted from a relation."""
        work = self._work.get(relation)
        nothing = self.checkpoints.nothing(self.states[relation].types)
        return (nothing, nothing) if work is None else (work.inserted or nothing, work.deleted or nothing)


def _size(checkpoint: Checkpoint | None) -> int:
    return 0 if checkpoint is None else checkpoint.size
