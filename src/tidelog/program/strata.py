"""Strata: relations that depend on each other, in an order in which everything below is known.

A stratum is a strongly connected component of the relations under "is derived from". Negation and
aggregation need what is below them to be complete, so neither may run along a cycle; the exception is a
relation kept as the best value per key (`Best`), which `monotone` examines. A cycle that is not allowed is
told in full, rule by rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.program.monotone import best_relations, check_monotone
from tidelog.program.problems import Problems
from tidelog.program.typed import Absent, Best, Match, Rule, Stratum

__all__ = ["Edge", "components", "dependencies", "stratify"]


@dataclass(frozen=True, slots=True)
class Edge:
    """`head` is derived from `body` by `rule`; `how` is "", "not", or the aggregate it passes through."""

    head: str
    body: str
    how: str
    rule: Rule


def dependencies(rule: Rule) -> Iterator[Edge]:
    """What each head of a rule is derived from."""
    function = rule.group.aggregates[0].function if rule.group else ""
    for head in dict.fromkeys(h.relation for h in rule.heads):
        for bodies, how in ((rule.bodies, function), (rule.after, "")):
            for literal in (x for body in bodies for x in body):
                if isinstance(literal, Match):
                    yield Edge(head, literal.relation, how, rule)
                elif isinstance(literal, Absent):
                    yield Edge(head, literal.relation, "not", rule)


def stratify(relations: Iterable[str], rules: Iterable[Rule], problems: Problems) -> tuple[Stratum, ...]:
    """The strata in an order of evaluation; what cannot be stratified is reported."""
    rules = tuple(rules)
    edges = [e for r in rules for e in dependencies(r)]
    below: dict[str, list[str]] = {name: [] for name in relations}
    below |= {h.relation: [] for r in rules for h in r.heads if h.relation not in below}
    for edge in edges:
        below.setdefault(edge.head, []).append(edge.body)
        below.setdefault(edge.body, [])
    found = components(below)
    number = {name: i for i, component in enumerate(found) for name in component}
    deriving: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        for i in dict.fromkeys(number[h.relation] for h in rule.heads):
            deriving[i].append(rule)
    inner: dict[int, list[Edge]] = defaultdict(list)
    for edge in edges:
        if number[edge.head] == number[edge.body]:
            inner[number[edge.head]].append(edge)
    return tuple(
        _stratum(frozenset(component), tuple(deriving[i]), inner[i], problems)
        for i, component in enumerate(found)
    )


def _stratum(
    relations: frozenset[str], rules: tuple[Rule, ...], edges: list[Edge], problems: Problems
) -> Stratum:
    best: Mapping[str, Best] = {}
    blocked = next((e for e in edges if e.how == "not"), None)
    if blocked is None and any(e.how for e in edges):
        best = best_relations(relations, rules, edges_through(edges), problems)
        blocked = next((e for e in edges if e.how and e.head not in best), None)
        if blocked is None:
            check_monotone(relations, rules, best, problems)
    if blocked is not None:
        _report_cycle(blocked, edges, problems)
    return Stratum(relations, rules, bool(edges), tuple(sorted(best.items())))


def edges_through(edges: Iterable[Edge]) -> frozenset[str]:
    """The relations that an aggregate inside the cycle derives."""
    return frozenset(e.head for e in edges if e.how and e.how != "not")


def components(below: Mapping[str, list[str]]) -> list[list[str]]:
    """Strongly connected components, each behind those it depends on (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in below:
        if root in index:
            continue
        work: list[tuple[str, Iterator[str]]] = []
        _enter(root, below, index, low, stack, on_stack, work)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_pop_component(node, stack, on_stack))
            elif following not in index:
                _enter(following, below, index, low, stack, on_stack, work)
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return found


def _enter(
    node: str,
    below: Mapping[str, list[str]],
    index: dict[str, int],
    low: dict[str, int],
    stack: list[str],
    on_stack: set[str],
    work: list[tuple[str, Iterator[str]]],
) -> None:
    index[node] = low[node] = len(index)
    stack.append(node)
    on_stack.add(node)
    work.append((node, iter(below[node])))


def _pop_component(node: str, stack: list[str], on_stack: set[str]) -> list[str]:
    component: list[str] = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == node:
            return component


# -- telling a cycle


def _report_cycle(edge: Edge, edges: list[Edge], problems: Problems) -> None:
    """`edge` closes a cycle it must not be on: tell the way from its body back to its head."""
    way = [edge, *_path(edge.body, edge.head, edges)]
    steps = "; ".join(f"{_step(e)} ({e.rule.span!r})" for e in way)
    if edge.how == "not":
        problems.report(
            "E501",
            edge.rule.span,
            f"`{edge.head}` depends on its own negation",
            note=f"the cycle is: {steps}",
            hint="a relation under `not` has to be complete before the rule can be used; break the cycle",
        )
        return
    problems.report(
        "E502",
        edge.rule.span,
        f"`{edge.head}` depends on an aggregate over itself",
        note=f"the cycle is: {steps}",
        hint="only `min` and `max` can be recursive, as the last thing a rule does",
    )


def _step(edge: Edge) -> str:
    means = f" through `{edge.how}`" if edge.how else ""
    return f"`{edge.head}` is derived from `{edge.body}`{means}"


def _path(start: str, goal: str, edges: list[Edge]) -> list[Edge]:
    """A shortest way of edges from one relation to another, in the direction of "is derived from"."""
    ways: dict[str, list[Edge]] = {start: []}
    queue = [start]
    for name in queue:
        if name == goal:
            break
        for edge in edges:
            if edge.head == name and edge.body not in ways:
                ways[edge.body] = [*ways[name], edge]
                queue.append(edge.body)
    return ways[goal]
