"""The steps by which a fact can follow directly, one at a time.

A rule is first turned around: the values of a fact's row are wanted for the variables of the head. A rule of
a relation that keeps the best value per key derives candidates, one for each instance; one of a recursive
total derives contributions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.data import types
from tidelog.data.structs import Struct
from tidelog.data.types import Type
from tidelog.data.values import BadValue, Row, Value, canonical
from tidelog.program.analysis.totals import contributions
from tidelog.program.model import Program
from tidelog.program.typed import Binary, Bind, Body, Constant, Head, Make, Match, Rule, Stratum, Var
from tidelog.program.weighting import read_name
from tidelog.proofs.bodies import Bodies, Read
from tidelog.proofs.kinds import instance_weight
from tidelog.proofs.model import Asserted, Derived, Fact, Grouped, Instance, Members, Part, Share
from tidelog.proofs.state import same

__all__ = ["Candidates", "Deriving", "Strata", "wanted_values"]


@dataclass(frozen=True, slots=True)
class Deriving:
    """One alternative of a rule for one of its heads. With a group, `body` is None."""

    rule: Rule
    head: int
    body: Body | None

    @property
    def values(self) -> Head:
        return self.rule.heads[self.head]

    def own_atoms(self, stratum: Stratum) -> tuple[int, ...]:
        """The positions of the atoms that read the stratum itself."""
        literals = enumerate(self.body or ())
        return tuple(n for n, x in literals if isinstance(x, Match) and read_name(x) in stratum.relations)


class Strata:
    """The rules of each relation, as they are meant in its stratum."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._of = {name: stratum for stratum in program.strata for name in stratum.relations}
        self._deriving: dict[str, tuple[Deriving, ...]] = {}

    def of(self, relation: str) -> Stratum | None:
        return self._of.get(relation)

    def deriving(self, relation: str) -> tuple[Deriving, ...]:
        """The rules of a relation, those that do not read its stratum first."""
        found = self._deriving.get(relation)
        if found is None:
            stratum = self._of.get(relation)
            every = [] if stratum is None else list(_deriving(stratum, relation))
            if stratum is not None:
                every.sort(key=lambda d: (len(d.own_atoms(stratum)), d.body is None))
            found = self._deriving[relation] = tuple(every)
        return found

    def key(self, relation: str) -> int | None:
        """The column whose value a relation keeps once per key, if there is one."""
        stratum = self._of.get(relation)
        if stratum is None:
            return None
        columns = {name: best.column for name, best in stratum.best}
        if stratum.totals is not None:
            columns |= {name: total.column for name, total in stratum.totals.kept}
        return columns.get(relation)


def _deriving(stratum: Stratum, relation: str) -> Iterator[Deriving]:
    best = dict(stratum.best)
    totals = {} if stratum.totals is None else dict(stratum.totals.kept)
    for rule in stratum.rules:
        for number, head in enumerate(rule.heads):
            if head.relation != relation:
                continue
            if relation in totals:
                yield from (Deriving(rule, number, body) for body in contributions(rule))
            elif rule.group is None:
                yield from (Deriving(rule, number, body) for body in rule.bodies)
            elif relation in best:
                result = rule.group.aggregates[0]
                bind = Bind(result.result, result.args[0])
                yield from (Deriving(rule, number, (*body, bind)) for body in rule.bodies)
            else:
                yield Deriving(rule, number, None)


def wanted_values(head: Head, row: Mapping[int, Value]) -> dict[str, Value] | None:
    """The values of variables for which a head can have these values; None if there are none."""
    wanted: dict[str, Value] = {}
    for place, value in row.items():
        match head.values[place]:
            case Var(name):
                if not same(wanted.setdefault(name, value), value):
                    return None
            case Constant(constant):
                if not same(constant, value):
                    return None
            case _:
                pass  # computed, and compared in the end
    return wanted


