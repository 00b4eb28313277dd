"""Elaboration of one alternative of a rule body: the types of its variables, its literals typed and ordered.

The order of literals in the text does not matter. Positive atoms bind variables first; then assignments, in
order of their dependencies (an assignment to a variable that an atom also binds is an equation); then
everything else is checked. Expressions among the arguments of atoms are assigned to fresh variables (`$1`,
`$2`, …), so that atoms contain only terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import assert_never

from tidelog.data.types import BOOL, Type
from tidelog.errors import Span
from tidelog.program import typed
from tidelog.program.elaborate.atoms import Placed, place
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.ordering import in_order_of_need
from tidelog.program.elaborate.problems import Problems
from tidelog.program.typed import Absent, Bind, Body, Literal, Match, Term, Test, Var, Wildcard
from tidelog.syntax import tree
from tidelog.syntax.variables import expression_variables, literal_variables

__all__ = ["MAX_ALTERNATIVES", "BodyMaker", "Simple", "alternatives"]

MAX_ALTERNATIVES = 256

Simple = tree.Atom | tree.Negation | tree.Condition | tree.Assignment


def alternatives(literals: Sequence[tree.Literal]) -> list[tuple[Simple, ...]] | None:
    """The alternatives after expanding disjunctions; None if there are too many."""
    choices: list[list[tuple[Simple, ...]]] = []
    total = 1
    for literal in literals:
        if not isinstance(literal, tree.Disjunction):
            choices.append([(literal,)])
            continue
        inner = [alternatives(a) for a in literal.alternatives]
        flat = [a for some in inner if some is not None for a in some]
        total *= len(flat)
        if None in inner or total > MAX_ALTERNATIVES:
            return None
        choices.append(flat)
    return [tuple(literal for part in choice for literal in part) for choice in product(*choices)]


class BodyMaker:
    """Elaborates one alternative. Afterwards `typer` has the types of its variables."""

    def __init__(
        self,
        known: Declarations,
        problems: Problems,
        variables: Mapping[str, Type | None],
        grouped_away: frozenset[str] = frozenset(),
    ) -> None:
        self.known = known
        self.problems = problems
        self.typer = Typer(known, problems)
        self.typer.variables = dict(variables)
        self.typer.grouped_away = grouped_away
        self._given = frozenset(variables)
        self._origins: dict[str, str] = {}  # the column where a matched variable first occurs
        self._conflicting: set[str] = set()
        self._fresh = 0

    def make(self, literals: Iterable[Simple]) -> Body | None:
        """The typed literals, or None after reporting an error."""
        literals = list(literals)
        atoms = {id(x): self._place(x) for x in literals if isinstance(x, tree.Atom | tree.Negation)}
        for literal in literals:
            if isinstance(literal, tree.Atom):
                self._match_variables(literal, atoms[id(literal)])
        self.typer.variables |= dict.fromkeys(self._conflicting)
        assignments = [x for x in literals if isinstance(x, tree.Assignment)]
        self.typer.reserved = frozenset(a.name for a in assignments)
        values = self._assign(assignments)
        made: list[Literal | None] = []
        for literal in literals:
            made += self._literal(literal, atoms.get(id(literal)), values)
        sound = [x for x in made if x is not None]
        return _in_order(sound) if len(sound) == len(made) else None

    def _place(self, literal: tree.Atom | tree.Negation) -> Placed | None:
        atom = literal if isinstance(literal, tree.Atom) else literal.atom
        return place(atom, self.known, self.problems, head=False)

    # -- binding variables

    def _match_variables(self, atom: tree.Atom, placed: Placed | None) -> None:
        if placed is None:
            for variable in literal_variables(atom):
                self.typer.variables.setdefault(variable.name, None)
                self._origins.setdefault(variable.name, atom.relation)
            return
        for arg, (column, type_) in zip(placed.args, placed.columns, strict=True):
            if isinstance(arg, tree.Variable):
                self._match_variable(arg, f"{atom.relation}.{column}", type_)

    def _match_variable(self, variable: tree.Variable, column: str, type_: Type | None) -> None:
        name = variable.name
        if name in self.typer.grouped_away:
            self.typer.unbound(name, variable.span)
            return
        before = self.typer.variables.get(name)
        if before is None and name in self._given:
            return
        if before is None:
            self.typer.variables[name] = type_
            self._origins[name] = column
        elif type_ is not None and type_ != before and name not in self._conflicting:
            self._conflicting.add(name)
            self.problems.report(
                "E207",
                variable.span,
                f"`{name}` is `{type_}` in `{column}`, but `{before}` {self._origin(name)}",
                hint="match it under another name, convert it with `as`, and compare",
            )

    def _origin(self, name: str) -> str:
        return f"in `{self._origins[name]}`" if name in self._origins else "elsewhere in the rule"

    def _assign(self, assignments: list[tree.Assignment]) -> dict[int, typed.Expr | None]:
        """The typed values, keyed by the identity of the assignment."""
        values: dict[int, typed.Expr | None] = {}
        first = {a.name: a for a in reversed(assignments)}
        new = [a for a in assignments if self._is_new(a, first[a.name])]
        for assignment in in_order_of_need([(a, a.name, self._needs(a)) for a in new if self._binds(a)]):
            value = self.typer.infer(assignment.value)
            self.typer.variables[assignment.name] = value.type if value else None
            values[id(assignment)] = value
        return values

    def _is_new(self, assignment: tree.Assignment, first: tree.Assignment) -> bool:
        if assignment.name in self.typer.grouped_away:
            self.typer.unbound(assignment.name, assignment.name_span)
            return False
        if assignment is first and assignment.name not in self._given:
            return True
        self.problems.report(
            "E303",
            assignment.name_span,
            f"`{assignment.name}` already has a value",
            hint=f"compare with `{assignment.name} == …`, or choose another name",
        )
        return False

    def _binds(self, assignment: tree.Assignment) -> bool:
        return assignment.name not in self._origins

    def _needs(self, assignment: tree.Assignment) -> set[str]:
        return {v.name for v in expression_variables(assignment.value)} - self.typer.variables.keys()

    # -- typing literals

    def _literal(
        self, literal: Simple, placed: Placed | None, values: Mapping[int, typed.Expr | None]
    ) -> list[Literal | None]:
        match literal:
            case tree.Atom():
                return self._match(placed) if placed else [None]
            case tree.Negation():
                return self._absent(placed) if placed else [None]
            case tree.Condition(value):
                condition = self.typer.check(value, BOOL)
                return [None if condition is None else Test(condition)]
            case tree.Assignment(name) if name in self._origins:
                return [self._equation(literal)]
            case tree.Assignment(name):
                given = values.get(id(literal))
                return [None if given is None else Bind(Var(name, given.type), given)]
            case _:
                assert_never(literal)

    def _equation(self, assignment: tree.Assignment) -> Literal | None:
        """An assignment to a variable that an atom also binds: the value must equal the matched one."""
        type_ = self.typer.variables[assignment.name]
        value = None if type_ is None else self.typer.check(assignment.value, type_)
        if type_ is None or value is None:
            return None
        return Test(typed.Binary("==", Var(assignment.name, type_), value, BOOL))

    def _match(self, placed: Placed) -> list[Literal | None]:
        terms, named = self._terms(placed)
        tests = [Test(typed.Binary("==", fresh, value, BOOL)) for fresh, value in named]
        return [Match(placed.atom.relation, terms) if terms is not None else None, *tests]

    def _absent(self, placed: Placed) -> list[Literal | None]:
        terms, named = self._terms(placed)
        binds = [Bind(fresh, value) for fresh, value in named]
        return [*binds, Absent(placed.atom.relation, terms) if terms is not None else None]

    def _terms(self, placed: Placed) -> tuple[tuple[Term, ...] | None, list[tuple[Var, typed.Expr]]]:
        """The terms of an atom, and the expressions among its arguments with their fresh variables."""
        named: list[tuple[Var, typed.Expr]] = []
        terms: list[Term] = []
        for arg, (_, type_) in zip(placed.args, placed.columns, strict=True):
            value = self._argument(arg, type_)
            if isinstance(value, Var | typed.Constant | Wildcard):
                terms.append(value)
            elif value is not None:
                self._fresh += 1
                terms.append(Var(f"${self._fresh}", value.type))
                named.append((Var(f"${self._fresh}", value.type), value))
        return (tuple(terms) if len(terms) == len(placed.args) else None), named

    def _argument(self, arg: tree.Expr, type_: Type | None) -> typed.Expr | Wildcard | None:
        """The typed argument; None after reporting an error, or if the column's type is unknown."""
        if isinstance(arg, tree.Wildcard):
            return Wildcard()
        if isinstance(arg, tree.NoneLiteral):
            self.problems.report(
                "E205", arg.span, "`none` matches nothing", hint="use a variable and `is_none(…)`"
            )
            return None
        if type_ is None:
            self.typer.infer(arg)
            return None
        if isinstance(arg, tree.Variable) and self.typer.variables.get(arg.name) not in (None, type_):
            self._mismatch(arg.name, arg.span, type_)
            return None
        return self.typer.check(arg, type_)

    def _mismatch(self, name: str, span: Span, type_: Type) -> None:
        """Report a variable whose type differs from its column's; positive atoms are already reported."""
        have = self.typer.variables[name]
        if not self.problems.has("E207", span):
            self.problems.report(
                "E207",
                span,
                f"`{name}` is `{have}` {self._origin(name)}, but this column is `{type_}`",
                hint=f"convert it with `{name} as {type_}`",
            )


def _in_order(literals: list[Literal]) -> Body:
    """The same literals, with each binding after those whose variables it reads."""
    binds = [x for x in literals if isinstance(x, Bind)]
    given = {b.variable.name for b in binds}
    needs = [given & {v.name for v in typed.variables(b.value)} for b in binds]
    supply = iter(in_order_of_need([(b, b.variable.name, n) for b, n in zip(binds, needs, strict=True)]))
    return tuple(next(supply) if isinstance(x, Bind) else x for x in literals)
