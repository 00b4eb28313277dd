"""A text that is being edited, as *blocks*, each of which is parsed on its own.

A block is the text from the start of an item to the start of the next one. An edit parses only the blocks
that it touches, and their neighbours. If these have no syntax errors, before and after, the items are those
of the whole text. Otherwise the document is *unsettled*: its items are the best guess until `settle` has
parsed it as a whole.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Final

from tidelog.editors.names.occurrences import Occurrence, Role, occurrences
from tidelog.errors import Diagnostic, Source
from tidelog.syntax import tree
from tidelog.syntax.parser import read

__all__ = ["Block", "Document", "Place"]

_PREFIX: Final = re.compile("prefix", re.IGNORECASE)
_DECLARED: Final = (Role.RELATION, Role.TYPE, Role.CONSTRUCTOR, Role.FUNCTION, Role.INDEX)


@dataclass(slots=True)
class Block:
    """`origin` is where the block begins in the source that its item was parsed from, with `prefixes`."""

    length: int
    item: tree.Item | None
    origin: int
    has_errors: bool
    prefixes: Mapping[str, str] = field(default_factory=dict, repr=False)
    _names: tuple[Occurrence, ...] | None = field(default=None, repr=False)

    def with_item(self, other: Block) -> Block:
        """The block with the item of another one, which has the same text."""
        if self.item is None or other.item is None or other is self:
            return self
        origin = other.item.span.start - (self.item.span.start - self.origin)
        return Block(self.length, other.item, origin, self.has_errors, self.prefixes)

    @property
    def names(self) -> tuple[Occurrence, ...]:
        """The names in the item, by their offsets from the start of the block."""
        if self._names is None:
            found = () if self.item is None else occurrences(self.item)
            self._names = tuple(_moved(name, -self.origin) for name in found)
        return self._names


@dataclass(frozen=True, slots=True)
class Place:
    """An occurrence with its offsets in the document; `block` is the number of the block."""

    document: Document
    block: int
    name: Occurrence


class Document:
    """`name` is what its source is called: the path of a file, or the address of a text without one."""

    def __init__(
        self,
        name: str,
        text: str,
        path: Path | None = None,
        version: int = 0,
        known: Iterable[Block] = (),
    ) -> None:
        """`known` are blocks of an earlier version; those that are the same are taken over."""
        self.name = name
        self.path = path
        self.version = version
        self.source = Source(name, text)
        # `problems` are the syntax errors of the text when it was last parsed as a whole
        self.blocks, self.problems = _parsed(text, name, {})
        self.is_settled = True
        self.has_errors = bool(self.problems)
        self.blocks = _kept(self.blocks, known)
        self._starts: list[int] | None = None
        self._declared: dict[Role, dict[str, list[tuple[int, Occurrence]]]] | None = None

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def starts(self) -> Sequence[int]:
        """Where each block starts."""
        if self._starts is None:
            self._starts = [0, *accumulate(b.length for b in self.blocks)][: len(self.blocks)]
        return self._starts

    def edit(self, start: int, end: int, new: str) -> None:
        """Replace a range of the text."""
        text = self.text[:start] + new + self.text[end:]
        first = max(0, self.block_at(start) - 1)
        last = min(len(self.blocks), self.block_at(end) + 2)
        begin = self.starts[first]
        old = self.blocks[first:last]
        stop = begin + sum(b.length for b in old) + len(text) - len(self.text)
        made, problems = _parsed(text[begin:stop], self.name, _prefixes(self.blocks))
        parts = self.text[begin : begin + sum(b.length for b in old)], text[begin:stop]
        if problems or any(b.has_errors for b in old) or any(map(_PREFIX.search, parts)):
            self.is_settled = False
        self.blocks[first:last] = _kept(made, old)
        self.has_errors = any(b.has_errors for b in self.blocks)
        self._changed(text)

    def replace(self, text: str) -> None:
        """Replace the whole text."""
        self._changed(text)
        self.is_settled = False
        self.settle()

    def settle(self) -> None:
        """Parse the whole text, if an edit may have left wrong items."""
        if not self.is_settled:
            known = self.blocks
            self.blocks, self.problems = _parsed(self.text, self.name, {})
            self.blocks = _kept(self.blocks, known)
            self.is_settled, self.has_errors = True, bool(self.problems)
            self._changed(self.text)

    def adopt(self, other: Document) -> None:
        """Take over the blocks of a document with the same text."""
        assert other.text == self.text
        self.blocks, self.has_errors, self.is_settled = other.blocks, other.has_errors, True
        self._changed(self.text)

    def _changed(self, text: str) -> None:
        self.source = Source(self.name, text)
        self._starts = self._declared = None

    # -- reading

    def block_at(self, offset: int) -> int:
        """The number of the block that contains an offset."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def block_text(self, number: int) -> str:
        start = self.starts[number]
        return self.text[start : start + self.blocks[number].length]

    @property
    def items(self) -> tuple[tree.Item, ...]:
        """All items. Their spans are those of the texts that they were parsed from."""
        return tuple(b.item for b in self.blocks if b.item is not None)

    def names_of(self, number: int) -> Iterator[Place]:
        """The names in a block."""
        start = self.starts[number]
        return (Place(self, number, _moved(name, start)) for name in self.blocks[number].names)

    def names(self) -> Iterator[Place]:
        return (place for number in range(len(self.blocks)) for place in self.names_of(number))

    def name_at(self, offset: int) -> Place | None:
        """The name that contains an offset or ends there."""
        numbers = dict.fromkeys([self.block_at(offset), self.block_at(max(0, offset - 1))])
        found = [p for n in numbers for p in self.names_of(n) if p.name.start <= offset <= p.name.end]
        return max(found, key=lambda p: p.name.start, default=None)

    def declarations(self, role: Role, name: str) -> list[Place]:
        """The declarations of a relation, type, constructor, function or index."""
        if self._declared is None:
            self._declared = {}
            for number, block in enumerate(self.blocks):
                for found in block.names:
                    if found.is_declaration and found.role in _DECLARED:
                        by_name = self._declared.setdefault(found.role, {})
                        by_name.setdefault(found.name, []).append((number, found))
        places = self._declared.get(role, {}).get(name, ())
        return [Place(self, number, _moved(found, self.starts[number])) for number, found in places]

    def declared(self, role: Role) -> Iterable[str]:
        """The names of all declarations of a kind."""
        self.declarations(role, "")
        return (self._declared or {}).get(role, {})

    def fields(self, owner: tuple[Role, str], name: str | None = None) -> list[Place]:
        """The columns of a relation, or the fields of a constructor."""
        found = [p for d in self.declarations(*owner) for p in self.names_of(d.block)]
        return [
            p
            for p in found
            if p.name.role is Role.FIELD
            and p.name.is_declaration
            and p.name.owner == owner
            and name in (None, p.name.name)
        ]

    def relation(self, name: str) -> tree.Relation | None:
        """The declaration of a relation."""
        for place in self.declarations(Role.RELATION, name):
            item = self.blocks[place.block].item
            if isinstance(item, tree.Relation):
                return item
        return None


