"""Reports of runs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.pipeline.sources.reading import BadRow

__all__ = ["SHOWN", "Count", "Outcome", "SourceReport", "too_bad"]

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Count:
    """Numbers of rows added and removed."""

    inserted: int = 0
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.deleted)

    def __str__(self) -> str:
        return f"{self.inserted:,} added, {self.deleted:,} removed"


@dataclass(frozen=True, slots=True)
class SourceReport:
    """`is_read` is false if the source was unchanged; `bad` counts the rows that don't match the schema.

    If only some files were read, `new_files` is their number; `removed_files` counts those that were removed
    or replaced. `note` says why a source was read in full that usually is not.
    """

    is_read: bool
    difference: Count = Count()
    bad: int = 0
    new_files: int = 0
    removed_files: int = 0
    note: str = ""

    def __str__(self) -> str:
        if not self.is_read:
            return "unchanged"
        bad = f"; {self.bad:,} bad row{'s' * (self.bad != 1)} quarantined" if self.bad else ""
        counts = [(self.new_files, "new"), (self.removed_files, "removed")]
        files = " and ".join(f"{n:,} {kind} file{'s' * (n != 1)}" for n, kind in counts if n)
        note = f"; {self.note}" if self.note else ""
        return f"{self.difference}{', from ' * bool(files)}{files}{bad}{note}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`commit` is the last commit of the store, `is_new` whether this run made it.

    `changes` and `sizes` are the changes and current sizes of the stored relations that are not inputs.
    `places` are the locations of the sinks, by name (`outputs.R`, `changes.R`). `bad_rows` has the first few.
    `reworked` says why all results were recomputed, if there was a saved state that could not be used.
    `partly` says so of strata, by their names; they are recomputed at the latest when they change.
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
    partly: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.is_new:
            yield f"nothing has changed since commit {self.commit}"
            yield from (f"  {name}: {place}" for name, place in self.places.items())
            return
        yield f"commit {self.commit}"
        if self.reworked:
            yield f"  all results were recomputed: {self.reworked}"
        yield from (f"  {name} is recomputed: {why}" for name, why in self.partly.items())
        yield from (f"  sources.{name}: {report}" for name, report in self.sources.items())
        for name, count in self.changes.items():
            size = self.sizes[name]
            yield f"  {name}: {size:,} row{'s' * (size != 1)} ({count})"
        yield from (f"  {name}: {place}" for name, place in self.places.items())
        bad = sum(report.bad for report in self.sources.values())
        if bad:
            yield f"  {bad:,} bad row{'s' * (bad != 1)} written to {self.quarantine}; the first:"
            yield from (f"    {row}" for row in self.bad_rows)


def too_bad(place: str, count: int, rows: Sequence[BadRow]) -> str:
    """The message of a run that fails because of bad rows."""
    lines = [
        f"{place}: {count:,} row{'s do' if count != 1 else ' does'} not match the schema; no changes applied",
        *(f"  {row}" for row in rows),
        *([f"  … and {count - len(rows):,} more"] if count > len(rows) else []),
        '  fix them, or quarantine them with bad_rows = "quarantine" and quarantine = "FOLDER"',
    ]
    return "\n".join(lines)
