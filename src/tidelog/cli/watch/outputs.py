"""Output relations: what changed in them, and their files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidelog.cli.repl.showing import ChangedRows, Line, changed_rows
from tidelog.program.declared import Relation, Role
from tidelog.session import Changes, Session
from tidelog.session.facts import WholeFacts
from tidelog.session.folders import write_folder
from tidelog.session.rendering import counted

__all__ = ["Difference", "Folder", "after", "between", "outputs"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The rows that an output relation has gained and lost, with 1 and -1 or with weights."""

    relation: Relation
    rows: ChangedRows
    summary: str

    def shown(self) -> Iterator[Line]:
        yield Line(self.summary)
        yield from changed_rows(self.relation, self.rows, self.summary)


def outputs(db: Session) -> dict[str, WholeFacts]:
    roles = {name: relation.role for name, relation in db.program.relations.items()}
    return {name: view for name, view in db.snapshot().items() if roles[name] is Role.OUTPUT}


def after(changes: Changes, db: Session) -> list[Difference]:
    """The changes of a commit in the outputs of a session."""
    names = outputs(db).keys()
    return [Difference(c.relation, c, c.summary()) for name, c in changes.items() if name in names]


def between(old: Session, new: Session) -> list[Difference]:
    """The differences between the outputs of two sessions."""
    found: list[Difference] = []
    before = outputs(old)
    for name, view in outputs(new).items():
        known = before.get(name)
        is_same = known is not None and known.relation.types == view.relation.types
        now, then = set(view), set(known) if known is not None and is_same else set()
        rows = [*((row, 1) for row in now - then), *((row, -1) for row in then - now)]
        if rows:
            added = counted(len(now - then), "row")
            summary = f"{name}: {added} added, {len(then - now):,} removed"
            found.append(Difference(view.relation, rows, summary))
    return found


class Folder:
    """The files of the outputs. Those that were written here are removed when their relations are."""

    def __init__(self, path: Path, form: str) -> None:
        self._path = path
        self._form = form
        self._written: dict[str, Path] = {}
        self._late: set[str] = set()  # relations whose files have other rows

    def bring_up_to_date(self, db: Session, changed: Collection[str] | None) -> None:
        """Write the outputs that changed, by default all, and those that could not be written. DataError."""
        views = outputs(db)
        self._late |= views.keys() if changed is None else set(changed)
        names = [name for name in views if name in self._late or name not in self._written]
        made = dict(
            zip(names, write_folder([views[n] for n in names], self._path, self._form, None), strict=True)
        )
        self._late.clear()
        old = set(self._written.values())
        self._written = {name: path for name, path in self._written.items() if name in views} | made
        for path in old - set(self._written.values()):
            with suppress(OSError):
                path.unlink()
