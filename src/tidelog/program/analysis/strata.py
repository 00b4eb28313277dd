"""Strata: groups of mutually dependent relations, ordered so that each reads only itself and earlier strata.

A stratum is a strongly connected component of the relations under "is derived from". Negation and
aggregation need their input to be complete, so neither may be part of a cycle. The exception is a relation
that keeps the best value per key (`Best`), which `monotonicity` checks. A forbidden cycle is reported in
full, rule by rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tidelog.program.analysis.monotonicity import best_relations, check_monotone, in_order
from tidelog.program.elaborate.problems import Problems
from tidelog.program.typed import Absent, Best, Match, Rule, Stratum

__all__ = ["components", "reads", "stratify"]


_Node = TypeVar("_Node", bound=Hashable)


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
    function = rule.group.aggregates[0].function if rule.group else ""
    for bodies, how in ((rule.bodies, function), (rule.after, "")):
        for literal in (x for body in bodies for x in body):
            if isinstance(literal, Match):
                yield literal.relation, how
            elif isinstance(literal, Absent):
                yield literal.relation, "not"


def stratify(relations: Iterable[str], rules: Iterable[Rule], problems: Problems) -> tuple[Stratum, ...]:
    """The strata in evaluation order. Relations that cannot be stratified are reported."""
    rules = tuple(rules)
    found = _components(relations, rules)
    number = {name: i for i, component in enumerate(found) for name in component}
    deriving: dict[int, list[Rule]] = defaultdict(list)
    turns: dict[int, list[_Turn]] = defaultdict(list)
    for rule in rules:
        for i, turn in _turns(rule, number).items():
            deriving[i].append(rule)
            if turn.reads:
                turns[i].append(turn)
    return tuple(
        _stratum(frozenset(component), tuple(deriving[i]), turns[i], problems)
        for i, component in enumerate(found)
    )


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


def _turns(rule: Rule, number: Mapping[str, int]) -> dict[int, _Turn]:
    """The strata that a rule derives, each with the rule's edges inside it."""
    heads: dict[int, list[str]] = defaultdict(list)
    for head in dict.fromkeys(h.relation for h in rule.heads):
        heads[number[head]].append(head)
    inner: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for read in dict.fromkeys(reads(rule)):
        inner[number[read[0]]].append(read)
    return {i: _Turn(rule, tuple(names), tuple(inner.get(i, ()))) for i, names in heads.items()}


def _stratum(
    relations: frozenset[str], rules: tuple[Rule, ...], turns: list[_Turn], problems: Problems
) -> Stratum:
    best: Mapping[str, Best] = {}
    blocked = _edge(turns, lambda how: how == "not")
    if blocked is None and any(how for turn in turns for _, how in turn.reads):
        best = best_relations(relations, rules, _aggregated(turns), problems)
        blocked = _edge(turns, bool, best)
        if blocked is None and check_monotone(relations, rules, best, problems):
            rules = tuple(in_order(rule, best) for rule in rules)
    if blocked is not None:
        _report_cycle(blocked, turns, problems)
    return Stratum(relations, rules, bool(turns), tuple(sorted(best.items())))


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


def components(below: Mapping[_Node, list[_Node]]) -> list[list[_Node]]:
    """Strongly connected components, each after those it depends on (Tarjan, without recursion)."""
    index: dict[_Node, int] = {}
    low: dict[_Node, int] = {}
    stack: list[_Node] = []
    on_stack: set[_Node] = set()
    found: list[list[_Node]] = []
    for root in below:
        if root in index:
            continue
        work: list[tuple[_Node, Iterator[_Node]]] = []
        _enter(root, below, index, low, stack, on_stack, work)
        while work:
            node, rest = work[-1]
            following = next(rest, None)  # no node is None
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
    node: _Node,
    below: Mapping[_Node, list[_Node]],
    index: dict[_Node, int],
    low: dict[_Node, int],
    stack: list[_Node],
    on_stack: set[_Node],
    work: list[tuple[_Node, Iterator[_Node]]],
) -> None:
    index[node] = low[node] = len(index)
    stack.append(node)
    on_stack.add(node)
    work.append((node, iter(below[node])))


def _pop_component(node: _Node, stack: list[_Node], on_stack: set[_Node]) -> list[_Node]:
    component: list[_Node] = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == node:
            return component


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
        hint="only `min` and `max` can be recursive, and only as the last step of a rule",
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
