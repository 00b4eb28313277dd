"""Diagnostics and exceptions, written for users.

A *diagnostic* is a value: a stable code, a location, a message, and where possible a note and a hint.
Passes over a program text collect diagnostics and continue, so the caller gets all of them at once, sorted by
position. A *ProgramError* carries the diagnostics of a text that cannot be loaded. A *DataError* names the
fact that does not match its relation. An *EngineError* reports a run that failed and was rolled back. A
*SessionError* reports a request that a session cannot carry out.

Invariant: a diagnostic's code is in the table `CODES`, each code is explained in `docs/error-codes.md`, and
each text has at most `LONGEST` characters. Reports are bounded for any input: at most `MOST` diagnostics,
each with at most `WIDTH` characters of its line. Exceptions keep all their contents when they are pickled.
This module knows nothing about the language itself.
"""

from __future__ import annotations

import pickle
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
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

LONGEST = 1000  # characters in a message, a note or a hint
MOST = 100  # diagnostics in a report
WIDTH = 160  # characters of a line shown in an excerpt
_LONG_NUMBER = 512  # bits; messages do not print larger numbers
_LONG_ROW = 64  # values
_LONG_VALUE = 200  # characters
_LONG_MESSAGE = 10_000  # characters in a message without diagnostics

# One line per code; the explanation with an example is in docs/error-codes.md.
CODES: dict[str, str] = {
    "E001": "unexpected character",
    "E002": "unterminated string or comment",
    "E003": "unexpected token",
    "E004": "invalid escape sequence",
    "E005": "relation not capitalised",
    "E006": "nested too deeply",
    "E101": "unknown relation",
    "E102": "unknown column",
    "E103": "unknown type",
    "E104": "invalid type arguments",
    "E105": "wrong number of arguments",
    "E106": "column given twice",
    "E107": "invalid primary key",
    "E108": "unknown function",
    "E109": "recursive function",
    "E110": "too many columns",
    "E111": "duplicate name",
    "E112": "duplicate declaration",
    "E113": "unknown rule",
    "E114": "relation still in use",
    "E115": "unusable Python function",
    "E116": "type without end",
    "E117": "type without finite values",
    "E118": "unknown constructor",
    "E119": "unknown field",
    "E120": "missing or repeated field",
    "E121": "reserved name",
    "E122": "missing module",
    "E123": "cyclic import",
    "E124": "wrong module name",
    "E125": "invalid attribute",
    "E129": "row without a type",
    "E130": "row variable in a negation",
    "E131": "invalid index",
    "E134": "invalid delay or prime",
    "E135": "unknown prefix",
    "E201": "type mismatch",
    "E202": "unsupported operand types",
    "E203": "invalid constant",
    "E204": "none of unknown type",
    "E205": "comparison with none",
    "E206": "unsupported conversion",
    "E207": "variable with two types",
    "E208": "alternatives with different types",
    "E209": "expression of unknown type",
    "E210": "incomplete match",
    "E211": "misplaced pattern",
    "E212": "no fitting form of a function",
    "E213": "bits out of range",
    "E214": "misplaced early return",
    "E215": "misplaced break, continue or return",
    "E216": "invalid assignment",
    "E217": "missing result",
    "E218": "invalid aggregate",
    "E301": "unbound variable",
    "E302": "wildcard used as a value",
    "E303": "variable assigned twice",
    "E304": "too many alternatives",
    "E401": "misplaced aggregate",
    "E403": "group by an expression",
    "E404": "variable not in group_by",
    "E405": "different groups in one rule",
    "E406": "unknown aggregate",
    "E407": "invalid aggregate argument",
    "E408": "aggregates that need each other",
    "E501": "recursion through negation",
    "E502": "recursion through an aggregate",
    "E503": "rule without the recursive aggregate",
    "E504": "non-monotone recursion",
    "E505": "recursion through best values and totals",
    "E506": "nested body in a recursion with totals",
    "E507": "relation derived from a stream",
    "E508": "recursive multiset or stream",
    "E509": "version that a relation does not have",
    "E510": "declaration that its kind does not allow",
    "W001": "unused relation",
    "W002": "relation that is always empty",
    "W003": "variable used once",
    "W004": "unused function",
    "W005": "unused type",
    "W006": "duplicate rule",
    "W007": "relation that no output depends on",
    "W008": "rule that never fires",
    "W009": "case that never applies",
    "W010": "statement that is never reached",
}


