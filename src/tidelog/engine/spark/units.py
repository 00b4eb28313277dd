"""The units of a session that local engines keep, in tasks or in the driver, from commit to commit.

A unit's state is good for the next commit if it was kept in the same place, and divided in the same way;
otherwise it begins from nothing, with all that it reads, and the outcome is compared with what was there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from tidelog.engine.run import UnitStats
from tidelog.engine.spark.choice import passed_through
from tidelog.engine.spark.cuts import Cut, Cuts
from tidelog.engine.spark.keeper import Keeper, TooLarge, program_of, read_by, signed_rows
from tidelog.engine.spark.kept import Work
from tidelog.engine.spark.whole import Divided, Given, collected, in_tasks
from tidelog.engine.watch import Limits
from tidelog.plan.flat import FlatProgram, FlatRule, Stored, Unit
from tidelog.plan.seeds import is_inner, taken_over
from tidelog.program.typed import Function, Match, PythonFunction, Var

__all__ = ["WholeUnits"]

Relations: TypeAlias = frozenset[str]


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
    _left: set[Relations] = field(default_factory=set)  # units that this commit runs otherwise

    # -- commits

    def in_tasks(
        self,
        unit: Unit,
        relations: Mapping[str, Stored],
        functions: Mapping[str, Function | PythonFunction],
        work: Callable[[str], Work],
    ) -> UnitStats:
        """Bring a unit to its new state in tasks."""
        through = passed_through(unit)
        shares = () if through is None else _shares(unit)
        program = program_of(_by_shares(unit, shares), _with_shares(relations, shares), functions)
        divided = None if through is None else {**through, **{s.name: through[s.rule.head] for s in shares}}
        before = self._divided.get(unit.relations)
        known = before if before is not None and before.through == divided else None
        given = _given(unit, None if known is None else known.programs[-1], work, shares)
        size = sum(work(name).before.facts.size for name in unit.relations)
        settings = self.strategy, self.limits
        outcome = in_tasks(known or Divided((), divided), program, given, size, settings, self.cuts)
        self.leave(unit)
        self._next_divided[unit.relations] = outcome.divided
        for name, (came, went) in outcome.changes.items():
            _take(work(name), came, went, anew=known is None)
        return outcome.stats

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
        for kept in (self._divided, self._here):
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
