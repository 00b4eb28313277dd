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
from tidelog.engine.scheduler import UnitStats
from tidelog.engine.spark.frames.checkpoints import BROADCAST, Cut, Cuts
from tidelog.engine.spark.frames.relation_state import Work
from tidelog.engine.spark.partitions.exchange import STEP, advanced, everywhere, matches, to_arrange
from tidelog.engine.spark.partitions.routes import Pattern, Routes, find_routes, named, with_routes
from tidelog.engine.spark.partitions.tasks import Divided, Given, Late, Settings, collected
from tidelog.engine.spark.partitions.worker import Keeper, TooLarge, program_of, read_by, signed_rows
from tidelog.engine.spark.placement import passed_through
from tidelog.plan.flat import FlatProgram, FlatRule, Stored, Unit
from tidelog.plan.seeds import is_inner, taken_over
from tidelog.program.typed import Function, Match, PythonFunction, Var

__all__ = ["WholeUnits"]

Relations: TypeAlias = frozenset[str]

# where tasks send each other what they find:
_MOST: Final = 0.5  # of what a unit has and reads may go before it is sooner made anew
_PATIENCE: Final = 0.5  # of the work that it took to begin is what an update may do then
_LITTLE: Final = 10 * STEP  # work that it may do in any case


@dataclass(slots=True)
class _Here:
    """A unit that the driver keeps."""

    keeper: Keeper
    program: FlatProgram


@dataclass(slots=True)
class WholeUnits:
    """`room` is how many rows a unit and what it reads may have in the driver."""

    cuts: Cuts
    strategy: str
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
        unit: Unit,
        relations: Mapping[str, Stored],
        functions: Mapping[str, Function | PythonFunction],
        work: Callable[[str], Work],
        tell: Tell,
        routes: Routes | None = None,
    ) -> UnitStats:
        """Bring a unit to its new state in tasks, which send each other what they find by `routes`."""
        through = passed_through(unit) if routes is None else routes.owners
        shares = () if through is None else _shares(unit)
        divided = None if through is None else {**through, **{s.name: through[s.rule.head] for s in shares}}
        own, stored = unit, relations
        if routes is not None and divided is not None:
            own, stored = with_routes(unit, relations, routes)
            divided |= routes.received
        program = program_of(_by_shares(own, shares), _with_shares(stored, shares), functions)
        known = self._known(unit, divided, routes, work)
        start = known or Divided((), divided, routes)
        try:
            return self._advance(unit, start, program, shares, work, tell)
        except Late:
            self._late[unit.relations] = self._going(unit, work)
            again = self._advance(unit, Divided((), divided, routes), program, shares, work, tell)
            return replace(again, why="the update turned out to cost more")

    def _advance(
        self,
        unit: Unit,
        start: Divided,
        program: FlatProgram,
        shares: Sequence[_Share],
        work: Callable[[str], Work],
        tell: Tell,
    ) -> UnitStats:
        """Bring a unit to its new state from where it starts; Late if it is sooner made anew."""
        known, routes = (start if start.files else None), start.routes
        given = _given(unit, None if known is None else known.programs[-1], work, shares)
        asserted: dict[str, Cut] = {}
        if routes is not None:
            if known is None:
                asserted = {n: g.came for n, g in given.items() if n in unit.relations and g.came is not None}
            given = {name: self._routed(name, found, shares, routes) for name, found in given.items()}
            given |= to_arrange(asserted, routes, self.cuts)
        size = sum(work(name).before.facts.size for name in unit.relations)
        settings = Settings(self.strategy, self.limits)
        if routes is not None:
            most = max(int(_PATIENCE * start.work), _LITTLE)
            loses = self._going(unit, work) or (known and known.programs[-1].rules != program.rules)
            settings = Settings("elastic", self.limits, most if known and loses else None)
        outcome = advanced(start, program, given, size, settings, self.cuts, tell, asserted)
        self.leave(unit)
        self._next_divided[unit.relations] = outcome.divided
        for name, (came, went) in outcome.changes.items():
            _take(work(name), came, went, anew=known is None)
        return outcome.stats

    def _known(
        self,
        unit: Unit,
        divided: Mapping[str, int] | None,
        routes: Routes | None,
        work: Callable[[str], Work],
    ) -> Divided | None:
        """What the last commit left of a unit, if it is good for the next."""
        before = self._divided.get(unit.relations)
        if before is None or before.through != divided or before.routes != routes:
            return None
        if routes is None:
            return before
        went, size = self._going(unit, work), sum(w.before.facts.size for w in self._works(unit, work))
        is_much = went > _MOST * size or 2 * went > self._late.get(unit.relations, 2 * went)
        return None if self.strategy == "recompute" or is_much else before

    @staticmethod
    def _works(unit: Unit, work: Callable[[str], Work]) -> list[Work]:
        return [work(name) for name in (*unit.relations, *read_by(unit))]

    def _going(self, unit: Unit, work: Callable[[str], Work]) -> int:
        """How many rows go of what a unit rests on."""
        cuts = (cut for w in self._works(unit, work) for cut in (w.given_went, w.leaving))
        return sum(cut.size for cut in cuts if cut is not None)

    def is_new(self, unit: Unit) -> bool:
        """Whether nothing is kept of a unit."""
        return unit.relations not in self._divided and unit.relations not in self._here

    def routes(self, unit: Unit, work: Callable[[str], Work]) -> Routes | None:
        """What the tasks of a unit are to send each other; None if they cannot find what is to be found."""
        before = self._divided.get(unit.relations)
        works = [work(name) for name in unit.relations]
        came = sum(w.given_came.size for w in works if w.given_came is not None)
        if (
            before is not None
            and before.routes is not None
            and came <= sum(w.before.facts.size for w in works)
        ):
            copied = before.routes.copied
            again = find_routes(unit, lambda name, pattern: 0 if pattern in copied.get(name, ()) else None)
            if again == before.routes:
                return again
        known = self._sizes(unit, work)

        def size(name: str, pattern: Pattern) -> int | None:
            return known[name, pattern] if known[name, pattern] <= BROADCAST else None

        return find_routes(unit, size)

    def _sizes(self, unit: Unit, work: Callable[[str], Work]) -> Counter[tuple[str, Pattern]]:
        """How many facts and seeds the rules of a unit mean where they name what they mean."""
        shares, found = _shares(unit), Counter[tuple[str, Pattern]]()
        given = _given(unit, None, work, shares)
        for name, patterns in named(unit).items():
            parts = [given[name], *(given[share.name] for share in shares if share.rule.head == name)]
            for cut in (part.came for part in parts if part.came is not None and part.came.size):
                questions = [f"count_if({matches([pattern])})" for pattern in patterns]
                counts = cut.frame.selectExpr(*questions).collect()[0]
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
                None if cut is None else cut.with_columns(everywhere(cut.frame, patterns, owner, self.cuts))
                for cut in (given.came, given.went)
            )
        )

    def in_driver(
        self,
        unit: Unit,
        relations: Mapping[str, Stored],
        functions: Mapping[str, Function | PythonFunction],
        work: Callable[[str], Work],
        check: Callable[[], None],
    ) -> UnitStats | None:
        """Bring a unit to its new state here; None if there turns out to be no room."""
        program = program_of(unit, relations, functions)
        known = self._here.get(unit.relations)
        given = _given(unit, None if known is None else known.program, work)
        keeper = Keeper(self.strategy, self.room) if known is None else known.keeper
        self.leave(unit)
        self._next_here[unit.relations] = _Here(keeper, program)
        try:
            changes = {
                name: signed_rows(program, name, *(collected(c, work(name).names) for c in (g.came, g.went)))
                for name, g in given.items()
            }
            stats = keeper.advance(program, changes, self.limits, check)
        except TooLarge:
            self.outgrown.add(unit.relations)
            self.leave(unit)
            return None
        for name in sorted(unit.relations):
            types = program.relations[name].types
            came, went = (self.cuts.table(types, rows) for rows in keeper.changes(name))
            _take(work(name), came, went, anew=known is None)
        return stats

    def leave(self, unit: Unit) -> None:
        """What is kept of a unit will not be good any more: it is brought to its new state otherwise."""
        self._left.add(unit.relations)
        here = self._next_here.pop(unit.relations, None)
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
        units = {unit.relations for unit in program.units}
        for kept in (self._divided, self._here, self._late):
            for relations in kept.keys() - units:
                del kept[relations]
        self.outgrown &= units
        self.cuts.scratch.keep(name for divided in self._divided.values() for name in divided.all_files)


