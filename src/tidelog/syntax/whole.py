"""Which variables are used as a whole, and which only by their fields: `p.id`."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.syntax import tree
from tidelog.syntax.rebuilding import nodes_of

__all__ = ["used_whole"]


def used_whole(part: object) -> set[str]:
    """The variables of a part of a tree that are not only used by their fields, or that it binds twice."""
    nodes = nodes_of(part)
    fields = {id(n.operand) for n in nodes if isinstance(n, tree.FieldAccess) and isinstance(n.field, str)}
    found = {n.name for n in nodes if isinstance(n, tree.Variable) and id(n) not in fields}
    bound = [name for n in nodes for name in _bound(n)]
    rows = {n.name for n in nodes if isinstance(n, tree.Row)}
    return found | {name for name in rows if bound.count(name) > 1}


def _bound(node: object) -> Iterator[str]:
    """The names that a node binds by itself."""
    if isinstance(node, tree.Assignment | tree.At | tree.Parameter | tree.Row):
        yield node.name
