"""Elaboration of one alternative of a rule body: the types of its variables, its literals typed and ordered.

The order of literals in the text does not matter. Positive atoms bind variables first: those that are
arguments, then those inside patterns. Then assignments, generators and nested aggregates follow, in order of
their dependencies; then everything else is checked. Where a second place gives a variable a value, the two
must be equal. Expressions among the arguments of atoms, and values that patterns take apart, are assigned to
fresh variables (`$1`, `$2`, …), so that atoms contain only terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeAlias, assert_never

from tidelog.data import types
from tidelog.data.types import BOOL, Type
from tidelog.errors import Span
from tidelog.program import traversal, typed
from tidelog.program.elaborate.aggregates import over_body
from tidelog.program.elaborate.alternatives import MAX_ALTERNATIVES, Simple, alternatives
from tidelog.program.elaborate.atoms import Placed, place
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.ordering import definers_in_order, in_order_of_need
from tidelog.program.elaborate.patterns import Matched, is_pattern, of_two_types
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.scopes import (
    defined_by,
    has_wildcards,
    named_spans,
    outer_names,
    plain_names,
)
from tidelog.program.typed import (
    Absent,
    Aggregate,
    Bind,
    Body,
    Each,
    Literal,
    Match,
    Nested,
    Term,
    Test,
    Var,
    Wildcard,
    Without,
)
from tidelog.syntax import tree
from tidelog.syntax.variables import expression_variables, literal_variables, pattern_names

__all__ = ["BodyMaker"]

_Definer: TypeAlias = tree.Assignment | tree.Destructuring | tree.Generator


class BodyMaker:
    """Elaborates one alternative. Afterwards `typer` has the types of its variables.

    `variables` are bound already; `outside` are the names that occur outside the body, so that nested bodies
    share them; `numbers` are those of fresh variables.
    """

    def __init__(
        self,
        known: Declarations,
        problems: Problems,
        variables: Mapping[str, Type | None],
        grouped_away: frozenset[str] = frozenset(),
        outside: frozenset[str] = frozenset(),
        numbers: Iterator[int] | None = None,
    ) -> None:
        self.known = known
        self.problems = problems
        self.typer = Typer(known, problems)
        self.typer.variables = dict(variables)
        self.typer.grouped_away = grouped_away
        self._given = frozenset(variables)
        self._outside = outside | self._given
        self._origins: dict[str, str] = {}  # the column where a matched variable first occurs
        self._conflicting: set[str] = set()
        self._numbers = numbers or count(1)
        self._parts: dict[int, tuple[Var, list[Literal], Matched | None]] = {}  # of patterns, by identity
        self._values: dict[int, list[Literal] | None] = {}  # of what defines variables, by identity

    def make(self, literals: Iterable[Simple]) -> Body | None:
        """The typed literals, or None after reporting an error."""
        literals = list(literals)
        atoms = {id(x): self._place(x) for x in literals if isinstance(x, tree.Atom | tree.Negation)}
        positive = [(x, atoms[id(x)]) for x in literals if isinstance(x, tree.Atom)]
        for atom, placed in positive:
            self._match_variables(atom, placed)
        for atom, placed in positive:
            self._match_patterns(atom, placed)
        self.typer.variables |= dict.fromkeys(self._conflicting)
        self._outside |= outer_names(literals)
        definers = [
            x for x in literals if isinstance(x, tree.Assignment | tree.Destructuring | tree.Generator)
        ]
        self.typer.reserved = frozenset(name for x in definers for name in defined_by(x))
        self._define(definers)
        made: list[Literal | None] = []
        for literal in literals:
            made += self._literal(literal, atoms.get(id(literal)))
        sound = [x for x in made if x is not None]
        return definers_in_order(sound) if len(sound) == len(made) else None

    def _place(self, literal: tree.Atom | tree.Negation) -> Placed | None:
        atom = literal if isinstance(literal, tree.Atom) else literal.atom
        return place(atom, self.known, self.problems, head=False)

    def _fresh(self, type_: Type) -> Var:
        return Var(f"${next(self._numbers)}", type_)

    # -- variables of atoms

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
                hint=of_two_types(name, type_, before),
            )

    def _match_patterns(self, atom: tree.Atom, placed: Placed | None) -> None:
        """Bind the variables inside patterns."""
        for arg, (column, type_) in zip(
            *((placed.args, placed.columns) if placed else ((), ())), strict=True
        ):
            if not is_pattern(arg) or self._is_known(arg):
                continue
            if type_ is None:
                self.typer.variables |= dict.fromkeys(pattern_names(arg) - self.typer.variables.keys())
                continue
            whole = self._fresh(type_)
            matched = self.typer.match_pattern(arg, whole, in_body=True)
            literals = [] if matched is None else self._named_parts(matched, f"{atom.relation}.{column}")
            if matched is None:
                self.typer.variables |= dict.fromkeys(pattern_names(arg) - self.typer.variables.keys())
            self._parts[id(arg)] = (whole, literals, matched)

    def _is_known(self, arg: tree.Expr) -> bool:
        """Whether an argument is `some(…)` of what other atoms bind: a value, which can be looked up."""
        is_bound = pattern_names(arg) <= self.typer.variables.keys()
        return isinstance(arg, tree.Call) and is_bound and not has_wildcards(arg)

    def _named_parts(self, matched: Matched, origin: str) -> list[Literal]:
        """The conditions of a pattern, and its names: bound, or compared where they have a value."""
        made: list[Literal] = [Test(condition) for condition in matched.conditions]
        for name, value, span in matched.names:
            if name in self.typer.grouped_away:
                self.typer.unbound(name, span)
            elif name in self._origins or name in self._given:
                before = self.typer.variables.get(name)
                if before is not None and before != value.type:
                    self._mismatch(name, span, value.type, "part")
                elif before is not None:
                    made.append(Test(typed.Binary("==", Var(name, before), value, BOOL)))
            else:
                self.typer.variables[name] = value.type
                self._origins[name] = origin
                made.append(Bind(Var(name, value.type), value))
        return made

    def _origin(self, name: str) -> str:
        return f"in `{self._origins[name]}`" if name in self._origins else "elsewhere in the rule"

    # -- assignments, destructuring, generators, nested aggregates

    def _define(self, definers: list[_Definer]) -> None:
        """Type what defines variables, in order of need."""
        first: dict[str, _Definer] = {}
        for literal in definers:
            for name in defined_by(literal):
                first.setdefault(name, literal)
        new = [x for x in definers if self._is_new(x, first)]
        things = [(x, defined_by(x), self._needs(x)) for x in new if self._binds(x)]
        for literal in in_order_of_need(things):
            self._values[id(literal)] = self._defined(literal)

    def _is_new(self, literal: _Definer, first: Mapping[str, _Definer]) -> bool:
        """Whether the names of a `var` have no value; if one has, it is reported."""
        for name, span in named_spans(literal):
            if name in self.typer.grouped_away:
                self.typer.unbound(name, span)
                return False
            if first[name] is not literal or name in self._given:
                self.problems.report(
                    "E303",
                    span,
                    f"`{name}` already has a value",
                    hint=f"compare with `{name} == …`, or choose another name",
                )
                return False
        return True

    def _binds(self, literal: _Definer) -> bool:
        """Whether a literal gives a variable its value; otherwise it is an equation."""
        if isinstance(literal, tree.Assignment) and not isinstance(literal.value, tree.SubAggregate):
            return literal.name not in self._origins
        return True

    def _needs(self, literal: _Definer) -> set[str]:
        if isinstance(literal, tree.Assignment) and isinstance(literal.value, tree.SubAggregate):
            names = plain_names(literal.value) & self._outside
        else:
            value = literal.collection if isinstance(literal, tree.Generator) else literal.value
            names = {v.name for v in expression_variables(value)}
        return names - self.typer.variables.keys()

    def _defined(self, literal: _Definer) -> list[Literal] | None:
        """The typed literals of a definition; None after an error, with its names known to be broken."""
        match literal:
            case tree.Assignment(name, tree.SubAggregate() as aggregate):
                made = self._nested(name, aggregate)
            case tree.Assignment(name, value):
                made = self._assigned(name, value)
            case tree.Destructuring(pattern, value):
                made = self._destructured(pattern, value)
            case tree.Generator():
                made = self._generated(literal)
            case _:
                assert_never(literal)
        if made is None:
            self.typer.variables |= dict.fromkeys(set(defined_by(literal)) - self.typer.variables.keys())
        return made

    def _assigned(self, name: str, value: tree.Expr) -> list[Literal] | None:
        made = self.typer.infer(value)
        self.typer.variables[name] = made.type if made else None
        return None if made is None else [Bind(Var(name, made.type), made)]

    def _destructured(self, pattern: tree.Expr, value: tree.Expr) -> list[Literal] | None:
        made = self.typer.infer(value)
        if made is None:
            return None
        if isinstance(made, Var):
            return self._taken_apart(pattern, made)
        whole = self._fresh(made.type)
        parts = self._taken_apart(pattern, whole)
        return None if parts is None else [Bind(whole, made), *parts]

    def _taken_apart(self, pattern: tree.Expr, whole: Var) -> list[Literal] | None:
        """The parts of a value under their names; None after an error."""
        matched = self.typer.match_pattern(pattern, whole, in_body=True)
        if matched is None:
            return None
        made = self._named_parts(matched, "var")
        equations = self._equations(matched)
        return None if equations is None else [*made, *equations]

    def _generated(self, literal: tree.Generator) -> list[Literal] | None:
        collection = self.typer.infer(literal.collection)
        if collection is None:
            return None
        match collection.type:
            case types.Vec(item) | types.Set(item):
                pass
            case types.Map(key, value):
                item = types.Tuple((key, value))
            case other:
                message = f"`var … in` needs a vec, a set or a map, but this is `{other}`"
                hint = "use `unwrap_or(…, …)` first" if isinstance(other, types.Option) else None
                self.problems.report("E202", literal.collection.span, message, hint=hint)
                return None
        pattern = literal.pattern
        if isinstance(pattern, tree.Variable) and pattern.name not in self._origins:
            self.typer.variables[pattern.name] = item
            return [Each(Var(pattern.name, item), collection)]
        whole = self._fresh(item)
        parts = self._taken_apart(pattern, whole)
        return None if parts is None else [Each(whole, collection), *parts]

    def _equations(self, matched: Matched) -> list[Literal] | None:
        """The parts of a pattern that must equal expressions; None after an error."""
        made: list[Literal] = []
        for value, expr in matched.equations:
            if isinstance(expr, tree.NoneLiteral):
                made.append(Test(typed.Call("is_none", (value,), BOOL)))
                continue
            other = self.typer.check(expr, value.type)
            if other is None:
                return None
            made.append(Test(typed.Binary("==", value, other, BOOL)))
        return made

    # -- nested bodies

    def _inner(self, used: set[str]) -> BodyMaker:
        """The maker of a nested body in which these names occur."""
        shared = used & self._outside
        scope = {name: self.typer.variables[name] for name in shared if name in self.typer.variables}
        away = self.typer.grouped_away & shared
        inner = BodyMaker(self.known, self.problems, scope, away, self._outside, self._numbers)
        inner.typer.behind_group = self.typer.behind_group & shared
        return inner

    def _expanded(
        self, choices: Sequence[Sequence[tree.Literal]], span: Span
    ) -> list[tuple[Simple, ...]] | None:
        """The alternatives of a nested body."""
        made = [alternatives(choice) for choice in choices]
        flat = [a for some in made if some is not None for a in some]
        if None in made or len(flat) > MAX_ALTERNATIVES:
            message = f"this body exceeds the limit of {MAX_ALTERNATIVES} alternatives after expanding `;`"
            self.problems.report("E304", span, message, hint="derive a separate relation for each choice")
            return None
        return flat

    def _nested(self, name: str, aggregate: tree.SubAggregate) -> list[Literal] | None:
        expanded = self._expanded(aggregate.alternatives, aggregate.span)
        if expanded is None:
            return None
        used = plain_names(aggregate)
        bodies: list[Body | None] = []
        found: list[Aggregate | None] = []
        for choice in expanded:
            inner = self._inner(used)
            bodies.append(inner.make(choice))
            found.append(over_body(name, aggregate, inner.typer))
        sound = tuple(b for b in bodies if b is not None)
        first = found[0]
        if len(sound) < len(bodies) or first is None or None in found:
            return None
        if any(other != first for other in found):
            message = "the aggregated value has different types in the alternatives of this body"
            self.problems.report("E208", aggregate.span, message)
            return None
        result = self._fresh(first.result.type) if name in self._origins else first.result
        self.typer.variables.setdefault(name, first.result.type)
        parameters = self._parameters(sound, first.args)
        made: list[Literal] = [Nested(result, first.function, first.args, first.distinct, parameters, sound)]
        if name in self._origins:
            type_ = self.typer.variables[name]
            if type_ != result.type:
                self._mismatch(name, aggregate.span, result.type, "value")
                return None
            made.append(Test(typed.Binary("==", Var(name, result.type), result, BOOL)))
        return made

    def _without(
        self, choices: Sequence[Sequence[tree.Literal]], used: set[str], span: Span
    ) -> list[Literal | None]:
        expanded = self._expanded(choices, span)
        if expanded is None:
            return [None]
        bodies = [self._inner(used).make(choice) for choice in expanded]
        sound = tuple(b for b in bodies if b is not None)
        if len(sound) < len(bodies):
            return [None]
        return [Without(self._parameters(sound, ()), sound)]

    def _parameters(self, bodies: tuple[Body, ...], args: tuple[typed.Expr, ...]) -> tuple[Var, ...]:
        """The variables of nested bodies that the literals around them bind, in order of occurrence."""
        found: dict[Var, None] = {}
        for body in bodies:
            for literal in body:
                found |= dict.fromkeys(
                    v for e in traversal.expressions(literal) for v in traversal.variables(e)
                )
        found |= dict.fromkeys(v for arg in args for v in traversal.variables(arg))
        shared = self._outside & self.typer.variables.keys()
        return tuple(v for v in found if v.name in shared)

    # -- typing literals

    def _literal(self, literal: Simple, placed: Placed | None) -> list[Literal | None]:
        match literal:
            case tree.Atom():
                return self._match(placed) if placed else [None]
            case tree.Negation():
                return self._absent(literal, placed) if placed else [None]
            case tree.Condition(value):
                condition = self.typer.check(value, BOOL)
                return [None if condition is None else Test(condition)]
            case tree.Assignment() if not self._binds(literal):
                return [self._equation(literal)]
            case tree.Assignment() | tree.Destructuring() | tree.Generator():
                given = self._values.get(id(literal))
                return [None] if given is None else [*given]
            case tree.NegatedBody(choices):
                return self._without(choices, plain_names(literal), literal.span)
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
        made: list[Literal | None] = [Test(typed.Binary("==", fresh, value, BOOL)) for fresh, value in named]
        constants: dict[Term, Term] = {}
        for arg in placed.args:
            if id(arg) in self._parts:
                whole, literals, matched = self._parts[id(arg)]
                equations = None if matched is None else self._equations(matched)
                match equations:
                    case [Test(typed.Binary("==", value, typed.Constant() as constant))] if value == whole:
                        constants[whole] = constant  # `name @ 7`: a constant can be looked up
                        equations = [Bind(whole, constant)]
                made += [None] if equations is None else [*literals, *equations]
        found = None if terms is None else tuple(constants.get(term, term) for term in terms)
        atom = placed.atom
        return [None if found is None else Match(atom.relation, found, atom.delay, atom.is_prime), *made]

    def _absent(self, negation: tree.Negation, placed: Placed) -> list[Literal | None]:
        if any(has_wildcards(arg) for arg in placed.args):
            return self._without_one(negation, placed)
        terms, named = self._terms(placed)
        binds = [Bind(fresh, value) for fresh, value in named]
        atom = placed.atom
        absent = None if terms is None else Absent(atom.relation, terms, atom.delay, atom.is_prime)
        return [*binds, absent]

    def _without_one(self, negation: tree.Negation, placed: Placed) -> list[Literal | None]:
        """A negated atom with wildcards inside its patterns; all its variables must be bound around it."""
        names = {v.name: v for v in literal_variables(negation)}
        for name, variable in names.items():
            if name not in self.typer.variables:
                self.typer.unbound(name, variable.span)
                return [None]
        before, self._outside = self._outside, self._outside | names.keys()
        made = self._without([[negation.atom]], set(names), negation.span)
        self._outside = before | names.keys()
        return made

    def _terms(self, placed: Placed) -> tuple[tuple[Term, ...] | None, list[tuple[Var, typed.Expr]]]:
        """The terms of an atom, and the expressions among its arguments with their fresh variables."""
        named: list[tuple[Var, typed.Expr]] = []
        terms: list[Term] = []
        for arg, (_, type_) in zip(placed.args, placed.columns, strict=True):
            if id(arg) in self._parts:
                terms.append(self._parts[id(arg)][0])
                continue
            value = self._argument(arg, type_)
            if isinstance(value, Var | typed.Constant | Wildcard):
                terms.append(value)
            elif value is not None:
                fresh = self._fresh(value.type)
                terms.append(fresh)
                named.append((fresh, value))
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

    def _mismatch(self, name: str, span: Span, type_: Type, what: str = "column") -> None:
        """Report a variable whose type differs from its column's; positive atoms are already reported."""
        have = self.typer.variables[name]
        if not self.problems.has("E207", span):
            self.problems.report(
                "E207",
                span,
                f"`{name}` is `{have}` {self._origin(name)}, but this {what} is `{type_}`",
                hint=f"convert it with `{name} as {type_}`",
            )
