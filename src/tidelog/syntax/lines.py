"""The lines of a printed program, and the comments between and after them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tidelog.errors import Span
from tidelog.syntax import tree

__all__ = ["Line", "is_after_blank", "weave"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the layout, and the range of the source it stands for.

    `indent` applies to comments before the line; `blank` requests a blank line before the line itself.
    """

    text: str
    start: int
    end: int
    indent: str = ""
    blank: bool = False


def is_after_blank(span: Span) -> bool:
    text, start = span.source.text, span.start
    while start and text[start - 1].isspace():
        start -= 1
    return text.count("\n", start, span.start) > 1


def weave(lines: Sequence[Line], comments: Iterable[tree.Comment]) -> list[str]:
    """The lines with the comments between and after them."""
    out: list[list[str]] = []
    waiting = deque(comments)
    for line, following in pairwise((None, *lines, None)):
        if line is not None:
            out += [[], [line.text]] if line.blank and out else [[line.text]]
        is_open = line is not None  # whether a comment can be appended to the last line
        while waiting and (following is None or waiting[0].span.start < following.start):
            comment = waiting.popleft()
            text = comment.text.replace("\r\n", "\n")
            if line is not None and is_open and (comment.trailing or comment.span.start < line.end):
                out[-1].append(text)
                is_open = not (text.startswith("//") or "\n" in text)
            else:
                indent = following.indent if following is not None else ""
                out += [[]] if out and not indent and is_after_blank(comment.span) else []
                out.append([indent + text])
                is_open = False
    return ["  ".join(parts) for parts in out]
