"""Strata: groups of mutually dependent relations, ordered so that each reads only itself and earlier strata.

A stratum is a strongly connected component of the relations under "is derived from". Negation and
aggregation need their input to be complete, so neither may be part of a cycle. The exceptions are relations
that keep the best value per key (`Best`), which `monotonicity` checks, and relations that keep a total per
key (`Total`), which `totals` analyses. A forbidden cycle is reported in full, rule by rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from tidelog.data.overlay import copied
from tidelog.program.analysis.monotonicity import best_relations, check_monotone, in_order
from tidelog.program.analysis.nesting import sources
from tidelog.program.analysis.order import Order, components
from tidelog.program.analysis.totals import report_mixture, report_nested, total_relations, totals_of
from tidelog.program.elaborate.problems import Problems
from tidelog.program.folds import shown_aggregate
from tidelog.program.typed import (
    Absent,
    Best,
    Bind,
    Body,
    Each,
    Match,
    Nested,
    Rule,
    Stage,
    Stratum,
    Test,
    Total,
    Without,
)

__all__ = ["Strata", "is_special", "reads", "restratify", "stratify"]


_OVER_BODY: Final = " { … }"  # ends the name of an aggregate over a nested body
_EARLIER: Final = "() of an earlier stage"  # ends the name of an aggregate whose result another one uses


def _needs_completeness(how: str) -> bool:
    """Whether what is read must be complete first, whatever the rule derives."""
    return how == "not" or how.endswith((_OVER_BODY, _EARLIER))


@dataclass(frozen=True, slots=True)
class Edge:
    """`head` is derived from `body` by `rule`; `how` is "", "not", or the aggregate applied to `body`."""

    head: str
    body: str
    how: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class _Turn:
    """The edges of a rule inside its stratum: each of `heads` is derived from each of `reads`.

    They are stored as one value per rule, since their number is the product of heads and reads.
    """

    rule: Rule
    heads: tuple[str, ...]
    reads: tuple[tuple[str, str], ...]

    def edge(self, head: str, read: tuple[str, str]) -> Edge:
        return Edge(head, *read, self.rule)


def reads(rule: Rule) -> Iterator[tuple[str, str]]:
    """The relations that a rule reads, each with "", "not", or the aggregate applied to it."""
    function = shown_aggregate(rule.group.aggregates[0].function) if rule.group else ""
    for bodies, how in ((rule.bodies, function), (rule.after, "")):
        yield from _reads(bodies, how)


def _reads(bodies: Iterable[Body], how: str) -> Iterator[tuple[str, str]]:
    for literal in (x for body in bodies for x in body):
        match literal:
            case Match(delay=delay) | Absent(delay=delay) if delay:
                pass  # what a relation was in an earlier commit does not depend on this one
            case Match(relation):
                yield relation, how
            case Absent(relation):
                yield relation, "not"
            case Nested(function=function, bodies=inner):
                for relation, inside in _reads(inner, ""):
                    yield relation, inside or f"{shown_aggregate(function)}{_OVER_BODY}"
            case Without(bodies=inner):
                yield from ((name, "not") for name, _ in _reads(inner, ""))
            case Stage(group, inner):
                for relation, inside in _reads(inner, ""):
                    yield relation, inside or f"{shown_aggregate(group.aggregates[0].function)}{_EARLIER}"
            case Test() | Bind() | Each():
                pass
            case _:
                assert_never(literal)


@dataclass(frozen=True, slots=True)
class Strata:
    """The strata of a program in evaluation order, with what is needed to keep them up to date.

    `deriving` are the rules of each relation, by their identities. `sequence` numbers all rules in the order
    in which they were added, up to `following`. `special` are the strata that keep best values or totals, or
    evaluate nested bodies per binding.
    """

    strata: tuple[Stratum, ...] = ()
    order: Order = Order()
    deriving: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sequence: Mapping[str, int] = field(default_factory=dict)
    following: int = 0
    special: tuple[Stratum, ...] = ()


def stratify(relations: Iterable[str], rules: Mapping[str, Rule], problems: Problems) -> Strata:
    """The strata of a program. Relations that cannot be stratified are reported."""
    order = Order.of(_components(relations, tuple(rules.values())))
    deriving: dict[str, list[str]] = {}
    for rule in rules.values():
        for head in _heads(rule):
            deriving.setdefault(head, []).append(rule.id)
    sequence = {id_: i for i, id_ in enumerate(rules)}
    found = Strata((), order, {h: tuple(ids) for h, ids in deriving.items()}, sequence, len(sequence))
    return _with_strata(found, [_made(found, group, rules, problems) for group in order.groups])


def restratify(
    before: Strata,
    relations: Mapping[str, object],
    rules: Mapping[str, Rule],
    added: Sequence[Rule],
    removed: Sequence[Rule],
    problems: Problems,
    *,
    is_redeclared: bool = True,
) -> Strata:
    """The strata after a change of rules and, if `is_redeclared`, of relations.

    Unaffected strata are the same objects.
    """
    deriving, sequence = _with_rules(before, added, removed)
    following = before.following + len(added)
    touched = {head for rule in (*added, *removed) for head in _heads(rule)}
    known = before.order.number
    there = relations.keys() - known.keys() if is_redeclared else frozenset()
    new = [name for name in relations if name in there] if there else []
    order = before.order.renewed(
        lambda name: {read for id_ in deriving.get(name, ()) for read, _ in reads(rules[id_])},
        touched,
        [name for name in new if name not in deriving],
        [name for name in new if name in deriving],
        known.keys() - relations.keys() if is_redeclared else frozenset(),
    )
    found = Strata((), order, deriving, sequence, following)

    def stratum(number: int, group: frozenset[str]) -> Stratum:
        old = before.order.number.get(next(iter(group)))
        if old is not None and touched.isdisjoint(group) and before.strata[old].relations == group:
            return before.strata[old]
        return _made(found, group, rules, problems)

    if order is before.order:  # only strata of rules that were added or removed are different
        strata = list(before.strata)
        numbers = {order.number[name] for name in touched if name in order.number}
        for number in numbers:
            strata[number] = stratum(number, order.groups[number])
        old = {id(before.strata[number]) for number in numbers}
        special = [s for s in before.special if id(s) not in old]
        special += [strata[number] for number in sorted(numbers) if is_special(strata[number])]
        return replace(found, strata=tuple(strata), special=tuple(special))
    return _with_strata(found, [stratum(number, group) for number, group in enumerate(order.groups)])


def _with_strata(found: Strata, strata: Sequence[Stratum]) -> Strata:
    return replace(found, strata=tuple(strata), special=tuple(filter(is_special, strata)))


def is_special(stratum: Stratum) -> bool:
    """Whether what a rule of the stratum becomes in a plan depends on the stratum."""
    return bool(stratum.best or stratum.totals or stratum.per_binding)


def _heads(rule: Rule) -> list[str]:
    return list(dict.fromkeys(h.relation for h in rule.heads))


def _with_rules(
    before: Strata, added: Sequence[Rule], removed: Sequence[Rule]
) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, int]]:
    deriving, sequence = copied(before.deriving), copied(before.sequence)
    for rule in removed:
        del sequence[rule.id]
        for head in _heads(rule):
            left = tuple(id_ for id_ in deriving[head] if id_ != rule.id)
            if left:
                deriving[head] = left
            else:
                del deriving[head]
    for number, rule in enumerate(added, start=before.following):
        sequence[rule.id] = number
        for head in _heads(rule):
            deriving[head] = (*deriving.get(head, ()), rule.id)
    return deriving, sequence


def _made(found: Strata, group: frozenset[str], rules: Mapping[str, Rule], problems: Problems) -> Stratum:
    """The stratum of a group of relations."""
    ids = {id_ for name in group for id_ in found.deriving.get(name, ())}
    own = tuple(rules[id_] for id_ in sorted(ids, key=found.sequence.__getitem__))
    turns = [turn for rule in own if (turn := _turn(rule, group)).reads]
    return _stratum(group, own, turns, problems)


def _components(relations: Iterable[str], rules: tuple[Rule, ...]) -> list[list[str]]:
    """The relations of each stratum. Rules are also nodes, so the graph is no larger than the text."""
    below: dict[str | int, list[str | int]] = {name: [] for name in relations}
    for number, rule in enumerate(rules):
        below[number] = list(dict.fromkeys(name for name, _ in reads(rule)))
        for head in dict.fromkeys(h.relation for h in rule.heads):
            below.setdefault(head, []).append(number)
        for name in below[number]:
            below.setdefault(name, [])
    names = ([n for n in component if isinstance(n, str)] for component in components(below))
    return [component for component in names if component]


def _turn(rule: Rule, group: frozenset[str]) -> _Turn:
    """The edges of a rule inside a stratum."""
    heads = tuple(head for head in _heads(rule) if head in group)
    return _Turn(rule, heads, tuple(read for read in dict.fromkeys(reads(rule)) if read[0] in group))


def _stratum(
    relations: frozenset[str], rules: tuple[Rule, ...], turns: list[_Turn], problems: Problems
) -> Stratum:
    best: Mapping[str, Best] = {}
    kept: Mapping[str, Total] = {}
    blocked = _edge(turns, _needs_completeness)
    if blocked is None and any(how for turn in turns for _, how in turn.reads):
        through = _aggregated(turns)
        best = best_relations(relations, rules, through, problems)
        kept = total_relations(rules, through - best.keys(), problems)
        blocked = _edge(turns, bool, {**best, **kept})
        if blocked is None and best and kept:
            report_mixture(rules, best, kept, problems)
        elif blocked is None and best and check_monotone(relations, rules, best, problems):
            rules = tuple(in_order(rule, best) for rule in rules)
    if blocked is not None:
        _report_cycle(blocked, turns, problems)
    if kept:
        report_nested(rules, min(kept), problems)
    totals = totals_of(relations, rules, kept) if kept and not best and blocked is None else None
    per_binding = frozenset(turn.rule.id for turn in turns if _tests_recursion(turn.rule, relations))
    return Stratum(relations, rules, bool(turns), tuple(sorted(best.items())), totals, per_binding)


def _edge(turns: Iterable[_Turn], wanted: Callable[[str], bool], allowed: Container[str] = ()) -> Edge | None:
    """The first edge of the wanted kind whose head is not in `allowed`."""
    for turn in turns:
        head = next((h for h in turn.heads if h not in allowed), None)
        read = next((r for r in turn.reads if wanted(r[1])), None)
        if head is not None and read is not None:
            return turn.edge(head, read)
    return None


def _aggregated(turns: Iterable[_Turn]) -> frozenset[str]:
    """The relations derived by an aggregate inside the cycle."""
    through = (turn for turn in turns if any(how and how != "not" for _, how in turn.reads))
    return frozenset(head for turn in through for head in turn.heads)


def _tests_recursion(rule: Rule, relations: frozenset[str]) -> bool:
    """Whether a nested body only tests values that come from the recursion through these relations."""
    return any(
        isinstance(literal, Nested | Without) and not relations.isdisjoint(sources(literal, body))
        for body in (*rule.bodies, *rule.after)
        for literal in body
    )


# -- reporting a cycle


def _report_cycle(edge: Edge, turns: list[_Turn], problems: Problems) -> None:
    """`edge` closes a forbidden cycle: report the path from its body back to its head."""
    way = [edge, *_path(edge.body, edge.head, turns)]
    steps = "; ".join(f"{_step(e)} ({e.rule.span!r})" for e in way)
    if edge.how == "not":
        problems.report(
            "E501",
            edge.rule.span,
            f"`{edge.head}` depends on its own negation",
            note=f"the cycle is: {steps}",
            hint="a negated relation must be complete before the rule can run; break the cycle",
        )
        return
    problems.report(
        "E502",
        edge.rule.span,
        f"`{edge.head}` depends on an aggregate over itself",
        note=f"the cycle is: {steps}",
        hint="only `min`, `max`, `sum` and `count` can be recursive, and only as the last step of a rule; "
        "what uses the result goes into a rule of its own",
    )


def _step(edge: Edge) -> str:
    means = f" through `{edge.how}`" if edge.how else ""
    return f"`{edge.head}` is derived from `{edge.body}`{means}"


def _path(start: str, goal: str, turns: list[_Turn]) -> list[Edge]:
    """A shortest path from one relation to another along "is derived from"."""
    deriving: dict[str, list[_Turn]] = defaultdict(list)
    for turn in turns:
        for head in turn.heads:
            deriving[head].append(turn)
    reached: dict[str, Edge | None] = {start: None}  # by which edge
    queue = [start]
    for name in queue:
        if name == goal:
            break
        for turn in deriving.pop(name):
            for read in turn.reads:
                if read[0] not in reached:
                    reached[read[0]] = turn.edge(name, read)
                    queue.append(read[0])
    way: list[Edge] = []
    while (edge := reached[goal]) is not None:
        way.append(edge)
        goal = edge.head
    return way[::-1]
