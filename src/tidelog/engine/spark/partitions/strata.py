"""The units of a session that local engines keep, in tasks or in the driver, from commit to commit.

In tasks a unit falls apart, or its tasks send each other what they find (see `routes`).

A unit's state is good for the next commit if it was kept in the same place, and divided in the same way;
otherwise it begins from nothing, with all that it reads, and the outcome is compared with what was there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from tidelog.engine.limits import Limits
from tidelog.engine.protocol import Tell
from tidelog.engine.spark.frames.checkpoints import BROADCAST, Checkpoint, Checkpoints
from tidelog.engine.spark.frames.relation_state import Work
from tidelog.engine.spark.partitions.exchange import STEP, advanced, everywhere, matches, to_arrange
from tidelog.engine.spark.partitions.routes import Pattern, Routes, find_routes, named, with_routes
from tidelog.engine.spark.partitions.tasks import Divided, Given, Late, Settings, collected
from tidelog.engine.spark.partitions.worker import Worker, program_of, read_by, signed_rows
from tidelog.engine.spark.placement import passed_through
from tidelog.engine.statistics import StratumStats
from tidelog.maintain.strategy import ELASTIC, Strategy
from tidelog.plan.flat import FlatProgram, FlatRule, Stored, Stratum
from tidelog.plan.seeds import is_inner, taken_over
from tidelog.program.typed import Function, Match, PythonFunction, Var

__all__ = ["LocalStrata"]

Relations: TypeAlias = frozenset[str]

# where tasks send each other what they find:
_MOST: Final = 0.5  # of what a unit has and reads may go before it is sooner made anew
_PATIENCE: Final = 0.5  # of the work that it took to begin is what an update may do then
_LITTLE: Final = 10 * STEP  # work that it may do in any case


@dataclass(slots=True)
class _Here:
    """A unit that the driver keeps."""

    keeper: Worker
    program: FlatProgram


@dataclass(slots=True)
class LocalStrata:
    """`room` is how many rows a unit and what it reads may have in the driver."""

    checkpoints: Checkpoints
    strategy: Strategy
    limits: Limits
    room: int
    outgrown: set[Relations] = field(default_factory=set)  # units that the driver had no room for
    _divided: dict[Relations, Divided] = field(default_factory=dict)
    _here: dict[Relations, _Here] = field(default_factory=dict)
    _next_divided: dict[Relations, Divided] = field(default_factory=dict)
    _next_here: dict[Relations, _Here] = field(default_factory=dict)
    _late: dict[Relations, int] = field(default_factory=dict)  # how many rows went when it was too much work
    _left: set[Relations] = field(default_factory=set)  # units that this commit runs otherwise

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
        """Bring a unit to its new state in tasks, which send each other what they find by `routes`."""
        through = passed_through(stratum) if routes is None else routes.owners
        shares = () if through is None else _shares(stratum)
        divided = None if through is None else {**through, **{s.name: through[s.rule.head] for s in shares}}
        own, stored = stratum, relations
        if routes is not None and divided is not None:
            own, stored = with_routes(stratum, relations, routes)
            divided |= routes.received
        program = program_of(_by_shares(own, shares), _with_shares(stored, shares), functions)
        known = self._known(stratum, divided, routes, work)
        start = known or Divided((), divided, routes)
        try:
            return self._advance(stratum, start, program, shares, work, tell)
        except Late:
            self._late[stratum.relations] = self._going(stratum, work)
            again = self._advance(stratum, Divided((), divided, routes), program, shares, work, tell)
            return replace(again, why="the update turned out to cost more")

    def _advance(
        self,
        stratum: Stratum,
        start: Divided,
        program: FlatProgram,
        shares: Sequence[_Share],
        work: Callable[[str], Work],
        tell: Tell,
    ) -> StratumStats:
        """Bring a unit to its new state from where it starts; Late if it is sooner made anew."""
        known, routes = (start if start.files else None), start.routes
        given = _given(stratum, None if known is None else known.programs[-1], work, shares)
        asserted: dict[str, Checkpoint] = {}
        if routes is not None:
            if known is None:
                asserted = {
                    n: g.inserted
                    for n, g in given.items()
                    if n in stratum.relations and g.inserted is not None
                }
            given = {name: self._routed(name, found, shares, routes) for name, found in given.items()}
            given |= to_arrange(asserted, routes, self.checkpoints)
        size = sum(work(name).before.facts.size for name in stratum.relations)
        settings = Settings(self.strategy, self.limits)
        if routes is not None:
            most = max(int(_PATIENCE * start.work), _LITTLE)
            loses = self._going(stratum, work) or (known and known.programs[-1].rules != program.rules)
            settings = Settings(ELASTIC, self.limits, most if known and loses else None)
        outcome = advanced(start, program, given, size, settings, self.checkpoints, tell, asserted)
        self.leave(stratum)
        self._next_divided[stratum.relations] = outcome.divided
        for name, (inserted, deleted) in outcome.changes.items():
            _take(work(name), inserted, deleted, anew=known is None)
        return outcome.stats

    def _known(
        self,
        stratum: Stratum,
        divided: Mapping[str, int] | None,
        routes: Routes | None,
        work: Callable[[str], Work],
    ) -> Divided | None:
        """What the last commit left of a unit, if it is good for the next."""
        before = self._divided.get(stratum.relations)
        if before is None or before.through != divided or before.routes != routes:
            return None
        if routes is None:
            return before
        deleted, size = (
            self._going(stratum, work),
            sum(w.before.facts.size for w in self._works(stratum, work)),
        )
        is_much = deleted > _MOST * size or 2 * deleted > self._late.get(stratum.relations, 2 * deleted)
        return None if is_much or not self.strategy.updates else before

    @staticmethod
    def _works(stratum: Stratum, work: Callable[[str], Work]) -> list[Work]:
        return [work(name) for name in (*stratum.relations, *read_by(stratum))]

    def _going(self, stratum: Stratum, work: Callable[[str], Work]) -> int:
        """How many rows go of what a unit rests on."""
        checkpoints = (
            checkpoint for w in self._works(stratum, work) for checkpoint in (w.given_deleted, w.deleted)
        )
        return sum(checkpoint.size for checkpoint in checkpoints if checkpoint is not None)

    def is_new(self, stratum: Stratum) -> bool:
        """Whether nothing is kept of a unit."""
        return stratum.relations not in self._divided and stratum.relations not in self._here

    def routes(self, stratum: Stratum, work: Callable[[str], Work]) -> Routes | None:
        """What the tasks of a unit are to send each other; None if they cannot find what is to be found."""
        before = self._divided.get(stratum.relations)
        works = [work(name) for name in stratum.relations]
        inserted = sum(w.given_inserted.size for w in works if w.given_inserted is not None)
        if (
            before is not None
            and before.routes is not None
            and inserted <= sum(w.before.facts.size for w in works)
        ):
            copied = before.routes.copied
            again = find_routes(stratum, lambda name, pattern: 0 if pattern in copied.get(name, ()) else None)
            if again == before.routes:
                return again
        known = self._sizes(stratum, work)

        def size(name: str, pattern: Pattern) -> int | None:
            return known[name, pattern] if known[name, pattern] <= BROADCAST else None

        return find_routes(stratum, size)

    def _sizes(self, stratum: Stratum, work: Callable[[str], Work]) -> Counter[tuple[str, Pattern]]:
        """How many facts and seeds the rules of a unit mean where they name what they mean."""
        shares, found = _shares(stratum), Counter[tuple[str, Pattern]]()
        given = _given(stratum, None, work, shares)
        for name, patterns in named(stratum).items():
            parts = [given[name], *(given[share.name] for share in shares if share.rule.head == name)]
            for checkpoint in (
                part.inserted for part in parts if part.inserted is not None and part.inserted.size
            ):
                questions = [f"count_if({matches([pattern])})" for pattern in patterns]
                counts = checkpoint.frame.selectExpr(*questions).collect()[0]
                found.update({(name, p): count for p, count in zip(patterns, counts, strict=True)})
        return found

    def _routed(self, name: str, given: Given, shares: Sequence[_Share], routes: Routes) -> Given:
        """Changes, with what all partitions have copies of on the way to all."""
        head = next((share.rule.head for share in shares if share.name == name), name)
        if head not in routes.copied:
            return given
        patterns, owner = routes.copied[head], routes.owners[head]
        return Given(
            *(
                None
                if checkpoint is None
                else checkpoint.with_columns(everywhere(checkpoint.frame, patterns, owner, self.checkpoints))
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
        """Bring a unit to its new state here; None if there turns out to be no room."""
        program = program_of(stratum, relations, functions)
        known = self._here.get(stratum.relations)
        given = _given(stratum, None if known is None else known.program, work)
        keeper = Worker(self.strategy) if known is None else known.keeper
        self.leave(stratum)
        self._next_here[stratum.relations] = _Here(keeper, program)
        changes = {
            name: signed_rows(
                program, name, *(collected(c, work(name).names) for c in (g.inserted, g.deleted))
            )
            for name, g in given.items()
        }
        stats = keeper.advance_within(self.room, program, changes, self.limits, check)
        if stats is None:
            self.outgrown.add(stratum.relations)
            self.leave(stratum)
            return None
        for name in sorted(stratum.relations):
            types = program.relations[name].types
            inserted, deleted = (self.checkpoints.table(types, rows) for rows in keeper.changes(name))
            _take(work(name), inserted, deleted, anew=known is None)
        return stats

    def leave(self, stratum: Stratum) -> None:
        """What is kept of a unit will not be good any more: it is brought to its new state otherwise."""
        self._left.add(stratum.relations)
        here = self._next_here.pop(stratum.relations, None)
        if here is not None:
            here.keeper.rollback()

    # -- their ends

    def commit(self) -> None:
        for relations in self._left:
            self._divided.pop(relations, None)
            self._here.pop(relations, None)
        for here in self._next_here.values():
            here.keeper.commit()
        self._divided |= self._next_divided
        self._here |= self._next_here
        self._clear()

    def rollback(self) -> None:
        for here in self._next_here.values():
            here.keeper.rollback()
        self._clear()

    def _clear(self) -> None:
        self._next_divided.clear()
        self._next_here.clear()
        self._left.clear()

    def forget(self, program: FlatProgram) -> None:
        """Keep nothing of units that a program does not have; between commits."""
        strata = {stratum.relations for stratum in program.strata}
        for kept in (self._divided, self._here, self._late):
            for relations in kept.keys() - strata:
                del kept[relations]
        self.outgrown &= strata
        self.checkpoints.scratch.keep(
            name for divided in self._divided.values() for name in divided.all_files
        )


class _Share(NamedTuple):
    """A relation that a rule takes over, as a task has it: its own part, under a name of its own."""

    name: str
    rule: FlatRule
    relation: str
    columns: tuple[int, ...]


def _shares(stratum: Stratum) -> tuple[_Share, ...]:
    """What the rules outside a recursion take over; with its seeds apart, they do nothing else."""
    shares = []
    for rule in stratum.rules:
        if not is_inner(rule, stratum):
            taken = taken_over(rule)
            assert taken is not None, "what a divided recursion begins with is known apart from it"
            shares.append(_Share(f"{rule.id} [share]", rule, *taken))
    return tuple(shares)


def _by_shares(stratum: Stratum, shares: Sequence[_Share]) -> Stratum:
    """The unit with rules that read the shares of a task."""
    own = {
        share.rule.id: replace(
            share.rule, body=(Match(share.name, tuple(v for v in share.rule.values if isinstance(v, Var))),)
        )
        for share in shares
    }
    return replace(stratum, rules=tuple(own.get(rule.id, rule) for rule in stratum.rules))


def _with_shares(relations: Mapping[str, Stored], shares: Sequence[_Share]) -> dict[str, Stored]:
    own = {s.name: replace(relations[s.rule.head], name=s.name, keyed=False, title=s.name) for s in shares}
    return {**relations, **own}


def _given(
    stratum: Stratum, before: FlatProgram | None, work: Callable[[str], Work], shares: Sequence[_Share] = ()
) -> dict[str, Given]:
    """What a unit's keeper is to be told: changes, and of relations that it did not know, all there is."""
    given: dict[str, Given] = {}
    for name in stratum.relations:
        own = work(name)
        if before is None:
            given[name] = Given(own.before.given if own.given is None else own.given, None)
        else:
            given[name] = Given(own.given_inserted, own.given_deleted)
    for name in read_by(_by_shares(stratum, shares)) - {share.name for share in shares}:
        given[name] = _read(work(name), before is not None and name in before.relations)
    for share in shares:
        whole = _read(work(share.relation), before is not None and share.name in before.relations)
        turned = [f"c{column} as c{i}" for i, column in enumerate(share.columns)]
        given[share.name] = Given(
            *(_turned(checkpoint, turned) for checkpoint in (whole.inserted, whole.deleted))
        )
    return given


def _read(work: Work, is_known: bool) -> Given:
    return Given(work.inserted, work.deleted) if is_known else Given(work.now.facts, None)


def _turned(checkpoint: Checkpoint | None, columns: Sequence[str]) -> Checkpoint | None:
    return None if checkpoint is None else checkpoint.with_columns(checkpoint.frame.selectExpr(*columns))


def _take(work: Work, inserted: Checkpoint, deleted: Checkpoint, *, anew: bool) -> None:
    if anew and work.before.facts.size:
        work.replace(inserted.with_columns(work.unranked(inserted.frame)), is_ranked=False)
    else:
        work.move(inserted, deleted)
