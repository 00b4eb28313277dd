"""What can go wrong, said to a person.

A *diagnostic* is a value: a stable code, the place, a sentence, and where possible a note and a hint.
Everything that looks at a program text collects diagnostics and goes on; whoever asked for the program
gets them all, sorted by position. A *ProgramError* carries the diagnostics of a text that cannot be
loaded; a *DataError* says which fact does not fit its relation; an *EngineError* says that a run failed and
was undone; a *SessionError* that a session cannot do what it was asked for.

Invariant: a diagnostic's code is in the table of `CODES`, each code is explained in `docs/error-codes.md`,
and its texts have at most `LONGEST` characters. A report is bounded too, whatever the text: it shows at most
`MOST` diagnostics, each with at most `WIDTH` characters of its line. Every exception keeps all its contents
when it is pickled. This module knows nothing of the language itself.
"""

from __future__ import annotations

import pickle
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

__all__ = [
    "CODES",
    "LONGEST",
    "MOST",
    "NOWHERE",
    "WIDTH",
    "DataError",
    "Diagnostic",
    "EngineError",
    "PipelineError",
    "ProgramError",
    "SessionError",
    "Severity",
    "Source",
    "Span",
    "StoreError",
    "TidelogError",
    "clip",
    "render",
    "report",
    "select",
    "shown",
    "sort",
]

LONGEST = 1000  # characters of a message, a note or a hint
MOST = 100  # diagnostics of a report
WIDTH = 160  # characters of a line that an excerpt shows
_LONG_NUMBER = 512  # bits of a number that a message writes out
_LONG_ROW = 64  # values
_LONG_VALUE = 200  # characters
_LONG_MESSAGE = 10_000  # characters of a message without diagnostics

# One line per code; the explanation with an example is in docs/error-codes.md.
CODES: dict[str, str] = {
    "E001": "unexpected character",
    "E002": "text without an end",
    "E003": "unexpected token",
    "E004": "bad escape",
    "E005": "relation not capitalised",
    "E006": "nested too deeply",
    "E101": "unknown relation",
    "E102": "unknown column",
    "E103": "unknown type",
    "E104": "bad arguments of a type",
    "E105": "wrong number of arguments",
    "E106": "column given twice",
    "E107": "misused primary key",
    "E108": "unknown function",
    "E109": "recursive function",
    "E110": "too many columns",
    "E111": "name used twice",
    "E112": "declared twice",
    "E113": "no such rule",
    "E114": "relation still in use",
    "E115": "unusable Python function",
    "E201": "wrong type",
    "E202": "operator on the wrong types",
    "E203": "constant out of its type",
    "E204": "none of unknown type",
    "E205": "comparison with none",
    "E206": "no such conversion",
    "E207": "variable with two types",
    "E208": "alternatives disagree",
    "E301": "variable without a value",
    "E302": "wildcard as a value",
    "E303": "variable with two values",
    "E304": "too many alternatives",
    "E401": "aggregate out of place",
    "E403": "group by an expression",
    "E404": "variable lost in a group",
    "E405": "two groups in one rule",
    "E406": "unknown aggregate",
    "E407": "bad argument of an aggregate",
    "E501": "recursion through negation",
    "E502": "recursion through an aggregate",
    "E503": "rule without the recursive aggregate",
    "E504": "recursion that is not monotone",
    "W001": "unused relation",
    "W002": "relation always empty",
    "W003": "variable used once",
    "W004": "unused function",
    "W005": "unused type",
    "W006": "repeated rule",
    "W007": "relation that reaches no output",
    "W008": "rule that never gives a row",
}


_LINE_END = re.compile(r"\r\n?|\n")


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name users know it by; lines and columns are found by need."""

    name: str
    text: str
    _starts: list[int] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._starts.append(0)
        self._starts.extend(end.end() for end in _LINE_END.finditer(self.text))

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_start(self, offset: int) -> int:
        """The offset at which the line of an offset begins."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    @property
    def lines(self) -> int:
        return len(self._starts)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source, from `start` up to but not including `end`."""

    source: Source
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The stretch from the start of this one to the end of another of the same source."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def is_known(self) -> bool:
        """Whether this is a place in a text that somebody wrote."""
        return self.source != NOWHERE.source

    def __repr__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"


NOWHERE = Span(Source("<none>", ""), 0, 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    code: str
    span: Span
    message: str
    note: str | None = None
    hint: str | None = None

    def __post_init__(self) -> None:
        assert self.code in CODES, f"undocumented code {self.code}"
        for name in ("message", "note", "hint"):
            text = getattr(self, name)
            if text is not None and len(text) > LONGEST:
                object.__setattr__(self, name, clip(text, LONGEST))

    @property
    def severity(self) -> Severity:
        return Severity.WARNING if self.code.startswith("W") else Severity.ERROR

    def __str__(self) -> str:
        return render(self)


def sort(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """In order of position, without repetitions: what a person reads from top to bottom."""
    distinct = dict.fromkeys(diagnostics)
    return tuple(sorted(distinct, key=lambda d: (d.span.source.name, d.span.start, d.span.end, d.code)))


def clip(text: str, limit: int) -> str:
    """The text, or its beginning and its end if it has more characters than the limit."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def shown(value: object) -> str:
    """A user's value in a message: it is never long, and whatever the value does, it can be shown."""
    if isinstance(value, int) and value.bit_length() > _LONG_NUMBER:
        return f"a number of {value.bit_length()} bits"
    if type(value) in (tuple, list):
        opening, closing = "()" if isinstance(value, tuple) else "[]"
        items = [shown(item) for item in value[:_LONG_ROW]]  # type: ignore[index]
        more = ["…"] if len(value) > _LONG_ROW else []  # type: ignore[arg-type]
        comma = "," if opening == "(" and len(items) == 1 else ""
        return clip(f"{opening}{', '.join([*items, *more])}{comma}{closing}", _LONG_VALUE)
    try:
        return clip(repr(value), _LONG_VALUE)
    except Exception:  # whatever the value's own methods raise
        return f"a value of the class {type(value).__name__}"


