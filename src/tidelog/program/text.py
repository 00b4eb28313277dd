"""Typed programs as text, by way of the syntax tree: the output of `show program`, and the identity of rules.

The identity of a rule is its canonical form: the typed rule with its variables numbered in order of first
occurrence. Two rules share it iff they differ only in the names of variables, in how arguments are given (by
position or by name), or in layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import count
from typing import assert_never

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Value, to_text
from tidelog.program import declared, typed
from tidelog.program.folds import written_name
from tidelog.program.steps import Assign, Branch, Jump, Loop, Return, Steps
from tidelog.program.typed import Body, Group, Head, Rule
from tidelog.syntax import tree
from tidelog.syntax.inline import print_expression, print_literal, print_literals
from tidelog.syntax.printer import print_item, print_line

__all__ = [
    "canonical_id",
    "constant_tree",
    "print_alias",
    "print_body_literal",
    "print_function",
    "print_heads",
    "print_index",
    "print_relation",
    "print_rule",
    "print_value",
    "type_tree",
]


def canonical_id(
    heads: tuple[Head, ...], bodies: tuple[Body, ...], group: Group | None, after: tuple[Body, ...]
) -> str:
    """The rule's text on one line, with its variables numbered."""
    return print_line(_rule(Rule("", heads, bodies, group, after), _Numbering()))


class _Numbering(dict[str, str]):
    """Numbers each name on first use; nested bodies have names of their own."""

    def __init__(self, known: Mapping[str, str] | None = None, numbers: Iterator[int] | None = None) -> None:
        super().__init__(known or {})
        self._numbers = numbers or count()

    def __missing__(self, name: str) -> str:
        self[name] = f"v{next(self._numbers)}"
        return self[name]

    def nested(self, known: Mapping[str, str]) -> _Numbering:
        return _Numbering(known, self._numbers)


