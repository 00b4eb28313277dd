"""Keeps a session equal to what a program and its facts say now.

Invariant: after a step that succeeds, the outputs are those of `tidelog run` on the same files; after one
that fails, they are as before. A step happens only when files have stayed as they are since the last look, so
a file that is being written or replaced is waited for. What changes during a step is noticed by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.cli.repl.showing import NOTE, Line
from tidelog.cli.watch.contents import Contents, Digests
from tidelog.cli.watch.outputs import Difference, Folder, after, between, outputs
from tidelog.errors import SessionError, TidelogError
from tidelog.program.declared import Relation, RelationKind, Role
from tidelog.program.model import Program
from tidelog.program.modules import files_looked_at
from tidelog.program.weighting import has_versions
from tidelog.session import Session, Transaction
from tidelog.session.folders import find_files, read_file
from tidelog.session.rendering import counted

__all__ = ["Paths", "Watcher"]


@dataclass(frozen=True, slots=True)
class Paths:
    """What is read: a program, its facts, and where its modules are."""

    program: Path
    facts: Path | None = None
    search: Sequence[Path] = ()
    allow_missing: bool = False
    header: bool = True


@dataclass(slots=True)
class _State:
    """A session, and what it was made from: the program with its modules, and for each input relation its
    declaration and its file.
    """

    db: Session
    program: Digests = field(default_factory=dict)
    inputs: dict[str, tuple[Relation, Path, bytes]] = field(default_factory=dict)


class Watcher:
    """`open_session` opens an empty session; `say` takes what changed, and `complain` what is wrong."""

    def __init__(
        self,
        paths: Paths,
        open_session: Callable[[], Session],
        say: Callable[[Line], object],
        complain: Callable[[TidelogError], object],
        folder: Folder | None = None,
    ) -> None:
        self._paths = paths
        self._open = open_session
        self._say = say
        self._complain = complain
        self._folder = folder
        self._contents = Contents()
        self._others: tuple[Path, ...] = ()  # modules, and files that declarations name
        self._seen: Digests | None = None  # at the last look
        self._done: Digests | None = None  # at the look before the last attempt
        self._state: _State | None = None  # the last good one
        self._complaint = ""

    @property
    def db(self) -> Session | None:
        """The session in its last good state."""
        return None if self._state is None else self._state.db

    def step(self) -> bool:
        """Look at the files, and bring everything up to date if they have changed and are at rest."""
        now = self._look()
        before, self._seen = self._seen, now
        if now == self._done or (before is not None and now != before):
            return False
        is_edit = self._done is None or any(now.get(path) != digest for path, digest in self._done.items())
        self._done = now
        self._attempt(now, is_edit)
        return True

    def _look(self) -> Digests:
        facts = self._paths.facts
        return self._contents.look((self._paths.program, *self._others), () if facts is None else (facts,))

    def _attempt(self, now: Digests, is_edit: bool) -> None:
        before, self._complaint = self._complaint, ""
        try:
            differences = self._bring_up_to_date(now)
            assert self._state is not None
            self._report(self._state.db, differences, is_mended=bool(before))
            if self._folder is not None:
                changed = None if differences is None else [d.relation.name for d in differences]
                self._folder.bring_up_to_date(self._state.db, changed)
        except TidelogError as error:
            self._complaint = str(error)
            if is_edit or self._complaint != before:
                self._complain(error)

    def _report(self, db: Session, differences: list[Difference] | None, *, is_mended: bool) -> None:
        if differences is None:
            for name, view in outputs(db).items():
                self._say(Line(f"{name}: {counted(len(view), 'row')}"))
        for difference in differences or ():
            for line in difference.shown():
                self._say(line)
        if is_mended and differences == []:
            self._say(Line("mended, without other changes", NOTE))

    # -- the session

    def _bring_up_to_date(self, now: Digests) -> list[Difference] | None:
        """The differences to the last good state; None if there was none. Raises TidelogError."""
        text = _read(self._paths.program)
        self._others = files_looked_at(text, str(self._paths.program), self._paths.search)
        program = {path: now.get(path, b"") for path in (self._paths.program, *self._others)}
        state = self._state
        if state is None or _has_history(state.db.program):
            return self._restart(text, program, now)
        try:
            return self._update(state, text, program, now)
        except SessionError:  # some changes of programs cannot be made in place
            return self._restart(text, program, now)

    def _update(self, state: _State, text: str, program: Digests, now: Digests) -> list[Difference]:
        with state.db.transaction() as tx:
            if program != state.program or not now.keys() >= program.keys():
                tx.replace_program(text, str(self._paths.program))
            inputs = self._read_facts(tx, state, now)
        state.program, state.inputs = program, inputs
        return after(tx.changes, state.db)

    def _restart(self, text: str, program: Digests, now: Digests) -> list[Difference] | None:
        state = _State(self._open(), program)
        with state.db.transaction() as tx:
            tx.load(text, str(self._paths.program))
            state.inputs = self._read_facts(tx, state, now)
        old, self._state = self._state, state
        return None if old is None else between(old.db, state.db)

    def _read_facts(
        self, tx: Transaction, state: _State, now: Digests
    ) -> dict[str, tuple[Relation, Path, bytes]]:
        """Read the files that are new or changed, into relations that then have their facts only."""
        paths = self._paths
        read = [r for r in tx.relations.values() if r.role is Role.INPUT]
        if paths.facts is None:
            if read and not paths.allow_missing:
                names = ", ".join(r.name for r in read)
                raise SessionError(f"missing facts for {names}; give their folder with -F FOLDER")
            return {}
        named = [r.options.file for r in read if r.options.file]
        self._others += tuple(paths.facts / name for name in named)
        found = find_files(tx.relations, paths.facts, allow_missing=paths.allow_missing)[0]
        inputs: dict[str, tuple[Relation, Path, bytes]] = {}
        for relation, path in found:
            inputs[relation.name] = relation, path, now.get(path, b"")
            if state.inputs.get(relation.name) == inputs[relation.name] and path in now:
                continue
            table = read_file(relation, path, header=paths.header)
            tx.clear(relation.name)
            tx.insert(relation.name, table)
        for name in state.inputs.keys() - inputs.keys():
            if name in tx.relations:
                tx.clear(name)
        return inputs


def _read(program: Path) -> str:
    try:
        return program.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SessionError(f"{program} is not UTF-8 text (at byte {error.start})") from None
    except OSError as error:
        raise SessionError(f"{program} cannot be read: {error.strerror}") from None


def _has_history(program: Program) -> bool:
    """Whether results depend on more than the final facts: streams, and relations of earlier commits."""
    kinds = {relation.kind for relation in program.relations.values()}
    return RelationKind.STREAM in kinds or any(map(has_versions, program.rules.values()))
