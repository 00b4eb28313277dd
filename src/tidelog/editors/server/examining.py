"""Examining a document again after an edit: only what changed, if that is enough (`program.examining`).

Items that did not change have the spans of an earlier version. What is found in them is moved to where they
are now. If a message mentions a place, the whole text is checked instead, since that place may have moved.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from tidelog.editors.names.document import Block
from tidelog.errors import Diagnostic, Source, Span, sort
from tidelog.program.examining import Examiner, is_examinable
from tidelog.program.model import Program

__all__ = ["Examination"]


class Examination:
    """Of the successive versions of one document."""

    def __init__(self, functions: Iterable[Callable[..., object]], proceed: Callable[[], object]) -> None:
        self._examiner = Examiner(functions, proceed)

    def examine(
        self, blocks: Sequence[Block], source: Source, unread: Sequence[Diagnostic]
    ) -> tuple[Program, tuple[Diagnostic, ...]] | None:
        """The program and what is wrong with it; None if only a check of the whole text can say."""
        items = [b.item for b in blocks if b.item is not None]
        if not is_examinable(items, source.text):
            return None
        program, found = self._examiner.examine(items, source, unread)
        place = re.compile(rf"{re.escape(source.name)}:\d+:\d+|\blines? \d")
        if any(place.search(f"{d.message}{d.note}{d.hint}") for d in found):
            return None
        places = _Places(blocks, source)
        moved = [replace(d, span=places.moved(d.span)) for d in found]
        return program, sort(moved)


class _Places:
    """Where the blocks of a document are, by the sources that their items were parsed from."""

    def __init__(self, blocks: Sequence[Block], source: Source) -> None:
        self._source = source
        starts = [0, *accumulate(b.length for b in blocks)]
        self._known: dict[int, list[tuple[int, int, int]]] = {}  # the origin, length and start of each
        for block, start in zip(blocks, starts[:-1], strict=True):
            if block.item is not None:
                found = self._known.setdefault(id(block.item.span.source), [])
                found.append((block.origin, block.length, start))
        for found in self._known.values():
            found.sort()

    def moved(self, span: Span) -> Span:
        """A span in the document; one elsewhere stays."""
        known = self._known.get(id(span.source), [])
        number = bisect_right(known, span.start, key=lambda place: place[0]) - 1
        if number < 0:
            return span
        origin, length, start = known[number]
        if span.start > origin + length:
            return span
        return Span(self._source, span.start - origin + start, span.end - origin + start)
