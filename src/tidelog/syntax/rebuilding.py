"""Walking and rebuilding trees of any depth.

Trees may be deeper than recursion allows, so nodes are rebuilt from a list, children before their parents. A
node of which no part changes stays the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from tidelog.errors import Span

__all__ = ["nodes_of", "rebuilt"]

_T = TypeVar("_T")


def nodes_of(root: object) -> list[object]:
    """A node and all nodes below it, each before its children."""
    nodes: list[object] = [root]
    for node in nodes:  # grows during the loop
        nodes += _children(node)
    return nodes


def rebuilt(root: _T, change: Callable[[Any], Any]) -> _T:
    """A tree in which each node is replaced by what `change` makes of it, after its children."""
    made: dict[int, Any] = {}
    for node in reversed(nodes_of(root)):
        made[id(node)] = change(_with_children(node, made))
    found: _T = made[id(root)]
    return found


def _children(node: object) -> Iterator[object]:
    for spec in fields(node):  # type: ignore[arg-type]
        yield from _nodes(getattr(node, spec.name))


def _nodes(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)
    elif is_dataclass(value) and not isinstance(value, Span):
        yield value


def _with_children(node: Any, made: Mapping[int, Any]) -> Any:
    changed: dict[str, Any] = {}
    for spec in fields(node):
        before = getattr(node, spec.name)
        after = _replaced(before, made)
        if after is not before:
            changed[spec.name] = after
    return replace(node, **changed) if changed else node


def _replaced(value: Any, made: Mapping[int, Any]) -> Any:
    if isinstance(value, tuple):
        parts = tuple(_replaced(part, made) for part in value)
        return value if all(a is b for a, b in zip(value, parts, strict=True)) else parts
    return made.get(id(value), value) if is_dataclass(value) else value
