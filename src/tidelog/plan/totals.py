"""The flat form of a recursion with totals: the hidden relations and rules of its instances and groups.

A head that a rule derives becomes an instance: its key and, if its relation keeps a total, a contribution.
The rule also says which group follows from which others (see `analysis.totals`). The names of hidden
relations contain what determines their columns, so a change of the program never changes them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tidelog.data.types import Bit
from tidelog.errors import Span
from tidelog.plan.flat import Dependencies, FlatBody, FlatRule, Grouping, Kept, Kind, Stored, Stratum, Totals
from tidelog.program import typed
from tidelog.program.analysis.totals import GroupRule, group_columns, groups_of, rule_of_groups
from tidelog.program.declared import Relation
from tidelog.program.typed import Aggregate, Body, Expr, Match, Nested, Stage, Var, Without

__all__ = ["TotalsPlan", "asserted_rows", "parts_of"]


def asserted_rows(relation: str) -> str:
    """The name of the hidden relation of a relation's asserted rows."""
    return f"{relation} [asserted]"


def parts_of(stratum: typed.Stratum) -> str:
    """The name under which the parts of a stratum with totals are remembered."""
    return f"{', '.join(sorted(stratum.relations))} [totals]"


class TotalsPlan:
    """The hidden relations and rules of a typed stratum with totals."""

    def __init__(self, stratum: typed.Stratum, relations: Mapping[str, Relation]) -> None:
        assert stratum.totals is not None
        self._relations = relations
        self._aggregated = dict(stratum.totals.aggregated)
        self.is_threshold = stratum.totals.is_threshold
        totals = dict(stratum.totals.kept)
        self.kept = {name: self._kept(name, totals.get(name)) for name in sorted(stratum.relations)}
        self._dependencies: dict[str, Dependencies] = {}

    def _kept(self, name: str, total: typed.Total | None) -> Kept:
        columns = self._relations[name].columns
        group = group_columns(len(columns), self._aggregated[name])
        groups = self._groups(name)
        if total is None:
            return Kept(name, f"{name} [instances]", tuple(range(len(columns))), None, group, groups)
        keys = tuple(i for i in range(len(columns)) if i != total.column)
        unsigned = isinstance(columns[total.column].type, Bit)
        instances = f"{name} [instances by {total.column}]"
        return Kept(name, instances, keys, total.column, group, groups, unsigned)

    # -- relations

    def all_stored(self) -> Iterator[Stored]:
        """All hidden relations. The rules of dependencies must be made before."""
        for name in self.kept:
            yield from self._stored(name)
        yield from map(self._stored_dependencies, sorted(self._dependencies))

    def _stored(self, name: str) -> Iterator[Stored]:
        kept = self.kept[name]
        everything = tuple(range(len(self._relations[name].columns)))
        hidden, title = asserted_rows(name), f"asserted rows of {name}"
        yield replace(self._part(hidden, Kind.ASSERTED, name, everything, title), source=name)
        columns = kept.keys if kept.total is None else (*kept.keys, kept.total)
        yield self._part(kept.instances, Kind.INSTANCES, name, columns, f"instances of {name}")
        yield self._part(kept.groups, Kind.GROUPS, name, kept.group, f"groups of {name}")

    def _part(self, hidden: str, kind: Kind, name: str, places: Iterable[int], title: str) -> Stored:
        columns = [self._relations[name].columns[i] for i in places]
        names = tuple(c.name for c in columns)
        return Stored(hidden, tuple(c.type for c in columns), kind, columns=names, title=title)

    def _groups(self, name: str) -> str:
        return groups_of(name, self._aggregated[name])

    def _stored_dependencies(self, name: str) -> Stored:
        found = self._dependencies[name]
        both = [self._relations[r].columns[i] for r in (found.above, found.below) for i in self.kept[r].group]
        title = f"groups of {found.above} that depend on {found.below}"
        names, types = tuple(c.name for c in both), tuple(c.type for c in both)
        return Stored(name, types, Kind.DEPENDENCIES, columns=names, title=title)

    def grouping(self, name: str) -> Grouping:
        """How the rows of a relation follow from its instances."""
        kept = self.kept[name]
        besides = () if self.is_threshold else (kept.groups, *(d.name for d in self._of(name)))
        origin, keys = f"the total of {name}", len(kept.keys)
        if kept.total is None:
            return Grouping(kept.instances, name, keys, (), (), origin, besides)
        column = self._relations[name].columns[kept.total]
        value = Var(column.name, column.type)
        aggregate = Aggregate(value, "sum", (value,), distinct=False)
        return Grouping(kept.instances, name, keys, (aggregate,), ((keys,),), origin, besides)

    def _of(self, name: str) -> list[Dependencies]:
        return [d for _, d in sorted(self._dependencies.items()) if d.above == name]

    # -- rules

    def instance(self, name: str, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The columns of an instance whose head has these values."""
        kept = self.kept[name]
        keys = tuple(values[i] for i in kept.keys)
        return keys if kept.total is None else (*keys, values[kept.total])

    def instances_of_asserted(self) -> Iterator[FlatRule]:
        """Asserted rows are instances."""
        for name, kept in self.kept.items():
            row = self._row(name)
            yield self._asserted(kept.instances, name, self.instance(name, row))

    def groups_of_asserted(self) -> Iterator[FlatRule]:
        """Asserted rows belong to groups."""
        for name, kept in self.kept.items():
            row = self._row(name)
            yield self._asserted(kept.groups, name, tuple(row[i] for i in kept.group))

    def _row(self, name: str) -> tuple[Var, ...]:
        return tuple(Var(c.name, c.type) for c in self._relations[name].columns)

    def _asserted(self, head: str, name: str, values: tuple[Expr, ...]) -> FlatRule:
        body = (Match(asserted_rows(name), self._row(name)),)
        return FlatRule(f"{head} asserted", head, values, body, f"asserted rows of {name}")

    def groups(
        self, name: str, values: tuple[Expr, ...], body: Body, id_: str, origin: str, span: Span
    ) -> Iterator[FlatRule]:
        """The rules of the group that a head belongs to, and of what it depends on."""
        made = rule_of_groups(name, values, body, self._aggregated, self._relations)
        mark = zlib.crc32(repr(made).encode())
        groups = self._groups(name)
        yield FlatRule(f"{id_} [groups {mark}]", groups, made.head, _flat(made.body), origin, span)
        yield from self._depending(name, made, f"{id_} [groups {mark}]", origin, span)

    def _depending(self, name: str, made: GroupRule, id_: str, origin: str, span: Span) -> Iterator[FlatRule]:
        for number, (read, terms) in enumerate(made.reads):
            hidden = f"{self._groups(name)} after {self._groups(read)}"
            self._dependencies[hidden] = Dependencies(hidden, name, read, len(made.head))
            below = tuple(t for t in terms if not isinstance(t, typed.Wildcard))
            values = (*made.head, *below)
            yield FlatRule(f"{id_} after {number}", hidden, values, _flat(made.body), origin, span)

    # -- the whole

    def totals(self, rules: Iterable[FlatRule]) -> Totals:
        """What an engine needs to know; `rules` are those of groups and dependencies."""
        dependencies = tuple(d for _, d in sorted(self._dependencies.items()))
        kept, groupings = tuple(self.kept.values()), tuple(map(self.grouping, self.kept))
        if not self.is_threshold:
            return Totals(kept, False, groupings, dependencies)
        names = frozenset(map(self._groups, self.kept))
        own = tuple(rule for rule in rules if rule.head in names)
        strata = [Stratum(names, own, recursive=True, name="groups")]
        for found in dependencies:
            depending = tuple(rule for rule in rules if rule.head == found.name)
            strata.append(Stratum(frozenset([found.name]), depending, recursive=False, name=found.name))
        return Totals(kept, True, groupings, dependencies, tuple(strata))


def _flat(body: Body) -> FlatBody:
    """A body of a recursion with totals, which has no nested bodies."""
    found = tuple(x for x in body if not isinstance(x, Nested | Without | Stage))
    assert len(found) == len(body)
    return found
