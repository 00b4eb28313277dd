"""Imperative rules as ordinary ones: a rule for each head, with all that is around the head as its body.

`else` is the negation of its condition. A case of `match` holds if its pattern is the first that matches; a
`match` expression finds which one that is, so that missing and unreachable cases are reported as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias, assert_never

from tidelog.program.elaborate.problems import Problems
from tidelog.syntax import tree
from tidelog.syntax.rebuilding import rebuilt
from tidelog.syntax.variables import expression_variables, literal_variables, pattern_names

__all__ = ["Expansion", "expanded"]

_Body: TypeAlias = tuple[tree.Literal, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """Items without imperative rules.

    `parts` are the identities of the rules that were made. `wholes` have all literals of an imperative rule
    in one rule, for what concerns the names in it.
    """

    items: tuple[tree.Item, ...]
    parts: frozenset[int] = frozenset()
    wholes: tuple[tree.Rule, ...] = ()


def expanded(items: Iterable[tree.Item], problems: Problems) -> Expansion:
    found: list[tree.Item] = []
    parts: set[int] = set()
    wholes: list[tree.Rule] = []
    for item in items:
        if not isinstance(item, tree.RuleLoop):
            found.append(item)
            continue
        expander = _Expander(problems)
        made = list(expander.rules(item, (), frozenset()))
        found += made
        parts |= set(map(id, made))
        heads = tuple(head for rule in made for head in rule.heads)
        wholes.append(tree.Rule(heads, tuple(expander.literals), item.span))
    return Expansion(tuple(found), frozenset(parts), tuple(wholes))


class _Expander:
    """Walks one imperative rule; `literals` are those that were met, each once."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.literals: list[tree.Literal] = []
        self._numbers = count(1)

    def rules(self, statement: tree.RuleStatement, body: _Body, bound: frozenset[str]) -> Iterator[tree.Rule]:
        """The rules of the heads in a statement; `body` is around it, and binds the names in `bound`."""
        match statement:
            case tree.Atom():
                yield tree.Rule((statement,), body, statement.span)
            case tree.RuleLoop(source, condition, inner):
                tested = () if condition is None else (tree.Condition(condition, condition.span),)
                yield from self.rules(inner, self._met(body, source, *tested), bound | _names(source))
            case tree.RuleIf(condition, then, otherwise):
                test = tree.Condition(condition, condition.span)
                yield from self.rules(then, self._met(body, test), bound)
                if otherwise is not None:
                    negated = tree.Condition(tree.Unary("not", condition, condition.span), condition.span)
                    yield from self.rules(otherwise, (*body, negated), bound)
            case tree.RuleSwitch():
                yield from self._cases(statement, body, bound)
            case tree.RuleSequence(parts):
                for part in parts:
                    if isinstance(part, tree.Assignment | tree.Destructuring):
                        self._expect_new(_pattern(part), bound, "`var`")
                        self._expect_no_group(part)
                        body, bound = self._met(body, part), bound | _names(part)
                    else:
                        yield from self.rules(part, body, bound)
            case _:
                assert_never(statement)

    def _met(self, body: _Body, *literals: tree.Literal) -> _Body:
        self.literals += literals
        return (*body, *literals)

    def _cases(self, switch: tree.RuleSwitch, body: _Body, bound: frozenset[str]) -> Iterator[tree.Rule]:
        """The rules of each case: those of the case that a `match` with numbers as results selects."""
        name, span = f"$match{next(self._numbers)}", switch.span
        branches = switch.branches
        patterns = (_without_names(branch.pattern) for branch in branches)
        cases = (tree.Case(p, tree.IntLiteral(i), p.span) for i, p in enumerate(patterns))
        which = tree.Assignment(name, tree.Match(switch.subject, tuple(cases), span), span, span)
        self.literals.append(tree.Condition(switch.subject, switch.subject.span))
        for number, branch in enumerate(branches):
            names = frozenset(pattern_names(branch.pattern))
            self._expect_new(branch.pattern, bound, "a case of `match`")
            chosen = tree.Condition(
                tree.Binary("==", tree.Variable(name, span), tree.IntLiteral(number), span), span
            )
            parts = _bound(branch.pattern, switch.subject) if names else ()
            self.literals += _bound(branch.pattern, tree.NoneLiteral()) if names else ()
            yield from self.rules(branch.body, (*body, which, chosen, *parts), bound | names)

    def _expect_new(self, pattern: tree.Expr, bound: frozenset[str], who: str) -> None:
        """Report names of a pattern that have a value: a reader of statements expects a new one."""
        for variable in expression_variables(pattern):
            if variable.name in bound:
                message = f"`{variable.name}` already has a value, and {who} binds new variables"
                hint = f"use another name, and compare: `if (… == {variable.name}) …`"
                self.problems.report("E303", variable.span, message, hint=hint)

    def _expect_no_group(self, binding: tree.Assignment | tree.Destructuring) -> None:
        if isinstance(binding.value, tree.Aggregate):
            message = "an imperative rule has no groups"
            hint = "use an aggregate over a body, `var n = count { … }`, or a rule with `:-`"
            self.problems.report("E401", binding.value.span, message, hint=hint)


def _pattern(binding: tree.Assignment | tree.Destructuring) -> tree.Expr:
    if isinstance(binding, tree.Assignment):
        return tree.Variable(binding.name, binding.name_span)
    return binding.pattern


def _without_names(pattern: tree.Expr) -> tree.Expr:
    """A pattern that matches the same values and binds nothing."""

    def change(node: tree.Expr) -> tree.Expr:
        match node:
            case tree.Variable(span=span):
                return tree.Wildcard(span)
            case tree.At(pattern=inner):
                return inner
            case _:
                return node

    return rebuilt(pattern, change)


def _bound(pattern: tree.Expr, subject: tree.Expr) -> _Body:
    """The literal that binds the variables of a pattern."""
    if isinstance(pattern, tree.Variable):
        return (tree.Assignment(pattern.name, subject, pattern.span, pattern.span),)
    return (tree.Destructuring(pattern, subject, pattern.span),)


def _names(literal: tree.Literal) -> frozenset[str]:
    """The names that a literal may bind."""
    found = {variable.name for variable in literal_variables(literal)}
    match literal:
        case tree.Assignment(name) | tree.Row(name):
            found.add(name)
        case tree.Destructuring(pattern) | tree.Generator(pattern):
            found |= set(pattern_names(pattern))
        case _:
            pass
    return frozenset(found)
