"""What a session has to do, in plain Python on the reference reasoner: no code of sessions or engines.

The model keeps the program, the asserted facts and everything that follows. A step gives an `Outcome`: how
the transaction ended, what it changed, what everything holds afterwards and, if that changed, what each
rule's body finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from oracle.language import host
from oracle.language.case import (
    Action,
    AddRule,
    Case,
    Clear,
    Delete,
    DeleteKeys,
    Insert,
    RemoveRule,
    Replace,
    RuleText,
    Step,
    Upsert,
)
from tidelog.data.values import Row, canonical
from tidelog.errors import EngineError, ProgramError, TidelogError
from tidelog.program.declared import Relation
from tidelog.program.draft import Draft
from tidelog.program.model import Program
from tidelog.program.query import Query
from tidelog.program.typed import Term
from tidelog.reference.chibi import answers, extend
from tidelog.reference.facts import IndexedFacts, Substitution

__all__ = ["MAX_ROUNDS", "Change", "Contents", "KeyConflict", "Model", "Outcome", "TooLarge", "outcomes"]

MAX_ROUNDS = 100  # a recursion of these small programs that takes longer never ends
MAX_MATCHES = 3_000

Contents = dict[str, frozenset[Row]]
Change = tuple[frozenset[Row], frozenset[Row]]  # inserted, deleted


class TooLarge(Exception):
    """The reference would take too long on this case."""


class KeyConflict(Exception):
    """Two rows with one primary key."""


class NoRelation(Exception):
    """The program has lost the relation."""


class _Counted(IndexedFacts):
    """Facts that give up after a number of matches."""

    left: ClassVar[int] = 0

    def _candidates(self, relation: str, terms: tuple[Term, ...], known: Substitution) -> tuple[Row, ...]:
        found = tuple(super()._candidates(relation, terms, known))
        _Counted.left -= 1 + len(found)
        if _Counted.left < 0:
            raise TooLarge
        return found


@dataclass(frozen=True)
class Outcome:
    """`ended` is committed, rolled back, failed (an expression failed) or refused (not a program).

    `refused` are the positions of the actions that were errors of their own; `given` is what is asserted
    afterwards. `previewed` is the change that a preview tells, None if it failed or was not asked for.
    """

    ended: str
    refused: tuple[int, ...]
    changes: dict[str, Change]
    contents: Contents
    given: Contents
    previewed: dict[str, Change] | None = None
    answers: dict[RuleText, frozenset[Row] | None] = field(default_factory=dict)


class Model:
    def __init__(self, case: Case) -> None:
        self.program: Program
        self.rules: dict[str, RuleText] = {}  # by identity
        self._queries: dict[RuleText, Query] = {}
        draft = host.draft()
        draft.load("\n".join(case.declarations))
        for rule in case.rules:
            self.rules[draft.add_rule(rule.text).id] = rule
        self.program = draft.finish()
        self.given: Contents = {}
        self.contents = self._consequences(self.program, {})

    def take(self, step: Step, *, ask: bool = True) -> Outcome:
        """Carry a step out."""
        work = _Work(self)
        refused = tuple(i for i, action in enumerate(step.actions) if not work.tries(action))
        result = self._result(work)
        previewed = self._changes(result) if step.ending.preview and isinstance(result, dict) else None
        changes: dict[str, Change] = {}
        ended = "rolled back"
        if step.ending.commit:
            ended = "committed" if isinstance(result, dict) else result
        if isinstance(result, dict) and ended == "committed":
            changes = self._changes(result)
            self.program, self.given, self.contents = work.program, work.given, result
            self.rules = work.rules
        found = self.ask() if ask and changes else {}
        return Outcome(ended, refused, changes, self.contents, self.given, previewed, found)

    def ask(self) -> dict[RuleText, frozenset[Row] | None]:
        """What the body of each rule finds now; None if an expression fails."""
        _Counted.left = MAX_MATCHES
        facts = _Counted(self.contents)
        found: dict[RuleText, frozenset[Row] | None] = {}
        for rule in self.rules.values():
            if rule.body:
                if rule not in self._queries:  # declarations stay what they are
                    self._queries[rule] = Draft(self.program).query(rule.query)
                try:
                    found[rule] = answers(self.program, self._queries[rule], facts)
                except EngineError:
                    found[rule] = None
        return found

    def _result(self, work: _Work) -> Contents | str:
        try:
            work.program = work.draft.finish()
        except ProgramError:
            return "refused"
        kept = {name: rows for name, rows in work.given.items() if name in work.program.relations}
        work.given = kept
        try:
            return self._consequences(work.program, kept)
        except EngineError:
            return "failed"

    @staticmethod
    def _consequences(program: Program, given: Mapping[str, frozenset[Row]]) -> Contents:
        _Counted.left = MAX_MATCHES
        facts = _Counted(given)
        extend(program, facts, MAX_ROUNDS)
        return facts.contents()

    def _changes(self, after: Contents) -> dict[str, Change]:
        nothing: frozenset[Row] = frozenset()
        changes = {
            name: (
                after.get(name, nothing) - self.contents.get(name, nothing),
                self.contents.get(name, nothing) - after.get(name, nothing),
            )
            for name in {**self.contents, **after}
        }
        return {name: change for name, change in changes.items() if any(change)}


class _Work:
    """A transaction in the making."""

    def __init__(self, model: Model) -> None:
        self.draft = Draft(model.program)
        self.program = model.program
        self.rules = dict(model.rules)
        self.given = dict(model.given)

    def tries(self, action: Action) -> bool:
        """Carry an action out; whether it was taken."""
        try:
            self._take(action)
        except (KeyConflict, NoRelation, TidelogError):
            return False
        return True

    def _take(self, action: Action) -> None:
        match action:
            case Insert(name, rows):
                self._insert(self._relation(name), self._rows(name, rows))
            case Upsert(name, rows):
                self._upsert(self._relation(name), self._rows(name, rows))
            case Delete(name, rows):
                self.given[name] = self.given.get(name, frozenset()) - self._rows(name, rows)
            case DeleteKeys(name, rows):
                relation = self._relation(name)
                assert relation.key is not None
                keys = {
                    tuple(canonical(relation.types[i], v) for i, v in zip(relation.key, row, strict=True))
                    for row in rows
                }
                held = self.given.get(name, frozenset())
                self.given[name] = frozenset(r for r in held if _key(relation, r) not in keys)
            case Clear(name):
                self._relation(name)
                self.given[name] = frozenset()
            case AddRule(rule):
                self.rules[self.draft.add_rule(rule.text).id] = rule
            case RemoveRule(rule):
                self.rules.pop(self.draft.remove_rule(rule.text).id)
            case Replace():
                self._replace(action)

    def _relation(self, name: str) -> Relation:
        if name not in self.draft.relations:
            raise NoRelation
        return self.draft.relations[name]

    def _rows(self, name: str, rows: tuple[Row, ...]) -> frozenset[Row]:
        types = self._relation(name).types
        return frozenset(tuple(canonical(t, v) for t, v in zip(types, row, strict=True)) for row in rows)

    def _insert(self, relation: Relation, rows: frozenset[Row]) -> None:
        held = self.given.get(relation.name, frozenset())
        if relation.key is not None and len({_key(relation, r) for r in held | rows}) < len(held | rows):
            raise KeyConflict
        self.given[relation.name] = held | rows

    def _upsert(self, relation: Relation, rows: frozenset[Row]) -> None:
        keys = {_key(relation, r) for r in rows}
        if len(keys) < len(rows):
            raise KeyConflict
        held = self.given.get(relation.name, frozenset())
        self.given[relation.name] = rows | {r for r in held if _key(relation, r) not in keys}

    def _replace(self, action: Replace) -> None:
        draft = host.draft()
        draft.load("\n".join(action.declarations))
        rules = {draft.add_rule(rule.text).id: rule for rule in action.rules}
        draft.finish()
        self.draft, self.rules = draft, rules


def _key(relation: Relation, row: Row) -> Row:
    assert relation.key is not None
    return tuple(row[i] for i in relation.key)


def outcomes(case: Case, *, ask: bool = True) -> list[Outcome]:
    """What every step of a case has to do; ProgramError, EngineError or TooLarge for what is no case."""
    model = Model(case)
    return [model.take(step, ask=ask) for step in case.steps]
