"""The names in an item of a program: each place where one is declared or used.

A variable belongs to a *scope*, a number that is unique in its item. In a rule, scope 0 has the names that
occur outside nested bodies; a nested body has the names that occur only inside, and each block, closure and
case has those that it binds. In an imperative rule, a name that is bound already is the same variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, assert_never

from tidelog.errors import Span
from tidelog.program.elaborate.scopes import outer_names
from tidelog.syntax import tree
from tidelog.syntax.quoting import NAME, unquoted
from tidelog.syntax.rebuilding import nodes_of
from tidelog.syntax.variables import (
    bound_names,
    children,
    expression_variables,
    literal_variables,
    pattern_names,
)

__all__ = ["Occurrence", "Role", "occurrences"]


class Role(Enum):
    RELATION = "relation"
    TYPE = "type"
    CONSTRUCTOR = "constructor"
    FUNCTION = "function"
    INDEX = "index"
    MODULE = "module"
    FIELD = "field"  # or column
    VARIABLE = "variable"
    PARAMETER = "type parameter"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """`name` as it is meant, without backticks; `start` and `end` are those of the text.

    `owner` is what a field belongs to, a relation or a constructor, if that is written; `scope` is that of a
    variable.
    """

    role: Role
    name: str
    start: int
    end: int
    is_declaration: bool = False
    owner: tuple[Role, str] | None = None
    scope: int = 0
    is_bare: bool = False


_NAME: Final = re.compile(NAME)
_FIELD: Final = re.compile(rf"\.\s*({NAME})")
Scopes = Mapping[str, int]
Nested = tree.SubAggregate | tree.NegatedBody


def occurrences(item: tree.Item) -> tuple[Occurrence, ...]:
    """All names in an item, in the order of the text. Standard names are among them."""
    walk = _Walk()
    walk.item(item)
    return tuple(sorted(dict.fromkeys(walk.finished()), key=lambda o: (o.start, o.end)))


class _Walk:
    """`parameters` are the type parameters of the item, `closures` the parameters that can be called."""

    def __init__(self) -> None:
        self.found: list[Occurrence] = []
        self.parameters: frozenset[str] = frozenset()
        self.closures: frozenset[str] = frozenset()
        self._scopes = 0
        self._rows: dict[tuple[str, int], str] = {}  # the relations of row variables
        self._fields: list[tuple[int, tuple[str, int]]] = []  # what is found, and of which variable

    def finished(self) -> list[Occurrence]:
        """All that was found. A field of a row variable belongs to its relation."""
        for index, variable in self._fields:
            if variable in self._rows:
                owner = (Role.RELATION, self._rows[variable])
                self.found[index] = replace(self.found[index], owner=owner)
        return self.found

    # -- what is found

    def _add(
        self,
        role: Role,
        name: str,
        span: Span,
        *,
        declares: bool = False,
        owner: tuple[Role, str] | None = None,
        scope: int = 0,
        is_bare: bool = False,
    ) -> None:
        """Add a name that is written at the start of a span. Names that nobody wrote are left out."""
        written = _NAME.match(span.source.text, span.start)
        if written is not None and unquoted(written[0]) == name:
            self.found.append(
                Occurrence(role, name, written.start(), written.end(), declares, owner, scope, is_bare)
            )

    def _field(self, argument: tree.Argument, owner: tuple[Role, str]) -> None:
        written = _FIELD.match(argument.span.source.text, argument.span.start)
        if argument.name is not None and written is not None:
            found = Occurrence(Role.FIELD, argument.name, *written.span(1), owner=owner)
            self.found.append(found)

    def _variable(self, name: str, span: Span, scopes: Scopes, *, declares: bool = False) -> None:
        self._add(Role.VARIABLE, name, span, declares=declares, scope=scopes.get(name, 0))

    def _new(self, names: Iterable[str], scopes: Scopes) -> Scopes:
        """Scopes in which names belong to a new one."""
        self._scopes += 1
        return {**scopes, **dict.fromkeys(names, self._scopes)}

    # -- items

    def item(self, item: tree.Item) -> None:
        match item:
            case tree.Relation():
                self._relation(item)
            case tree.Alias() | tree.TypeDefinition():
                self._type_definition(item)
            case tree.Function(body=body):
                self._function(item, [body])
            case tree.Fold(state=state, insert=insert, delete=delete, value=value):
                self._function(item, [*state, insert, *([] if delete is None else [delete]), value])
            case tree.Rule(heads, body):
                scopes = dict.fromkeys(outer_names((*heads, *body)), 0)
                self._literals((*heads, *body), scopes)
            case tree.RuleLoop():
                self._rule_statement(item, {})
            case tree.Index():
                self._index(item)
            case tree.Import(path, name_span=span):
                self._add(Role.MODULE, path, span)
            case tree.Module() | tree.Prefix():
                return
            case _:
                assert_never(item)

    def _relation(self, item: tree.Relation) -> None:
        self._add(Role.RELATION, item.name, item.name_span, declares=True)
        self._columns(item.columns, (Role.RELATION, item.name))
        for column in item.key or ():
            self._add(Role.FIELD, column.name, column.span, owner=(Role.RELATION, item.name))
        if item.row is not None:
            self._types(item.row)

    def _columns(self, columns: Iterable[tree.Column], owner: tuple[Role, str]) -> None:
        for column in columns:
            self._add(Role.FIELD, column.name, column.span, declares=True, owner=owner)
            self._types(column.type)

    def _type_definition(self, item: tree.Alias | tree.TypeDefinition) -> None:
        self._add(Role.TYPE, item.name, item.name_span, declares=True)
        self._parameters(item.parameters)
        if isinstance(item, tree.Alias):
            self._types(item.type)
            return
        for made in item.constructors:
            self._add(Role.CONSTRUCTOR, made.name, made.name_span, declares=True)
            self._columns(made.fields, (Role.CONSTRUCTOR, made.name))

    def _parameters(self, parameters: Iterable[tree.Variable]) -> None:
        self.parameters = frozenset(p.name for p in parameters)
        for parameter in parameters:
            self._add(Role.PARAMETER, parameter.name, parameter.span, declares=True)

    def _function(self, item: tree.Function | tree.Fold, parts: Iterable[tree.Statement | tree.Expr]) -> None:
        self._add(Role.FUNCTION, item.name, item.name_span, declares=True)
        self._parameters(item.type_parameters)
        self.closures = frozenset(p.name for p in item.parameters if p.type.name == "||")
        scopes = self._new((p.name for p in item.parameters), {})
        for parameter in item.parameters:
            self._variable(parameter.name, parameter.span, scopes, declares=True)
            self._types(parameter.type)
        self._types(item.result)
        self._steps(parts, scopes)

    def _index(self, item: tree.Index) -> None:
        self._add(Role.INDEX, item.name, item.name_span, declares=True)
        scopes = self._new((p.name for p in item.parameters), {})
        self._typed_parameters(item.parameters, scopes)
        self._literals((item.atom,), scopes)

    def _typed_parameters(self, parameters: Iterable[tree.Parameter], scopes: Scopes) -> None:
        for parameter in parameters:
            self._variable(parameter.name, parameter.span, scopes, declares=True)
            if parameter.type is not None:
                self._types(parameter.type)

    def _types(self, type_: tree.TypeName) -> None:
        for node in nodes_of(type_):
            if isinstance(node, tree.TypeName):
                role = Role.PARAMETER if node.name in self.parameters else Role.TYPE
                self._add(role, node.name, node.span)

    # -- literals

    def _literals(self, literals: Iterable[tree.Literal], scopes: Scopes) -> None:
        for literal in literals:
            self._literal(literal, scopes)

    def _literal(self, literal: tree.Literal, scopes: Scopes) -> None:
        match literal:
            case tree.Atom():
                self._atom(literal, scopes)
            case tree.Negation(atom):
                self._atom(atom, scopes)
            case tree.Row(name, atom, name_span=span):
                self._variable(name, span, scopes, declares=True)
                self._rows[name, scopes.get(name, 0)] = atom.relation
                self._atom(atom, scopes)
            case tree.Condition(value):
                self._expression(value, scopes)
            case tree.Assignment(name, value, name_span=span):
                self._variable(name, span, scopes, declares=True)
                self._expression(value, scopes)
            case tree.Destructuring(pattern, value) | tree.Generator(pattern, value):
                self._expression(pattern, scopes)
                self._expression(value, scopes)
            case tree.NegatedBody():
                self._nested(literal, scopes)
            case tree.Disjunction(alternatives):
                for alternative in alternatives:
                    self._literals(alternative, scopes)
            case _:
                assert_never(literal)

    def _atom(self, atom: tree.Atom, scopes: Scopes) -> None:
        self._add(Role.RELATION, atom.relation, atom.name_span)
        for argument in atom.args:
            self._field(argument, (Role.RELATION, atom.relation))
            self._expression(argument.value, scopes)

    def _nested(self, body: Nested, scopes: Scopes) -> None:
        names = {name for row in body.alternatives for name in outer_names(row)}
        args = body.args if isinstance(body, tree.SubAggregate) else ()
        names |= {v.name for argument in args for v in expression_variables(argument)}
        inside = self._new(names - scopes.keys(), scopes)
        for argument in args:
            self._expression(argument, inside)
        for alternative in body.alternatives:
            self._literals(alternative, inside)

    # -- imperative rules

    def _rule_statement(self, statement: tree.RuleStatement, scopes: Scopes) -> None:
        match statement:
            case tree.Atom():
                self._atom(statement, scopes)
            case tree.RuleLoop(source, condition, body):
                names = {v.name for v in literal_variables(source)}
                if isinstance(source, tree.Generator):
                    names |= pattern_names(source.pattern)
                inside = self._new(names - scopes.keys(), scopes)
                self._literal(source, inside)
                if condition is not None:
                    self._expression(condition, inside)
                self._rule_statement(body, inside)
            case tree.RuleIf(condition, then, otherwise):
                self._expression(condition, scopes)
                for part in (then, *([otherwise] if otherwise is not None else [])):
                    self._rule_statement(part, scopes)
            case tree.RuleSwitch(subject, branches):
                self._expression(subject, scopes)
                for branch in branches:
                    inside = self._new(pattern_names(branch.pattern) - scopes.keys(), scopes)
                    self._expression(branch.pattern, inside)
                    self._rule_statement(branch.body, inside)
            case tree.RuleSequence(parts):
                self._sequence(parts, scopes)
            case _:
                assert_never(statement)

    def _sequence(
        self, parts: Iterable[tree.RuleStatement | tree.Assignment | tree.Destructuring], scopes: Scopes
    ) -> None:
        for part in parts:
            if isinstance(part, tree.Assignment | tree.Destructuring):
                scopes = self._new(bound_names(part) - scopes.keys(), scopes)
                self._literal(part, scopes)
            else:
                self._rule_statement(part, scopes)

    # -- expressions

    def _expression(self, root: tree.Expr, scopes: Scopes) -> None:
        """Walk an expression without recursion, except where names are bound."""
        waiting: list[tree.Expr] = [root]
        while waiting:
            node = waiting.pop()
            match node:
                case tree.Variable(name, span):
                    self._variable(name, span, scopes)
                case tree.At(name, pattern, name_span=span):
                    self._variable(name, span, scopes, declares=True)
                    waiting.append(pattern)
                case tree.Block(bindings, result):
                    self._steps((*bindings, result), scopes)
                case tree.Steps(statements, result):
                    self._steps((*statements, *([] if result is None else [result])), scopes)
                case tree.Match(subject, cases):
                    waiting.append(subject)
                    for case in cases:
                        self._bound(case.pattern, case.value, scopes)
                case tree.Closure(parameters, body):
                    inside = self._new((p.name for p in parameters), scopes)
                    self._typed_parameters(parameters, inside)
                    self._expression(body, inside)
                case tree.SubAggregate(function, name_span=span):
                    self._add(Role.FUNCTION, function, span)
                    self._nested(node, scopes)
                case _:
                    waiting += self._plain(node, scopes)

    def _plain(self, node: tree.Expr, scopes: Scopes) -> list[tree.Expr]:
        """Add the name of a node that binds none; its parts."""
        match node:
            case tree.Call(function, args, name_span=span):
                if function in self.closures:
                    self._variable(function, span, scopes)
                else:
                    self._add(Role.FUNCTION, function, span)
                return [*args]
            case tree.Aggregate(value, keys, function, args, name_span=span):
                self._add(Role.FUNCTION, function, span)
                return [value, *keys, *args]
            case tree.Construct(name, args, is_bare, name_span=span):
                self._add(Role.CONSTRUCTOR, name, span, is_bare=is_bare)
                for argument in args:
                    self._field(argument, (Role.CONSTRUCTOR, name))
                return [argument.value for argument in args]
            case tree.FieldAccess(operand, str() as name, name_span=span):
                if isinstance(operand, tree.Variable):
                    self._fields.append((len(self.found), (operand.name, scopes.get(operand.name, 0))))
                self._add(Role.FIELD, name, span)
                return [operand]
            case tree.Cast(operand, type_):
                self._types(type_)
                return [operand]
            case _:
                return [*children(node)]

    def _bound(self, pattern: tree.Expr, value: tree.Expr, scopes: Scopes) -> None:
        """A value in which the names of a pattern are new variables."""
        inside = self._new(pattern_names(pattern), scopes)
        self._expression(pattern, inside)
        self._expression(value, inside)

    def _steps(self, parts: Iterable[tree.Statement | tree.Expr], scopes: Scopes) -> None:
        """Statements, each in the scopes of those before it."""
        for part in parts:
            match part:
                case tree.Assignment(name, value, name_span=span):
                    self._expression(value, scopes)
                    scopes = self._new([name], scopes)
                    self._variable(name, span, scopes, declares=True)
                case tree.Destructuring(pattern, value):
                    self._expression(value, scopes)
                    scopes = self._new(pattern_names(pattern), scopes)
                    self._expression(pattern, scopes)
                case tree.Update(target, value):
                    self._expression(target, scopes)
                    self._expression(value, scopes)
                case tree.Choice(branches, otherwise):
                    for branch in branches:
                        self._expression(branch.condition, scopes)
                        self._expression(branch.body, scopes)
                    if otherwise is not None:
                        self._expression(otherwise, scopes)
                case tree.Switch(subject, arms):
                    self._expression(subject, scopes)
                    for arm in arms:
                        self._bound(arm.pattern, arm.body, scopes)
                case tree.Loop(pattern, collection, body):
                    self._expression(collection, scopes)
                    self._bound(pattern, body, scopes)
                case tree.Return(value):
                    self._expression(value, scopes)
                case tree.Jump():
                    pass
                case _:
                    self._expression(part, scopes)