class _Share(NamedTuple):
    """A relation that a rule takes over, as a task has it: its own part, under a name of its own."""

    name: str
    rule: FlatRule
    relation: str
    columns: tuple[int, ...]


def _shares(unit: Unit) -> tuple[_Share, ...]:
    """What the rules outside a recursion take over; with its seeds apart, they do nothing else."""
    shares = []
    for rule in unit.rules:
        if not is_inner(rule, unit):
            taken = taken_over(rule)
            assert taken is not None, "what a divided recursion begins with is known apart from it"
            shares.append(_Share(f"{rule.id} [share]", rule, *taken))
    return tuple(shares)


def _by_shares(unit: Unit, shares: Sequence[_Share]) -> Unit:
    """The unit with rules that read the shares of a task."""
    own = {
        share.rule.id: replace(
            share.rule, body=(Match(share.name, tuple(v for v in share.rule.values if isinstance(v, Var))),)
        )
        for share in shares
    }
    return replace(unit, rules=tuple(own.get(rule.id, rule) for rule in unit.rules))


def _with_shares(relations: Mapping[str, Stored], shares: Sequence[_Share]) -> dict[str, Stored]:
    own = {s.name: replace(relations[s.rule.head], name=s.name, keyed=False, title=s.name) for s in shares}
    return {**relations, **own}


def _given(
    unit: Unit, before: FlatProgram | None, work: Callable[[str], Work], shares: Sequence[_Share] = ()
) -> dict[str, Given]:
    """What a unit's keeper is to be told: changes, and of relations that it did not know, all there is."""
    given: dict[str, Given] = {}
    for name in unit.relations:
        own = work(name)
        if before is None:
            given[name] = Given(own.before.given if own.given is None else own.given, None)
        else:
            given[name] = Given(own.given_came, own.given_went)
    for name in read_by(_by_shares(unit, shares)) - {share.name for share in shares}:
        given[name] = _read(work(name), before is not None and name in before.relations)
    for share in shares:
        whole = _read(work(share.relation), before is not None and share.name in before.relations)
        turned = [f"c{column} as c{i}" for i, column in enumerate(share.columns)]
        given[share.name] = Given(*(_turned(cut, turned) for cut in (whole.came, whole.went)))
    return given


def _read(work: Work, is_known: bool) -> Given:
    return Given(work.entering, work.leaving) if is_known else Given(work.now.facts, None)


def _turned(cut: Cut | None, columns: Sequence[str]) -> Cut | None:
    return None if cut is None else cut.with_columns(cut.frame.selectExpr(*columns))


def _take(work: Work, came: Cut, went: Cut, *, anew: bool) -> None:
    if anew and work.before.facts.size:
        work.replace(came.with_columns(work.unranked(came.frame)), is_ranked=False)
    else:
        work.move(came, went)
