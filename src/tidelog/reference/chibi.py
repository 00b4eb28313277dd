"""The substitution-based reasoner: the simplest definition of what a program means.

It evaluates one stratum at a time, from scratch on every change. A rule body is evaluated as a set of
substitutions that grows atom by atom: start with the empty substitution, and extend each by every fact that
unifies with the next atom; then evaluate the assignments and keep the substitutions that satisfy the
conditions and negations. Each remaining substitution, applied to the head, gives a fact. Repeat until no fact
is new (semi-naive: after the first round, at least one atom must match a fact of the previous round).

- An expression that fails is an error only if the rest of the body holds.
- A generator extends a substitution once for each item. A nested body is evaluated for each substitution
  of its parameters: a negated one must have no instance, an aggregate ranges over all its instances. If it
  fails for some of them, so does the literal; a negated body that has an instance anyway does not hold.
- The rows of a group are computed once, before the rounds: a group only reads lower strata. A later stage
  of a rule starts from the rows of the one before.
- In a stratum with relations that keep the best value per key, each round replaces worse values by better
  ones. Failures count only at the end, since intermediate values may be superseded.
- A stratum with recursive sums or counts is left to `totals`.
- A row of a multiset or stream unifies as often as its weight says, so that its instances are as many
  substitutions; the weights of such a relation are how often its rules derive each row. `replay` keeps the
  weights of asserted facts and the history that delays read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

from tidelog.data.values import Row, Value, joins, order_key
from tidelog.data.zset import ZSet
from tidelog.errors import EngineError
from tidelog.program.analysis.totals import contributions
from tidelog.program.declared import RelationKind
from tidelog.program.model import EMPTY, Program
from tidelog.program.query import Query
from tidelog.program.text import print_rule
from tidelog.program.typed import (
    Absent,
    Best,
    Bind,
    Body,
    Each,
    Expr,
    Group,
    Literal,
    Match,
    Nested,
    Rule,
    Stage,
    Stratum,
    Test,
    Var,
    Without,
)
from tidelog.reference.evaluate import Failure, evaluate
from tidelog.reference.facts import Facts, IndexedFacts, Substitution, stored
from tidelog.reference.folds import aggregate, over_nothing
from tidelog.reference.structures import items_of
from tidelog.reference.totals import TotalsRun

__all__ = ["Chibi", "answers", "consequences", "derivable", "derivations", "extend"]

DEFAULT_ROUNDS = 100_000


class Chibi:
    """Changing facts and a changing program; their consequences are recomputed at every commit."""

    def __init__(self, *, indexed: bool = True, max_rounds: int = DEFAULT_ROUNDS) -> None:
        self.indexed = indexed
        self.max_rounds = max_rounds
        self.program: Program = EMPTY
        self.given: dict[str, frozenset[Row]] = {}
        self.contents: dict[str, frozenset[Row]] = {}

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]] | None = None) -> dict[str, ZSet[Row]]:
        """Commit a program and a change of the asserted facts; returns the net change of every relation.

        Inserting an existing fact or deleting an absent one changes nothing. If this raises, nothing has
        changed.
        """
        given = dict(self.given)
        for relation, change in (facts or {}).items():
            kept = given.get(relation, frozenset()) - {row for row, weight in change.items() if weight < 0}
            given[relation] = kept | {row for row, weight in change.items() if weight > 0}
        after = consequences(program, given, indexed=self.indexed, max_rounds=self.max_rounds)
        before = self.contents
        self.program, self.given, self.contents = program, given, after
        changes = {
            name: ZSet.of(after.get(name, ())) - ZSet.of(before.get(name, ())) for name in {**before, **after}
        }
        return {name: change for name, change in changes.items() if change}


def consequences(
    program: Program,
    given: Mapping[str, Iterable[Row]],
    *,
    indexed: bool = True,
    max_rounds: int = DEFAULT_ROUNDS,
) -> dict[str, frozenset[Row]]:
    """Everything that follows from the given facts. Raises EngineError if an expression fails."""
    facts = (IndexedFacts if indexed else Facts)(given)
    extend(program, facts, max_rounds)
    return facts.contents()


def extend(program: Program, facts: Facts, max_rounds: int = DEFAULT_ROUNDS) -> None:
    """Add to the facts everything that follows from them."""
    for stratum in program.strata:
        run = _StratumRun(program, stratum, facts, max_rounds)
        if any(program.relations[name].kind is not RelationKind.SET for name in stratum.relations):
            run.count()
        elif stratum.totals is not None:
            run.keep_totals()
        elif stratum.best:
            run.keep_best()
        else:
            run.fixpoint()


def answers(program: Program, query: Query, facts: Facts) -> frozenset[Row]:
    """The answers of a query over exactly these facts, which are not changed."""
    name = query.relation.name
    if query.functions:
        program = replace(program, functions={**program.functions, **query.functions})
    stratum = Stratum(frozenset([name]), (query.rule,), recursive=False)
    _StratumRun(program, stratum, facts, DEFAULT_ROUNDS).fixpoint()
    return frozenset(facts.rows.pop(name, ()))


def derivable(
    program: Program, rule: Rule, facts: Facts, matched: Sequence[tuple[str, Row]], body: Body
) -> list[tuple[str, Row]]:
    """The heads of a body's instances (after the group, if any) whose atoms match exactly these facts."""
    relations = frozenset(head.relation for head in rule.heads)
    run = _StratumRun(program, Stratum(relations, (rule,), recursive=False), facts, DEFAULT_ROUNDS)
    if len(matched) != sum(isinstance(literal, Match) for literal in body):
        return []
    bodies = rule.bodies if rule.group is None else rule.after
    alone = Rule(rule.id, rule.heads, (body,), None, ((),)) if rule.group is None else rule
    if body not in bodies:
        return []
    start = run.start(alone)
    sources = [Facts({relation: [row]}) for relation, row in matched]
    return [
        head
        for known in start.substitutions
        for remaining in (start.bodies if rule.group is None else (body,))
        for head in run.sound_heads(rule, remaining, known, sources)
    ]


