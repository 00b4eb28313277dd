"""Transactions: changes of facts and rules that take effect together, or not at all.

Names and types are checked at each call, and a call that fails has no effect. Whether the program can be
stratified is checked at the commit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tidelog.errors import DataError, SessionError
from tidelog.program.declared import Function, PythonFunction, Relation
from tidelog.program.draft import Draft
from tidelog.program.model import Program
from tidelog.program.text import print_function, print_relation
from tidelog.program.typed import Rule
from tidelog.progress import end
from tidelog.session.backends.protocol import Staging
from tidelog.session.changes import Changes
from tidelog.session.interrupt import interrupts_noted
from tidelog.session.names import as_path, expect_text, find_relation
from tidelog.session.rules import SessionRule
from tidelog.session.writing import WrittenFact, facts_of
from tidelog.syntax.written import Written
from tidelog.tables.given import relation_from_data

if TYPE_CHECKING:
    from tidelog.session.session import Session

__all__ = ["Transaction"]


class Transaction:
    """Use it in a `with` block, which commits at its end and rolls back if an exception leaves it.

    Without a block, call `commit` or `rollback`. If a fact is changed several times, the last change counts.
    Inserting an existing fact, or deleting a missing one, changes nothing.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._state = session._kinds
        self._draft: Draft | None = None  # the new program, if it changes
        self._finished: Program | None = None  # the finished draft, if known
        self._staged: dict[str, Staging] = {}
        self._is_open = True
        self._is_ending = False  # set before the staged data is taken
        self._changes: Changes | None = None

    # -- facts

    def insert(self, relation: str, data: object) -> None:
        """Assert facts: rows (tuples, dicts, dataclasses), a frame, Arrow, NumPy, or a dict of columns.

        With a primary key, a row with the key of another row is an error.
        """
        with self._loading():
            self._facts(self._declared(relation)).insert(data)

    def delete(self, relation: str, data: object) -> None:
        """Retract asserted facts; facts that rules derive remain."""
        with self._loading():
            self._facts(self._declared(relation)).delete(data)

    def upsert(self, relation: str, data: object) -> None:
        """Assert facts, replacing those with the same primary keys."""
        with self._loading():
            self._facts(self._keyed(relation)).upsert(data)

    def delete_keys(self, relation: str, keys: object) -> None:
        """Retract the facts with these primary keys: single values, tuples, or anything `insert` accepts."""
        with self._loading():
            self._facts(self._keyed(relation)).delete_keys(keys)

    def clear(self, relation: str) -> None:
        """Retract all asserted facts of a relation."""
        with self._loading():
            self._facts(self._declared(relation)).delete_all()

    def insert_folder(
        self, folder: str | Path, *, allow_missing: bool = False, header: bool = True
    ) -> tuple[Path, ...]:
        """Assert the facts in a folder, one file for each input relation; returns the files of no relation.

        A file has the name of its relation (`Edge.csv`, `Edge.parquet`, …). A missing file is an error; with
        `allow_missing`, the relation stays as it is. CSV has a header that names the columns. With
        `header=False` no file has one, and columns are matched by position.
        """
        self._expect_open()
        report = self._state.report
        from tidelog.session.folders import read_folder  # imports the libraries of all formats

        found, others = read_folder(
            self.relations,
            as_path("insert_folder", folder),
            report,
            allow_missing=allow_missing,
            header=header,
        )
        try:
            for name, table in found:
                self.insert(name, table)
        finally:
            end(report)
        return others

    # -- program

    def begin_with(self, draft: Draft) -> None:
        """Make a draft the program of a session that has none; ProgramError if it cannot be stratified."""
        program = draft.finish()
        self._adopt(draft)
        self._finished = program

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations of the program, with the changes of this transaction so far."""
        return self._state.program.relations if self._draft is None else self._draft.relations

    @property
    def rules(self) -> tuple[SessionRule, ...]:
        """The rules of the program, with the changes of this transaction so far."""
        known = self._state.program.rules if self._draft is None else self._draft.rules
        return tuple(map(SessionRule, known.values()))

    def load(self, text: str | Written, name: str = "<text>", line: int = 1) -> tuple[SessionRule, ...]:
        """Add the declarations and rules of a text; returns its rules.

        Messages call the text `name`, and its first line by the number `line`.
        """
        self._expect_open()
        whole = expect_text("load", text)
        return self._add(lambda draft: draft.load(whole, name, line))

    def facts(
        self, text: str | Written, name: str = "<text>", line: int = 1, *, given: str = ""
    ) -> tuple[WrittenFact, ...]:
        """The facts in a text, such as `Edge("a", "b" ++ "c").`, with their rows; nothing is changed.

        `given` are declarations that are not part of the program yet. Pass the rows to `insert` or `delete`.
        """
        self._expect_open()
        whole = expect_text("facts", text)
        draft = self._edited().copy()
        if given:
            draft.load(given, name)
        return tuple(
            WrittenFact(SessionRule(rule), relation, row)
            for rule in draft.read(whole, name, line)
            for relation, row in facts_of(rule, draft.functions)
        )

    def add_rule(self, text: str | Written) -> SessionRule:
        """Add one rule. An existing rule, whatever the names of its variables, changes nothing."""
        self._expect_open()
        whole = expect_text("add_rule", text)
        return self._add(lambda draft: (draft.add_rule(whole),))[0]

    def remove_rule(self, rule: SessionRule | Rule | str | Written) -> SessionRule:
        """Remove a rule, given as an object or as text."""
        self._expect_open()
        if not isinstance(rule, SessionRule | Rule):
            rule = expect_text("remove_rule", rule)
        return SessionRule(self._edited().remove_rule(rule.rule if isinstance(rule, SessionRule) else rule))

    def replace_program(self, text: str | Written, name: str = "<text>") -> None:
        """Replace the whole program with the declarations and rules of a text.

        Relations and rules that both programs share are kept and not recomputed. Python functions stay
        registered. A function with another definition than before is an error: give it another name.
        """
        self._expect_open()
        text = expect_text("replace_program", text)
        before = self._edited().finish()
        kept = {n: f for n, f in before.functions.items() if isinstance(f, PythonFunction)}
        draft = Draft(Program(functions=kept), self._session._search)
        draft.load(text, name)
        after = draft.finish().functions
        other = [n for n, f in before.functions.items() if n in after and _meaning(f) != _meaning(after[n])]
        if other:
            raise SessionError(f"the function `{other[0]}` has a new definition; give it another name")
        self._adopt(draft)

    def drop(self, relation: str) -> None:
        """Drop a relation that no rule uses, with its facts."""
        declared = self._declared(relation)
        self._edited().drop(relation)
        self._facts(declared).delete_all()
        if relation not in self._state.program.relations:
            del self._staged[relation]

    def register(self, function: Callable[..., object], name: str | None = None) -> None:
        """Make a Python function callable from rules; its types come from its annotations."""
        self._expect_open()
        self._edited().register(function, name)

    def relation_from(self, name: str, data: object) -> None:
        """Declare an input relation with the columns of a frame, and insert its rows."""
        self._expect_open()
        expect_text("relation_from", name)
        if name in self.relations:
            raise DataError(name, "the relation already exists; insert into it")
        relation = relation_from_data(name, data)
        self.load(print_relation(relation), f"<{name}>")
        self.insert(name, data)

    # -- ending

    def preview(self) -> Changes:
        """The changes that a commit would make now; nothing is committed, and the transaction stays open."""
        self._expect_open()
        program = self._program()
        with interrupts_noted() as check:
            return self._state.carry_out(program, self._staged, check, keep=False).changes

    def commit(self) -> Changes:
        """Commit; returns the changes. If it raises, nothing has changed, and the transaction is over."""
        self._expect_open()
        self._is_ending = True
        before = self._state.program
        with interrupts_noted() as check:
            try:
                done = self._state.carry_out(self._program(), self._staged, check, keep=True)
                self._changes = done.changes
                self._session._committed(done, before)
            finally:
                self._end()
        self._session._deliver()
        return done.changes

    def rollback(self) -> None:
        """Discard all changes."""
        self._expect_open()
        self._end()

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def changes(self) -> Changes:
        """The changes of the commit."""
        if self._changes is None:
            raise SessionError(
                "the transaction has no changes: it is not committed; commit it, or use preview()"
            )
        return self._changes

    def __repr__(self) -> str:
        if self._is_open:
            return f"<transaction, open, on {self._session!r}>"
        return f"<transaction, {'not ' if self._changes is None else ''}committed>"

    def __enter__(self) -> Transaction:
        self._expect_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_open:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):  # abandoned: other threads may be waiting
            self._end()
            message = "a transaction was neither committed nor rolled back; its changes are discarded"
            warnings.warn(message, ResourceWarning, stacklevel=2, source=self)

    # -- implementation

    def _end(self) -> None:
        self._is_ending = True
        self._is_open = False
        self._staged = {}
        self._session._release()

    def _expect_open(self) -> None:
        if not self._is_open:
            raise SessionError("the transaction is over; begin another with db.transaction()")

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Raise SessionError if the transaction ends while data is loaded, which may be too late for it."""
        yield
        if self._is_ending:
            raise SessionError(
                "the transaction ended while data was being loaded, which may not be part of it;"
                " commit when all threads have loaded their data"
            )

    def _edited(self) -> Draft:
        if self._draft is None:
            self._draft = Draft(self._state.program, self._session._search)
        self._finished = None
        return self._draft

    def _program(self) -> Program:
        """The program to commit; ProgramError if it cannot be stratified."""
        if self._draft is None:
            return self._state.program
        if self._finished is None:
            self._finished = self._draft.finish()
        return self._finished

    def _declared(self, name: str) -> Relation:
        self._expect_open()
        return find_relation(name, self.relations)

    def _keyed(self, name: str) -> Relation:
        declared = self._declared(name)
        if declared.key is None:
            raise DataError(name, "the relation has no primary key; declare one, or use insert and delete")
        return declared

    def _add(self, add: Callable[[Draft], tuple[Rule, ...]]) -> tuple[SessionRule, ...]:
        draft = self._edited().copy()
        rules = add(draft)
        self._adopt(draft)
        return tuple(SessionRule(rule) for rule in rules)

    def _adopt(self, draft: Draft) -> None:
        """Continue with another draft; SessionError if it redeclares a relation of the last commit."""
        for name, relation in draft.redeclared(self._state.program):
            before = self._state.program.relations[name]
            if (before.types, before.key, before.kind) != (relation.types, relation.key, relation.kind):
                raise SessionError(
                    f"`{name}` is dropped and declared differently in one transaction; use two transactions"
                )
        self._draft, self._finished = draft, None

    def _facts(self, relation: Relation) -> Staging:
        staged = self._staged.get(relation.name)
        if staged is None:  # another thread may use this transaction too
            staged = self._staged.setdefault(relation.name, self._state.stage(relation))
        return staged


def _meaning(function: Function | PythonFunction) -> object:
    return print_function(function) if isinstance(function, Function) else function
