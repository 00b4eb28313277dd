"""What all of type inference shares: names in scope, types with unknowns, expected types, errors.

Types flow both ways: a number, `none`, an empty collection, or a conditional between them takes the type that
its context expects; every other expression has its own type, which is unified with the expected one. The only
implicit conversion is from a value to an option of its type, where the expected type is known to be one.

`infer` and `check` return None after reporting an error. They also return None, without a report, if the type
of a name is unknown because its declaration was already reported: each mistake is reported once. Inside an
expression, `_infer` and `_check` return expressions whose types may have unknowns; `_finish` fills them in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import BadValue, Value, canonical
from tidelog.errors import Span
from tidelog.program.elaborate import foreign
from tidelog.program.elaborate.declarations import Declarations
from tidelog.program.elaborate.definitions import Endless
from tidelog.program.elaborate.early import NO_FUNCTION
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.retyping import MAX_TYPED_DEPTH, depth, retyped
from tidelog.program.elaborate.unknowns import Unknown, Unknowns, as_unknown, is_open
from tidelog.program.library import catalog as library
from tidelog.program.typed import Cast, Constant, Expr, Var
from tidelog.syntax import tree

__all__ = ["Inference"]


class Inference(ABC):
    """`variables` maps the names in scope to their types, None where a type is unknown.

    A block cannot reuse those names or the `reserved` ones, which come into scope later. `bound` are the
    types of type parameters.
    """

    def __init__(self, known: Declarations, problems: Problems) -> None:
        self.known = known
        self.problems = problems
        self.variables: dict[str, Type | None] = {}
        self.grouped_away: frozenset[str] = frozenset()
        self.behind_group: frozenset[str] = frozenset()
        self.reserved: frozenset[str] = frozenset()
        self.bound: Mapping[str, Type] = {}
        self.unknowns = Unknowns()
        self._renamed: dict[str, str] = {}  # names that stand for others, inside calls that are expanded
        self._is_expanding = False
        self._early = NO_FUNCTION
        self._doubts: dict[int, tuple[str, Span, str, str | None]] = {}  # what to report of an unknown
        self._made = 0

    def check(self, expr: tree.Expr, wanted: Type) -> Expr | None:
        """The expression as a value of the wanted type, or None."""
        return self._guarded(expr, lambda: self._check(expr, wanted))

    def infer(self, expr: tree.Expr, wanted: Type | None = None) -> Expr | None:
        """The typed expression. `wanted` determines the type of expressions without their own type."""
        return self._guarded(expr, lambda: self._infer(expr, wanted))

    def _guarded(self, expr: tree.Expr, make: Callable[[], Expr | None]) -> Expr | None:
        """An expression that later layers can walk, or None after reporting an error."""
        before = self.variables, self._renamed, self._early, self._is_expanding
        try:
            made = self._finish(make(), expr.span)
        except RecursionError:
            self.variables, self._renamed, self._early, self._is_expanding = before
            made, is_deep = None, True
        else:
            is_deep = made is not None and depth(made) > MAX_TYPED_DEPTH
        if is_deep:
            message = "this expression has too many steps that depend on each other"
            self.problems.report("E006", expr.span, message, hint="divide it into several functions")
        return None if is_deep else made

    @abstractmethod
    def _infer(self, expr: tree.Expr, wanted: Type | None = None) -> Expr | None: ...

    def _check(self, expr: tree.Expr, wanted: Type) -> Expr | None:
        typed = self._infer(expr, wanted)
        return None if typed is None else self._fit(typed, wanted, expr.span)

    @contextmanager
    def _perhaps(self, expr: tree.Block | tree.Conditional | tree.Match | None = None) -> Iterator[None]:
        """For parts that may not be evaluated: they return early only as parts of a tail."""
        before = self._early
        if expr is None or id(expr) not in before.tails:
            self._early = replace(before, attempts=None)
        yield
        self._early = before

    # -- types

    def _known(self, type_: Type) -> Type:
        return self.unknowns.known(type_)

    def _top(self, type_: Type | None) -> Type | None:
        """A wanted type as far as it is known: None if nothing is known of it."""
        if type_ is None:
            return None
        found = self.unknowns.top(type_)
        return None if isinstance(found, Unknown) else found

    def _present(self, type_: Type | None) -> Type | None:
        """A wanted type, or its item if it is an option."""
        found = self._top(type_)
        return self._top(found.item) if isinstance(found, types.Option) else found

    def _unknown(
        self, span: Span, what: str, hint: str | None = None, code: str = "E209", *, is_item: bool = False
    ) -> Type:
        """A new unknown, and what to report if it stays one."""
        made = self.unknowns.fresh(is_item)
        assert isinstance(made, Unknown)
        self._doubts[made.number] = (code, span, what, hint)
        return made

    def _name(self, prefix: str) -> str:
        self._made += 1
        return f"${prefix}{self._made}"

    # -- fitting a value to an expected type

    def _fit(self, typed: Expr, wanted: Type, span: Span, note: str | None = None) -> Expr | None:
        if typed.type == wanted:
            return typed
        have, want = self.unknowns.top(typed.type), self.unknowns.top(wanted)
        is_plain = not isinstance(have, types.Option | Unknown)
        if isinstance(want, types.Option) and is_plain and self.unknowns.unify(want.item, have):
            return self._optional(typed, self._known(want), span)
        if self.unknowns.unify(have, want):
            return typed
        unknown = as_unknown(want)
        have, want = self._known(have), self._known(want)
        hint = self._conversion(have, want)
        message = f"expected `{want}`, but this is `{have}`"
        if unknown is not None and unknown.is_item and isinstance(have, types.Option):
            message = f"this is `{have}`, and an option cannot hold another option"
            hint = "use `unwrap_or(…, …)` to supply a default for a missing value"
        self.problems.report("E201", span, message, note=note, hint=hint)
        return None

    def _optional(self, typed: Expr, wanted: Type, span: Span) -> Expr | None:
        """A value as an option."""
        if isinstance(typed, Constant) and not is_open(wanted):
            return self._constant(typed.value, wanted, span)
        return Cast(typed, wanted)

    def _constant(self, value: Value, type_: Type, span: Span) -> Expr | None:
        try:
            return Constant(canonical(type_, value), type_)
        except BadValue as bad:
            self.problems.report("E203", span, str(bad))
            return None

    def _conversion(self, have: Type, wanted: Type) -> str | None:
        if isinstance(have, types.Option) and have.item == wanted:
            return "use `unwrap_or(…, …)` to supply a default for a missing value"
        if isinstance(have, types.Vec) and isinstance(wanted, types.Set):
            return "convert it with `to_set(…)`"
        if isinstance(have, types.Set) and isinstance(wanted, types.Vec):
            return "convert it with `to_vec(…)`"
        if not is_open(have) and not is_open(wanted) and library.can_cast(have, wanted):
            return f"convert it with `as {wanted}`"
        return None

    # -- the end of an expression

    def _finish(self, expr: Expr | None, span: Span) -> Expr | None:
        """The expression with all unknowns filled in; those that are left are reported."""
        made = expr
        if self.unknowns.is_used:
            made = None if expr is None else self._filled(expr, span)
            self.unknowns = Unknowns()
            self._doubts = {}
        return self._instances(made, span) if made is not None and self.known.recursive else made

    def _filled(self, expr: Expr, span: Span) -> Expr | None:
        sound = True
        seen: dict[Type, Type] = {}

        def filled(type_: Type) -> Type:
            nonlocal sound
            if type_ not in seen:
                seen[type_] = found = self._known(type_)
                if is_open(found):
                    self._report_unknown(found, span)
                    sound = False
                else:
                    sound = self._instantiate(found, span) and sound
            return seen[type_]

        made = retyped(expr, filled)
        return made if sound else None

    @abstractmethod
    def _instances(self, expr: Expr, span: Span) -> Expr | None:
        """The expression with calls of the instances of recursive generic functions."""

    def _report_unknown(self, type_: Type, span: Span) -> None:
        for unknown in self.unknowns.open(type_):
            code, place, message, hint = self._doubts.get(
                unknown.number, ("E209", span, "the type of this expression is unknown", None)
            )
            if not self.problems.has(code, place):
                self.problems.report(code, place, message, hint=hint)
            return

    def _instantiate(self, type_: Type, span: Span) -> bool:
        quiet = Problems()
        try:
            self.known.types.instantiate(type_, quiet)
        except Endless:
            self.problems.report("E116", span, f"`{type_}` needs types without end")
            return False
        if quiet.found:
            message = f"`{type_}` has invalid fields"
            self.problems.report("E104", span, message, note=quiet.found[0].message)
        return not quiet.found

    # -- names

    def _variable(self, name: str, span: Span) -> Expr | None:
        if name not in self.variables:
            self.unbound(name, span)
            return None
        type_ = self.variables[name]
        return None if type_ is None else Var(self._renamed.get(name, name), type_)

    def unbound(self, name: str, span: Span) -> None:
        """Report an unbound variable once, and continue as if it were bound."""
        self.variables[name] = None
        if name in self.grouped_away:
            self.problems.report(
                "E404",
                span,
                f"`{name}` has many values in a group, so it cannot be used outside the aggregate",
                hint=f"add `{name}` to `group_by(…)`, or aggregate it",
            )
            return
        if name in self.behind_group:
            self.problems.report(
                "E301",
                span,
                f"`{name}` is bound only after the group, so it cannot be used inside it",
                note="literals that use the result of an aggregate are evaluated after the group",
                hint="choose another name for the result",
            )
            return
        near = foreign.variable_hint(name) or self.problems.suggest(name, self.variables)
        self.problems.report(
            "E301",
            span,
            f"unbound variable `{name}`",
            note="a variable is bound by a positive atom of the body or by `var … = …`",
            hint=near,
        )

    def _taken(self, name: str, span: Span) -> None:
        """Report a new name if it is in scope already."""
        if name in self.variables or name in self.reserved:
            self.problems.report("E303", span, f"`{name}` already has a value", hint="choose another name")

    def _binder(self, name: str) -> str:
        """The name of a new local variable: its own, or a fresh one in a call that is expanded."""
        return self._name(f"{name}.") if self._is_expanding else name

    def _scoped(
        self, names: Mapping[str, Type | None], binders: Mapping[str, str] | None = None
    ) -> tuple[dict[str, Type | None], dict[str, str]]:
        """Bring names into scope; returns the scope before, for `_leave`."""
        before = self.variables, self._renamed
        self.variables = {**self.variables, **names}
        self._renamed = {**self._renamed, **(binders or {})}
        return before

    def _leave(self, before: tuple[dict[str, Type | None], dict[str, str]]) -> None:
        """Leave a scope. Variables that were reported as unbound in it stay known."""
        reported = {n: None for n, t in self.variables.items() if t is None and n not in before[0]}
        self.variables, self._renamed = before
        self.variables |= reported
