"""Executes statements on a session, and says what they did.

Invariant: a statement that raises has changed nothing; an open transaction stays open, except by a commit
that fails, which ends it. Without an open transaction, each statement is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, assert_never

from tidelog.cli.repl.showing import NOTE, WARNING, Line, answers, changed, fact_text
from tidelog.cli.repl.statements import (
    Add,
    Assert,
    Command,
    Query,
    RemoveNumber,
    Retract,
    Statement,
)
from tidelog.data.values import Row
from tidelog.errors import Diagnostic, ProgramError, SessionError
from tidelog.program.declared import RelationKind
from tidelog.session import Session, Transaction
from tidelog.session.rules import SessionRule
from tidelog.session.writing import WrittenFact
from tidelog.syntax import tree

__all__ = ["Console"]

_SHOWN_WARNINGS: Final = ("W003", "W006", "W008", "W009")  # the others are about whole programs


class Console:
    """`commands` execute what begins with a colon."""

    def __init__(
        self,
        db: Session,
        say: Callable[[Line], object],
        commands: Callable[[Console, Command], object],
    ) -> None:
        self.db = db
        self.say = say
        self._commands = commands
        self.open: Transaction | None = None  # the transaction that `begin` began
        self.is_over = False
        self.saved: set[Path] = set()  # files that were written here, and may be replaced
        self._numbers: dict[SessionRule, int] = {}
        self._warned = set(db.program.warnings)
        for rule in db.rules:
            self.number(rule)

    def execute(self, statement: Statement) -> None:
        """Carry out a statement. Raises TidelogError."""
        try:
            self._execute(statement)
        except ProgramError as error:
            raise ProgramError([statement.place.located(d) for d in error.diagnostics]) from None

    def close(self) -> bool:
        """Roll back an open transaction; returns whether there was one."""
        was_open = self.open is not None
        if self.open is not None:
            self.open.rollback()
            self.open = None
        return was_open

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Those of the program, with their namespaces."""
        return self.db.program.names.prefixes

    def number(self, rule: SessionRule) -> int:
        """The number of a rule, which it keeps."""
        return self._numbers.setdefault(rule, len(self._numbers) + 1)

    @property
    def rules(self) -> tuple[SessionRule, ...]:
        """The rules, with the changes of the open transaction."""
        return self.db.rules if self.open is None else self.open.rules

    def rule(self, number: int) -> SessionRule:
        for rule in self.rules:
            if self._numbers.get(rule) == number:
                return rule
        raise SessionError(f"there is no rule {number}; `:rules` lists the rules with their numbers")

    # -- statements

    def _execute(self, statement: Statement) -> None:
        match statement:
            case Add(place, item):
                self.add(place.aligned, place.lines.name, place.lines.first, [item])
            case Assert(place):
                with self.changing() as (tx, _):
                    self.insert(tx, tx.facts(place.aligned, place.lines.name, place.lines.first))
            case Retract(place, item):
                self._retract(place.aligned, place.lines.name, place.lines.first, is_fact=not item.body)
            case RemoveNumber(_, number):
                with self.changing() as (tx, said):
                    said.append(self._removed(tx.remove_rule(self.rule(number))))
            case Query(place):
                for line in answers(self.db.query(place.aligned)):
                    self.say(line)
                if self.open is not None:
                    self.say(Line("as of the last commit; the open transaction is not included", NOTE))
            case Command():
                self._commands(self, statement)
            case _:
                assert_never(statement)

    def add(self, text: str, name: str, line: int, items: Sequence[tree.Item]) -> None:
        """Add declarations and rules."""
        with self.changing() as (tx, said):
            known = self._is_known()
            rules = tx.load(text, name, line)
            said += [Line(t, NOTE) for item in items if (t := _declared(item))]
            for rule in rules:
                already = "already " if known(rule) else ""
                said.append(Line(f"{already}rule {self.number(rule)}: {_on_one_line(rule.text)}", NOTE))

    def insert(self, tx: Transaction, facts: Sequence[WrittenFact]) -> None:
        """Assert facts. Those of one relation are inserted together, or not at all."""
        rows: dict[str, list[Row]] = {}
        for fact in facts:
            rows.setdefault(fact.relation, []).append(fact.row)
        if len(rows) > 1 and self.open is not None:
            raise SessionError("in an open transaction, assert facts of one relation at a time")
        for relation, given in rows.items():
            tx.insert(relation, given)

    def _is_known(self) -> Callable[[SessionRule], bool]:
        """Whether the program has a rule now; later changes don't matter."""
        if self.open is not None:
            return set(self.open.rules).__contains__
        rules = self.db.program.rules
        return lambda rule: rule.rule.id in rules

    def _retract(self, text: str, name: str, line: int, *, is_fact: bool) -> None:
        with self.changing() as (tx, said):
            if not is_fact:
                said.append(self._removed(tx.remove_rule(text)))
                return
            facts = tx.facts(text, name, line)
            known = self._is_known()
            for rule in dict.fromkeys(f.rule for f in facts):
                if known(rule):
                    said.append(self._removed(tx.remove_rule(rule)))
            for fact in facts:
                tx.delete(fact.relation, [fact.row])
            if not said and self.open is None:
                said.extend(self._not_asserted(facts))

    def _not_asserted(self, facts: Sequence[WrittenFact]) -> Iterator[Line]:
        """Facts that cannot be retracted, since nobody asserted them."""
        for fact in facts:
            relation, view = self.db.program.relations[fact.relation], self.db[fact.relation]
            if relation.kind is not RelationKind.SET:
                continue
            is_given = view.is_given(fact.row)
            if is_given is None:
                is_given = fact.row in view.given
            if not is_given:
                reason = "; rules derive it" if fact.row in view else ""
                yield Line(f"{fact_text(relation, fact.row)} is not asserted{reason}", NOTE)

    def _removed(self, rule: SessionRule) -> Line:
        return Line(f"rule {self.number(rule)} removed: {_on_one_line(rule.text)}", NOTE)

    # -- transactions

    @contextmanager
    def changing(self) -> Iterator[tuple[Transaction, list[Line]]]:
        """The open transaction, or one that is committed at the end; and what is said when that is done."""
        said: list[Line] = []
        if self.open is not None:
            yield self.open, said
            for line in said:
                self.say(line)
            return
        tx, numbers = self.db.transaction(), self._numbers.copy()
        try:
            yield tx, said
            self._commit(tx, said)
        except BaseException:
            self._numbers = numbers
            raise
        finally:
            if tx.is_open:
                tx.rollback()

    def begin(self) -> None:
        if self.open is not None:
            raise SessionError("a transaction is open already; end it with `commit` or `rollback`")
        self.open = self.db.transaction()

    def commit(self) -> None:
        tx, self.open = self.opened, None
        self._commit(tx, [])

    def rollback(self) -> None:
        self.opened.rollback()
        self.open = None

    def preview(self) -> None:
        for line in changed(self.opened.preview()):
            self.say(line)

    @property
    def opened(self) -> Transaction:
        if self.open is None:
            raise SessionError("no transaction is open; `begin` opens one")
        return self.open

    def _commit(self, tx: Transaction, said: Sequence[Line]) -> None:
        before = self.db.program
        try:
            tx.commit()
        except KeyboardInterrupt:
            with suppress(SessionError):  # it came too late, and the commit stands
                self._say_changed(tx, said, is_other=before is not self.db.program)
            raise
        self._say_changed(tx, said, is_other=before is not self.db.program)

    def _say_changed(self, tx: Transaction, said: Sequence[Line], *, is_other: bool) -> None:
        changes = tx.changes
        for line in said:
            self.say(line)
        if len(changes) or not said:
            for line in changed(changes):
                self.say(line)
        if is_other:
            for warning in self._new_warnings():
                self.say(Line(f"{warning}\n", WARNING))

    def _new_warnings(self) -> list[Diagnostic]:
        new = [w for w in self.db.program.warnings if w not in self._warned]
        self._warned.update(new)
        return [w for w in new if w.code in _SHOWN_WARNINGS]


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _declared(item: tree.Item) -> str:
    """What an item declares; nothing if it is a rule."""
    match item:
        case tree.Rule() | tree.RuleLoop():
            return ""
        case tree.Relation(name=name, kind=kind):
            return f"{kind or 'relation'} {name} declared"
        case tree.Alias(name=name) | tree.TypeDefinition(name=name):
            return f"type {name} declared"
        case tree.Function(name=name):
            return f"function {name} declared"
        case tree.Fold(name=name):
            return f"aggregate {name} declared"
        case tree.Index(name=name):
            return f"index {name} declared"
        case tree.Import(path=path):
            return f"module {path} imported"
        case tree.Module(path=path):
            return f"module {path}"
        case tree.Prefix(name, namespace):
            return f"prefix {name}: <{namespace}>"
        case _:
            assert_never(item)
