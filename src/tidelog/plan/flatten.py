"""Flattens typed programs: groups and projections become hidden relations, heads and alternatives rules."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence, Set
from weakref import ref

from tidelog.data.overlay import copied
from tidelog.plan.flat import (
    FlatChange,
    FlatIndex,
    FlatProgram,
    FlatRule,
    Grouping,
    Kind,
    Parts,
    Stored,
    Stratum,
)
from tidelog.program import typed
from tidelog.program.analysis.order import Order, components
from tidelog.program.library.catalog import NUMBER
from tidelog.program.model import Program, rule_changes
from tidelog.program.text import print_heads, print_rule, print_value
from tidelog.program.typed import (
    Absent,
    Best,
    Bind,
    Body,
    Call,
    Expr,
    Group,
    Head,
    Literal,
    Match,
    Relation,
    Rule,
    Term,
    Var,
    Wildcard,
    expressions,
    subexpressions,
)

__all__ = ["flatten"]


def flatten(program: Program, before: Program | None = None, flat: FlatProgram | None = None) -> FlatProgram:
    """The equivalent flat program.

    Given an earlier program that was flattened so, only what differs is done again; parts that are the same
    are the same objects.
    """
    if before is None or flat is None or flat.known is None or before.index is None or program.index is None:
        return _Flattener(program).all_rules()
    return _Flattener(program, flat).difference(before)


class _Flattener:
    def __init__(self, program: Program, before: FlatProgram | None = None) -> None:
        self.program = program
        self.before = before or FlatProgram()
        extrema = _extrema(program)
        self.best: dict[str, Best] = {name: b for s in extrema for name, b in s.best}
        self.meant = {(rule.id, name): rule for s in extrema for rule in s.rules for name in s.relations}
        self.relations = copied(self.before.relations)
        self.rules = copied(self.before.rules)
        self.groupings = copied(self.before.groupings)
        self.parts = copied(self.before.index.parts)
        self.deriving = copied(self.before.index.deriving)
        self.readers = copied(self.before.index.readers)
        self.texts: dict[str, str] = {}
        self.touched: dict[str, None] = {}  # relations whose rules differ
        self.stored: dict[str, None] = {}  # relations that are new or stored otherwise
        self.dropped: dict[str, None] = {}
        self.made: dict[str, None] = {}  # flat rules, by id
        self.unmade: dict[str, None] = {}
        self.made_rules: list[str] = []
        self.made_relations: list[str] = []

    def all_rules(self) -> FlatProgram:
        for relation in self.program.relations.values():
            self._store(_stored(relation))
        for rule in self.program.rules.values():
            self._flatten(rule)
        below = {name: sorted(self._below(name)) for name in self.relations}
        return self._finish(Order.of(components(below)))

    def difference(self, before: Program) -> FlatProgram:
        """What differs from the program before is done again."""
        if before.relations is not self.program.relations:
            for name in before.relations.keys() - self.program.relations.keys():
                self._drop(name)
            for name, relation in self.program.relations.items():
                if before.relations.get(name) is not relation:
                    self._store(_stored(relation))
        removed, added = self._changed_rules(before)
        for rule_id in removed:
            self._take_out(rule_id)
        for rule_id in added:
            self._flatten(self.program.rules[rule_id])
        self._drop_projections()
        known = self.before.index.order
        new = [name for name in self.stored if name in self.relations and name not in known.number]
        gone = [name for name in self.dropped if name in known.number and name not in self.relations]
        is_derived = {name: name in self.deriving or name in self.groupings for name in new}
        order = known.renewed(
            self._below,
            self.touched,
            [name for name in new if not is_derived[name]],
            [name for name in new if is_derived[name]],
            gone,
        )
        return self._finish(order)

    def _changed_rules(self, before: Program) -> tuple[list[str], list[str]]:
        """The rules to take out and to flatten: those that differ, and those of strata whose meaning differs.

        What a rule means depends on its stratum where that keeps the best value per key.
        """
        old, new = before.rules, self.program.rules
        added, removed = rule_changes(before, self.program)
        kept = [_extrema(program) for program in (before, self.program)]
        same = set(map(id, kept[0])) & set(map(id, kept[1]))
        strata = [s for part in kept for s in part if id(s) not in same]
        again = {rule.id for s in strata for rule in s.rules if rule.id in old and rule.id in new}
        return sorted({*removed, *again}), sorted({*added, *again}, key=self._sequence())

    def _sequence(self) -> Callable[[str], int]:
        assert self.program.index is not None
        return self.program.index.strata.sequence.__getitem__

    def _take_out(self, rule_id: str) -> None:
        """Remove what a rule became."""
        parts = self.parts.pop(rule_id)
        for flat_id in parts.rules:
            self._remove(self.rules[flat_id])
        for name in parts.relations:
            self.touched[name] = None
            self._drop(name)
            self.groupings.pop(name, None)

    def _store(self, stored: Stored) -> None:
        self.relations[stored.name] = stored
        self.stored[stored.name] = None

    def _drop(self, name: str) -> None:
        del self.relations[name]
        self.dropped[name] = None

    def _remove(self, rule: FlatRule) -> None:
        self.touched[rule.head] = None
        del self.rules[rule.id]
        self.unmade[rule.id] = None
        left = tuple(id_ for id_ in self.deriving[rule.head] if id_ != rule.id)
        if left:
            self.deriving[rule.head] = left
        else:
            del self.deriving[rule.head]

    def _drop_projections(self) -> None:
        """Projections exist while something reads them."""
        for name in list(self.touched):
            self._update_readers(name)
        for name in [n for n in self._projections() if not self.readers.get(n)]:
            self._remove(self.rules[name])
            self._update_readers(name)
            self._drop(name)

    def _projections(self) -> list[str]:
        """The projections that a rule reads or read that was changed."""
        changed = {r for head in self.touched for r in (*self.before.below(head), *self._below(head))}
        there = (name for name in sorted(changed) if name in self.relations)
        return [name for name in there if self.relations[name].kind is Kind.PROJECTION]

    def _update_readers(self, head: str) -> None:
        now, then = self._below(head), self.before.below(head)
        for name in then - now:
            left = self.readers.get(name, frozenset()) - {head}
            if left:
                self.readers[name] = left
            else:
                self.readers.pop(name, None)
        for name in now - then:
            self.readers[name] = self.readers.get(name, frozenset()) | {head}

    def _below(self, head: str) -> frozenset[str]:
        grouping = self.groupings.get(head)
        own = frozenset() if grouping is None else frozenset([grouping.instances])
        return own.union(*(self.rules[id_].reads for id_ in self.deriving.get(head, ())))

    def _finish(self, order: Order) -> FlatProgram:
        if not self.before.strata:
            for name in self.touched:
                self._update_readers(name)
        strata, different = self._strata(order)
        change = FlatChange(
            ref(self.before),
            [id_ for id_ in self.made if id_ in self.rules and id_ not in self.before.rules],
            [id_ for id_ in self.unmade if id_ not in self.rules],
            [name for name in self.stored if name in self.relations],
            [name for name in self.dropped if name not in self.relations],
            different,
        )
        best = frozenset(self.best)
        index = FlatIndex(order, self.deriving, self.readers, self.parts, best, change)
        functions = self.program.functions
        return FlatProgram(self.relations, self.rules, self.groupings, functions, strata, known=index)

    def _strata(self, order: Order) -> tuple[tuple[Stratum, ...], list[int]]:
        """The strata, and the numbers of those that differ; the others are the same objects."""
        best = self.best.keys() | self.before.index.best
        if order is self.before.index.order:
            names = [name for name in (*self.touched, *best) if name in order.number]
            numbers = sorted({order.number[name] for name in names})
            made = list(self.before.strata)
            for number in numbers:
                made[number] = self._stratum(order.groups[number])
            different = [n for n in numbers if made[n] is not self.before.strata[n]]
            return tuple(made), different
        strata = tuple(self._kept(group, best) or self._stratum(group) for group in order.groups)
        known = set(map(id, self.before.strata))
        return strata, [n for n, stratum in enumerate(strata) if id(stratum) not in known]

    def _kept(self, group: frozenset[str], best_changed: Set[str]) -> Stratum | None:
        """The stratum of these relations before, if it is the same."""
        before = self.before.stratum_of(next(iter(group)))
        if before is None or before.relations != group:
            return None
        is_same = group.isdisjoint(best_changed) and self.touched.keys().isdisjoint(group)
        return before if is_same else None

    def _stratum(self, group: frozenset[str]) -> Stratum:
        names = sorted(group)
        rules = tuple(self.rules[id_] for name in names for id_ in self.deriving.get(name, ()))
        recursive = any(not self._below(name).isdisjoint(group) for name in names)
        best = tuple((name, self.best[name]) for name in names if name in self.best)
        title = ", ".join(self.relations[n].title or n for n in names)
        grouping = self.groupings.get(names[0])
        made = Stratum(group, rules, recursive, grouping, best, title)
        before = self.before.stratum_of(names[0])
        return before if before == made else made

    # -- rules

    def _flatten(self, rule: Rule) -> None:
        """Flatten a rule, and remember what it became."""
        self.made_rules, self.made_relations = [], []
        self._rule(rule)
        self.parts[rule.id] = Parts(tuple(self.made_rules), tuple(self.made_relations))

    def _put(self, rule: FlatRule) -> None:
        self.rules[rule.id] = rule
        self.made[rule.id] = None
        self.deriving[rule.head] = (*self.deriving.get(rule.head, ()), rule.id)
        self.touched[rule.head] = None

    def _rule(self, rule: Rule) -> None:
        kept = [h for h in rule.heads if h.relation in self.best]
        others = [h for h in rule.heads if h.relation not in self.best]
        if rule.group is None:
            for i, head in enumerate(rule.heads):
                for j, body in enumerate(self._meant(rule, head).bodies):
                    self._add(rule, f"{i}.{j}", head.relation, head.values, body)
            return
        for i, head in enumerate(kept):  # the relation keeps the best value, so every instance is a candidate
            meant = self._meant(rule, head)
            assert meant.group is not None
            result = meant.group.aggregates[0]
            for j, body in enumerate(meant.bodies):
                candidate = (*body, Bind(result.result, result.args[0]))
                self._add(rule, f"best {i}.{j}", head.relation, head.values, candidate)
        if others:
            results = self._grouping(rule, rule.group)
            for i, head in enumerate(others):
                for j, body in enumerate(rule.after):
                    self._add(rule, f"{i}.{j}", head.relation, head.values, (results, *body))

    def _meant(self, rule: Rule, head: Head) -> Rule:
        """The rule as interpreted in the stratum of one of its heads."""
        return self.meant.get((rule.id, head.relation), rule)

    def _add(self, rule: Rule, part: str, head: str, values: tuple[Expr, ...], body: Body) -> None:
        flat = tuple(x if not isinstance(x, Absent) else self._absent(x) for x in body)
        mark = _mark(body) if (rule.id, head) in self.meant else ""
        id_ = f"{rule.id} [{part}{mark}]"
        self._put(FlatRule(id_, head, values, flat, self._text(rule), rule.span))
        self.made_rules.append(id_)

    def _text(self, rule: Rule) -> str:
        """The rule as its author wrote it, for messages; its id uses other names."""
        if rule.id not in self.texts:
            self.texts[rule.id] = print_rule(rule)
        return self.texts[rule.id]

    def _grouping(self, rule: Rule, group: Group) -> Match:
        """Create the hidden relations of a group; returns the atom for its results."""
        arguments: list[Expr] = []
        places: list[tuple[int, ...]] = []
        for aggregate in group.aggregates:
            used = aggregate.args[:1] if aggregate.function == "concat" else aggregate.args
            for arg in used:
                if arg not in arguments:
                    arguments.append(arg)
            places.append(tuple(len(group.keys) + arguments.index(a) for a in used))
        instances, results = f"{rule.id} [instances]", f"{rule.id} [results]"
        columns: tuple[Expr, ...] = (*group.keys, *arguments)
        shown = (*group.keys, *(a.result for a in group.aggregates))
        heads = print_heads(rule)
        self._store(_hidden(instances, Kind.INSTANCES, columns, f"instances of `{heads} :- …`"))
        self._store(_hidden(results, Kind.RESULTS, shown, f"groups of `{heads} :- …`"))
        self.made_relations += (instances, results)
        self.touched[results] = None
        for j, body in enumerate(rule.bodies):
            self._add(rule, f"instances {j}", instances, columns, body)
        self.groupings[results] = Grouping(
            instances, results, len(group.keys), group.aggregates, tuple(places), self._text(rule)
        )
        return Match(results, shown)

    def _absent(self, literal: Absent) -> Literal:
        if not any(isinstance(t, Wildcard) for t in literal.terms):
            return literal
        columns = tuple(i for i, t in enumerate(literal.terms) if not isinstance(t, Wildcard))
        name = self._projection(literal.relation, columns)
        return Absent(name, tuple(literal.terms[i] for i in columns))

    def _projection(self, relation: str, columns: tuple[int, ...]) -> str:
        name = f"{relation} [columns {', '.join(map(str, columns))}]"
        if name not in self.relations:
            source = self.relations[relation]
            kept = {i: Var(source.columns[i], source.types[i]) for i in columns}
            values = tuple(kept[i] for i in columns)
            title = f"projection of {relation} on {', '.join(v.name for v in values) or 'no column'}"
            self._store(_hidden(name, Kind.PROJECTION, values, title))
            terms: tuple[Term, ...] = tuple(kept.get(i, Wildcard()) for i in range(len(source.types)))
            self._put(FlatRule(name, name, values, (Match(relation, terms),), title))
        return name


def _mark(body: Body) -> str:
    """Distinguishes a body from that of the same rule in other strata: which results must be numbers."""
    found: list[str] = []
    pending = [e for literal in body for e in expressions(literal)]
    for expr in pending:  # grows during the loop
        pending += subexpressions(expr)
        if isinstance(expr, Call) and expr.function == NUMBER:
            found.append(repr(expr))
    return f", numbers {zlib.crc32(repr(found).encode())}" if found else ""


def _hidden(name: str, kind: Kind, values: tuple[Expr, ...], title: str) -> Stored:
    """A hidden relation whose columns are these values."""
    columns = tuple(map(print_value, values))
    return Stored(name, tuple(v.type for v in values), kind, columns=columns, title=title)


def _stored(relation: Relation) -> Stored:
    columns = tuple(c.name for c in relation.columns)
    return Stored(relation.name, relation.types, keyed=relation.key is not None, columns=columns)


def _extrema(program: Program) -> Sequence[typed.Stratum]:
    """The strata that keep best values."""
    if program.index is not None:
        return program.index.strata.extrema
    return [stratum for stratum in program.strata if stratum.best]