def _moved(name: Occurrence, by: int) -> Occurrence:
    return replace(name, start=name.start + by, end=name.end + by)


def _prefixes(blocks: Sequence[Block]) -> Mapping[str, str]:
    """What was known when the blocks were parsed together."""
    return blocks[0].prefixes


def _kept(made: Sequence[Block], known: Iterable[Block]) -> list[Block]:
    """The blocks; items that have the same text as known ones stay the same objects."""
    prefixes = _prefixes(made)
    usable = [b for b in known if b.item is not None and b.prefixes == prefixes]
    by_text = {b.item.span.text: b for b in usable if b.item is not None}
    return [b if b.item is None else b.with_item(by_text.pop(b.item.span.text, b)) for b in made]


def _parsed(text: str, name: str, prefixes: Mapping[str, str]) -> tuple[list[Block], list[Diagnostic]]:
    """The blocks of a text. One without items is one block. `prefixes` are declared in other blocks."""
    program, problems = read(Source(name, text, prefixes=prefixes))
    starts = [item.span.start for item in program.items]
    places = [0, *starts[1:], len(text)] if starts else [0, len(text)]
    wrong = sorted(p.span.start for p in problems)
    items = program.items or (None,)
    return [
        Block(
            end - start,
            item,
            start,
            bisect_right(wrong, end) > bisect_right(wrong, start - 1),
            program.prefixes,
        )
        for item, start, end in zip(items, places[:-1], places[1:], strict=True)
    ], problems
