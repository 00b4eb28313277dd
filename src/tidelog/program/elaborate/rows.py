"""Row variables and whole rows, elaborated into atoms: `p in R(.id = 7)`, `R[e]`.

A variable of which only fields are used costs nothing: `p.id` becomes the variable of the column. Otherwise
the row is built from its columns: `R(a, b), var p = R{a, b}`. `R[e]` matches the fields of `e` with the
columns. Each body is treated by itself, so a row that a nested body names is its own.

Invariant: the result has no `Row` and no atom that `is_whole`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

from tidelog.program.declared import Relation
from tidelog.program.elaborate.atoms import place
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.row_types import RowType, row_type
from tidelog.syntax import tree
from tidelog.syntax.rebuilding import nodes_of, rebuilt
from tidelog.syntax.whole import used_whole

__all__ = ["without_rows"]

_Literals = tuple[tree.Literal, ...]
_Scope = TypeVar("_Scope", tree.Rule, tree.NegatedBody, tree.SubAggregate)


class _Failed(Exception):
    """An error was reported."""


def without_rows(
    rule: tree.Rule, known: Declarations, problems: Problems, keeps_rows: bool = False
) -> tree.Rule | None:
    """The rule in terms of atoms, or None after reporting an error."""
    if not any(isinstance(n, tree.Row) or _is_whole(n) for n in nodes_of(rule)):
        return rule
    try:
        return _Rows(known, problems, keeps_rows).rule(rule)
    except _Failed:
        return None


def _is_whole(node: object) -> bool:
    return isinstance(node, tree.Atom) and node.is_whole


class _Rows:
    def __init__(self, known: Declarations, problems: Problems, keeps_rows: bool) -> None:
        self.known = known
        self.problems = problems
        self.keeps_rows = keeps_rows
        self._numbers = count(1)
        self._all: Counter[str] = Counter()  # how often names occur in the rule

    def rule(self, rule: tree.Rule) -> tree.Rule:
        rule = replace(rule, body=self._normal(rule.body))
        self._all = _occurrences(rule)
        rows = {row.name: row.atom.relation for row in _rows(rule.body)}
        heads: list[tree.Atom] = []
        body = [*rule.body]
        for head in rule.heads:
            atom, more = self._head(head, rows)
            heads.append(atom)
            body += more
        return self._scope(replace(rule, heads=tuple(heads), body=tuple(body)), frozenset())

    def _relation(self, atom: tree.Atom) -> Relation | None:
        """The relation of an atom; None if it is unknown, which is reported later."""
        return self.known.relations.get(atom.relation)

    def _row_type(self, atom: tree.Atom) -> RowType | None:
        """The type of the rows of an atom. Raises _Failed if they have none."""
        relation = self._relation(atom)
        if relation is None:
            return None
        found = row_type(relation, self.known)
        if found is None:
            name = relation.name
            self.problems.report(
                "E129",
                atom.span,
                f"a row of `{name}` cannot be used as a whole: `{name}` is also the name of another type",
                hint=f"use only fields of the row, or declare `relation {name}[T]` with a type of its own",
            )
            raise _Failed
        return found

    # -- whole rows

    def _head(self, head: tree.Atom, rows: dict[str, str]) -> tuple[tree.Atom, list[tree.Literal]]:
        """A head without `R[e]`, and what the body needs for it."""
        type_ = self._row_type(head) if head.is_whole else None
        if type_ is None:
            return replace(head, is_whole=False), []
        value = head.args[0].value
        if isinstance(value, tree.Variable) and value.name in rows:
            other = self.known.relations.get(rows[value.name])
            source = None if other is None else row_type(other, self.known)
            if source is not None and source.type == type_.type and type_.constructor is not None:
                fields = [tree.FieldAccess(value, c, value.span, value.span) for c in type_.columns]
                return self._with(head, fields), []
        return self._matched(head, type_, value)

    def _matched(
        self, atom: tree.Atom, type_: RowType, value: tree.Expr
    ) -> tuple[tree.Atom, list[tree.Literal]]:
        """An atom whose row matches a value, and what takes the value apart."""
        match value:
            case _ if type_.constructor is None:
                return self._with(atom, [value]), []
            case tree.Wildcard():
                return self._with(atom, [value] * len(type_.columns)), []
            case tree.Construct(type_.constructor, args, is_open=is_open):
                named = any(a.name is not None for a in args)
                more = len(type_.columns) - len(args) if is_open and not named else 0
                blanks = [tree.Argument(tree.Wildcard(value.span), None, value.span)] * max(more, 0)
                return replace(atom, args=(*args, *blanks), is_whole=False), []
            case _:
                number = next(self._numbers)
                parts: list[tree.Expr] = [tree.Variable(f"$row{number}.{c}") for c in type_.columns]
                fields = tuple(tree.Argument(part) for part in parts)
                pattern = tree.Construct(type_.constructor, fields, span=value.span, name_span=value.span)
                return self._with(atom, parts), [tree.Destructuring(pattern, value, value.span)]

    def _with(self, atom: tree.Atom, values: Sequence[tree.Expr]) -> tree.Atom:
        args = tuple(tree.Argument(value, None, value.span) for value in values)
        return replace(atom, args=args, is_whole=False)

    def _normal(self, literals: _Literals) -> _Literals:
        """The literals of one scope with rows in place of `R[x]`, and without other whole rows."""
        return tuple(made for literal in literals for made in self._normal_literal(literal))

    def _normal_literal(self, literal: tree.Literal) -> Iterator[tree.Literal]:
        match literal:
            case tree.Disjunction(rows):
                yield replace(literal, alternatives=tuple(map(self._normal, rows)))
            case tree.Atom(is_whole=True) | tree.Negation(tree.Atom(is_whole=True)):
                yield from self._whole(literal)
            case tree.Row(name, tree.Atom(is_whole=True) as atom):
                yield from self._named(literal, name, atom)
            case _:
                yield literal

    def _whole(self, literal: tree.Atom | tree.Negation) -> Iterator[tree.Literal]:
        atom = literal if isinstance(literal, tree.Atom) else literal.atom
        type_ = self._row_type(atom)
        value = atom.args[0].value
        if type_ is None:
            yield replace(atom, is_whole=False)
        elif isinstance(literal, tree.Negation):
            found, more = self._matched(atom, type_, value)
            yield from (*more, replace(literal, atom=found))
        elif isinstance(value, tree.Variable) and type_.constructor is not None:
            yield tree.Row(value.name, self._open(atom, type_), atom.span, value.span)
        elif isinstance(value, tree.At) and type_.constructor is not None:
            inner = replace(atom, args=(tree.Argument(value.pattern),))
            yield from self._named(literal, value.name, inner)
        else:
            found, more = self._matched(atom, type_, value)
            yield from (*more, found)

    def _open(self, atom: tree.Atom, type_: RowType) -> tree.Atom:
        return self._with(atom, [tree.Wildcard(atom.span)] * len(type_.columns))

    def _named(self, literal: tree.Literal, name: str, atom: tree.Atom) -> Iterator[tree.Literal]:
        """`name in R[e]`"""
        type_ = self._row_type(atom)
        if type_ is None:
            yield replace(atom, is_whole=False)
            return
        value = atom.args[0].value
        if isinstance(value, tree.Variable | tree.At) and type_.constructor is not None:
            yield from self._whole(atom)
            other = tree.Variable(value.name, value.span)
            yield tree.Assignment(name, other, literal.span, literal.span)
            return
        found, more = self._matched(atom, type_, value)
        yield from (*more, tree.Row(name, found, literal.span, literal.span))

    # -- rows with names

    def _scope(self, scope: _Scope, bound: frozenset[str]) -> _Scope:
        """A rule or a nested body without rows; `bound` are the rows that have names around it."""
        scope = _with_bodies(scope, tuple(map(self._normal, _bodies(scope))))
        rows = [row for body in _bodies(scope) for row in _rows(body)]
        inside = _occurrences(scope)
        whole = used_whole(scope) | bound | {r.name for r in rows if self._all[r.name] > inside[r.name]}
        if self.keeps_rows:
            whole |= {row.name for row in rows if not row.name.startswith("_")}
        fields = _fields(scope)
        self._expect_columns(rows, whole, fields)
        by_field = {(row.name, c): self._column(row, c) for row in rows for c in self._columns(row)}

        def substituted(node: object) -> object:
            match node:
                case tree.FieldAccess(tree.Variable(name), str(field)) if name not in whole:
                    return by_field.get((name, field), node)
                case _:
                    return node

        scope = rebuilt(scope, substituted)
        inner = bound | {row.name for row in rows}
        made = tuple(self._body(b, whole, fields, bound, inner) for b in _bodies(scope))
        return _with_bodies(scope, made)

    def _columns(self, row: tree.Row) -> tuple[str, ...]:
        relation = self._relation(row.atom)
        return () if relation is None else tuple(c.name for c in relation.columns)

    def _expect_columns(self, rows: list[tree.Row], whole: set[str], fields: set[tree.FieldAccess]) -> None:
        """Report fields that are no columns."""
        for row in rows:
            names = self._columns(row)
            for access in fields:
                assert isinstance(access.operand, tree.Variable)
                used = access.operand.name == row.name and row.name not in whole
                if used and names and access.field not in names:
                    hint = self.problems.suggest(str(access.field), names)
                    message = f"unknown column `{access.field}` in `{row.atom.relation}`"
                    self.problems.report("E102", access.name_span, message, hint=hint)
                    raise _Failed

    def _column(self, row: tree.Row, column: str) -> tree.Variable:
        """The variable of a column: the one that the atom has there, or a new one."""
        given = _given(row.atom, self._columns(row)).get(column)
        return given if isinstance(given, tree.Variable) else tree.Variable(f"${row.name}.{column}")

    def _body(
        self,
        literals: _Literals,
        whole: set[str],
        fields: set[tree.FieldAccess],
        bound: frozenset[str],
        inner: frozenset[str],
    ) -> _Literals:
        made: list[tree.Literal] = []
        seen = set(bound)
        for literal in literals:
            match literal:
                case tree.Row(name):
                    made += self._row(literal, whole, fields, name in seen)
                    seen.add(name)
                case tree.Disjunction(rows):
                    here = frozenset(seen | {x.name for x in literals if isinstance(x, tree.Row)})
                    choices = tuple(self._body(row, whole, fields, here, inner) for row in rows)
                    made.append(replace(literal, alternatives=choices))
                case tree.NegatedBody():
                    made.append(self._scope(literal, inner))
                case tree.Assignment(value=tree.SubAggregate() as value):
                    made.append(replace(literal, value=self._scope(value, inner)))
                case tree.Destructuring(value=tree.SubAggregate() as value):
                    made.append(replace(literal, value=self._scope(value, inner)))
                case _:
                    made.append(literal)
        return tuple(made)

    def _row(
        self, row: tree.Row, whole: set[str], fields: set[tree.FieldAccess], is_bound: bool
    ) -> Iterator[tree.Literal]:
        """The atom of a row, and the row itself if it is used as a whole."""
        names = self._columns(row)
        given = _given(row.atom, names)
        relation = self._relation(row.atom)
        if relation is None or len(given) < len(row.atom.args):
            place(row.atom, self.known, self.problems, head=False)  # reports what is wrong
            raise _Failed
        if row.name not in whole:
            used = {
                a.field for a in fields if isinstance(a.operand, tree.Variable) and a.operand.name == row.name
            }
            columns = {c: f"${row.name}.{c}" for c in names if c in used}
            yield _replacing(row.atom, names, given, columns)
            return
        type_ = self._row_type(row.atom)
        assert type_ is not None
        number = next(self._numbers)
        columns = {c: f"${row.name}{number}.{c}" for c in names}
        yield _replacing(row.atom, names, given, columns)
        parts = [_variable(given.get(c), columns[c]) for c in names]
        value: tree.Expr = parts[0] if parts else tree.Wildcard()
        if type_.constructor is not None:
            args = tuple(tree.Argument(part) for part in parts)
            value = tree.Construct(type_.constructor, args, span=row.span, name_span=row.span)
        if is_bound:
            variable = tree.Variable(row.name, row.name_span)
            yield tree.Condition(tree.Binary("==", variable, value, row.span), row.span)
        else:
            yield tree.Assignment(row.name, value, row.span, row.name_span)


# -- parts of rules


def _bodies(scope: tree.Rule | tree.NegatedBody | tree.SubAggregate) -> tuple[_Literals, ...]:
    return (scope.body,) if isinstance(scope, tree.Rule) else scope.alternatives


def _with_bodies(scope: _Scope, bodies: tuple[_Literals, ...]) -> _Scope:
    match scope:
        case tree.Rule():
            return replace(scope, body=bodies[0])
        case _:
            return replace(scope, alternatives=bodies)


def _occurrences(part: object) -> Counter[str]:
    named = (tree.Variable, tree.Row, tree.At, tree.Assignment)
    return Counter(node.name for node in nodes_of(part) if isinstance(node, named))


def _rows(literals: _Literals) -> Iterator[tree.Row]:
    """The rows with names in a body, without those in nested bodies."""
    for literal in literals:
        if isinstance(literal, tree.Row):
            yield literal
        elif isinstance(literal, tree.Disjunction):
            for alternative in literal.alternatives:
                yield from _rows(alternative)


def _fields(scope: object) -> set[tree.FieldAccess]:
    """The fields of variables that a scope uses."""
    return {
        node
        for node in nodes_of(scope)
        if isinstance(node, tree.FieldAccess) and isinstance(node.operand, tree.Variable)
    }


def _given(atom: tree.Atom, names: tuple[str, ...]) -> dict[str, tree.Expr]:
    """The arguments of an atom by their columns, as far as they are valid."""
    positional = [a.value for a in atom.args if a.name is None]
    found = dict(zip(names, positional, strict=False))
    for argument in atom.args:
        if argument.name is not None and argument.name in names:
            found.setdefault(argument.name, argument.value)
    is_short = len(positional) == len(atom.args) and 0 < len(positional) < len(names)
    return {} if is_short else found


def _variable(given: tree.Expr | None, name: str) -> tree.Variable:
    return given if isinstance(given, tree.Variable) else tree.Variable(name)


def _replacing(
    atom: tree.Atom, names: tuple[str, ...], given: dict[str, tree.Expr], columns: dict[str, str]
) -> tree.Atom:
    """An atom with an argument for each column, and with names for some columns."""
    args: list[tree.Argument] = []
    for column in names:
        value = given.get(column, tree.Wildcard(atom.span))
        if column in columns and not isinstance(value, tree.Variable | tree.NoneLiteral):
            name = columns[column]
            span = value.span
            value = (
                tree.Variable(name, span) if isinstance(value, tree.Wildcard) else tree.At(name, value, span)
            )
        args.append(tree.Argument(value, None, value.span))
    return replace(atom, args=tuple(args))
