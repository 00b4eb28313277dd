"""Multisets, streams and delays as ordinary relations: a program for engines that know only sets.

A multiset or stream M becomes a relation of the same name with a last column, the *weight* of each row, and
is the sum of `M [contributions]`: for each rule and row, the sum over the rule's instances of the product of
the weights of the rows they read, and for the asserted facts their own weight, under the origin "". Rows of
weight 0 are not there, and none is negative. Other readers ignore the weight, which is unique per row, so
they find each row once; aggregates count an instance as often as its weight says.

`R-N` becomes the relation `R [delay N]`, which has no rules: whoever holds the history asserts its rows.

Invariant: the resulting program has no kinds, delays or primes. Rules that use none are the same objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Final, assert_never

from tidelog.data import types
from tidelog.data.types import BIGINT, INT, STRING, Type
from tidelog.errors import NOWHERE, Diagnostic, ProgramError
from tidelog.program.analysis.kinds import atoms_of
from tidelog.program.analysis.strata import stratify
from tidelog.program.declared import Column, Relation, RelationKind, Role
from tidelog.program.elaborate.problems import Problems
from tidelog.program.model import Program
from tidelog.program.query import Query
from tidelog.program.typed import (
    Absent,
    Aggregate,
    Binary,
    Bind,
    Body,
    Call,
    Cast,
    Constant,
    Each,
    Expr,
    Group,
    Head,
    If,
    Literal,
    Match,
    Nested,
    Rule,
    Stage,
    Term,
    Test,
    Var,
    Wildcard,
    Without,
)

__all__ = [
    "GIVEN",
    "contributions",
    "delayed",
    "delays",
    "has_versions",
    "is_weighted",
    "read_name",
    "weighted_relation",
    "without_kinds",
    "without_kinds_in_query",
]

GIVEN: Final = ""  # the origin of asserted facts
_ONE: Final = Constant(1, INT)
# Their result does not depend on how often an instance counts.
_INSENSITIVE: Final = frozenset(
    ["min", "max", "arg_min", "arg_max", "any", "all", "collect_set", "collect_map"]
)
_SUMMABLE: Final = frozenset(["count", "count_if"])


def is_weighted(relation: Relation) -> bool:
    return relation.kind is not RelationKind.SET


def has_versions(rule: Rule) -> bool:
    """Whether a rule reads earlier commits."""
    return any(atom.delay for atom in atoms_of(rule))


def contributions(relation: str) -> str:
    """The relation of what each rule, and the asserted facts, add to the weights of a relation."""
    return f"{relation} [contributions]"


def delayed(relation: str, delay: int) -> str:
    """The relation that has the rows of another some commits ago."""
    return f"{relation} [delay {delay}]"


def read_name(atom: Match | Absent) -> str:
    """The relation whose rows an atom reads: a delayed one if it reads an earlier commit."""
    return delayed(atom.relation, atom.delay) if atom.delay else atom.relation


def delays(program: Program) -> dict[str, tuple[str, int]]:
    """The delayed relations that rules read: the relation of each, and its delay in commits."""
    found = sorted(
        {(a.relation, a.delay) for rule in program.rules.values() for a in atoms_of(rule) if a.delay}
    )
    return {delayed(*pair): pair for pair in found}


def weighted_relation(relation: Relation) -> Relation:
    """A relation with the weights of its rows as its last column."""
    if not is_weighted(relation):
        return relation
    columns = (*relation.columns, Column(_free("weight", relation), INT))
    return replace(relation, columns=columns, row=None, kind=RelationKind.SET)


def _contributed(relation: Relation) -> Relation:
    columns = (*relation.columns, Column(_free("origin", relation), STRING))
    named = Relation(relation.name, columns, Role.INTERNAL)
    weight = Column(_free("weight", named), INT)
    return Relation(contributions(relation.name), (*columns, weight), Role.INTERNAL, span=relation.span)


def _free(name: str, relation: Relation) -> str:
    while any(c.name == name for c in relation.columns):
        name += "_"
    return name


def without_kinds(program: Program) -> Program:
    """The program of sets that means the same; see the module for what its relations are."""
    if not any(map(is_weighted, program.relations.values())) and not any(
        map(has_versions, program.rules.values())
    ):
        return program
    return _Weighting(program).program()


def without_kinds_in_query(query: Query, program: Program) -> Query:
    """A query over the relations of `without_kinds(program)`. Raises ProgramError if it needs others."""
    kept = delays(program)
    for atom in atoms_of(query.rule):
        if atom.delay and delayed(atom.relation, atom.delay) not in kept:
            message = f"`{atom.relation}-{atom.delay}` is not kept, since no rule reads it"
            hint = f"add a rule that reads `{atom.relation}-{atom.delay}(…)` first"
            raise ProgramError([Diagnostic("E509", query.rule.span, message, hint=hint)])
    made = list(_Weighting(program).rules(query.rule))
    assert len(made) == 1
    return Query(query.relation, made[0], query.functions)


class _Weighting:
    def __init__(self, program: Program) -> None:
        self._given = program
        self._numbers = count(1)
        self._groups: dict[str, Relation] = {}
        self._stages: dict[Stage, Body] = {}
        strata = program.strata
        self._totals = {n for s in strata if s.totals is not None for n in s.relations}

    def program(self) -> Program:
        given = self._given
        relations: dict[str, Relation] = {}
        rules: dict[str, Rule] = {}
        for name, relation in given.relations.items():
            relations[name] = weighted_relation(relation)
            if is_weighted(relation):
                relations[contributions(name)] = _contributed(relation)
                total = _total(relation)
                rules[total.id] = total
        for name, (source, _) in delays(given).items():
            columns = weighted_relation(given.relations[source]).columns
            relations[name] = Relation(name, columns, Role.INTERNAL)
        for rule in given.rules.values():
            rules |= {made.id: made for made in self.rules(rule)}
        relations |= self._groups
        problems = Problems()
        strata = stratify(relations, rules, problems)
        if problems.found:
            raise ProgramError(problems.found)
        return replace(
            given,
            relations=relations,
            rules=rules,
            strata=strata.strata,
            index=None,
            written=given,
        )

    # -- rules

    def rules(self, rule: Rule) -> Iterator[Rule]:
        """The rules that a rule becomes."""
        plain = tuple(h for h in rule.heads if not self._is_weighted(h.relation))
        others = [(i, h) for i, h in enumerate(rule.heads) if self._is_weighted(h.relation)]
        if not others and not any(map(self._is_special, atoms_of(rule))):
            yield rule
            return
        bodies, group, results = self._grouped(rule)
        if group is None and plain:
            yield replace(rule, heads=plain, bodies=tuple(map(self._uncounted, rule.bodies)))
        if group is None:
            for i, head in others:
                yield self._contribution(rule, i, head, rule.bodies)
            return
        if plain:
            after = tuple((*results, *self._uncounted(body)) for body in rule.after)
            yield replace(rule, heads=plain, bodies=bodies, group=group, after=after)
        if others:
            assert rule.group is not None
            shown = (*rule.group.keys, *(a.result for a in rule.group.aggregates))
            name = f"{rule.id} [grouped]"
            columns = tuple(Column(v.name, v.type) for v in shown)
            self._groups[name] = Relation(name, columns, Role.INTERNAL, span=rule.span)
            yield Rule(name, (Head(name, shown),), bodies, group, (results,), rule.span)
            inner = tuple((Match(name, shown), *body) for body in rule.after)
            for i, head in others:
                yield self._contribution(rule, i, head, inner)

    def _contribution(self, rule: Rule, number: int, head: Head, bodies: tuple[Body, ...]) -> Rule:
        """What the instances of bodies add to the weights of a head."""
        keys = tuple(Var(f"$value {i}", value.type) for i, value in enumerate(head.values))
        named = tuple(Bind(key, value) for key, value in zip(keys, head.values, strict=True))
        counted, weight = self._counted(bodies)
        total = Var("$total", weight.type)
        made = tuple((*body, *named) for body in counted)
        group = Group(keys, (Aggregate(total, "sum", (weight,), distinct=False),))
        origin = f"{rule.id} [{number}]"
        head = Head(contributions(head.relation), (*keys, Constant(origin, STRING), Var("$weight", INT)))
        after = ((Bind(Var("$weight", INT), _as(total, INT)),),)
        return Rule(f"{origin} [contribution]", (head,), made, group, after, rule.span)

    def _is_weighted(self, name: str) -> bool:
        found = self._given.relations.get(name)
        return found is not None and is_weighted(found)

    def _is_special(self, atom: Match | Absent) -> bool:
        return atom.delay > 0 or self._is_weighted(atom.relation)

    # -- groups

    def _grouped(self, rule: Rule) -> tuple[tuple[Body, ...], Group | None, Body]:
        """The bodies and the group of a rule, and what its results still need."""
        if rule.group is None:
            return rule.bodies, None, ()
        is_total = any(h.relation in self._totals for h in rule.heads)
        return self._weighed_group(rule.group, rule.bodies, is_total=is_total)

    def _weighed_group(
        self, group: Group, given: tuple[Body, ...], *, is_total: bool = False
    ) -> tuple[tuple[Body, ...], Group, Body]:
        """The bodies and the aggregates of a group, and what its results still need."""
        sensitive = [a for a in group.aggregates if _is_sensitive(a)]
        if not sensitive or not any(map(self._counts, given)):
            return tuple(map(self._uncounted, given)), group, ()
        if is_total or not all(map(_is_summable, sensitive)):
            return tuple(map(self._repeated, given)), group, ()
        bodies, weight = self._counted(given)
        results: list[Literal] = []
        aggregates: list[Aggregate] = []
        for aggregate in group.aggregates:
            if not _is_sensitive(aggregate):
                aggregates.append(aggregate)
                continue
            value = _summand(aggregate, weight)
            total = Var(f"$total {len(aggregates)}", value.type)
            aggregates.append(Aggregate(total, "sum", (value,), distinct=False))
            results.append(Bind(aggregate.result, _as(total, aggregate.result.type)))
        return bodies, Group(group.keys, tuple(aggregates)), tuple(results)

    def _nested(self, literal: Nested) -> Iterator[Literal]:
        aggregate = Aggregate(literal.result, literal.function, literal.args, literal.distinct)
        if not _is_sensitive(aggregate) or not any(map(self._counts, literal.bodies)):
            yield replace(literal, bodies=tuple(map(self._uncounted, literal.bodies)))
        elif not _is_summable(aggregate):
            yield replace(literal, bodies=tuple(map(self._repeated, literal.bodies)))
        else:
            bodies, weight = self._counted(literal.bodies)
            value = _summand(aggregate, weight)
            total = Var(f"$total of {next(self._numbers)}", value.type)
            yield replace(literal, result=total, function="sum", args=(value,), bodies=bodies)
            yield Bind(literal.result, _as(total, literal.result.type))

    def _stage(self, stage: Stage) -> Body:
        """A stage, whose groups have no weights, and what its results still need."""
        made = self._stages.get(stage)
        if made is None:
            bodies, group, results = self._weighed_group(stage.group, stage.bodies)
            made = self._stages[stage] = (Stage(group, bodies), *results)
        return made

    # -- bodies

    def _counts(self, body: Body) -> bool:
        """Whether the instances of a body have weights."""
        return any(isinstance(x, Match) and self._has_weight(x) for x in body)

    def _has_weight(self, atom: Match) -> bool:
        return self._is_weighted(atom.relation) and not atom.is_prime

    def _uncounted(self, body: Body) -> Body:
        """A body that finds each row once."""
        return tuple(x for literal in body for x in self._literal(literal, None))

    def _counted(self, bodies: Iterable[Body]) -> tuple[tuple[Body, ...], Var]:
        """Bodies that also compute the weight of an instance, in one variable."""
        found = [self._weighed(body) for body in bodies]
        type_ = INT if all(len(weights) <= 1 for _, weights in found) else BIGINT
        weight = Var(f"$weight of {next(self._numbers)}", type_)
        made = tuple((*body, Bind(weight, _product(weights, type_))) for body, weights in found)
        return made, weight

    def _repeated(self, body: Body) -> Body:
        """A body with an instance for each copy of its rows."""
        made, weights = self._weighed(body)
        if not weights:
            return made
        if "range" in self._given.functions:
            message = "the program defines `range`, which aggregates over single copies of rows need"
            raise ProgramError([Diagnostic("E510", NOWHERE, message, hint="give the function another name")])
        copies = Call("range", (Constant(0, INT), _product(weights, INT)), types.Vec(INT))
        return (*made, Each(Var(f"$copy {next(self._numbers)}", INT), copies))

    def _weighed(self, body: Body) -> tuple[Body, list[Var]]:
        """A body with variables for the weights of the rows that it reads."""
        weights: list[Var] = []
        made = tuple(x for literal in body for x in self._literal(literal, weights))
        return made, weights

    def _literal(self, literal: Literal, weights: list[Var] | None) -> Iterator[Literal]:
        match literal:
            case Match(terms=terms):
                if weights is None or not self._has_weight(literal):
                    yield Match(*self._stored(literal, terms, Wildcard()))
                    return
                weight = Var(f"$weight of {next(self._numbers)}", INT)
                weights.append(weight)
                yield Match(*self._stored(literal, terms, weight))
            case Absent(terms=terms):
                yield Absent(*self._stored(literal, terms, Wildcard()))
            case Nested():
                yield from self._nested(literal)
            case Without(parameters, bodies):
                yield Without(parameters, tuple(map(self._uncounted, bodies)))
            case Stage():
                yield from self._stage(literal)
            case Test() | Bind() | Each():
                yield literal
            case _:
                assert_never(literal)

    def _stored(
        self, atom: Match | Absent, terms: tuple[Term, ...], weight: Term
    ) -> tuple[str, tuple[Term, ...]]:
        return read_name(atom), (*terms, weight) if self._is_weighted(atom.relation) else terms


def _total(relation: Relation) -> Rule:
    """The rule that adds up the contributions to a relation."""
    keys = tuple(Var(f"${i}", c.type) for i, c in enumerate(relation.columns))
    weight, total = Var("$weight", INT), Var("$total", INT)
    body = (Match(contributions(relation.name), (*keys, Wildcard(), weight)),)
    group = Group(keys, (Aggregate(total, "sum", (weight,), distinct=False),))
    head = Head(relation.name, (*keys, total))
    return Rule(f"{relation.name} [weights]", (head,), (body,), group, ((),), relation.span)


def _is_sensitive(aggregate: Aggregate) -> bool:
    return not aggregate.distinct and aggregate.function not in _INSENSITIVE


def _is_summable(aggregate: Aggregate) -> bool:
    """Whether the aggregate is a sum of integers."""
    if aggregate.function == "sum":
        return isinstance(aggregate.args[0].type, types.Int | types.BigInt | types.Bit | types.Signed)
    return aggregate.function in _SUMMABLE


def _summand(aggregate: Aggregate, weight: Var) -> Expr:
    """What an instance of this weight adds to the sum."""
    match aggregate.function:
        case "count":
            return weight
        case "count_if":
            nothing = _as(Constant(0, INT), weight.type)
            return If(aggregate.args[0], weight, nothing, weight.type)
        case _:
            return Binary("*", _as(aggregate.args[0], BIGINT), _as(weight, BIGINT), BIGINT)


def _product(weights: list[Var], type_: Type) -> Expr:
    made: Expr = _as(weights[0] if weights else _ONE, type_)
    for weight in weights[1:]:
        made = Binary("*", made, _as(weight, type_), type_)
    return made


def _as(value: Expr, type_: Type) -> Expr:
    return value if value.type == type_ else Cast(value, type_)
