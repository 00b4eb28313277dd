"""Facts, rules and literals as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from tidelog.data.display import display
from tidelog.data.json_text import quoted
from tidelog.data.types import Type
from tidelog.data.values import Value
from tidelog.errors import clip
from tidelog.program.model import Program
from tidelog.program.text import print_body_literal, print_rule
from tidelog.program.traversal import expressions, subexpressions, variables
from tidelog.program.typed import (
    Absent,
    Bind,
    Constant,
    Each,
    Expr,
    Is,
    Literal,
    Match,
    Nested,
    Rule,
    Stage,
    Term,
    Test,
    Var,
    Wildcard,
    Without,
)
from tidelog.proofs.absence import Pattern
from tidelog.proofs.kinds import relation_read
from tidelog.proofs.model import Computed, Fact, Failed, Instance
from tidelog.syntax.quoting import written_relation

__all__ = ["Wording", "atom_text", "literal_text", "rule_text", "value_text", "values_text"]

_LONGEST: Final = 400
_NO_MATCH: Final = "the value does not match the pattern"


def value_text(type_: Type, value: Value) -> str:
    return quoted(value) if isinstance(value, str) else display(type_, value)


class Wording:
    def __init__(self, program: Program) -> None:
        self.program = program

    def fact(self, fact: Fact) -> str:
        relation, delay = relation_read(self.program, fact.relation)
        assert relation is not None, "facts are of relations of the program"
        shown = ", ".join(map(value_text, relation.types, fact.row))
        return f"{written_relation(relation.name)}{f'-{delay}' if delay else ''}({shown})"

    def pattern(self, pattern: Pattern) -> str:
        """A fact in which columns that may have any value are `_`."""
        types = self.program.relations[pattern.relation].types
        bound = pattern.bound
        shown = (value_text(t, bound[i]) if i in bound else "_" for i, t in enumerate(types))
        return f"{written_relation(pattern.relation)}({', '.join(shown)})"

    def failure(
        self, literal: Literal, values: Mapping[str, Value], instead: Sequence[Computed], near: Sequence[Fact]
    ) -> str:
        """Why a literal does not hold."""
        match literal:
            case Match():
                return f"no row {atom_text(literal, values)}"
            case Absent():
                return f"{self.fact(near[0]) if near else atom_text(literal, values)} is there"
            case Test(condition):
                if _is_internal(condition):
                    return _NO_MATCH
                return f"{literal_text(literal)} does not hold{_where([condition], values)}"
            case Without(parameters):
                return f"{literal_text(literal)} does not hold{_where(parameters, values)}"
            case Bind(variable, value):
                return self._other_value(literal, variable, _where([value], values), values, instead)
            case Nested(result=result, parameters=parameters):
                return self._other_value(literal, result, _where(parameters, values), values, instead)
            case Each(collection=collection):
                return f"{literal_text(literal)} has no such item{_where([collection], values)}"
            case Stage(group):
                known = [v for v in group.columns if v.name in values]
                return f"no group of an earlier stage{_where(tuple(known), values)}"
            case _:
                assert_never(literal)

    def _other_value(
        self,
        literal: Literal,
        variable: Var,
        where: str,
        values: Mapping[str, Value],
        instead: Sequence[Computed],
    ) -> str:
        text = literal_text(literal).partition(" = ")[2]
        if variable.name.startswith("$"):
            return _NO_MATCH
        if isinstance(literal, Bind) and _is_internal(literal.value):
            text, where = variable.name, ""
        if not instead or isinstance(instead[0], Failed):
            return f"{text} has no value{where}"
        needed = (
            f", not {value_text(variable.type, values[variable.name])}" if variable.name in values else ""
        )
        return f"{text} is {value_text(variable.type, instead[0])}{needed}{where}"

    def literal(self, literal: Literal, values: Mapping[str, Value]) -> str:
        """A literal that is not an atom, and the values it holds for."""
        match literal:
            case Match():
                return atom_text(literal, values)
            case Absent():
                return f"no row {atom_text(literal, values)}"
            case Test(condition):
                return f"{literal_text(literal)}{_where([condition], values)}"
            case Bind(variable, value):
                shown = f" = {literal_text(literal).partition(' = ')[2]}" if variables_in(value) else ""
                return f"{variable.name} = {value_text(variable.type, values[variable.name])}{shown}"
            case Each(variable):
                item = value_text(variable.type, values[variable.name])
                return f"{variable.name} = {item}, an item of {literal_text(literal).partition(' in ')[2]}"
            case Nested(result=result):
                found = value_text(result.type, values[result.name])
                return f"{result.name} = {found} = {literal_text(literal).partition(' = ')[2]}"
            case Without(parameters):
                return (
                    f"no instance of {literal_text(literal).removeprefix('not ')}{_where(parameters, values)}"
                )
            case Stage(group):
                parts = (f"{v.name} = {value_text(v.type, values[v.name])}" for v in group.columns)
                return f"a group with {', '.join(parts)}"
            case _:
                assert_never(literal)


def is_shown(literal: Literal) -> bool:
    """Whether people should see a literal; patterns and intermediate values are elaborated into others."""
    match literal:
        case Bind(variable, value):
            return not variable.name.startswith("$") and not _is_internal(value)
        case Test(condition):
            return not _is_internal(condition)
        case Each() | Nested() | Match() | Absent() | Without() | Stage():
            return True
        case _:
            assert_never(literal)


def _is_internal(expr: Expr) -> bool:
    if isinstance(expr, Is) or (isinstance(expr, Var) and expr.name.startswith("$")):
        return True
    return any(map(_is_internal, subexpressions(expr)))


def variables_in(expr: Expr) -> bool:
    return any(True for _ in variables(expr))


def literal_text(literal: Literal) -> str:
    return clip(" ".join(print_body_literal(literal).split()).removesuffix("."), _LONGEST)


def atom_text(atom: Match | Absent, values: Mapping[str, Value]) -> str:
    """An atom with the values of its variables; variables without a value keep their names."""
    version = f"{f'-{atom.delay}' if atom.delay else ''}{chr(39) * atom.is_prime}"
    shown = ", ".join(_term(t, values) for t in atom.terms)
    return f"{written_relation(atom.relation)}{version}({shown})"


def _term(term: Term, values: Mapping[str, Value]) -> str:
    match term:
        case Wildcard():
            return "_"
        case Constant(value, type_):
            return value_text(type_, value)
        case Var(name, type_):
            unknown = "_" if name.startswith("$") else name
            return value_text(type_, values[name]) if name in values else unknown
        case _:
            assert_never(term)


def _where(exprs: list[Expr] | tuple[Var, ...], values: Mapping[str, Value]) -> str:
    used = {v.name: v.type for expr in exprs for v in variables(expr)}
    listed = [f"{n} = {value_text(t, values[n])}" for n, t in used.items() if n in values and n[0] != "$"]
    return f" (with {', '.join(listed)})" if listed else ""


def values_text(instance: Instance) -> str:
    """The values of the variables of an instance, without those that elaboration introduced."""
    types: dict[str, Type] = {}
    for literal in instance.body:
        types.update((v.name, v.type) for v in _own(literal))
    names = [n for n in types if n in instance.values and not n.startswith("$")]
    return ", ".join(f"{n} = {value_text(types[n], instance.values[n])}" for n in names)


def _own(literal: Literal) -> Iterator[Var]:
    for expr in expressions(literal):
        yield from variables(expr)
    if isinstance(literal, Bind | Each):
        yield literal.variable
    if isinstance(literal, Nested):
        yield literal.result


def rule_text(rule: Rule) -> str:
    """The rule as its author wrote it, on one line."""
    text = rule.span.text if rule.span.is_known else print_rule(rule)
    return clip(" ".join(text.split()), _LONGEST)
