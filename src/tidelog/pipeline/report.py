"""What a run did, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.pipeline.sources.reading import BadRow

__all__ = ["SHOWN", "Count", "Outcome", "SourceReport", "too_bad"]

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows came and went."""

    came: int = 0
    went: int = 0

    def __bool__(self) -> bool:
        return bool(self.came or self.went)

    def __str__(self) -> str:
        return f"{self.came:,} came, {self.went:,} went"


@dataclass(frozen=True, slots=True)
class SourceReport:
    """`is_read` is false if the source was as it was; `bad` counts the rows that did not fit.

    If files had only come, these `new_files` are what was read.
    """

    is_read: bool
    difference: Count = Count()
    bad: int = 0
    new_files: int = 0

    def __str__(self) -> str:
        if not self.is_read:
            return "as it was"
        bad = f"; {self.bad:,} bad row{'s' * (self.bad != 1)} set aside" if self.bad else ""
        new = f", from {self.new_files:,} new file{'s' * (self.new_files != 1)}" if self.new_files else ""
        return f"{self.difference}{new}{bad}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`commit` is the store's last one, `is_new` whether this run made it.

    `changes` are those of the relations that results are made of, `sizes` what they hold now, `places` where
    the sinks are, by their names (`outputs.R`, `changes.R`). `bad_rows` has the first few. `reworked` says
    why all results had to be worked out again, if the run was to go on from a saved state and could not.
    """

    commit: int
    is_new: bool
    sources: Mapping[str, SourceReport] = field(default_factory=dict)
    changes: Mapping[str, Count] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    bad_rows: tuple[BadRow, ...] = ()
    quarantine: str | None = None
    reworked: str = ""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.is_new:
            yield f"nothing has changed since commit {self.commit}"
            yield from (f"  {name}: {place}" for name, place in self.places.items())
            return
        yield f"commit {self.commit}"
        if self.reworked:
            yield f"  everything was worked out again: {self.reworked}"
        yield from (f"  sources.{name}: {report}" for name, report in self.sources.items())
        for name, count in self.changes.items():
            size = self.sizes[name]
            yield f"  {name}: {size:,} row{'s' * (size != 1)} ({count})"
        yield from (f"  {name}: {place}" for name, place in self.places.items())
        bad = sum(report.bad for report in self.sources.values())
        if bad:
            yield f"  {bad:,} bad row{'s' * (bad != 1)} went to {self.quarantine}; the first:"
            yield from (f"    {row}" for row in self.bad_rows)


def too_bad(place: str, count: int, rows: Sequence[BadRow]) -> str:
    """What to say when bad rows end a run."""
    lines = [
        f"{place}: {count:,} row{'s do' if count != 1 else ' does'} not fit; nothing was changed",
        *(f"  {row}" for row in rows),
        *([f"  … and {count - len(rows):,} more"] if count > len(rows) else []),
        '  correct them, or set them aside with bad_rows = "quarantine" and quarantine = "FOLDER"',
    ]
    return "\n".join(lines)