def derivations(program: Program, relation: str, facts: Facts) -> Iterator[Row]:
    """The rows that rules derive from exactly these facts; those for a best value or a total, by instance."""
    for stratum in (s for s in program.strata if relation in s.relations):
        run = _StratumRun(program, stratum, facts, DEFAULT_ROUNDS)
        is_total = stratum.totals is not None and relation in dict(stratum.totals.kept)
        for rule in stratum.rules:
            for head in (head for head in rule.heads if head.relation == relation):
                alone = Rule(rule.id, (head,), rule.bodies, rule.group, rule.after)
                single = Rule(rule.id, (head,), contributions(rule), None, ((),)) if is_total else alone
                yield from (row for _, row in run.sound_rows(run.start(_without_group(single, run.best))))


@dataclass(frozen=True, slots=True)
class _Start:
    """A rule with the bodies to match and the substitutions to start from."""

    rule: Rule
    bodies: tuple[Body, ...]
    substitutions: tuple[Substitution, ...]


class _StratumRun:
    def __init__(self, program: Program, stratum: Stratum, facts: Facts, max_rounds: int) -> None:
        self.program = program
        self.stratum = stratum
        self.facts = facts
        self.max_rounds = max_rounds
        self.best: Mapping[str, Best] = dict(stratum.best)

    # -- multisets

    def count(self) -> None:
        """Add each row as often as it is derived."""
        for relation, row in self.derived():
            self.facts.add_copy(relation, row)

    # -- sets

    def fixpoint(self) -> None:
        """Add everything that follows, in semi-naive rounds."""
        starts = [self.start(rule) for rule in self.stratum.rules]
        new = self._add(fact for start in starts for fact in self._heads(start, None))
        rounds = 0
        while new.rows and self.stratum.recursive:
            rounds += 1
            self._check_rounds(rounds)
            new = self._add(fact for start in starts for fact in self._heads(start, new))

    def _check_rounds(self, rounds: int) -> None:
        if rounds > self.max_rounds:
            names = ", ".join(sorted(self.stratum.relations))
            raise EngineError(f"{names} still grew after {self.max_rounds} rounds, the iteration limit")

    def _add(self, found: Iterable[tuple[str, Row]]) -> Facts:
        """Add facts once all of them are found; returns those that are new."""
        new = type(self.facts)()
        for relation, row in list(found):
            if self.facts.add(relation, row):
                new.add(relation, row)
        return new

    def start(self, rule: Rule) -> _Start:
        if rule.group is None:
            return _Start(rule, *self._stage(rule, rule.bodies))
        return _Start(rule, rule.after, tuple(self._groups(rule, rule.group, rule.bodies)))

    def _stage(
        self, rule: Rule, bodies: tuple[Body, ...]
    ) -> tuple[tuple[Body, ...], tuple[Substitution, ...]]:
        """Bodies without the stage that they begin with, and the rows of that stage to start from."""
        first = bodies[0][0] if bodies and bodies[0] else None
        if not isinstance(first, Stage):
            return bodies, ({},)
        return tuple(body[1:] for body in bodies), tuple(self._groups(rule, first.group, first.bodies))

    def _heads(self, start: _Start, new: Facts | None) -> Iterator[tuple[str, Row]]:
        """The facts that a rule derives; with `new`, only from instances that match at least one new fact."""
        for body in start.bodies:
            for sources in self._sources(body, new):
                for known in start.substitutions:
                    for instance in self._instances(start.rule, body, known, sources):
                        yield from self._apply(start.rule, instance)

    def _sources(self, body: Body, new: Facts | None) -> Iterator[list[Facts]]:
        atoms = [x for x in body if isinstance(x, Match)]
        everything = [self.facts] * len(atoms)
        if new is None:
            yield everything
            return
        for i, atom in enumerate(atoms):
            if stored(atom) in self.stratum.relations:
                yield [*everything[:i], new, *everything[i + 1 :]]

    def _apply(self, rule: Rule, known: Substitution) -> Iterator[tuple[str, Row]]:
        """The heads under a substitution that satisfies the body."""
        for head in rule.heads:
            if head.relation in self.stratum.relations:
                values = tuple(self._value(v, known) for v in head.values)
                yield head.relation, self._sound(rule, values, known)

    # -- instances

    def _instances(
        self, rule: Rule, body: Body, known: Substitution, sources: Sequence[Facts]
    ) -> Iterator[Substitution]:
        """The substitutions that satisfy a body. Raises EngineError if one fails and satisfies the rest."""
        for instance, failures in self._candidates(body, known, sources):
            if failures:
                raise _failed(rule, failures[0], instance)
            yield instance

    def _candidates(
        self, body: Body, known: Substitution, sources: Sequence[Facts]
    ) -> Iterator[tuple[Substitution, list[Failure]]]:
        """The substitutions that satisfy every literal that does not fail, each with its failures."""
        substitutions = [known]
        atoms = [x for x in body if isinstance(x, Match)]
        for atom, source in zip(atoms, sources, strict=True):
            substitutions = [
                extended
                for substitution in substitutions
                for extended in source.unifying(stored(atom), atom.terms, substitution)
            ]
        for literal in body:
            substitutions = [extended for known in substitutions for extended in self._bound(literal, known)]
        for instance in substitutions:
            truths = [self._truth(x, instance) for x in body]
            if False not in truths:
                yield instance, [t for t in truths if isinstance(t, Failure)]

    def _bound(self, literal: Literal, known: Substitution) -> list[Substitution]:
        """The substitution extended by what a literal gives its variable; a failure is a value here."""
        match literal:
            case Bind(variable, value):
                return _agreeing(known, variable.name, [self._value(value, known)])
            case Each(variable, collection):
                whole = self._value(collection, known)
                items = [whole] if isinstance(whole, Failure) else items_of(collection.type, whole)
                return _agreeing(known, variable.name, items)
            case Nested(result=result):
                return _agreeing(known, result.name, self._nested(literal, known))
            case Match() | Absent() | Test() | Without() | Stage():
                return [known]
            case _:
                assert_never(literal)

    def _truth(self, literal: Literal, instance: Substitution) -> bool | Failure:
        match literal:
            case Match() | Stage():
                return True
            case Bind(variable) | Each(variable) | Nested(variable):
                value = instance[variable.name]
                return value if isinstance(value, Failure) else True
            case Test(condition):
                truth = self._value(condition, instance)
                return truth if isinstance(truth, Failure) else bool(truth)
            case Absent(terms=terms):
                failed = any(isinstance(instance.get(getattr(t, "name", "")), Failure) for t in terms)
                found = self.facts.unifying(stored(literal), terms, instance)
                return failed or not any(True for _ in found)
            case Without(parameters, bodies):
                known = _restricted(instance, parameters)
                return known is None or self._has_none(bodies, known)
            case _:
                assert_never(literal)

    # -- nested bodies

    def _inner(
        self, bodies: tuple[Body, ...], known: Substitution
    ) -> Iterator[tuple[Substitution, list[Failure]]]:
        """The instances of nested bodies under the values of their parameters, each with its failures."""
        for body in bodies:
            everything = [self.facts] * sum(isinstance(x, Match) for x in body)
            yield from self._candidates(body, known, everything)

    def _has_none(self, bodies: tuple[Body, ...], known: Substitution) -> bool | Failure:
        """Whether the bodies have no instance; a failure if that depends on one that fails."""
        doubtful: Failure | None = None
        for _, failures in self._inner(bodies, known):
            if not failures:
                return False
            doubtful = doubtful or failures[0]
        return doubtful or True

    def _nested(self, literal: Nested, outer: Substitution) -> list[Value | Failure]:
        """The value of the aggregate, if it has one."""
        known = _restricted(outer, literal.parameters)
        if known is None:
            return [Failure("a parameter has no value")]
        rows: list[Row] = []
        for instance, failures in self._inner(literal.bodies, known):
            values = [self._value(a, instance) for a in literal.args]
            failed = [*failures, *(v for v in values if isinstance(v, Failure))]
            if failed:
                return [failed[0]]
            rows.append(tuple(v for v in values if not isinstance(v, Failure)))
        if not rows:
            return over_nothing(literal.function, literal.result.type, self.program.functions)
        return [aggregate(literal, rows, self.program.functions)]

    def _value(self, expr: Expr, known: Substitution) -> Value | Failure:
        return evaluate(expr, known, self.program.functions)

    @staticmethod
    def _sound(rule: Rule, values: tuple[Value | Failure, ...], known: Substitution) -> Row:
        for value in values:
            if isinstance(value, Failure):
                raise _failed(rule, value, known)
        return tuple(v for v in values if not isinstance(v, Failure))

    # -- groups

    def _groups(self, rule: Rule, group: Group, bodies: tuple[Body, ...]) -> Iterator[Substitution]:
        """One substitution per group: its keys and the results of the aggregates."""
        members: defaultdict[Row, list[tuple[Row, ...]]] = defaultdict(list)
        bodies, starts = self._stage(rule, bodies)
        for body, known in product(bodies, starts):
            everything = [self.facts] * sum(isinstance(x, Match) for x in body)
            for instance in self._instances(rule, body, known, everything):
                key = self._sound(rule, tuple(instance[k.name] for k in group.keys), instance)
                values = tuple(
                    self._sound(rule, tuple(self._value(a, instance) for a in aggregate_.args), instance)
                    for aggregate_ in group.aggregates
                )
                members[key].append(values)
        for key, rows in members.items():
            found: dict[str, Value | Failure] = {k.name: v for k, v in zip(group.keys, key, strict=True)}
            for i, agg in enumerate(group.aggregates):
                result = aggregate(agg, [row[i] for row in rows], self.program.functions)
                if isinstance(result, Failure):
                    raise _failed(rule, result, found)
                found[agg.result.name] = result
            yield found

    # -- totals

    def keep_totals(self) -> None:
        """Evaluate recursive sums and counts."""

        def deriving(stratum: Stratum) -> _StratumRun:
            return _StratumRun(self.program, stratum, self.facts, self.max_rounds)

        TotalsRun(self.program, self.stratum, self.facts, deriving, self._check_rounds).run()

    def derived(self) -> list[tuple[str, Row]]:
        """The heads of all instances over the current facts, one for each instance."""
        starts = [self.start(rule) for rule in self.stratum.rules]
        return [fact for start in starts for fact in self._heads(start, None)]

    # -- the best value per key

    def keep_best(self) -> None:
        """Repeat rounds over the whole stratum in which better rows replace worse ones."""
        kept: dict[tuple[str, Row], Row] = {}
        for relation in self.best:
            for row in tuple(self.facts.rows[relation]):
                self.facts.discard(relation, row)
                self._improve(relation, row, kept)
        rules = [_without_group(r, self.best) for r in self.stratum.rules]
        starts = [self.start(rule) for rule in rules]
        rounds, improved = 0, True
        while improved:
            rounds += 1
            self._check_rounds(rounds)
            found = [fact for start in starts for fact in self.sound_rows(start)]
            improved = sum(self._improve(relation, row, kept) for relation, row in found) > 0
        for start in starts:
            for _ in self._heads(start, None):
                pass  # a failure that remains at the end is an error

    def sound_rows(self, start: _Start) -> Iterator[tuple[str, Row]]:
        for body in start.bodies:
            everything = [self.facts] * sum(isinstance(x, Match) for x in body)
            for known in start.substitutions:
                yield from self.sound_heads(start.rule, body, known, everything)

    def sound_heads(
        self, rule: Rule, body: Body, known: Substitution, sources: Sequence[Facts]
    ) -> Iterator[tuple[str, Row]]:
        """The facts that a body derives, without instances that fail."""
        for instance, failures in self._candidates(body, known, sources):
            try:
                yield from () if failures else self._apply(rule, instance)
            except EngineError:
                continue

    def _improve(self, relation: str, row: Row, kept: dict[tuple[str, Row], Row]) -> bool:
        """Add a row, replacing a worse row of the same key; returns whether anything changed."""
        best = self.best.get(relation)
        if best is None:
            return self.facts.add(relation, row)
        key = relation, row[: best.column] + row[best.column + 1 :]
        before = kept.get(key)
        if before is not None and not self._is_better(relation, best, row, before):
            return False
        if before is not None:
            self.facts.discard(relation, before)
        kept[key] = row
        return self.facts.add(relation, row)

    def _is_better(self, relation: str, best: Best, row: Row, before: Row) -> bool:
        type_ = self.program.relations[relation].columns[best.column].type
        new, old = (order_key(type_, r[best.column]) for r in (row, before))
        return bool(new < old if best.function == "min" else new > old)


