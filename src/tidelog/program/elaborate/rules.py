"""Elaboration of rules: heads, alternatives and groups.

The aggregates of a rule form *stages* (see `stages`): one that needs the result of another ranges over the
rows of the stage before, which are its keys and results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tidelog.data.types import Type
from tidelog.program.declared import Role
from tidelog.program.elaborate.aggregates import grouped
from tidelog.program.elaborate.alternatives import MAX_ALTERNATIVES, Simple, alternatives
from tidelog.program.elaborate.atoms import Placed, place
from tidelog.program.elaborate.bodies import BodyMaker
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.literal_calls import with_calls
from tidelog.program.elaborate.own_aggregates import with_own_aggregates
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.rows import without_rows
from tidelog.program.elaborate.stages import Stages, StageText, reads, stages_of
from tidelog.program.text import canonical_id
from tidelog.program.typed import Body, Group, Head, Rule, Stage, Var
from tidelog.syntax import tree

__all__ = ["elaborate_rule"]

Scope: TypeAlias = dict[str, Type | None]


@dataclass(frozen=True, slots=True)
class _Made:
    """An elaborated stage: its bodies and group, or None after an error, and what is bound after it."""

    bodies: tuple[Body, ...] | None
    group: Group | None
    scope: Scope
    away: frozenset[str]


def elaborate_rule(
    rule: tree.Rule, known: Declarations, problems: Problems, *, keeps_rows: bool = False
) -> Rule | None:
    """The typed rule, or None after reporting an error. `keeps_rows` binds all row variables as a whole."""
    found = without_rows(
        replace(rule, body=with_own_aggregates(with_calls(rule.body, known), known)),
        known,
        problems,
        keeps_rows,
    )
    if found is None:
        return None
    rule = found
    heads = [place(h, known, problems, head=True) for h in rule.heads]
    for head, placed in zip(rule.heads, heads, strict=True):
        _check_target(rule, head, placed, known, problems)
    maker = _RuleMaker(rule, [h for h in heads if h is not None], known, problems)
    stages = stages_of(rule.body, problems)
    if stages is None:
        return None
    made = maker.grouped(stages) if stages.stages else maker.plain(rule.body)
    return made if None not in heads else None


def _check_target(
    rule: tree.Rule, head: tree.Atom, placed: Placed | None, known: Declarations, problems: Problems
) -> None:
    relation = known.relations.get(head.relation)
    if placed and relation and relation.key is not None and relation.role is Role.INPUT and rule.body:
        problems.report(
            "E107",
            head.name_span,
            f"`{head.relation}` has a primary key, so rules cannot derive its rows",
            hint="derive another relation and read both",
        )


class _RuleMaker:
    def __init__(self, rule: tree.Rule, heads: list[Placed], known: Declarations, problems: Problems) -> None:
        self.rule = rule
        self.heads = heads
        self.known = known
        self.problems = problems

    def plain(self, body: Sequence[tree.Literal]) -> Rule | None:
        made = self._alternatives(body, {}, frozenset(), self._head_names())
        if made is None:
            return None
        bodies, heads = made
        return self._rule(heads, bodies, None, ((),))

    def grouped(self, stages: Stages) -> Rule | None:
        """Elaborate stage by stage, then the rest. Each sees only the keys and results of the one before."""
        before: Stage | None = None
        made = _Made((), None, {}, frozenset())
        for number in range(len(stages.stages)):
            found = self._stage(stages, number, made, before)
            if found is None:
                return None
            made = found
            if made.bodies is not None and made.group is not None:
                before = Stage(made.group, made.bodies)
        rest = self._alternatives(stages.after, made.scope, made.away, self._head_names())
        if rest is None or made.bodies is None or made.group is None:
            return None
        return self._rule(rest[1], made.bodies, made.group, rest[0])

    def _stage(self, stages: Stages, number: int, given: _Made, before: Stage | None) -> _Made | None:
        """Elaborate one stage. An error in it does not hide those of the next, unless its keys are wrong."""
        stage = stages.stages[number]
        keys = self._keys(stage)
        inside = self._expand(stage.inside)
        if keys is None or inside is None:
            return None
        bodies: list[Body | None] = []
        groups: list[Group | None] = []
        scopes: list[Scope] = []
        bound: Scope = {}
        outside = self._head_names() | stages.outside(number)
        for literals in inside:
            maker = BodyMaker(self.known, self.problems, given.scope, given.away, outside)
            maker.typer.behind_group = stages.behind(number)
            bodies.append(maker.make(literals))
            groups.append(self._group(stage, keys, maker.typer))
            scopes.append(maker.typer.variables)
            bound |= maker.typer.variables
        group = groups[0]
        for assignment, _ in stage.results:
            if bound.get(assignment.name) is not None:
                message = f"`{assignment.name}` already has a value"
                self.problems.report("E303", assignment.name_span, message)
        scope = {name: bound.get(name) for name in keys} | {a.name: None for a, _ in stage.results}
        scope |= {a.result.name: a.result.type for a in (group.aggregates if group else ())}
        away = (given.away | _typed(bound)) - set(scope)
        sound = tuple(b if before is None else (before, *b) for b in bodies if b is not None)
        is_sound = len(sound) == len(bodies) and (number == 0 or before is not None)
        if not is_sound or not self._agree(groups, scopes):
            return _Made(None, None, scope, away)
        return _Made(sound, group, scope, away)

    def _rule(
        self, heads: tuple[Head, ...], bodies: tuple[Body, ...], group: Group | None, after: tuple[Body, ...]
    ) -> Rule:
        rule_id = canonical_id(heads, bodies, group, after)
        return Rule(rule_id, heads, bodies, group, after, self.rule.span)

    # -- alternatives and heads

    def _expand(self, literals: Sequence[tree.Literal]) -> list[tuple[Simple, ...]] | None:
        expanded = alternatives(literals)
        if expanded is None:
            message = f"this rule exceeds the limit of {MAX_ALTERNATIVES} alternatives after expanding `;`"
            hint = "derive a separate relation for each choice"
            self.problems.report("E304", self.rule.span, message, hint=hint)
        return expanded

    def _head_names(self) -> frozenset[str]:
        return frozenset(name for head in self.rule.heads for name in reads(head))

    def _alternatives(
        self, literals: Sequence[tree.Literal], scope: Scope, away: frozenset[str], outside: frozenset[str]
    ) -> tuple[tuple[Body, ...], tuple[Head, ...]] | None:
        """The typed alternatives and the heads they share."""
        expanded = self._expand(literals)
        if expanded is None:
            return None
        bodies: list[Body | None] = []
        heads: list[tuple[Head, ...] | None] = []
        scopes: list[Scope] = []
        for choice in expanded:
            maker = BodyMaker(self.known, self.problems, scope, away, outside)
            bodies.append(maker.make(choice))
            heads.append(self._heads(maker.typer))
            scopes.append(maker.typer.variables)
        sound = tuple(b for b in bodies if b is not None)
        shared = heads[0]
        if shared is None or len(sound) < len(bodies) or not self._agree(heads, scopes):
            return None
        return sound, shared

    def _agree(self, made: Sequence[object], scopes: Sequence[Scope]) -> bool:
        """Whether all alternatives gave the same result.

        They can differ only in the types of variables, and in the names that expanded calls give to locals,
        which do not matter.
        """
        if None in made:
            return False
        if all(m == made[0] for m in made):
            return True
        decisive = _reads_of(self.rule)
        differing = (
            (n, t, s[n]) for s in scopes for n, t in scopes[0].items() if n in decisive and s.get(n, t) != t
        )
        found = next(differing, None)
        if found is None:
            return True
        name, first, other = found
        self.problems.report(
            "E208",
            self.rule.span,
            f"`{name}` is `{first}` in one alternative of this rule and `{other}` in another",
            hint="use the same type in all alternatives, or write a rule for each",
        )
        return False

    def _heads(self, typer: Typer) -> tuple[Head, ...] | None:
        heads: list[Head] = []
        for placed in self.heads:
            values = [
                typer.infer(arg) if type_ is None else typer.check(arg, type_)
                for arg, (_, type_) in zip(placed.args, placed.columns, strict=True)
            ]
            sound = tuple(v for v in values if v is not None)
            if len(sound) == len(placed.args):
                heads.append(Head(placed.atom.relation, sound))
        return tuple(heads) if len(heads) == len(self.heads) else None

    # -- groups

    def _keys(self, stage: StageText) -> tuple[str, ...] | None:
        """The names that every aggregate of the stage groups by."""
        names: list[tuple[str, ...]] = []
        for _, aggregate in stage.results:
            for key in aggregate.keys:
                if not isinstance(key, tree.Variable):
                    message = "`group_by` takes variables, not expressions"
                    hint = "name the value first: `var k = …`, then `group_by(k)`"
                    self.problems.report("E403", key.span, message, hint=hint)
                    return None
            keys = [k.name for k in aggregate.keys if isinstance(k, tree.Variable)]
            names.append(tuple(dict.fromkeys(keys)))
            if set(names[-1]) != set(names[0]):
                self.problems.report(
                    "E405",
                    aggregate.span,
                    "all aggregates of a rule must group by the same variables, unless one uses another",
                    hint="use the same `group_by(…)`, an aggregate over a body of its own, or two rules",
                )
                return None
        return names[0]

    def _group(self, stage: StageText, keys: tuple[str, ...], typer: Typer) -> Group | None:
        spans = {k.name: k.span for _, a in stage.results for k in a.keys if isinstance(k, tree.Variable)}
        typed_keys = [typer.infer(tree.Variable(name, spans[name])) for name in keys]
        aggregates = [grouped(a.name, value, typer) for a, value in stage.results]
        sound_keys = tuple(k for k in typed_keys if isinstance(k, Var))
        sound = tuple(a for a in aggregates if a is not None)
        if len(sound_keys) < len(keys) or len(sound) < len(aggregates):
            return None
        return Group(sound_keys, sound)


def _typed(scope: Scope) -> frozenset[str]:
    """The names with a known type. Errors about the others are already reported."""
    return frozenset(name for name, type_ in scope.items() if type_ is not None)


def _reads_of(rule: tree.Rule) -> set[str]:
    """The variables that the heads and the aggregates of a rule read."""
    decisive: list[tree.Literal] = [*rule.heads]
    decisive += [
        x for x in rule.body if isinstance(x, tree.Assignment) and isinstance(x.value, tree.Aggregate)
    ]
    return {name for literal in decisive for name in reads(literal)}
