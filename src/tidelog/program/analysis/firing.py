"""Which rules can ever fire, given the relations that may have rows: Horn satisfiability in linear time.

A body is a tree of conjunctions and disjunctions over relations. Each node counts the parts it still waits
for and notifies its parent when none is left (Dowling and Gallier).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.syntax import tree

__all__ = ["dead_rules"]


@dataclass(slots=True)
class _Node:
    """A conjunction or disjunction that waits for `waits_for` of its parts; the root is a rule body."""

    waits_for: int
    above: _Node | None
    rule: int


def dead_rules(rules: Sequence[tree.Rule], live: Iterable[str]) -> list[tree.Rule]:
    """The rules that never fire: each of their alternatives reads a relation that is always empty."""
    waiting: dict[str, list[_Node]] = defaultdict(list)
    ready: list[_Node] = []
    for i, rule in enumerate(rules):
        _conjunction(rule.body, None, i, waiting, ready)
    fired: set[int] = set()
    queue = list(dict.fromkeys(live))
    reached = set(queue)

    def fire() -> None:
        while ready:
            node = ready.pop()
            if node.above is not None:
                _tell(node.above, ready)
                continue
            fired.add(node.rule)
            heads = {h.relation for h in rules[node.rule].heads} - reached
            reached.update(heads)
            queue.extend(heads)

    fire()
    for name in queue:
        for node in waiting.pop(name, ()):
            _tell(node, ready)
        fire()
    return [rule for i, rule in enumerate(rules) if i not in fired]


def _tell(node: _Node, ready: list[_Node]) -> None:
    """One more part of a node is true."""
    node.waits_for -= 1
    if node.waits_for == 0:
        ready.append(node)


def _conjunction(
    literals: Sequence[tree.Literal],
    above: _Node | None,
    rule: int,
    waiting: dict[str, list[_Node]],
    ready: list[_Node],
) -> None:
    node = _Node(0, above, rule)
    for found in literals:
        literal = found.atom if isinstance(found, tree.Row) else found
        if isinstance(literal, tree.Atom):
            node.waits_for += 1
            waiting[literal.relation].append(node)
        elif isinstance(literal, tree.Disjunction):
            node.waits_for += 1
            choice = _Node(1, node, rule)
            for alternative in literal.alternatives:
                _conjunction(alternative, choice, rule, waiting, ready)
    if not node.waits_for:
        ready.append(node)