_LINE_END = re.compile(r"\r\n?|\n")


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name users know it by. Lines and columns are computed on demand.

    `first` is the number of its first line, if it is a part of a longer text. `prefixes` are those that are
    declared outside of it, with their namespaces.
    """

    name: str
    text: str
    first: int = 1
    prefixes: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    _starts: list[int] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._starts.append(0)
        self._starts.extend(end.end() for end in _LINE_END.finditer(self.text))

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both 1-based."""
        line = bisect_right(self._starts, offset)
        return line + self.first - 1, offset - self._starts[line - 1] + 1

    def line_start(self, offset: int) -> int:
        """The start offset of the line that contains an offset."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def offset(self, number: int) -> int:
        """The offset at which a line starts, by the number that `position` gives."""
        return self._starts[number - self.first]

    def line(self, number: int) -> str:
        """The text of a line, by the number that `position` gives, without its line terminator."""
        number -= self.first - 1
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    @property
    def lines(self) -> int:
        return len(self._starts)


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source, from `start` up to but not including `end`."""

    source: Source
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The range from the start of this span to the end of another span of the same source."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def is_known(self) -> bool:
        """Whether this is a location in a text that a user wrote."""
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
    """The diagnostics by position, without duplicates."""
    distinct = dict.fromkeys(diagnostics)
    return tuple(sorted(distinct, key=lambda d: (d.span.source.name, d.span.start, d.span.end, d.code)))


def clip(text: str, limit: int) -> str:
    """The text, or its beginning and its end if it is longer than the limit."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def shown(value: object, depth: int = 8) -> str:
    """A user's value as text for a message. The text is bounded, and the value's `__repr__` may raise."""
    if not depth:
        return "…"
    if isinstance(value, int) and value.bit_length() > _LONG_NUMBER:
        return f"a number of {value.bit_length()} bits"
    if type(value) in (tuple, list):
        opening, closing = "()" if isinstance(value, tuple) else "[]"
        items = [shown(item, depth - 1) for item in value[:_LONG_ROW]]  # type: ignore[index]
        more = ["…"] if len(value) > _LONG_ROW else []  # type: ignore[arg-type]
        comma = "," if opening == "(" and len(items) == 1 else ""
        return clip(f"{opening}{', '.join([*items, *more])}{comma}{closing}", _LONG_VALUE)
    try:
        return clip(repr(value), _LONG_VALUE)
    except Exception:  # the value's own methods can raise anything
        return f"a value of the class {type(value).__name__}"


def render(diagnostic: Diagnostic) -> str:
    """The diagnostic with its source line and carets below the location.

    reach.dl:3:14: error[E101]: unknown relation `Egde`
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
    """The line of a span, or the part of the line around the span, with carets below."""
    line, skipped = _window(span.source.line(number), column)
    column -= skipped
    width = max(1, min(span.end - span.start, len(line) - column + 1))
    before = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
    return [f"{gutter} |", f"{number} | {line}", f"{gutter} | {before}{'^' * width}"]


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a line to show, and by how many characters its columns shift to the left."""
    if len(line) <= WIDTH:
        return line, 0
    start = max(0, min(column - 1 - WIDTH // 3, len(line) - WIDTH))
    shown = line[start : start + WIDTH]
    opening, closing = "…" * (start > 0), "…" * (start + WIDTH < len(line))
    return f"{opening}{shown}{closing}", start - len(opening)


def select(diagnostics: Sequence[Diagnostic], most: int = MOST) -> tuple[tuple[Diagnostic, ...], str]:
    """The diagnostics that a report shows, preferring errors, and a sentence that counts the others."""
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
    """The diagnostics as text, at most `MOST` of them."""
    shown, others = select(diagnostics)
    return "\n\n".join([*(render(d) for d in shown), *([others] if others else [])])


class TidelogError(Exception):
    """Base class of all errors that Tidelog raises for users."""

    def __str__(self) -> str:
        return clip(super().__str__(), _LONG_MESSAGE)

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (type(self), self.args, _picklable(vars(self)))


def _unpickled(
    kind: type[TidelogError], args: tuple[object, ...], contents: dict[str, object]
) -> TidelogError:
    """The exception as it was when it was pickled. `__init__` is not called again."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(contents)
    return error


def _picklable(contents: dict[str, object]) -> dict[str, object]:
    """The contents. A user's value that cannot be pickled is replaced with its description."""
    return {name: value if _can_pickle(value) else repr(value) for name, value in contents.items()}


def _can_pickle(value: object) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # the value's own methods can raise anything
        return False
    return True


class ProgramError(TidelogError):
    """A program text cannot be loaded.

    `diagnostics` holds everything that is wrong with it; the message shows at most `MOST` diagnostics.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = sort(diagnostics)
        super().__init__(report(self.diagnostics))

    def __str__(self) -> str:
        return str(self.args[0])


class EngineError(TidelogError):
    """A run failed. Its transaction changed nothing."""


class SessionError(TidelogError):
    """A session cannot do what was requested, such as two transactions at once in one thread."""


class StoreError(TidelogError):
    """A store cannot be opened or read, or belongs to another program."""


class PipelineError(TidelogError):
    """A pipeline is misconfigured, or its run failed. What it has already committed is kept."""


class DataError(TidelogError):
    """Facts do not match their relation, or a file of facts cannot be read. None of the facts is inserted.

    `row` is 0-based like the data, `line` is 1-based like editors. Fields that do not apply are None.
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
        """The same error, with the file and line it comes from."""
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
