"""Elaboration of rules: heads, alternatives and groups.

In a rule with aggregates, a literal belongs *after* the group if it needs a result of the group, directly or
through variables that only such literals bind. All other literals belong inside the group. So the order of
literals does not matter here either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from tidelog.data.types import Type
from tidelog.program.elaborate.aggregates import grouped
from tidelog.program.elaborate.alternatives import MAX_ALTERNATIVES, Simple, alternatives
from tidelog.program.elaborate.atoms import Placed, place
from tidelog.program.elaborate.bodies import BodyMaker
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.literal_calls import with_calls
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.rows import without_rows
from tidelog.program.elaborate.scopes import defined_by, matched_by, outer_names
from tidelog.program.text import canonical_id
from tidelog.program.typed import Body, Group, Head, Role, Rule, Var
from tidelog.syntax import tree
from tidelog.syntax.variables import literal_variables

__all__ = ["elaborate_rule"]

Scope: TypeAlias = dict[str, Type | None]


@dataclass(frozen=True, slots=True)
class _Grouping:
    """A rule body split at its aggregates."""

    results: tuple[tuple[tree.Assignment, tree.Aggregate], ...]
    inside: tuple[tree.Literal, ...]
    after: tuple[tree.Literal, ...]

    @property
    def behind(self) -> frozenset[str]:
        """The variables that are unbound inside the group."""
        bound = {name for literal in self.after for name in _binds(literal)}
        return frozenset(bound.union(a.name for a, _ in self.results))


def elaborate_rule(
    rule: tree.Rule, known: Declarations, problems: Problems, *, keeps_rows: bool = False
) -> Rule | None:
    """The typed rule, or None after reporting an error. `keeps_rows` binds all row variables as a whole."""
    found = without_rows(replace(rule, body=with_calls(rule.body, known)), known, problems, keeps_rows)
    if found is None:
        return None
    rule = found
    heads = [place(h, known, problems, head=True) for h in rule.heads]
    for head, placed in zip(rule.heads, heads, strict=True):
        _check_target(rule, head, placed, known, problems)
    maker = _RuleMaker(rule, [h for h in heads if h is not None], known, problems)
    grouping = _grouping(rule.body)
    made = maker.plain(rule.body) if grouping is None else maker.grouped(grouping)
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

    def grouped(self, grouping: _Grouping) -> Rule | None:
        """Elaborate the inside, the group, and then the rest, which sees only the keys and results."""
        keys = self._keys(grouping)
        inside = self._expand(grouping.inside)
        if keys is None or inside is None:
            return None
        bodies: list[Body | None] = []
        groups: list[Group | None] = []
        scopes: list[Scope] = []
        bound: Scope = {}
        for literals in inside:
            maker = BodyMaker(self.known, self.problems, {}, outside=self._head_names() | _outside(grouping))
            maker.typer.behind_group = grouping.behind
            bodies.append(maker.make(literals))
            groups.append(self._group(grouping, keys, maker.typer))
            scopes.append(maker.typer.variables)
            bound |= maker.typer.variables
        group = groups[0]
        scope = {name: bound.get(name) for name in keys}
        for assignment, _ in grouping.results:
            if bound.get(assignment.name) is not None:
                message = f"`{assignment.name}` already has a value"
                self.problems.report("E303", assignment.name_span, message)
        results = group.aggregates if group else ()
        scope |= {a.name: None for a, _ in grouping.results} | {a.result.name: a.result.type for a in results}
        away = _typed(bound) - set(scope)
        made = self._alternatives(grouping.after, scope, away, self._head_names())
        sound = tuple(b for b in bodies if b is not None)
        if made is None or group is None or len(sound) < len(bodies) or not self._agree(groups, scopes):
            return None
        return self._rule(made[1], sound, group, made[0])

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
        return frozenset(name for head in self.rule.heads for name in _reads(head))

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
        """Whether all alternatives gave the same result; they can differ only in the types of variables."""
        if None in made:
            return False
        if all(m == made[0] for m in made):
            return True
        decisive = _reads_of(self.rule)
        name, first, other = next(
            (n, t, s[n]) for s in scopes for n, t in scopes[0].items() if n in decisive and s.get(n, t) != t
        )
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

    def _keys(self, grouping: _Grouping) -> tuple[str, ...] | None:
        """The names that every aggregate of the rule groups by."""
        names: list[tuple[str, ...]] = []
        for _, aggregate in grouping.results:
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
                    "all aggregates of a rule must group by the same variables",
                    hint="use the same `group_by(…)`, or write two rules",
                )
                return None
        return names[0]

    def _group(self, grouping: _Grouping, keys: tuple[str, ...], typer: Typer) -> Group | None:
        spans = {k.name: k.span for _, a in grouping.results for k in a.keys if isinstance(k, tree.Variable)}
        typed_keys = [typer.infer(tree.Variable(name, spans[name])) for name in keys]
        aggregates = [grouped(a.name, value, typer) for a, value in grouping.results]
        sound_keys = tuple(k for k in typed_keys if isinstance(k, Var))
        sound = tuple(a for a in aggregates if a is not None)
        if len(sound_keys) < len(keys) or len(sound) < len(aggregates):
            return None
        return Group(sound_keys, sound)


def _typed(scope: Scope) -> frozenset[str]:
    """The names with a known type. Errors about the others are already reported."""
    return frozenset(name for name, type_ in scope.items() if type_ is not None)


# -- splitting a body


def _grouping(body: Sequence[tree.Literal]) -> _Grouping | None:
    results = tuple(
        (x, x.value) for x in body if isinstance(x, tree.Assignment) and isinstance(x.value, tree.Aggregate)
    )
    if not results:
        return None
    first = {id(a) for a, _ in results}
    others = [x for x in body if id(x) not in first]
    after = _needing(others, {a.name for a, _ in results})
    return _Grouping(
        results,
        tuple(x for x in others if id(x) not in after),
        tuple(x for x in others if id(x) in after),
    )


def _needing(literals: list[tree.Literal], results: set[str]) -> set[int]:
    """The identities of literals that need one of these variables, or one that only such literals bind."""
    reading: dict[str, list[int]] = defaultdict(list)
    inside: Counter[str] = Counter()  # how many literals inside the group bind a variable
    for i, literal in enumerate(literals):
        for name in _reads(literal):
            reading[name].append(i)
        inside.update(_binds(literal))
    after: set[int] = set()
    queue = list(results)
    for name in queue:
        for i in reading.pop(name, ()):
            if i not in after:
                after.add(i)
                bound = _binds(literals[i])
                inside.subtract(bound)
                queue += [b for b in bound if not inside[b]]
    return {id(literals[i]) for i in after}


def _reads_of(rule: tree.Rule) -> set[str]:
    """The variables that the heads and the aggregates of a rule read."""
    decisive: list[tree.Literal] = [*rule.heads]
    decisive += [
        x for x in rule.body if isinstance(x, tree.Assignment) and isinstance(x.value, tree.Aggregate)
    ]
    return {name for literal in decisive for name in _reads(literal)}


def _reads(literal: tree.Literal) -> set[str]:
    return {v.name for v in literal_variables(literal)}


def _outside(grouping: _Grouping) -> frozenset[str]:
    """The names that occur outside the inside of a group."""
    results = frozenset(name for a, _ in grouping.results for name in _reads(a))
    return results | outer_names(grouping.after)


def _binds(literal: tree.Literal) -> set[str]:
    match literal:
        case tree.Atom():
            return matched_by(literal)
        case tree.Row(name, atom):
            return {name} | matched_by(atom)
        case tree.Assignment() | tree.Destructuring() | tree.Generator():
            return set(defined_by(literal))
        case tree.Disjunction(choices):
            return {name for choice in choices for x in choice for name in _binds(x)}
        case tree.Negation() | tree.Condition() | tree.NegatedBody():
            return set()
        case _:
            assert_never(literal)
