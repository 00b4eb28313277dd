"""Typed programs made flat: groups and projections become hidden relations, heads and alternatives rules."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from tidelog.plan.flat import FlatProgram, FlatRule, Grouping, Kind, Stored, Stratum
from tidelog.program.analysis.strata import components
from tidelog.program.library.catalog import NUMBER
from tidelog.program.model import Program
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
    Rule,
    Term,
    Var,
    Wildcard,
    expressions,
    subexpressions,
)

__all__ = ["flatten"]


def flatten(program: Program) -> FlatProgram:
    """The flat program that means the same."""
    return _Flattener(program).run()


class _Flattener:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.best: dict[str, Best] = {name: b for s in program.strata for name, b in s.best}
        self.meant = {
            (rule.id, name): rule
            for stratum in program.strata
            if stratum.best
            for rule in stratum.rules
            for name in stratum.relations
        }
        self.relations = {
            r.name: Stored(r.name, r.types, keyed=r.key is not None, columns=tuple(c.name for c in r.columns))
            for r in program.relations.values()
        }
        self.rules: dict[str, FlatRule] = {}
        self.groupings: dict[str, Grouping] = {}
        self.texts: dict[str, str] = {}

    def run(self) -> FlatProgram:
        for rule in self.program.rules.values():
            self._rule(rule)
        return FlatProgram(
            self.relations, self.rules, self.groupings, self.program.functions, tuple(self._strata())
        )

    # -- rules

    def _rule(self, rule: Rule) -> None:
        kept = [h for h in rule.heads if h.relation in self.best]
        others = [h for h in rule.heads if h.relation not in self.best]
        if rule.group is None:
            for i, head in enumerate(rule.heads):
                for j, body in enumerate(self._meant(rule, head).bodies):
                    self._add(rule, f"{i}.{j}", head.relation, head.values, body)
            return
        for i, head in enumerate(kept):  # the relation itself keeps the best: every instance is a candidate
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
        """The rule as it means in the stratum of one of its heads."""
        return self.meant.get((rule.id, head.relation), rule)

    def _add(self, rule: Rule, part: str, head: str, values: tuple[Expr, ...], body: Body) -> None:
        flat = tuple(x if not isinstance(x, Absent) else self._absent(x) for x in body)
        mark = _mark(body) if (rule.id, head) in self.meant else ""
        id_ = f"{rule.id} [{part}{mark}]"
        self.rules[id_] = FlatRule(id_, head, values, flat, self._text(rule), rule.span)

    def _text(self, rule: Rule) -> str:
        """The rule as its author wrote it, for messages; its identity has names of its own."""
        if rule.id not in self.texts:
            self.texts[rule.id] = print_rule(rule)
        return self.texts[rule.id]

    def _grouping(self, rule: Rule, group: Group) -> Match:
        """Make the hidden relations of a group; the atom that stands for its results."""
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
        self.relations[instances] = _hidden(
            instances, Kind.INSTANCES, columns, f"instances of `{heads} :- …`"
        )
        self.relations[results] = _hidden(results, Kind.RESULTS, shown, f"groups of `{heads} :- …`")
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
            self.relations[name] = _hidden(name, Kind.PROJECTION, values, title)
            terms: tuple[Term, ...] = tuple(kept.get(i, Wildcard()) for i in range(len(source.types)))
            self.rules[name] = FlatRule(name, name, values, (Match(relation, terms),), title)
        return name

    # -- units

    def _strata(self) -> Iterator[Stratum]:
        below: dict[str, list[str]] = {name: [] for name in self.relations}
        for rule in self.rules.values():
            below[rule.head] += sorted(rule.reads)
        for grouping in self.groupings.values():
            below[grouping.results].append(grouping.instances)
        deriving: dict[str, list[FlatRule]] = {name: [] for name in self.relations}
        for rule in self.rules.values():
            deriving[rule.head].append(rule)
        for component in components(below):
            members = frozenset(component)
            rules = tuple(r for name in component for r in deriving[name])
            recursive = any(name in members for head in component for name in below[head])
            best = tuple((name, self.best[name]) for name in sorted(members) if name in self.best)
            name = ", ".join(self.relations[n].title or n for n in sorted(members))
            yield Stratum(members, rules, recursive, self.groupings.get(component[0]), best, name)


def _mark(body: Body) -> str:
    """What tells a body from that of the same rule in other strata: which results have to be numbers."""
    found: list[str] = []
    pending = [e for literal in body for e in expressions(literal)]
    for expr in pending:  # grows on the way
        pending += subexpressions(expr)
        if isinstance(expr, Call) and expr.function == NUMBER:
            found.append(repr(expr))
    return f", numbers {zlib.crc32(repr(found).encode())}" if found else ""


def _hidden(name: str, kind: Kind, values: tuple[Expr, ...], title: str) -> Stored:
    """A relation whose columns are these values."""
    columns = tuple(map(print_value, values))
    return Stored(name, tuple(v.type for v in values), kind, columns=columns, title=title)
