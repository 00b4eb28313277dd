"""The tree as an indented outline, which shows how a text was parsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TypeAlias

from tidelog.syntax import tree

__all__ = ["outline"]

_Lines: TypeAlias = "Iterator[str | _Lines]"
_LEFT_OUT = ("span", "name_span", "comments")
_USUAL = frozenset(["kind", "delay", "is_prime"])  # shown where they are not the default


def outline(program: tree.Program) -> str:
    """One line per node: its kind and its plain fields, followed by its child nodes."""
    return "\n".join(line for item in program.items for line in _run(_lines(item, "", 0)))


def _run(lines: _Lines) -> Iterator[str]:
    """The lines, with those of inner nodes in place. Uses a stack: trees can be too deep for recursion."""
    waiting = [lines]
    while waiting:
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
        elif isinstance(found, str):
            yield found
        else:
            waiting.append(found)


def _lines(node: object, label: str, depth: int) -> _Lines:
    assert is_dataclass(node)
    plain: list[str] = []
    inner: list[tuple[str, object]] = []
    for spec in fields(node):
        value = getattr(node, spec.name)
        is_usual = spec.name in _USUAL and value == spec.default
        if spec.name in _LEFT_OUT or value is None or value == () or is_usual:
            continue
        if is_dataclass(value) or isinstance(value, tuple):
            inner.append((spec.name, value))
        else:
            plain.append(f"{spec.name}={value!r}")
    name = f"{label}: " if label else ""
    yield "  " * depth + name + " ".join([type(node).__name__, *plain])
    for field_name, value in inner:
        yield _inner(field_name, value, depth + 1)


def _inner(label: str, value: object, depth: int) -> _Lines:
    if not isinstance(value, tuple):
        yield _lines(value, label, depth)
    elif all(isinstance(v, int | str) for v in value):
        yield "  " * depth + f"{label}: {', '.join(map(repr, value))}"
    else:
        yield "  " * depth + f"{label}:"
        for element in value:
            if is_dataclass(element):
                yield _lines(element, "", depth + 1)
            elif isinstance(element, tuple):
                yield _inner("entry" if label == "entries" else "or", element, depth + 1)
            else:
                yield "  " * (depth + 1) + repr(element)
