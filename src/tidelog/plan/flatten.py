"""Flattens typed programs: groups and nested bodies become hidden relations, heads and alternatives rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import assert_never
from weakref import ref

from tidelog.data.types import BOOL
from tidelog.plan.assembly import Assembly, declared, hidden, mark_of
from tidelog.plan.failures import failing_bodies, sound_body
from tidelog.plan.flat import (
    FlatBody,
    FlatChange,
    FlatIndex,
    FlatProgram,
    FlatRule,
    Grouping,
    Kind,
    Parts,
    Stratum,
)
from tidelog.plan.nested import Done, alternatives, always_failing, broken, keys_of, turn
from tidelog.plan.per_binding import cycles_of, without_cycles
from tidelog.plan.results import number_of, results_of, rows_of
from tidelog.plan.totals import TotalsPlan, parts_of
from tidelog.program import typed
from tidelog.program.analysis.nesting import demanded, own_bodies, support
from tidelog.program.analysis.order import Order, components
from tidelog.program.analysis.strata import is_special
from tidelog.program.analysis.totals import contributions
from tidelog.program.folds import shown_aggregate
from tidelog.program.library.catalog import constant_argument
from tidelog.program.library.nothing import over_nothing
from tidelog.program.model import Program, rule_changes
from tidelog.program.text import print_heads, print_rule
from tidelog.program.typed import (
    Absent,
    Aggregate,
    Best,
    Bind,
    Body,
    Each,
    Expr,
    Group,
    Head,
    Match,
    Nested,
    Rule,
    Stage,
    Test,
    Var,
    Wildcard,
    Without,
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


class _Flattener(Assembly):
    def __init__(self, program: Program, before: FlatProgram | None = None) -> None:
        super().__init__(before or FlatProgram())
        self.program = program
        special = _special(program)
        extrema = [s for s in special if s.best]
        self.best: dict[str, Best] = {name: b for s in extrema for name, b in s.best}
        self.meant = {(rule.id, name): rule for s in extrema for rule in s.rules for name in s.relations}
        self.totals = {name: s for s in special if s.totals for name in s.relations}
        self.cycles = cycles_of(special)
        self.plans: dict[frozenset[str], tuple[TotalsPlan, list[FlatRule]]] = {}
        self.texts: dict[str, str] = {}
        self.made_rules: list[str] = []
        self.made_relations: list[str] = []
        self.columns: dict[str, tuple[Expr, ...]] = {}  # of the instances of groups
        self.shown: dict[str, str] = {}  # what rows are collected for, by the variable of these

    def all_rules(self) -> FlatProgram:
        for relation in self.program.relations.values():
            self._store(declared(relation))
        for stratum in _special(self.program):
            self._keep_totals(stratum)
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
                    self._store(declared(relation))
        left, new_ones = self._changed_strata(before)
        removed, added = self._changed_rules(before, (*left, *new_ones))
        for rule_id in removed:
            self._take_out(rule_id)
        for stratum in left:
            self._forget_totals(stratum)
        for stratum in new_ones:
            self._keep_totals(stratum)
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

    def _changed_strata(self, before: Program) -> list[list[typed.Stratum]]:
        """The special strata that only the old or only the new program has."""
        kept = [_special(program) for program in (before, self.program)]
        same = set(map(id, kept[0])) & set(map(id, kept[1]))
        return [[s for s in part if id(s) not in same] for part in kept]

    def _changed_rules(self, before: Program, strata: Sequence[typed.Stratum]) -> tuple[list[str], list[str]]:
        """The rules to take out and to flatten: those that differ, and those of strata whose meaning differs.

        What a rule becomes depends on its stratum where that is special.
        """
        old, new = before.rules, self.program.rules
        added, removed = rule_changes(before, self.program)
        again = {rule.id for s in strata for rule in s.rules if rule.id in old and rule.id in new}
        return sorted({*removed, *again}), sorted({*added, *again}, key=self._sequence())

    def _sequence(self) -> Callable[[str], int]:
        assert self.program.index is not None
        return self.program.index.strata.sequence.__getitem__

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
        best = frozenset((*self.best, *self.totals))
        index = FlatIndex(order, self.deriving, self.readers, self.parts, best, change)
        functions = self.program.functions
        return FlatProgram(self.relations, self.rules, self.groupings, functions, strata, known=index)

    def _strata(self, order: Order) -> tuple[tuple[Stratum, ...], list[int]]:
        """The strata, and the numbers of those that differ; the others are the same objects."""
        best = self.best.keys() | self.totals.keys() | self.before.index.best
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
        kept = [self.totals[name] for name in names if name in self.totals]
        rules = tuple(self.rules[id_] for name in names for id_ in self.deriving.get(name, ()))
        recursive = any(not self._below(name).isdisjoint(group) for name in names)
        best = tuple((name, self.best[name]) for name in names if name in self.best)
        title = ", ".join(self.relations[n].title or n for n in names if n in self.totals or not kept)
        grouping = None if kept else self.groupings.get(names[0])
        totals = self._planned(kept[0])[0].totals(self._planned(kept[0])[1]) if kept else None
        made = Stratum(group, rules, recursive, grouping, best, totals, title)
        before = self.before.stratum_of(names[0])
        return before if before == made else made

    # -- rules

    def _flatten(self, rule: Rule) -> None:
        """Flatten a rule, and remember what it became."""
        self.made_rules, self.made_relations, self.shown = [], [], {}
        self._rule(rule)
        self.parts[rule.id] = Parts(tuple(self.made_rules), tuple(self.made_relations))

    def _rule(self, rule: Rule) -> None:
        for i, head in enumerate(rule.heads):
            if head.relation in self.totals:
                plan = self._planned(self.totals[head.relation])[0]
                for j, body in enumerate(self._instance_bodies(rule, head)):
                    instances, values = (
                        plan.kept[head.relation].instances,
                        plan.instance(head.relation, head.values),
                    )
                    self._add(rule, f"instance {i}.{j}", instances, values, body)
        kept = [h for h in rule.heads if h.relation in self.best]
        others = [h for h in rule.heads if h.relation not in self.best and h.relation not in self.totals]
        if rule.group is None:
            for i, head in enumerate(rule.heads):
                if head.relation in self.totals:
                    continue
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

    # -- totals

    def _keep_totals(self, stratum: typed.Stratum) -> None:
        """Create the hidden relations and rules of a stratum with totals."""
        if stratum.totals is None:
            return
        self.made_rules, self.made_relations = [], []
        plan, rules = self._planned(stratum)
        for stored in plan.all_stored():
            self._store(stored)
            self.made_relations.append(stored.name)
        below = () if plan.is_threshold else rules  # otherwise they are evaluated on demand
        for rule in (*plan.instances_of_asserted(), *below):
            self._put(rule)
            self.made_rules.append(rule.id)
        for name in plan.kept:
            self.groupings[name] = plan.grouping(name)
            self.touched[name] = None
        self.parts[parts_of(stratum)] = Parts(tuple(self.made_rules), tuple(self.made_relations))

    def _forget_totals(self, stratum: typed.Stratum) -> None:
        if stratum.totals is None:
            return
        self._take_out(parts_of(stratum))
        for name in stratum.relations:
            self.groupings.pop(name, None)
            self.touched[name] = None

    def _planned(self, stratum: typed.Stratum) -> tuple[TotalsPlan, list[FlatRule]]:
        """The plan of a stratum with totals, and the rules of its groups and dependencies."""
        known = self.plans.get(stratum.relations)
        if known is None:
            plan = TotalsPlan(stratum, self.program.relations)
            rules = list(plan.groups_of_asserted())
            for rule in stratum.rules:
                for i, head in enumerate(rule.heads):
                    for j, body in enumerate(self._group_bodies(rule, head)):
                        id_, text = f"{rule.id} [{i}.{j}]", self._text(rule)
                        rules += plan.groups(head.relation, head.values, body, id_, text, rule.span)
            known = self.plans[stratum.relations] = plan, rules
        return known

    def _group_bodies(self, rule: Rule, head: Head) -> Sequence[Body]:
        """The bodies of the groups of a head in a stratum with totals; none for other heads."""
        if head.relation not in self.totals:
            return ()
        bodies = self._instance_bodies(rule, head, made=True)
        return [tuple(self._flat(rule, x) for x in body) for body in bodies]

    def _instance_bodies(self, rule: Rule, head: Head, *, made: bool = False) -> Sequence[Body]:
        """The bodies of the instances of a head in a stratum with totals; its group may be `made` already."""
        totals = self.totals[head.relation].totals
        assert totals is not None
        if any(name == head.relation for name, _ in totals.kept):
            return contributions(rule)
        if rule.group is None:
            return rule.bodies
        results = results_of(rule, rule.group) if made else self._grouping(rule, rule.group)
        return [(results, *body) for body in rule.after]

    # -- parts of rules

    def _meant(self, rule: Rule, head: Head) -> Rule:
        """The rule as interpreted in the stratum of one of its heads."""
        return self.meant.get((rule.id, head.relation), rule)

    def _add(self, rule: Rule, part: str, head: str, values: tuple[Expr, ...], body: Body) -> None:
        """Add the flat rules of a body, one for each choice that its nested aggregates leave."""
        mark = mark_of(body) if (rule.id, head) in self.meant else ""
        if rule.id in self.cycles:
            made = without_cycles(body, self.cycles[rule.id])
            body, self.shown = made.body, {**self.shown, **made.shown}
            mark += f", per binding {made.places}" if made.places else ""
        for number, flat in enumerate(self._bodies(rule, f"{part}{mark}", body)):
            choice = f", choice {number}" if number else ""
            id_ = f"{rule.id} [{part}{mark}{choice}]"
            self._put(FlatRule(id_, head, values, flat, self._text(rule), rule.span))
            self.made_rules.append(id_)

    def _bodies(self, rule: Rule, part: str, body: Body) -> list[FlatBody]:
        """A body without nested bodies, as alternatives."""
        done: Done = {}
        for number, literal in sorted(enumerate(body), key=lambda pair: turn(pair[1])):
            match literal:
                case Absent():
                    done[literal] = [(self._absent(literal),)]
                case Without():
                    done[literal] = self._without(rule, f"{part}, not {number}", literal, body, done)
                case Nested():
                    done[literal] = self._nested(rule, f"{part}, aggregate {number}", literal, body, done)
                case Stage():
                    done[literal] = [(self._stage(rule, literal),)]
                case Match() | Test() | Bind() | Each():
                    done[literal] = [(literal,)]
                case _:
                    assert_never(literal)
        return alternatives(body, done)

    def _flat(self, rule: Rule, literal: typed.Literal) -> typed.Literal:
        """A literal of a recursion with totals, which has no nested bodies."""
        assert not isinstance(literal, Nested | Without)
        if isinstance(literal, Stage):
            return rows_of(rule, literal)
        return self._absent(literal) if isinstance(literal, Absent) else literal

    def _text(self, rule: Rule) -> str:
        """The rule as its author wrote it, for messages; its id uses other names."""
        if rule.id not in self.texts:
            self.texts[rule.id] = print_rule(rule)
        return self.texts[rule.id]

    def _grouping(self, rule: Rule, group: Group) -> Match:
        """Create the hidden relations of a group of a rule; returns the atom for its results."""
        known = results_of(rule, group)
        if known.relation in self.made_relations:  # another head of the rule needs it, too
            return known
        heads = f"`{print_heads(rule)} :- …`"
        names = (f"{rule.id} [instances]", f"{rule.id} [results]")
        titles = (f"instances of {heads}", f"groups of {heads}")
        made = self._grouped(rule, group, names, titles)
        columns = self.columns[names[0]]
        for j, body in enumerate(rule.bodies):
            self._add(rule, f"instances {j}", names[0], columns, body)
        return made

    def _stage(self, rule: Rule, stage: Stage) -> Match:
        """Create the hidden relations of an earlier stage of a rule; returns the atom for its results."""
        known = rows_of(rule, stage)
        if known.relation in self.made_relations:
            return known
        place = f"stage {number_of(stage)}"
        heads = f"`{print_heads(rule)} :- …`"
        names = (f"{rule.id} [{place}, instances]", known.relation)
        titles = (f"instances of {place} of {heads}", f"groups of {place} of {heads}")
        made = self._grouped(rule, stage.group, names, titles)
        for j, body in enumerate(stage.bodies):
            self._add(rule, f"{place}, instances {j}", names[0], self.columns[names[0]], body)
        return made

    def _grouped(self, rule: Rule, group: Group, names: tuple[str, str], titles: tuple[str, str]) -> Match:
        """Store the instances and the results of a group; returns the atom for its results."""
        arguments: list[Expr] = []
        places: list[tuple[int, ...]] = []
        for aggregate in group.aggregates:
            constant = constant_argument(aggregate.function)
            used = tuple(arg for i, arg in enumerate(aggregate.args) if i != constant)
            for arg in used:
                if arg not in arguments:
                    arguments.append(arg)
            places.append(tuple(len(group.keys) + arguments.index(a) for a in used))
        instances, results = names
        self.columns[instances] = columns = (*group.keys, *arguments)
        shown = group.columns
        self._store(hidden(instances, Kind.INSTANCES, columns, titles[0]))
        self._store(hidden(results, Kind.RESULTS, shown, titles[1]))
        self.made_relations += names
        self.touched[results] = None
        self.groupings[results] = Grouping(
            instances, results, len(group.keys), group.aggregates, tuple(places), self._text(rule)
        )
        return Match(results, shown)

    # -- nested bodies

    def _without(self, rule: Rule, part: str, literal: Without, around: Body, done: Done) -> list[FlatBody]:
        """The negation of the relation of the parameters for which a body holds."""
        name = f"{rule.id} [{part}]"
        title = f"bodies under `not` in `{print_heads(rule)} :- …`"
        keys, same = keys_of(literal, part)
        self._store(hidden(name, Kind.BODY, keys, title))
        self.made_relations.append(name)
        demand = self._demand(rule, part, literal, around, done)
        failing = self._split(rule, part, own_bodies(literal), (), (name, keys, keys), (*demand, *same))
        absent = Absent(name, keys)
        if failing is None:
            return [(*same, absent)]
        wrong: FlatBody = (*same, absent, Match(failing, keys), Test(always_failing(BOOL)))
        return [(*same, absent, Absent(failing, keys)), wrong]

    def _nested(self, rule: Rule, part: str, literal: Nested, around: Body, done: Done) -> list[FlatBody]:
        """The results of a group by the parameters, and the value over nothing where there is none."""
        names = (f"{rule.id} [{part}, instances]", f"{rule.id} [{part}, results]")
        what = self.shown.get(literal.result.name)
        place = f"what `{what}` reads" if what else f"`{shown_aggregate(literal.function)} {{ … }}`"
        place += f" in `{print_heads(rule)} :- …`"
        aggregate = Aggregate(literal.result, literal.function, literal.args, literal.distinct)
        keys, same = keys_of(literal, part)
        group = Group(keys, (aggregate,))
        results = self._grouped(rule, group, names, (f"instances of {place}", f"groups of {place}"))
        demand = self._demand(rule, part, literal, around, done)
        head = (names[0], self.columns[names[0]], keys)
        failing = self._split(rule, part, own_bodies(literal), literal.args, head, (*demand, *same))
        sound: FlatBody = same if failing is None else (*same, Absent(failing, keys))
        choices: list[FlatBody] = [(*sound, results), *broken(literal, around)]
        if failing is not None:
            wrong = Bind(literal.result, always_failing(literal.result.type))
            choices.append((*same, Match(failing, keys), wrong))
        nothing = over_nothing(literal.function, literal.result.type)
        if nothing is not None:
            present = self._projection(names[1], tuple(range(len(keys))))
            choices.append((*sound, Absent(present, keys), Bind(literal.result, nothing)))
        return choices

    def _split(
        self,
        rule: Rule,
        part: str,
        bodies: Sequence[Body],
        args: tuple[Expr, ...],
        head: tuple[str, tuple[Expr, ...], tuple[Var, ...]],
        before: Body,
    ) -> str | None:
        """Add the bodies of a nested literal; returns the relation of the keys that fail, if any may."""
        name, values, keys = head
        failing = f"{rule.id} [{part}, failing]"
        own = {k.name for k in keys}
        parts = [failing_bodies(body, args, own) for body in bodies]
        is_split = None not in parts and any(parts)
        for j, (body, wrong) in enumerate(zip(bodies, parts, strict=True)):
            sound = sound_body(body, args) if is_split else body
            self._add(rule, f"{part}.{j}", name, values, (*before, *sound))
            for i, other in enumerate((wrong or ()) if is_split else ()):
                self._add(rule, f"{part}.{j}, failing {i}", failing, keys, (*before, *other))
        if not is_split:
            return None
        title = f"failures of nested bodies in `{print_heads(rule)} :- …`"
        self._store(hidden(failing, Kind.BODY, keys, title))
        self.made_relations.append(failing)
        return failing

    def _demand(self, rule: Rule, part: str, literal: Nested | Without, around: Body, done: Done) -> Body:
        """An atom for the values of the parameters that the bodies do not bind, if there are any."""
        wanted = demanded(literal)
        if not wanted:
            return ()
        name = f"{rule.id} [{part}, demand]"
        title = f"values of {', '.join(v.name for v in wanted)} in `{print_heads(rule)} :- …`"
        self._store(hidden(name, Kind.DEMAND, wanted, title))
        self.made_relations.append(name)
        for j, body in enumerate(alternatives(support(around, wanted), done)):
            self._add(rule, f"{part}, demand {j}", name, wanted, body)
        return (Match(name, wanted),)

    def _absent(self, literal: Absent) -> Absent:
        if not any(isinstance(t, Wildcard) for t in literal.terms):
            return literal
        columns = tuple(i for i, t in enumerate(literal.terms) if not isinstance(t, Wildcard))
        name = self._projection(literal.relation, columns)
        return Absent(name, tuple(literal.terms[i] for i in columns))


def _special(program: Program) -> Sequence[typed.Stratum]:
    """The strata in which rules become something else: they keep one row per key, or evaluate per binding."""
    if program.index is not None:
        return program.index.strata.special
    return list(filter(is_special, program.strata))