def _sought(head: Head, row: Mapping[int, Value]) -> dict[str, Value] | None:
    """As above, with variables that are parts of values or to which a number is added.

    Without these, each step of a recursion that makes values looks at all instances of its body.
    """
    wanted = wanted_values(head, row)
    if wanted is None:
        return None
    waiting = [(head.values[place], value) for place, value in row.items()]
    while waiting:
        match waiting.pop():
            case Make("", fields), tuple(items):
                waiting += zip(fields, items, strict=True)
            case Make(constructor, fields), Struct() as struct:
                if struct._tag != constructor:
                    return None
                waiting += zip(fields, struct._values, strict=True)
            case (Binary("+", operand, Constant(int(number)), type_), int(value)) if types.is_integer(type_):
                waiting.append((operand, value - number))
            case (Binary("+", Constant(int(number)), operand, type_), int(value)) if types.is_integer(type_):
                waiting.append((operand, value - number))
            case (Binary("-", operand, Constant(int(number)), type_), int(value)) if types.is_integer(type_):
                waiting.append((operand, value + number))
            case Var(name, type_), value:
                if not _fits(type_, value) or not same(wanted.setdefault(name, value), value):
                    return None
            case _:
                pass  # computed, and compared in the end
    return wanted


def _fits(type_: Type, value: Value) -> bool:
    """Whether a number is one of its type; other values are."""
    try:
        return not types.is_integer(type_) or canonical(type_, value) == value
    except BadValue:
        return False


class Candidates:
    def __init__(self, strata: Strata, bodies: Bodies) -> None:
        self.strata = strata
        self.bodies = bodies

    def steps(
        self, deriving: Deriving, fact: Fact, reads: Mapping[int, Read] | None = None
    ) -> Iterator[Derived | Grouped]:
        """The steps of one rule to a fact."""
        row = dict(enumerate(fact.row))
        wanted = _sought(deriving.values, row)
        if wanted is None:
            return
        if deriving.body is None:
            yield from self._groups(deriving, fact, wanted)
            return
        for instance in self.bodies.instances(deriving.body, wanted, (), reads):
            if self.head_row(deriving, instance) == fact.row:
                yield Derived(fact, deriving.rule, deriving.head, instance)

    def head_row(self, deriving: Deriving, instance: Instance) -> Row | None:
        """The row that an instance derives."""
        return self.bodies.arguments(deriving.values.values, instance)

    def rows(
        self, deriving: Deriving, bound: Mapping[int, Value], reads: Mapping[int, Read] | None = None
    ) -> Iterator[tuple[Row, Instance]]:
        """The rows with these values that a rule without a group derives, each with its instance."""
        wanted = _sought(deriving.values, bound)
        if wanted is None or deriving.body is None:
            return
        for instance in self.bodies.instances(deriving.body, wanted, (), reads):
            row = self.head_row(deriving, instance)
            if row is not None and all(same(row[i], v) for i, v in bound.items()):
                yield row, instance

    def parts(self, relation: str, row: Row, column: int, reads: Read | None = None) -> Iterator[Part]:
        """The contributions of rules to the total of a row's key."""
        key = {i: v for i, v in enumerate(row) if i != column}
        stratum = self.strata.of(relation)
        assert stratum is not None
        for deriving in self.strata.deriving(relation):
            own = {} if reads is None else dict.fromkeys(deriving.own_atoms(stratum), reads)
            for found, instance in self.rows(deriving, key, own):
                weight = instance_weight(instance, self.bodies.state)
                yield Part(found[column], deriving.rule, instance, weight)

    # -- copies

    def shares(self, fact: Fact) -> Iterator[Share]:
        """The contributions to the weight of a row of a multiset or stream."""
        state = self.bodies.state
        asserted = state.asserted_weight(fact)
        if asserted:
            yield Share(asserted, Asserted(fact))
        for deriving in self.strata.deriving(fact.relation):
            for step in self.steps(deriving, fact):
                instance = step.after if isinstance(step, Grouped) else step.instance
                yield Share(instance_weight(instance, state), step)

    # -- groups

    def _groups(self, deriving: Deriving, fact: Fact, wanted: Mapping[str, Value]) -> Iterator[Grouped]:
        for row, members, after in self.group_rows(deriving, wanted):
            if row == fact.row:
                yield Grouped(fact, deriving.rule, deriving.head, members, after)

    def group_rows(
        self, deriving: Deriving, wanted: Mapping[str, Value]
    ) -> Iterator[tuple[Row | None, Members, Instance]]:
        """The rows that a rule with a group derives for these values of variables."""
        rule, group = deriving.rule, deriving.rule.group
        assert group is not None
        for known, shown in self.bodies.groups(group, rule.bodies, wanted):
            if not all(same(wanted.get(n, v), v) for n, v in known.items()):
                continue
            for body in rule.after:
                for after in self.bodies.instances(body, {**wanted, **known}, known):
                    yield self.head_row(deriving, after), shown, after
