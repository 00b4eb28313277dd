"""Text, line by line, to statements.

| statement                                    | ends                                                    |
|----------------------------------------------|---------------------------------------------------------|
| a rule, a fact, `+fact.`, `-fact.`, `-rule.` | with its full stop                                      |
| `?- query.`                                  | with its full stop, or with a line where it can end     |
| a declaration                                | where it can end, if the next line does not continue it |
| `-3`, `:command …`, `begin`, `commit`, …     | with the line                                           |

A statement knows its place: the lines that it is in and their numbers, so that messages point into them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from tidelog.errors import Diagnostic, ProgramError, Source, Span
from tidelog.syntax import tree
from tidelog.syntax.parser import read_first

__all__ = [
    "WORDS",
    "Add",
    "Assert",
    "Command",
    "Place",
    "Query",
    "Reader",
    "RemoveNumber",
    "Retract",
    "Statement",
    "blanked",
    "statements",
]

WORDS: Final = ("begin", "commit", "preview", "rollback")  # commands that need no colon
_WORD: Final = re.compile(rf"({'|'.join((*WORDS, 'exit', 'help', 'quit'))})[ \t]*[.;]?[ \t]*(?=[\r\n]|//)")
_COMMAND: Final = re.compile(r":[ \t]*([^\s:]*)([^\r\n]*)")
_NUMBER: Final = re.compile(r"-[ \t]*(\d{1,9})[ \t]*\.?[ \t]*(?=[\r\n]|//)")
_BLANK: Final = re.compile(r"(?:\s+|//[^\n\r]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_NO_PREFIXES: Final[Mapping[str, str]] = MappingProxyType({})
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_EMPTY_LINE: Final = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True, slots=True)
class Place:
    """A range of some lines, which begin at an offset of the whole input."""

    lines: Source
    start: int
    end: int
    offset: int = 0

    @property
    def text(self) -> str:
        return self.lines.text[self.start : self.end]

    @property
    def aligned(self) -> str:
        """The text after as many blanks as there are characters before it, in the same lines."""
        return blanked(self.lines.text[: self.start]) + self.text

    @property
    def line(self) -> int:
        return self.lines.position(self.start)[0]

    def inner(self, start: int) -> Place:
        """The place without its first characters."""
        return replace(self, start=self.start + start)

    def located(self, problem: Diagnostic) -> Diagnostic:
        """A diagnostic about the aligned text, as one about the lines."""
        span = problem.span
        if span.source.text != self.aligned:
            return problem
        return replace(problem, span=Span(self.lines, span.start, span.end))


@dataclass(frozen=True, slots=True)
class Add:
    """A declaration, a rule, or a fact of the program; also with a plus before it."""

    place: Place
    item: tree.Item


@dataclass(frozen=True, slots=True)
class Assert:
    """`+Edge("a", "b").`"""

    place: Place


@dataclass(frozen=True, slots=True)
class Retract:
    """`-Edge("a", "b").` or `-Reach(x, y) :- Edge(x, y).`"""

    place: Place
    item: tree.Rule


@dataclass(frozen=True, slots=True)
class RemoveNumber:
    """`-3`: the rule with this number."""

    place: Place
    number: int


@dataclass(frozen=True, slots=True)
class Query:
    """`?- Reach("a", x).`"""

    place: Place


@dataclass(frozen=True, slots=True)
class Command:
    place: Place
    name: str
    argument: str


Statement: TypeAlias = Add | Assert | Retract | RemoveNumber | Query | Command


def blanked(text: str) -> str:
    """As many blanks, in the same lines."""
    return re.sub(r"[^\n\r]", " ", text)


def statements(
    text: str, name: str, line: int = 1, prefixes: Mapping[str, str] = _NO_PREFIXES
) -> Iterator[Statement]:
    """All statements of a text; ProgramError where one cannot be read. `prefixes` are known already."""
    reader = Reader(name, line, prefixes)
    yield from reader.feed(text)
    yield from reader.end()


class Reader:
    """Takes lines, and gives the statements that end in them."""

    def __init__(self, name: str, line: int = 1, prefixes: Mapping[str, str] = _NO_PREFIXES) -> None:
        self._name = name
        self._prefixes = dict(prefixes)
        self._first = line
        self._lines = ""  # from the line on in which the next statement begins
        self._start = 0  # where it begins
        self._offset = 0  # of these lines in the input
        self.is_inside = False  # whether a statement has begun and must go on

    def feed(self, text: str) -> Iterator[Statement]:
        """Add whole lines; ProgramError if they cannot be read."""
        for line in _LINE.findall(text):
            self._lines += line if line.endswith(("\n", "\r")) else f"{line}\n"
            yield from self._read(at_end=False)

    def end(self) -> Iterator[Statement]:
        """What is left, as nothing follows; ProgramError if a statement is not complete."""
        return self._read(at_end=True)

    def _read(self, *, at_end: bool) -> Iterator[Statement]:
        while True:
            found = self._next(at_end)
            if found is None:
                return
            self._skip(found.place.end)
            if isinstance(found, Add) and isinstance(found.item, tree.Prefix):
                self._prefixes[found.item.name] = found.item.namespace
            yield found

    def _skip(self, end: int) -> None:
        """Continue after an offset; whole lines before it are dropped."""
        line = max(self._lines.rfind(end_of_line, 0, end) for end_of_line in "\n\r") + 1
        dropped = Source("", self._lines[:line])
        self._first += dropped.lines - 1
        self._offset += line
        self._lines, self._start = self._lines[line:], end - line

    def _next(self, at_end: bool) -> Statement | None:
        self.is_inside = False
        blank = _BLANK.match(self._lines, self._start + self._lines.startswith("\ufeff", self._start))
        assert blank is not None
        self._skip(blank.end())
        if self._start == len(self._lines):
            return None
        lines = Source(self._name, self._lines, self._first, self._prefixes)
        place = Place(lines, self._start, len(self._lines), self._offset)
        return _simple(place) or self._program_text(place, at_end)

    def _program_text(self, place: Place, at_end: bool) -> Statement | None:
        """A statement that is, or has, a text of the language."""
        text = place.lines.text
        is_query = text.startswith("?-", place.start)
        sign = text[place.start] if text[place.start] in "+-" else ""
        inner = place.start + (2 if is_query else len(sign))
        first = read_first(place.lines, inner, is_query=is_query)
        if first.is_cut and not at_end:
            self.is_inside = True
            return None
        if first.problems:
            raise ProgramError(first.problems)
        if first.is_last and not at_end and _may_go_on(first.item, text, first.end):
            return None
        place = replace(place, end=first.end)
        return Query(place.inner(2)) if is_query else _signed(sign, place, first.item)


def _simple(place: Place) -> Statement | None:
    """A statement that is one line, if one begins here."""
    text, start = place.lines.text, place.start
    for pattern in (_COMMAND, _WORD):
        found = pattern.match(text, start)
        if found:
            argument = found[2].strip() if pattern is _COMMAND else ""
            return Command(replace(place, end=found.end()), found[1], argument)
    number = _NUMBER.match(text, start)
    return number and RemoveNumber(replace(place, end=number.end()), int(number[1]))


def _signed(sign: str, place: Place, item: tree.Item | None) -> Statement:
    assert item is not None
    if sign == "-":
        if not isinstance(item, tree.Rule):
            hint = "remove a relation with `:drop Name`"
            span = Span(place.lines, place.start, place.end)
            raise ProgramError(
                [Diagnostic("E003", span, "only facts and rules are removed by `-`", hint=hint)]
            )
        return Retract(place.inner(1), item)
    if sign and isinstance(item, tree.Rule) and not item.body:
        return Assert(place.inner(1))
    return Add(place.inner(len(sign)), item)


def _may_go_on(item: tree.Item | None, text: str, end: int) -> bool:
    """Whether the next line can continue a declaration that could also be complete."""
    match item:
        case tree.Relation(key=None) | tree.TypeDefinition() | tree.Alias():
            return not _EMPTY_LINE.search(text, end)
        case _:
            return False
