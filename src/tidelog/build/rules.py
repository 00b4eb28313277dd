"""Relations, literals, rules and programs, built from Python objects.

`Edge[x, y]` is an atom by position and `Edge(src=x)` one by name. `&` connects literals, `|` separates
alternatives and `~` negates an atom. `head <= body` is a rule. Everything prints as the text of the language
and is given to sessions wherever a text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NoReturn, TypeAlias

from tidelog.build.expressions import Expr, node
from tidelog.build.types import type_name
from tidelog.errors import SessionError, shown
from tidelog.syntax import tree
from tidelog.syntax.inline import print_literals
from tidelog.syntax.printer import print_item
from tidelog.syntax.written import Written

__all__ = ["Body", "Program", "Relation", "Rule", "input", "let", "output", "program", "relation"]

Columns: TypeAlias = Mapping[str, object]
_RELATION = re.compile(r"[^\W\d]\w*(?:::[^\W\d]\w*)*")


class Body(Written):
    """Literals that must all hold. It remembers the relations that it mentions."""

    def __init__(self, literals: tuple[tree.Literal, ...], relations: tuple[Relation, ...] = ()) -> None:
        self.literals = literals
        self.relations = relations

    def __and__(self, other: object) -> Body:
        more = _body(other)
        return Body(self.literals + more.literals, self.relations + more.relations)

    def __rand__(self, other: object) -> Body:
        return _body(other) & self

    def __or__(self, other: object) -> Body:
        more = _body(other)
        alternatives = (*_alternatives(self.literals), *_alternatives(more.literals))
        return Body((tree.Disjunction(alternatives),), self.relations + more.relations)

    def __ror__(self, other: object) -> Body:
        return _body(other) | self

    def __invert__(self) -> Body:
        match self.literals:
            case (tree.Atom() as atom,):
                return Body((tree.Negation(atom),), self.relations)
            case _:
                raise SessionError(f"`~` negates one atom, not `{self}`; derive a relation and negate that")

    def __le__(self, body: object) -> Rule:
        heads = tuple(x for x in self.literals if isinstance(x, tree.Atom))
        if len(heads) != len(self.literals):
            raise SessionError(f"the head of a rule consists of atoms, but this is `{self}`")
        implied = _body(body)
        return Rule(tree.Rule(heads, implied.literals), self.relations + implied.relations)

    def __lt__(self, other: object) -> NoReturn:
        raise SessionError(f"put comparisons in parentheses: `{self}` is compared as a whole")

    __gt__ = __ge__ = __lt__

    def __eq__(self, other: object) -> bool:
        return self.literals == other.literals if isinstance(other, Body) else self.__lt__(other)

    def __hash__(self) -> int:
        return hash(self.literals)

    def __bool__(self) -> NoReturn:
        raise SessionError(f"`{self}` has no truth value in Python; connect literals with `&`, `|` and `~`")

    def __str__(self) -> str:
        return print_literals(self.literals)

    def __repr__(self) -> str:
        return f"<{self}>"


def _alternatives(literals: tuple[tree.Literal, ...]) -> tuple[tuple[tree.Literal, ...], ...]:
    match literals:
        case (tree.Disjunction(alternatives),):
            return alternatives
        case _:
            return (literals,)


def _body(part: object) -> Body:
    """A part of a rule as literals; an expression is a condition."""
    if isinstance(part, Body):
        return part
    if isinstance(part, Expr):
        return Body((tree.Condition(part.node),))
    if isinstance(part, tuple):
        raise SessionError("the body of a rule is a tuple; connect its literals with `&`, not with commas")
    raise SessionError(f"{shown(part)} is not a literal; write an atom such as `Edge[x, y]`, or a condition")


def let(variable: Expr, value: object) -> Body:
    """`var variable = value`"""
    if not isinstance(getattr(variable, "node", None), tree.Variable):
        raise SessionError(f"`let` names a value by a variable, not by {shown(variable)}")
    assert isinstance(variable.node, tree.Variable)
    return Body((tree.Assignment(variable.node.name, node(value)),))


class Relation:
    """A declared relation; made by `input`, `output` and `relation`."""

    def __init__(self, item: tree.Relation) -> None:
        self.item = item

    @property
    def name(self) -> str:
        return self.item.name

    def __getitem__(self, values: object) -> Body:
        given = values if isinstance(values, tuple) else (values,)
        return self._atom(tuple(tree.Argument(node(value)) for value in given))

    def __call__(self, **values: object) -> Body:
        return self._atom(tuple(tree.Argument(node(value), name) for name, value in values.items()))

    def _atom(self, args: tuple[tree.Argument, ...]) -> Body:
        return Body((tree.Atom(self.name, args),), (self,))

    def __str__(self) -> str:
        return print_item(self.item)

    def __repr__(self) -> str:
        return f"<{self}>"


def input(  # noqa: A001
    name: str, /, columns: Columns | None = None, *, primary_key: Iterable[str] = (), **more: object
) -> Relation:
    """Declare an input relation: `input("Edge", src=str, dst=str)`."""
    key = tuple(tree.Variable(column) for column in primary_key)
    return _declared("input", name, columns, more, key or None)


def output(name: str, /, columns: Columns | None = None, **more: object) -> Relation:
    """Declare an output relation."""
    return _declared("output", name, columns, more)


def relation(name: str, /, columns: Columns | None = None, **more: object) -> Relation:
    """Declare an internal relation."""
    return _declared("", name, columns, more)


def _declared(
    role: str,
    name: str,
    columns: Columns | None,
    more: Columns,
    key: tuple[tree.Variable, ...] | None = None,
) -> Relation:
    if not _RELATION.fullmatch(str(name)) or not (name[0].isupper() or "::" in name):
        raise SessionError(f"{shown(name)} cannot be the name of a relation: it must be capitalised")
    given = {**(columns or {}), **more}
    listed = tuple(tree.Column(column, type_name(type_)) for column, type_ in given.items())
    return Relation(tree.Relation(role, name, listed, key))


class Rule(Written):
    """A rule; `relations` are those that it mentions."""

    def __init__(self, item: tree.Rule, relations: tuple[Relation, ...]) -> None:
        self.item = item
        self.relations = relations

    def __bool__(self) -> NoReturn:
        raise SessionError(
            f"`{self}` has no truth value in Python; it has one `<=`, and comparisons in "
            "its body are in parentheses"
        )

    def __str__(self) -> str:
        return print_item(self.item)

    def __repr__(self) -> str:
        return f"<{self}>"


class Program(Written):
    """Declarations and rules; its text declares every relation that they mention."""

    def __init__(self, relations: tuple[Relation, ...], rules: tuple[Rule, ...]) -> None:
        self.relations = relations
        self.rules = rules

    def __str__(self) -> str:
        return "".join(f"{part}\n" for part in (*self.relations, *self.rules))

    def __repr__(self) -> str:
        return f"<program of {len(self.relations)} relations and {len(self.rules)} rules>"


def program(*parts: Relation | Rule | Body) -> Program:
    """The program of some rules, facts (atoms) and relations; relations that rules mention are included."""
    relations: dict[str, Relation] = {}
    rules: list[Rule] = []
    for part in parts:
        mentioned: tuple[Relation, ...] = ()
        if isinstance(part, Relation):
            mentioned = (part,)
        else:
            rules.append(_rule(part))
            mentioned = rules[-1].relations
        for found in mentioned:
            if relations.setdefault(found.name, found).item != found.item:
                raise SessionError(f"the relation `{found.name}` is declared twice, with different columns")
    return Program(tuple(relations.values()), tuple(rules))


def _rule(part: Rule | Body) -> Rule:
    if isinstance(part, Rule):
        return part
    body = _body(part)
    heads = tuple(x for x in body.literals if isinstance(x, tree.Atom))
    if len(heads) != len(body.literals):
        raise SessionError(f"`{body}` is neither a rule nor a fact; a rule is written `head <= body`")
    return Rule(tree.Rule(heads), body.relations)
