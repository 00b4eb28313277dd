"""Checking the versions of a text that is edited, by difference.

A version is given as items. Those that did not change are the same objects as before: their rules are not
elaborated again, nor the declarations, if none of them changed. The spans of such items are those of an
earlier version; who keeps the items knows where they are now.

What is found is what checking the whole text finds, except where that depends on more than the items: the
versions of texts with imports, with two declarations of one name, or with generic functions of their own are
not examined here (`is_examinable`), and messages that mention a place elsewhere are for the caller to refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import TypeAlias

from tidelog.errors import Diagnostic, Source
from tidelog.program.draft import Draft, declare_all, elaborate_rules, knows_all_names, without_unread
from tidelog.program.elaborate.declarations import Declarations, needed_row_types
from tidelog.program.elaborate.imperative import expanded
from tidelog.program.elaborate.instances import add_cycles
from tidelog.program.elaborate.lint import warn
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.rules import elaborate_rule
from tidelog.program.model import Program
from tidelog.program.typed import Rule
from tidelog.syntax import tree

__all__ = ["Examiner", "is_examinable"]

_Elaborated: TypeAlias = tuple[tree.Rule, Rule | None, list[Diagnostic]]


def is_examinable(items: Iterable[tree.Item], text: str) -> bool:
    """Whether the items of a text say all that its diagnostics depend on."""
    names: Counter[str] = Counter()
    for item in items:
        match item:
            case tree.Import() | tree.Module() | tree.Fold():
                return False
            case tree.Function(type_parameters=parameters) if parameters:
                return False
            case tree.Relation(name=name) | tree.Function(name=name) | tree.Index(name=name):
                names[name] += 1
            case tree.Alias(name) | tree.TypeDefinition(name) | tree.Prefix(name):
                names[name] += 1
    return "std::" not in text and all(count == 1 for count in names.values())


class Examiner:
    """Remembers the declarations and rules of the last version.

    `proceed` is called before each rule that is elaborated; it may raise an exception to give up.
    """

    def __init__(self, functions: Iterable[Callable[..., object]], proceed: Callable[[], object]) -> None:
        self.proceed = proceed
        self._functions = tuple(functions)
        self._draft = Draft()
        self._others: list[tree.Item] = []  # all but rules
        self._declared: Declarations | None = None
        self._found: list[Diagnostic] = []  # in declarations
        self._rules: dict[int, _Elaborated] = {}  # by the identity of their items

    def examine(
        self, items: Sequence[tree.Item], source: Source, unread: Sequence[Diagnostic]
    ) -> tuple[Program, list[Diagnostic]]:
        """The program, and all diagnostics with those of its syntax, `unread`."""
        problems = Problems()
        problems.found += unread
        expansion = expanded(items, problems)
        declared = self._declarations(expansion.items, problems)
        sizes = _sizes(declared)
        rules = elaborate_rules(expansion, declared, problems, elaborate=self._elaborate)
        if declared.recursive:
            add_cycles(declared)
        if _sizes(declared) != sizes:
            self._rules.clear()  # rules made instances, which others may use
        self._forget(expansion.items)
        if unread:
            problems.found = without_unread(problems.found, source)
        elif knows_all_names(problems):
            warn(tree.Program(expansion.items), problems)
        return self._draft.examined(declared, rules, problems), problems.found

    def _declarations(self, items: Sequence[tree.Item], problems: Problems) -> Declarations:
        others: list[tree.Item] = [item for item in items if not isinstance(item, tree.Rule)]
        new = [item for item in items if id(item) not in self._rules]
        is_known = self._declared is not None and _are_same(others, self._others)
        if self._declared is None or not is_known or needed_row_types(new, self._declared):
            self.proceed()
            self._rules.clear()
            found = Problems()
            self._draft = Draft()  # instances of types are shared by copies of declarations
            for function in self._functions:
                self._draft.register(function)
            declared = self._draft.declarations()
            declare_all(items, declared, found)
            self._others, self._declared, self._found = others, declared, found.found
        problems.repeat(self._found)
        return self._declared.copy()

    def _elaborate(self, item: tree.Rule, declared: Declarations, problems: Problems) -> Rule | None:
        known = self._rules.get(id(item))
        if known is not None:
            problems.repeat(known[2])
            return known[1]
        self.proceed()
        before = len(problems.found)
        rule = elaborate_rule(item, declared, problems)
        self._rules[id(item)] = item, rule, problems.found[before:]
        return rule

    def _forget(self, items: Iterable[tree.Item]) -> None:
        """Rules of items that are no longer there; another item may get their identity."""
        present = {id(item) for item in items}
        for identity in [i for i in self._rules if i not in present]:
            del self._rules[identity]


def _are_same(items: Sequence[tree.Item], others: Sequence[tree.Item]) -> bool:
    return len(items) == len(others) and all(a is b for a, b in zip(items, others, strict=True))


def _sizes(declared: Declarations) -> tuple[int, ...]:
    parts: tuple[Sized, ...] = (
        declared.functions,
        declared.types.items,
        declared.known,
        declared.calls,
        declared.rows,
    )
    return (*(len(part) for part in parts), len(declared.templates), len(declared.recursive))
