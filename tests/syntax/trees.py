"""Syntax trees at random: everything that the parser can make, and nothing that it cannot."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tidelog.syntax import tree
from tidelog.syntax.constants import UNITS
from tidelog.syntax.precedence import BINARY
from tidelog.syntax.quoting import KEYWORDS, written_function

_T = TypeVar("_T")


def _some(inner: SearchStrategy[_T], least: int, most: int) -> SearchStrategy[tuple[_T, ...]]:
    return st.lists(inner, min_size=least, max_size=most).map(tuple)


# -- names

words = st.sampled_from(
    "x y total group_by_2 _hidden größe x1 e5 distinct count 日本 nota as_ in match case hours s".split()
)
_QUOTED = [
    "unit price",
    "Größe",
    "not",
    "relation",
    "a`b",
    "x\\y",
    '"',
    "{x}$",
    "}",
    "1",
    "_",
    "\n\0",
    "😀",
    "(",
    "=",
]
quoted = st.sampled_from(_QUOTED)
variables = words | quoted
relations = st.sampled_from(["R", "Edge", "Écart", "graph::Edge", "a::b::c", "_a::b", "X1"])
relations |= quoted | st.sampled_from(["edge", "a::b c", "a b::C", "x::y::1"])
functions = variables | st.sampled_from(["ns::f", "ns::g h", "a b::f", "F"])
columns = variables | st.sampled_from([*sorted(KEYWORDS), "Name", "ID", "group_by"])
constructors = st.sampled_from(["IPv4", "Other", "net::Packet", "É", "R", "a b::Other"])
constructors_in_braces = constructors | quoted | st.sampled_from(["other", "a::other", "My Case"])
fields = variables | st.sampled_from(["key", "not", "none", "group_by", "Name", "input"]) | st.integers(0, 12)
types = st.recursive(
    st.builds(
        tree.TypeName,
        st.sampled_from(["int", "string", "Alias", "date", "ns::t", "my type", "1", "_", "not", "a b::t"]),
    )
    | st.builds(lambda n: tree.TypeName("bit", (n,)), st.integers(0, 128))
    | st.builds(lambda p, s: tree.TypeName("decimal", (p, s)), st.integers(1, 38), st.integers(0, 38)),
    lambda inner: st.one_of(
        st.builds(tree.TypeName, st.sampled_from(["option", "map", "||"]), _some(inner, 1, 2)),
        st.builds(tree.TypeName, st.just("()"), _some(inner, 2, 3)),
    ),
    max_leaves=3,
)

# -- constants

_NASTY = [
    '"',
    "\\",
    "${",
    "$",
    "{",
    "}",
    "\n",
    "\r",
    "\t",
    "\0",
    "\x7f",
    "\u2028",
    "//",
    "/*",
    "*/",
    "😀",
    ".",
]
_characters = st.characters(exclude_categories=["Cs"])
texts = st.lists(st.sampled_from(_NASTY) | st.text(_characters, max_size=3), max_size=4).map("".join)
integers = st.integers(-20, 300) | st.integers()
fractions = st.decimals(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [
        Decimal(t)
        for t in ("-0.0", "100", "1e400", "-1e-400", "0e7", "12345678901234567890.123456789012345678901")
    ]
)
numbers = st.builds(tree.IntLiteral, integers) | st.builds(tree.FractionLiteral, fractions)
constants: SearchStrategy[tree.Expr] = st.one_of(
    st.builds(tree.BoolLiteral, st.booleans()),
    numbers,
    st.builds(tree.DurationLiteral, numbers, st.sampled_from(sorted(UNITS))),
    st.builds(tree.WidthLiteral, st.integers(0, 200), st.integers(0)),
    st.builds(tree.StringLiteral, texts),
    st.builds(tree.BytesLiteral, st.binary(max_size=3)),
    st.just(tree.NoneLiteral()),
    st.just(tree.Wildcard()),
)

# -- expressions


def _interpolation(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    """Texts between the values may be empty, and are then left out."""

    def made(pairs: list[tuple[str, tree.Expr]], last: str) -> tree.Expr:
        parts = [part for pair in pairs for part in pair]
        return tree.Interpolation(tuple(p for p in (*parts, last) if p != ""))

    return st.builds(made, st.lists(st.tuples(texts, inner), min_size=1, max_size=2), texts)


def _tuples(inner: SearchStrategy[tree.Expr], most: int = 2) -> SearchStrategy[tuple[tree.Expr, ...]]:
    return st.lists(inner, max_size=most).map(tuple)


def _assignments(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Assignment]:
    return st.builds(tree.Assignment, variables, inner)


def _blocks(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Block]:
    bindings = _assignments(inner) | st.builds(tree.Destructuring, _patterns(inner), inner)
    return st.builds(tree.Block, _some(bindings, 0, 2), inner)


def _bodies(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Steps]:
    """Blocks without a value, with at most one block inside them."""
    shallow = st.builds(tree.Steps, _some(_plain_statements(inner), 0, 1), st.none())
    branches = _some(st.builds(tree.Branch, inner, shallow), 1, 2)
    arms = _some(st.builds(tree.Arm, inner, shallow), 1, 2)
    compound = st.one_of(
        st.builds(tree.Choice, branches, st.none() | shallow),
        st.builds(tree.Switch, inner, arms),
        st.builds(tree.Loop, inner, inner, shallow),
    )
    return st.builds(tree.Steps, _some(_plain_statements(inner) | compound, 0, 2), st.none())


def _plain_statements(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Statement]:
    targets = _patterns(inner) | st.builds(tree.Variable, variables)
    return st.one_of(
        _assignments(inner),
        st.builds(tree.Destructuring, _patterns(inner), inner),
        st.builds(tree.Update, targets, inner),
        st.builds(tree.Jump, st.sampled_from(["break", "continue"])),
        st.builds(tree.Return, inner),
    )


def _steps(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Steps]:
    """Blocks with a value and with statements that are more than `var`."""
    bodies = _bodies(inner)
    ways = st.one_of(
        st.builds(tree.Loop, inner, inner, bodies),
        st.builds(tree.Choice, _some(st.builds(tree.Branch, inner, bodies), 1, 2), st.none() | bodies),
        st.builds(tree.Switch, inner, _some(st.builds(tree.Arm, inner, bodies), 1, 2)),
    )
    more = _some(_plain_statements(inner), 0, 1)
    return st.builds(lambda one, rest, result: tree.Steps((one, *rest), result), ways, more, inner)


def _methods(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    return st.builds(
        lambda f, first, rest: tree.Call(f, (first, *rest), True), variables, inner, _tuples(inner)
    )


def _aggregates(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    def made(
        value: tree.Expr, keys: tuple[tree.Expr, ...], args: tuple[tree.Expr, ...], name: str, distinct: bool
    ) -> tree.Expr:
        function = "count" if name == "distinct" and not args else name
        return tree.Aggregate(value, keys, function, args, distinct)

    return st.builds(made, inner, _tuples(inner), _tuples(inner), words, st.booleans())


# -- structured values and patterns


def _constructs(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    args = _some(st.builds(tree.Argument, inner, st.none() | columns), 0, 2)
    return st.builds(tree.Construct, constructors_in_braces, args, st.just(False), st.booleans()) | st.builds(
        tree.Construct, constructors, is_bare=st.just(True)
    )


def _patterns(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    """Patterns that are more than a name."""
    return st.one_of(
        _constructs(inner),
        st.builds(tree.TupleValue, _some(inner, 2, 3)),
        st.builds(tree.At, variables, inner),
    )


def _structured(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    cases = st.builds(tree.Case, inner, inner)
    parameters = st.builds(tree.Parameter, variables | st.just("_"), st.none() | types)
    return st.one_of(
        _patterns(inner),
        st.builds(tree.VecLiteral, _some(inner, 0, 3)),
        st.builds(tree.MapLiteral, _some(st.tuples(inner, inner), 1, 2)),
        st.builds(tree.FieldAccess, inner, fields),
        st.builds(tree.Slice, inner, st.integers(0, 200), st.integers(0, 200)),
        st.builds(tree.Match, inner, _some(cases, 1, 3)),
        st.builds(tree.Closure, _some(parameters, 0, 2), inner),
    )


def _compound(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    return st.one_of(
        st.builds(tree.Binary, st.sampled_from(sorted(BINARY)), inner, inner),
        st.builds(tree.Unary, st.sampled_from(["-", "~", "not", "?"]), inner),
        st.builds(tree.Cast, inner, types),
        st.builds(tree.Conditional, inner, inner, inner),
        st.builds(tree.Call, functions, _tuples(inner)),
        _blocks(inner),
        _steps(inner),
        _methods(inner),
        _aggregates(inner),
        _interpolation(inner),
        _structured(inner),
    )


expressions: SearchStrategy[tree.Expr] = st.recursive(
    constants | st.builds(tree.Variable, variables), _compound, max_leaves=8
)

# -- literals

arguments = st.builds(tree.Argument, expressions, st.none() | columns)
atoms = st.builds(tree.Atom, relations, st.lists(arguments, max_size=3).map(tuple))


def _condition(expr: tree.Expr) -> tree.Condition:
    return tree.Condition(tree.Unary("-", expr) if _is_literal(expr) or _starts_as_tuple(expr) else expr)


def _is_literal(expr: tree.Expr) -> bool:
    """Whether a body would read it as an atom: a namespaced call looks like one."""
    match expr:
        case tree.Call(function, method=False) | tree.Unary("not", tree.Call(function, method=False)):
            return "::" in function or written_function(function) != function
        case _:
            return False


def _starts_as_tuple(expr: tree.Expr) -> bool:
    """Whether a body would read the beginning as literals in parentheses."""
    match expr:
        case tree.TupleValue():
            return True
        case tree.Unary("not", first) | tree.Cast(first) | tree.Binary(_, first) | tree.Aggregate(first):
            return _starts_as_tuple(first)
        case tree.FieldAccess(first) | tree.Slice(first) | tree.Unary("?", first):
            return _starts_as_tuple(first)
        case tree.Call(args=args, method=True):
            return _starts_as_tuple(args[0])
        case _:
            return False


whole_atoms = st.builds(
    lambda relation, value: tree.Atom(relation, (tree.Argument(value),), is_whole=True),
    relations,
    expressions.filter(lambda value: not isinstance(value, tree.IntLiteral)),
)
versions = st.builds(lambda atom, delay: replace(atom, delay=delay), atoms, st.integers(1, 1000)) | st.builds(
    lambda atom: replace(atom, is_prime=True), atoms
)
_simple: SearchStrategy[tree.Literal] = st.one_of(
    atoms,
    versions,
    st.builds(tree.Negation, versions),
    st.builds(tree.Row, variables, versions),
    whole_atoms,
    st.builds(tree.Row, variables, atoms | whole_atoms),
    st.builds(tree.Negation, whole_atoms),
    st.builds(tree.Negation, atoms),
    st.builds(_condition, expressions),
    _assignments(expressions),
    st.builds(tree.Destructuring, _patterns(expressions), expressions),
    st.builds(
        tree.Generator,
        _patterns(expressions) | st.builds(tree.Variable, variables) | st.just(tree.Wildcard()),
        expressions,
    ),
)
aggregates = functions.filter(lambda name: name != "match")


def _nested(inner: SearchStrategy[tree.Literal]) -> SearchStrategy[tree.Literal]:
    alternatives = _some(_some(inner, 1, 2), 1, 3)
    aggregate = st.builds(tree.SubAggregate, aggregates, _tuples(expressions), alternatives)
    return st.one_of(
        alternatives.map(_disjunction),
        alternatives.map(_negation),
        st.builds(tree.Assignment, variables, aggregate),
        st.builds(tree.Destructuring, _patterns(expressions), aggregate),
    )


def _disjunction(alternatives: tuple[tuple[tree.Literal, ...], ...]) -> tree.Literal:
    """Parentheses around a single condition mean nothing."""
    match alternatives:
        case ((tree.Condition() as only,),):
            return only
        case _:
            return tree.Disjunction(alternatives)


def _negation(alternatives: tuple[tuple[tree.Literal, ...], ...]) -> tree.Literal:
    """The same, after `not`."""
    match alternatives:
        case ((tree.Condition(value),),):
            return _condition(tree.Unary("not", value))
        case _:
            return tree.NegatedBody(alternatives)


literals = st.recursive(_simple, _nested, max_leaves=4)

# -- items

column_lists = st.lists(st.builds(tree.Column, columns, types), max_size=3).map(tuple)
keys = st.lists(st.builds(tree.Variable, columns), max_size=3).map(tuple)
roles = st.sampled_from(["input", "output", ""])
wide_columns = st.integers(4, 64).map(
    lambda arity: tuple(tree.Column(f"c{i}", tree.TypeName("int")) for i in range(arity))
)
wide_atoms = st.builds(
    lambda relation, arity: tree.Atom(
        relation, tuple(tree.Argument(tree.IntLiteral(i)) for i in range(arity))
    ),
    relations,
    st.integers(4, 64),
)
heads = st.lists(atoms | wide_atoms | whole_atoms, min_size=1, max_size=3).map(tuple)

attributes = st.builds(
    tree.Attribute,
    columns,
    st.builds(tree.StringLiteral, texts)
    | st.builds(tree.BoolLiteral, st.booleans())
    | st.builds(tree.IntLiteral, st.integers(0)),
)
type_parameters = _some(st.builds(tree.Variable, st.sampled_from(["A", "T", "t", "a b"])), 0, 2)
definitions = st.builds(tree.Constructor, constructors_in_braces, column_lists | wide_columns)


def _statements(inner: SearchStrategy[tree.RuleStatement]) -> SearchStrategy[tree.RuleStatement]:
    """Statements that hold others. `else` belongs to the last `if`, so before it, others are in braces."""
    bindings = _assignments(expressions) | st.builds(tree.Destructuring, _patterns(expressions), expressions)
    sequences = st.builds(
        lambda first, last: tree.RuleSequence((*first, last)), _some(inner | bindings, 0, 2), inner
    )
    branches = _some(st.builds(tree.RuleBranch, _patterns(expressions), inner), 1, 3)
    return st.one_of(
        sequences,
        st.builds(tree.RuleLoop, _sources, st.none() | expressions, inner),
        st.builds(tree.RuleIf, expressions, inner),
        st.builds(tree.RuleIf, expressions, sequences | _heads, inner),
        st.builds(tree.RuleSwitch, expressions, branches),
        st.builds(lambda then: tree.RuleIf(tree.Variable("x"), tree.RuleSequence(()), then), inner),
    )


_sources = st.one_of(
    atoms,
    versions,
    whole_atoms,
    st.builds(tree.Row, variables, versions | whole_atoms),
    st.builds(tree.Generator, _patterns(expressions) | st.just(tree.Wildcard()), expressions),
)
_heads = atoms | wide_atoms | whole_atoms
statements = st.recursive(_heads, _statements, max_leaves=3)
loops = st.builds(tree.RuleLoop, _sources, st.none() | expressions, statements)

items: SearchStrategy[tree.Item] = st.one_of(
    st.builds(
        tree.Relation,
        roles,
        relations,
        column_lists | wide_columns,
        st.none() | keys,
        attributes=_some(attributes, 0, 2),
        kind=st.sampled_from(["", "multiset", "stream"]),
    ),
    st.builds(tree.Relation, roles, relations, st.just(()), st.none() | keys, row=types),
    st.builds(tree.Alias, relations | variables, types, parameters=type_parameters),
    st.builds(tree.TypeDefinition, relations | variables, type_parameters, _some(definitions, 1, 3)),
    st.builds(
        tree.Function,
        functions,
        column_lists,
        types,
        _blocks(expressions) | _steps(expressions) | _bodies(expressions),
        type_parameters=type_parameters,
    ),
    st.builds(
        tree.Index, relations, _some(st.builds(tree.Parameter, variables, st.none() | types), 0, 2), atoms
    ),
    st.builds(tree.Rule, heads, st.lists(literals | wide_atoms, max_size=4).map(tuple)),
    loops,
)
paths = relations | functions
headers = st.builds(
    lambda module, imports: (*module, *imports),
    _some(st.builds(tree.Module, paths), 0, 1),
    _some(st.builds(tree.Import, paths, st.none() | variables), 0, 2),
)
programs = st.builds(
    lambda header, made: tree.Program((*header, *made)), st.just(()) | headers, st.lists(items, max_size=4)
)