def render(diagnostic: Diagnostic) -> str:
    """The diagnostic with its line and a caret below the place.

    reach.dl:3:14: error[E101]: there is no relation `Egde`
      |
    3 | Reach(x, y) :- Egde(x, y).
      |                ^^^^
      = did you mean `Edge`?
    """
    span = diagnostic.span
    head = f"{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}"
    if not span.is_known:
        lines = [head]
        gutter = ""
    else:
        number, column = span.source.position(span.start)
        lines = [f"{span.source.name}:{number}:{column}: {head}"]
        gutter = " " * len(str(number))
        lines += _excerpt(span, number, column, gutter)
    lines += [f"{gutter} = {text}" for text in (diagnostic.note, diagnostic.hint) if text]
    return "\n".join(lines)


def _excerpt(span: Span, number: int, column: int, gutter: str) -> list[str]:
    """The line of a span, or the part of it around the span, with a caret below."""
    line, skipped = _window(span.source.line(number), column)
    column -= skipped
    width = max(1, min(span.end - span.start, len(line) - column + 1))
    before = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
    return [f"{gutter} |", f"{number} | {line}", f"{gutter} | {before}{'^' * width}"]


def _window(line: str, column: int) -> tuple[str, int]:
    """What is shown of a line, and by how many characters that moves its columns to the left."""
    if len(line) <= WIDTH:
        return line, 0
    start = max(0, min(column - 1 - WIDTH // 3, len(line) - WIDTH))
    shown = line[start : start + WIDTH]
    opening, closing = "…" * (start > 0), "…" * (start + WIDTH < len(line))
    return f"{opening}{shown}{closing}", start - len(opening)


def select(diagnostics: Sequence[Diagnostic], most: int = MOST) -> tuple[tuple[Diagnostic, ...], str]:
    """The diagnostics that a report shows, errors before warnings, and a sentence about the others."""
    if len(diagnostics) <= most:
        return tuple(diagnostics), ""
    errors = [i for i, d in enumerate(diagnostics) if d.severity is Severity.ERROR]
    warnings = [i for i, d in enumerate(diagnostics) if d.severity is Severity.WARNING]
    chosen = sorted([*errors, *warnings][:most])
    hidden = (len(errors[most:]), len(warnings[max(0, most - len(errors)) :]))
    counts = [f"{n:,} more {noun}{'s' * (n != 1)}" for n, noun in zip(hidden, _NOUNS, strict=True) if n]
    return tuple(diagnostics[i] for i in chosen), f"{' and '.join(counts)} not shown"


_NOUNS = ("error", "warning")


def report(diagnostics: Sequence[Diagnostic]) -> str:
    """The text of some diagnostics, at most `MOST` of them."""
    shown, others = select(diagnostics)
    return "\n\n".join([*(render(d) for d in shown), *([others] if others else [])])


class TidelogError(Exception):
    """Whatever Tidelog raises for a user's sake."""

    def __str__(self) -> str:
        return clip(super().__str__(), _LONG_MESSAGE)

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (type(self), self.args, _picklable(vars(self)))


def _unpickled(
    kind: type[TidelogError], args: tuple[object, ...], contents: dict[str, object]
) -> TidelogError:
    """The exception as it was when it was pickled: `__init__` has done its work already."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(contents)
    return error


def _picklable(contents: dict[str, object]) -> dict[str, object]:
    """The contents, with a description in place of a user's value that cannot be pickled."""
    return {name: value if _can_pickle(value) else repr(value) for name, value in contents.items()}


def _can_pickle(value: object) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # whatever the value's own methods raise
        return False
    return True


class ProgramError(TidelogError):
    """A program text that cannot be loaded, with all that is wrong with it.

    `diagnostics` has everything; the message shows the first `MOST`.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = sort(diagnostics)
        super().__init__(report(self.diagnostics))

    def __str__(self) -> str:
        return str(self.args[0])


class EngineError(TidelogError):
    """A run that failed; the transaction that asked for it changed nothing."""


class SessionError(TidelogError):
    """A session asked for what it cannot do, such as two transactions at once in one thread."""


class StoreError(TidelogError):
    """A store that cannot be opened or read, or that belongs to another program."""


class PipelineError(TidelogError):
    """A pipeline that is not described well, or that could not do its work; what it had committed stays."""


class DataError(TidelogError):
    """Facts that do not fit their relation, or a file of facts that cannot be read; none of them was taken.

    `row` counts from 0 as the data does, `line` from 1 as editors do; what does not apply is None.
    """

    def __init__(
        self,
        relation: str | None,
        problem: str,
        *,
        column: str | None = None,
        row: int | None = None,
        value: object = None,
    ) -> None:
        super().__init__(relation, problem)
        self.relation = relation
        self.problem = problem
        self.column = column
        self.row = row
        self.value = value
        self.file: str | None = None
        self.line: int | None = None

    def in_file(self, file: str, line: int | None = None) -> DataError:
        """The same error, known to come from a file."""
        self.file, self.line = file, line
        return self

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        named = (("relation", self.relation), ("column", self.column))
        parts = [f"{what} {name}" for what, name in named if name is not None]
        if self.row is not None and self.line is None:
            parts.append(f"row {self.row}")
        text = ": ".join(part for part in (place, ", ".join(parts), self.problem) if part)
        return clip(text, _LONG_MESSAGE)