class _AsIs(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return name


def print_rule(rule: Rule) -> str:
    """The rule in the syntax of the language; variables that elaboration introduced are `$1`, `$2`, …"""
    return print_item(_rule(rule, _AsIs()))


def print_heads(rule: Rule) -> str:
    """The heads of a rule, on one line."""
    return print_literals(_heads(rule, _AsIs()))


def print_value(value: typed.Expr) -> str:
    return print_expression(_expr(value, _AsIs()))


def print_body_literal(literal: typed.Literal) -> str:
    return print_literal(_literal(literal, _AsIs()))


def print_relation(relation: declared.Relation) -> str:
    role = "" if relation.role is declared.Role.INTERNAL else relation.role.value
    columns = tuple(tree.Column(c.name, _type(c.type)) for c in relation.columns)
    key = relation.key
    names = None if key is None else tuple(tree.Variable(relation.columns[i].name) for i in key)
    attributes = tuple(_attributes(relation.options))
    row = None if relation.row is None else _type(relation.row)
    shown = columns if row is None else ()
    kind = "" if relation.kind is declared.RelationKind.SET else relation.kind.value
    return print_item(
        tree.Relation(role, relation.name, shown, names, attributes=attributes, row=row, kind=kind)
    )


def print_index(index: declared.Index, relation: declared.Relation) -> str:
    names = {position: name for name, position in index.columns}
    args = [
        tree.Variable(names[i]) if i in names else tree.Wildcard() for i, _ in enumerate(relation.columns)
    ]
    atom = tree.Atom(relation.name, tuple(map(tree.Argument, args)))
    given = [tree.Parameter(name, type_tree(relation.columns[i].type)) for name, i in index.columns]
    return print_line(tree.Index(index.name, tuple(given), atom))


def _attributes(options: declared.FileOptions) -> Iterator[tree.Attribute]:
    if options.file is not None:
        yield tree.Attribute("file", tree.StringLiteral(options.file))
    if options.delimiter is not None:
        yield tree.Attribute("delimiter", tree.StringLiteral(options.delimiter))
    if options.header is not None:
        yield tree.Attribute("header", tree.BoolLiteral(options.header))


def print_alias(name: str, type_: Type) -> str:
    return print_item(tree.Alias(name, _type(type_)))


def print_function(function: declared.Function) -> str:
    parameters = tuple(tree.Column(p.name, _type(p.type)) for p in function.parameters)
    body = _expr(function.body, _AsIs())
    block = body if isinstance(body, tree.Block | tree.Steps) else tree.Block((), body)
    return print_item(tree.Function(function.name, parameters, _type(function.result), block))


# -- from typed to tree

_LONG = 1024  # bits; larger numbers are written as strings

Names = Mapping[str, str]


def _heads(rule: Rule, names: Names) -> tuple[tree.Atom, ...]:
    return tuple(
        tree.Atom(h.relation, tuple(tree.Argument(_expr(v, names)) for v in h.values)) for h in rule.heads
    )


def _rule(rule: Rule, names: Names) -> tree.Rule:
    heads = _heads(rule, names)
    body = _choice(rule.bodies, names)
    if rule.group is not None:
        body += tuple(_aggregate(a, rule.group, names) for a in rule.group.aggregates)
        body += _choice(rule.after, names)
    return tree.Rule(heads, body)


def _choice(bodies: tuple[Body, ...], names: Names) -> tuple[tree.Literal, ...]:
    """Alternatives; what the stages before them have in common comes first."""
    start = bodies[0][:1] if bodies else ()
    if start and isinstance(start[0], typed.Stage):
        first = _stage(start[0], names)
        return first + _choice(tuple(body[1:] for body in bodies), names)
    made = tuple(tuple(_literal(x, names) for x in body) for body in bodies)
    return made[0] if len(made) == 1 else (tree.Disjunction(made),)


def _stage(stage: typed.Stage, names: Names) -> tuple[tree.Literal, ...]:
    body = _choice(stage.bodies, names)
    return body + tuple(_aggregate(a, stage.group, names) for a in stage.group.aggregates)


def _literal(literal: typed.Literal, names: Names) -> tree.Literal:
    match literal:
        case typed.Match():
            return _atom(literal, names)
        case typed.Absent():
            return tree.Negation(_atom(literal, names))
        case typed.Test(condition):
            return tree.Condition(_expr(condition, names))
        case typed.Bind(variable, value):
            return tree.Assignment(names[variable.name], _expr(value, names))
        case typed.Each(variable, collection):
            made = _expr(collection, names)
            return tree.Generator(tree.Variable(names[variable.name]), made)
        case typed.Nested():
            return _nested(literal, names)
        case typed.Without(parameters, bodies):
            own = _own_names(parameters, names)
            return tree.NegatedBody(tuple(tuple(_literal(x, own) for x in body) for body in bodies))
        case typed.Stage():
            return tree.Disjunction((_stage(literal, names),))
        case _:
            assert_never(literal)


def _own_names(parameters: tuple[typed.Var, ...], names: Names) -> Names:
    """The names inside a nested body: those of its parameters, and others that only it has."""
    if not isinstance(names, _Numbering):
        return names
    return names.nested({p.name: names[p.name] for p in parameters})


def _nested(literal: typed.Nested, names: Names) -> tree.Assignment:
    own = _own_names(literal.parameters, names)
    bodies = tuple(tuple(_literal(x, own) for x in body) for body in literal.bodies)
    args = tuple(_expr(a, own) for a in literal.args)
    counts = literal.distinct and literal.function == "count"
    function = "count_distinct" if counts else written_name(literal.function)
    return tree.Assignment(names[literal.result.name], tree.SubAggregate(function, args, bodies))


def _atom(atom: typed.Match | typed.Absent, names: Names) -> tree.Atom:
    args = tuple(
        tree.Argument(tree.Wildcard() if isinstance(t, typed.Wildcard) else _expr(t, names))
        for t in atom.terms
    )
    return tree.Atom(atom.relation, args, delay=atom.delay, is_prime=atom.is_prime)


def _aggregate(aggregate: typed.Aggregate, group: Group, names: Names) -> tree.Assignment:
    value, *extra = (_expr(a, names) for a in aggregate.args)
    keys = tuple(tree.Variable(names[k.name]) for k in group.keys)
    call = tree.Aggregate(value, keys, written_name(aggregate.function), tuple(extra), aggregate.distinct)
    return tree.Assignment(names[aggregate.result.name], call)


def _expr(expr: typed.Expr, names: Names) -> tree.Expr:
    match expr:
        case typed.Constant(value, type_):
            return constant_tree(type_, value)
        case typed.Var(name):
            return tree.Variable(names[name])
        case typed.Unary(op, operand):
            return tree.Unary(op, _expr(operand, names))
        case typed.Binary(op, left, right):
            return tree.Binary(op, _expr(left, names), _expr(right, names))
        case typed.If(condition, then, otherwise):
            return tree.Conditional(_expr(condition, names), _expr(then, names), _expr(otherwise, names))
        case typed.Let(name, value, body):
            binding = tree.Assignment(names[name], _expr(value, names))
            return tree.Block((binding,), _expr(body, names))
        case typed.Call(function, args, closures=closures):
            lambdas = tuple(_closure(c, names) for c in closures)
            return tree.Call(written_name(function), (*(_expr(a, names) for a in args), *lambdas))
        case typed.Cast(operand, type_):
            return tree.Cast(_expr(operand, names), _type(type_))
        case typed.Block(steps):
            return tree.Steps(_steps(steps, names, set()), None)
        case typed.Make() | typed.Get() | typed.Is() | typed.Listing():
            return _structured(expr, names)
        case typed.Over(function, distinct, sources=sources):  # not in the language
            counts = distinct and function == "count"
            aggregated = tuple(_expr(a, names) for a in sources[0].args)
            bodies = tuple(_source(source, names) for source in sources)
            written = "count_distinct" if counts else written_name(function)
            return tree.SubAggregate(written, aggregated, bodies)
        case _:
            assert_never(expr)


def _source(source: typed.Source, names: Names) -> tuple[tree.Literal, ...]:
    columns: list[tree.Expr] = [tree.Variable(names[v.name]) for v in source.columns]
    columns += [tree.Wildcard()] * (2 - len(columns))  # as the tuples have it
    items = tree.Generator(tree.TupleValue(tuple(columns)), _expr(source.rows, names))
    return (items, *(_literal(x, names) for x in source.body))


def _steps(steps: Steps, names: Names, known: set[str]) -> tuple[tree.Statement, ...]:
    """Statements; the first assignment of a variable declares it."""
    known = set(known)
    made: list[tree.Statement] = []
    for step in steps:
        match step:
            case Assign(typed.Var(name), value):
                right = _expr(value, names)
                is_new = name not in known
                known.add(name)
                target = tree.Variable(names[name])
                made.append(tree.Assignment(names[name], right) if is_new else tree.Update(target, right))
            case Branch():
                made.append(_branch(step, names, known))
            case Loop(variable, collection, body):
                values = _expr(collection, names)
                inside = tree.Steps(_steps(body, names, known), None)
                made.append(tree.Loop(tree.Variable(names[variable.name]), values, inside))
            case Jump(word):
                made.append(tree.Jump(word))
            case Return(value):
                made.append(tree.Return(_expr(value, names)))
            case _:
                assert_never(step)
    return tuple(made)


def _branch(step: Branch, names: Names, known: set[str]) -> tree.Choice:
    bodies = [tree.Steps(_steps(body, names, known), None) for body in step.bodies]
    conditions = (_expr(c, names) for c in step.conditions)
    rows = tuple(tree.Branch(c, body) for c, body in zip(conditions, bodies, strict=False))
    return tree.Choice(rows, bodies[-1] if bodies[-1].statements else None)


def _closure(closure: typed.Lambda, names: Names) -> tree.Closure:
    parameters = tuple(tree.Parameter(names[p.name], _type(p.type)) for p in closure.parameters)
    return tree.Closure(parameters, _expr(closure.body, names))


def _structured(expr: typed.Make | typed.Get | typed.Is | typed.Listing, names: Names) -> tree.Expr:
    match expr:
        case typed.Make("", fields):
            return tree.TupleValue(tuple(_expr(f, names) for f in fields))
        case typed.Make(constructor, fields):
            args = tuple(tree.Argument(_expr(f, names)) for f in fields)
            return tree.Construct(constructor, args, is_bare=not args)
        case typed.Listing(items):
            return tree.VecLiteral(tuple(_expr(x, names) for x in items))
        case typed.Is(operand, constructor):  # not in the language
            return tree.Call("$is", (_expr(operand, names), tree.StringLiteral(constructor)))
        case typed.Get(operand, constructor, field):
            return _get(_expr(operand, names), operand.type, constructor, field)
        case _:
            assert_never(expr)


def _get(operand: tree.Expr, type_: Type, constructor: str, field: int) -> tree.Expr:
    if not constructor:
        return tree.FieldAccess(operand, field)
    name: str | int = field
    if isinstance(type_, types.Named):
        name = type_.constructor(constructor).fields[field].name
        if len(type_.constructors) == 1:
            return tree.FieldAccess(operand, name)
    place = tree.StringLiteral(f"{constructor}.{name}")
    return tree.Call("$get", (operand, place))  # not in the language


def constant_tree(type_: Type, value: Value) -> tree.Expr:
    """The expression that elaborates to a constant of this type and value in every context."""
    match type_, value:
        case (types.Bool(), bool()):
            return tree.BoolLiteral(value)
        case (types.Int(), int()):
            return tree.IntLiteral(value)
        case (types.String(), str()):
            return tree.StringLiteral(value)
        case (types.Bytes(), bytes()):
            return tree.BytesLiteral(value)
        case (types.Double(), float()) if value - value == 0.0:
            return tree.FractionLiteral(Decimal(repr(value)))
        case (types.BigInt() | types.Bit() | types.Signed(), int()) if value.bit_length() <= _LONG:
            return tree.Cast(tree.IntLiteral(value), _type(type_))
        case (types.Decimal(), Decimal()):
            return tree.Cast(tree.FractionLiteral(value), _type(type_))
        case (types.Option(), None):
            return tree.Cast(tree.NoneLiteral(), _type(type_))
        case (types.Option(item), _):
            return tree.Cast(constant_tree(item, value), _type(type_))
        case _:
            return tree.Cast(tree.StringLiteral(to_text(type_, value)), _type(type_))


def type_tree(type_: Type) -> tree.TypeName:
    """A type as it is written."""
    return _type(type_)


def _type(type_: Type) -> tree.TypeName:
    match type_:
        case types.Bit(width) | types.Signed(width):
            return tree.TypeName("bit" if isinstance(type_, types.Bit) else "signed", (width,))
        case types.Decimal(precision, scale):
            return tree.TypeName("decimal", (precision, scale))
        case types.Option(item):
            return tree.TypeName("option", (_type(item),))
        case types.Tuple(items):
            return tree.TypeName("()", tuple(map(_type, items)))
        case types.Vec(item) | types.Set(item):
            return tree.TypeName("vec" if isinstance(type_, types.Vec) else "set", (_type(item),))
        case types.Map(key, value):
            return tree.TypeName("map", (_type(key), _type(value)))
        case types.Named(name, args):
            return tree.TypeName(name, tuple(map(_type, args)))
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Float()
            | types.Double()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
            | types.Duration()
        ):
            return tree.TypeName(str(type_))
        case _:
            assert_never(type_)