def _agreeing(known: Substitution, name: str, values: Iterable[Value | Failure]) -> list[Substitution]:
    """The substitution with each of the values for a variable, without those that differ from its value."""
    if name not in known:
        return [{**known, name: value} for value in values]
    before = known[name]
    return [
        {**known, name: value if isinstance(value, Failure) else before}
        for value in values
        if isinstance(before, Failure) or isinstance(value, Failure) or joins(before, value)
    ]


def _restricted(known: Substitution, parameters: tuple[Var, ...]) -> Substitution | None:
    """The values of the parameters of a nested body; None if one of them failed."""
    values = {p.name: known[p.name] for p in parameters}
    return None if any(isinstance(v, Failure) for v in values.values()) else values


def _without_group(rule: Rule, best: Mapping[str, Best]) -> Rule:
    """A rule that aggregates with the stratum's own `min` or `max`, deriving candidates instead of groups."""
    if rule.group is None or not any(h.relation in best for h in rule.heads):
        return rule
    result = rule.group.aggregates[0]
    bodies = tuple((*body, Bind(result.result, result.args[0])) for body in rule.bodies)
    return Rule(rule.id, rule.heads, bodies, None, ((),), rule.span)


def _failed(rule: Rule, failure: Failure, known: Substitution) -> EngineError:
    row = ", ".join(f"{name} = {_shown(value)}" for name, value in known.items() if not name.startswith("$"))
    where = f", where {row}" if row else ""
    return EngineError(f"{failure.reason}{where}, in the rule `{print_rule(rule)}`")


def _shown(value: Value | Failure) -> str:
    return "(failed)" if isinstance(value, Failure) else repr(value)
