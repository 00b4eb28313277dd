"""The tree as an indented outline, for people who want to see how a text was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from tidelog.syntax import tree

__all__ = ["outline"]

_LEFT_OUT = ("span", "name_span", "comments")


def outline(program: tree.Program) -> str:
    """One line a node: its kind, its plain fields, and below it the nodes it holds."""
    return "\n".join(line for item in program.items for line in _lines(item, "", 0))


def _lines(node: object, label: str, depth: int) -> Iterator[str]:
    assert is_dataclass(node)
    plain: list[str] = []
    inner: list[tuple[str, object]] = []
    for spec in fields(node):
        value = getattr(node, spec.name)
        if spec.name in _LEFT_OUT or value is None or value == ():
            continue
        if is_dataclass(value) or isinstance(value, tuple):
            inner.append((spec.name, value))
        else:
            plain.append(f"{spec.name}={value!r}")
    name = f"{label}: " if label else ""
    yield "  " * depth + name + " ".join([type(node).__name__, *plain])
    for field_name, value in inner:
        yield from _inner(field_name, value, depth + 1)


def _inner(label: str, value: object, depth: int) -> Iterator[str]:
    if not isinstance(value, tuple):
        yield from _lines(value, label, depth)
    elif all(isinstance(v, int | str) for v in value):
        yield "  " * depth + f"{label}: {', '.join(map(repr, value))}"
    else:
        yield "  " * depth + f"{label}:"
        for element in value:
            if is_dataclass(element):
                yield from _lines(element, "", depth + 1)
            else:
                yield from (
                    _inner("or", element, depth + 1)
                    if isinstance(element, tuple)
                    else ["  " * (depth + 1) + repr(element)]
                )
