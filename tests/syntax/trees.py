"""Syntax trees at random: everything that the parser can make, and nothing that it cannot."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tidelog.syntax import tree
from tidelog.syntax.expressions import BINARY
from tidelog.syntax.lexer import KEYWORDS

# -- names

variables = st.sampled_from("x y total group_by_2 _hidden größe x1 e5 distinct count 日本 nota as_ i".split())
relations = st.sampled_from(["R", "Edge", "Écart", "graph::Edge", "a::b::c", "_a::b", "X1"])
columns = variables | st.sampled_from([*sorted(KEYWORDS), "Name", "ID", "group_by"])
types = st.recursive(
    st.builds(tree.TypeName, st.sampled_from(["int", "string", "Alias", "date", "ns::t"]))
    | st.builds(lambda n: tree.TypeName("bit", (n,)), st.integers(0, 128))
    | st.builds(lambda p, s: tree.TypeName("decimal", (p, s)), st.integers(1, 38), st.integers(0, 38)),
    lambda inner: st.builds(
        tree.TypeName, st.sampled_from(["option", "map"]), st.lists(inner, min_size=1, max_size=2).map(tuple)
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
constants: SearchStrategy[tree.Expr] = st.one_of(
    st.builds(tree.BoolLiteral, st.booleans()),
    st.builds(tree.IntLiteral, integers),
    st.builds(tree.FractionLiteral, fractions),
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
    return st.builds(tree.Block, st.lists(_assignments(inner), max_size=2).map(tuple), inner)


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

    return st.builds(made, inner, _tuples(inner), _tuples(inner), variables, st.booleans())


def _compound(inner: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    return st.one_of(
        st.builds(tree.Binary, st.sampled_from(sorted(BINARY)), inner, inner),
        st.builds(tree.Unary, st.sampled_from(["-", "~", "not"]), inner),
        st.builds(tree.Cast, inner, types),
        st.builds(tree.Conditional, inner, inner, inner),
        st.builds(tree.Call, variables | st.just("ns::f"), _tuples(inner)),
        _blocks(inner),
        _methods(inner),
        _aggregates(inner),
        _interpolation(inner),
    )


expressions: SearchStrategy[tree.Expr] = st.recursive(
    constants | st.builds(tree.Variable, variables), _compound, max_leaves=8
)

# -- literals

arguments = st.builds(tree.Argument, expressions, st.none() | columns)
atoms = st.builds(tree.Atom, relations, st.lists(arguments, max_size=3).map(tuple))


def _condition(expr: tree.Expr) -> tree.Condition:
    return tree.Condition(tree.Unary("-", expr) if _starts_as_atom(expr) else expr)


def _starts_as_atom(expr: tree.Expr) -> bool:
    """Whether a body would read the beginning as an atom: a namespaced call looks like one."""
    match expr:
        case tree.Call(function, method=False):
            return "::" in function
        case tree.Unary("not", first) | tree.Cast(first) | tree.Binary(_, first) | tree.Aggregate(first):
            return _starts_as_atom(first)
        case tree.Call(args=args):
            return _starts_as_atom(args[0])
        case _:
            return False


_simple: SearchStrategy[tree.Literal] = st.one_of(
    atoms,
    st.builds(tree.Negation, atoms),
    st.builds(_condition, expressions),
    _assignments(expressions),
)


def _disjunctions(inner: SearchStrategy[tree.Literal]) -> SearchStrategy[tree.Literal]:
    alternative = st.lists(inner, min_size=1, max_size=2).map(tuple)
    return st.lists(alternative, min_size=1, max_size=3).map(_disjunction)


def _disjunction(alternatives: list[tuple[tree.Literal, ...]]) -> tree.Literal:
    """Parentheses around a single condition mean nothing."""
    match alternatives:
        case [(tree.Condition() as only,)]:
            return only
        case _:
            return tree.Disjunction(tuple(alternatives))


literals = st.recursive(_simple, _disjunctions, max_leaves=4)

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
heads = st.lists(atoms | wide_atoms, min_size=1, max_size=3).map(tuple)

items: SearchStrategy[tree.Item] = st.one_of(
    st.builds(tree.Relation, roles, relations, column_lists | wide_columns, st.none() | keys),
    st.builds(tree.Alias, relations | variables, types),
    st.builds(tree.Function, variables, column_lists, types, _blocks(expressions)),
    st.builds(tree.Rule, heads, st.lists(literals | wide_atoms, max_size=4).map(tuple)),
)
programs = st.lists(items, max_size=4).map(lambda made: tree.Program(tuple(made)))
