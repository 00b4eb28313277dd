"""Inference for calls: choosing among overloads, type variables, closures.

A form of a function is chosen by the number of arguments, then by the types of those that have a type of
their own; the conversion to an option never chooses one. Then its type variables are unknowns that the
arguments solve.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tidelog.data import types
from tidelog.data.types import Type
from tidelog.errors import Span
from tidelog.program.elaborate.declarations import Declarations, Signature
from tidelog.program.elaborate.definitions import resolve_type
from tidelog.program.elaborate.early import NO_FUNCTION, Early
from tidelog.program.elaborate.foreign import function_hint
from tidelog.program.elaborate.forms import (
    ClosureType,
    Form,
    Opened,
    open_form,
    opened_template,
    signature_of,
    takes_closures,
)
from tidelog.program.elaborate.instances import Instance, Making, with_instances
from tidelog.program.elaborate.operators import is_flexible
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.structures import Structures
from tidelog.program.elaborate.unknowns import as_unknown
from tidelog.program.library import catalog as library
from tidelog.program.typed import Call, Expr, Lambda, Let, Var
from tidelog.syntax import tree
from tidelog.syntax.inline import print_type

__all__ = ["Calls"]

MOST_EXPANSIONS: Final = 1000  # of functions, in one body
DEEPEST: Final = 16  # expansions inside each other


@dataclass(frozen=True, slots=True)
class Held:
    """A closure that is a parameter of a function, with the scope in which it was written.

    Without a text, it is that of a function that is only checked.
    """

    type: ClosureType
    text: tree.Closure | None = None
    scope: Scope | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression can refer to, and where its mistakes are reported."""

    variables: dict[str, Type | None]
    renamed: dict[str, str]
    bound: Mapping[str, Type]
    closures: Mapping[str, Held]
    reserved: frozenset[str]
    is_expanding: bool
    problems: Problems
    early: Early = NO_FUNCTION


class Calls(Structures):
    """`closures` are those that are parameters of the function around an expression."""

    def __init__(self, known: Declarations, problems: Problems) -> None:
        super().__init__(known, problems)
        self.closures: Mapping[str, Held] = {}
        self._expansions = 0
        self._depth = 0
        self.is_checking = False  # whether the types of type parameters are not known

    def _call(self, expr: tree.Call) -> Expr | None:
        if expr.function in self.closures:
            return self._call_closure(expr, self.closures[expr.function])
        signature = self.known.calls.get(expr.function)
        if signature is not None:
            return self._call_declared(expr, signature)
        forms: tuple[Form, ...] = self.known.templates.get(expr.function) or library.lookup(expr.function)
        if not forms:
            self._unknown_function(expr)
            return None
        fitting = [f for f in forms if len(f.parameters) == len(expr.args)]
        if not fitting:
            counts = " or ".join(dict.fromkeys(str(len(f.parameters)) for f in forms))
            note = "; ".join(f"`{signature_of(f)}`" for f in forms)
            self._wrong_count(expr, counts, note)
            return None
        if len(fitting) == 1 and isinstance(fitting[0], library.StandardFunction) and _is_plain(fitting[0]):
            return self._call_standard(expr, fitting[0])
        return self._call_overloaded(expr, fitting)

    def _unknown_function(self, expr: tree.Call) -> None:
        relation = next((r for r in self.known.known if r.lower() == expr.function.lower()), None)
        if relation is not None:
            self._not_a_relation(expr, relation)
            return
        name = "cat" if expr.function == "concat" and len(expr.args) > 1 else expr.function
        hint = function_hint(name)
        if hint is None and (expr.function in library.AGGREGATE_NAMES or expr.function in self.known.folds):
            hint = f"aggregates follow `group_by`: `….group_by(…).{expr.function}(…)`"
        hint = hint or self.problems.suggest(expr.function, self.known.calls, library.FUNCTION_NAMES)
        message = f"unknown function `{expr.function}`"
        self.problems.report("E108", expr.name_span, message, hint=hint)
        for arg in expr.args:
            if not isinstance(arg, tree.Closure):
                self._infer(arg)

    def _not_a_relation(self, expr: tree.Call, relation: str) -> None:
        """Report the name of a relation in lower case; what its arguments would bind counts as known."""
        message = f"unknown function `{expr.function}`"
        hint = f"relations are written with their own capitals: `{relation}(…)`"
        self.problems.report("E108", expr.name_span, message, hint=hint)
        for arg in expr.args:
            if isinstance(arg, tree.Variable):
                self.variables.setdefault(arg.name, None)

    def _wrong_count(self, expr: tree.Call, wanted: str, note: str | None) -> None:
        noun = "argument" if wanted == "1" else "arguments"
        message = f"`{expr.function}` takes {wanted} {noun}, but got {len(expr.args)}"
        self.problems.report("E105", expr.span, message, note=note)

    def _call_declared(self, expr: tree.Call, signature: Signature) -> Expr | None:
        if len(expr.args) != len(signature.columns):
            self._wrong_count(expr, str(len(signature.columns)), None)
            return None
        args = [
            self._check(arg, type_)
            if type_ is not None
            else None
            if self._is_closure(arg)
            else self._infer(arg)
            for arg, (_, type_) in zip(expr.args, signature.columns, strict=True)
        ]
        sound = tuple(a for a in args if a is not None)
        if signature.result is None or len(sound) < len(args):
            return None
        return Call(expr.function, sound, signature.result)

    # -- standard functions with one form and at most the type variable `T`

    def _call_standard(self, expr: tree.Call, function: library.StandardFunction) -> Expr | None:
        """Arguments with their own type determine `T`; the others take it."""
        args: dict[int, Expr | None] = {}
        generic: Type | None = None
        for i in _typed_first(expr.args):
            wanted = _instance(function.parameters[i].type, generic)
            args[i] = self._infer(expr.args[i], wanted)
            if isinstance(function.parameters[i].type, library.TypeVariable) and generic is None:
                generic = self._generic(expr, function, i, args[i])
                wanted = _instance(function.parameters[i].type, generic)
            typed = args[i]
            args[i] = self._fit(typed, wanted, expr.args[i].span) if typed and wanted else None
        sound = tuple(a for i in range(len(expr.args)) if (a := args[i]) is not None)
        result = _instance(function.result, generic)
        if len(sound) < len(expr.args) or result is None:
            return None
        return Call(expr.function, sound, result)

    def _generic(
        self, expr: tree.Call, function: library.StandardFunction, i: int, arg: Expr | None
    ) -> Type | None:
        """The type `T` as determined by argument `i`; None after reporting an error."""
        if arg is None:
            return None
        parameter = function.parameters[i].type
        assert isinstance(parameter, library.TypeVariable)
        type_ = self._known(arg.type)
        if parameter.optional:
            type_ = type_.item if isinstance(type_, types.Option) else type_
        return type_ if self._allows(function, type_, expr.args[i].span) else None

    def _allows(self, function: library.StandardFunction, type_: Type, span: Span) -> bool:
        """Whether `T` can be a type; if not, that is reported."""
        kind = function.kind
        if as_unknown(type_) is None and library.allows(kind, type_):
            return True
        if as_unknown(type_) is not None and kind in (library.Kind.ANY, library.Kind.EVERY):
            return True
        self.problems.report(
            "E201",
            span,
            f"`{function.name}` needs {kind.value} here, but this is `{type_}`",
            note=f"`{function.signature}`",
        )
        return False

    # -- functions with several forms, type variables or closures

    def _call_overloaded(self, expr: tree.Call, forms: list[Form]) -> Expr | None:
        args: dict[int, Expr] = {}
        is_closure = [self._is_closure(arg) for arg in expr.args]
        left = [f for f in forms if takes_closures(f, is_closure)]
        for i in _typed_first(expr.args):
            if len(left) <= 1 or is_closure[i]:
                continue
            typed = self._infer(expr.args[i])
            if typed is None:
                return None
            args[i] = typed
            exact = [f for f in left if self._could_take(f, args)]
            left = exact or [f for f in left if self._could_take(f, args, as_options=True)]
        if not left:
            self._no_form(expr, forms, args)
            return None
        return self._apply(expr, left[0], args)

    def _could_take(self, form: Form, args: dict[int, Expr], *, as_options: bool = False) -> bool:
        """Whether a form can take arguments, of which values may become options if no form is exact."""
        mark = self.unknowns.mark()
        parameters = open_form(form, self.known.types, self.unknowns).parameters
        fits = True
        for i, arg in args.items():
            wanted = parameters[i]
            if isinstance(wanted, ClosureType):
                fits = False
            elif as_options and isinstance(wanted, types.Option) and not isinstance(arg.type, types.Option):
                fits = fits and self.unknowns.unify(wanted.item, arg.type)
            else:
                fits = fits and self.unknowns.unify(wanted, arg.type)
        self.unknowns.undo(mark)
        return fits

    def _no_form(self, expr: tree.Call, forms: list[Form], args: dict[int, Expr]) -> None:
        have = ", ".join(f"`{self._known(args[i].type)}`" for i in sorted(args))
        note = "; ".join(f"`{signature_of(f)}`" for f in forms)
        message = f"no form of `{expr.function}` takes {have or 'a closure here'}"
        is_text = (
            expr.function == "len"
            and 0 in args
            and isinstance(self._known(args[0].type), types.String | types.Bytes)
        )
        hint = "use `length`" if is_text else None
        self.problems.report("E212", expr.span, message, note=note, hint=hint)

    def _apply(self, expr: tree.Call, form: Form, known: dict[int, Expr]) -> Expr | None:
        """A call of one form; `known` are arguments that have been inferred."""
        opened = open_form(form, self.known.types, self.unknowns)
        note = f"`{signature_of(form)}`"
        args: dict[int, Expr | None] = {}
        for i in _typed_first(expr.args):
            wanted = opened.parameters[i]
            if not isinstance(wanted, ClosureType):
                typed = known.get(i) or self._infer(expr.args[i], wanted)
                args[i] = None if typed is None else self._fit(typed, wanted, expr.args[i].span, note)
        sound = {i: a for i in sorted(args) if (a := args[i]) is not None}
        if isinstance(form, tree.Function):
            if len(sound) < len(args):
                return None
            if form.name in self.known.recursive:
                return Call(form.name, tuple(sound.values()), opened.result)
            return self._expand(expr, form, opened, sound)
        closures = [
            self._closure(expr.args[i], p, str(form.parameters[i].type))
            for i, p in enumerate(opened.parameters)
            if isinstance(p, ClosureType)
        ]
        lambdas = tuple(c for c in closures if c is not None)
        if len(sound) + len(lambdas) < len(expr.args):
            return None
        generic = opened.bound.get("T")
        if generic is not None and not self._allows(form, self._known(generic), expr.span):
            return None
        return Call(form.name, tuple(sound.values()), self._known(opened.result), lambdas)

    # -- instances of recursive functions

    def _instances(self, expr: Expr, span: Span) -> Expr | None:
        return (
            expr
            if self.is_checking
            else with_instances(expr, self.known, self.problems, span, self._instance_body)
        )

    def add_instances(self, functions: Iterable[str], bound: Mapping[str, Type], span: Span) -> bool:
        """Add instances of functions with the same type parameters; whether all have bodies."""
        making = Making(self.known, self.problems, span, self._instance_body)
        return all(making.add(self.known.templates[name][0], bound) for name in functions)

    def _instance_body(self, instance: Instance, problems: Problems) -> Expr | None:
        """The body of an instance."""
        typer = type(self)(self.known, problems)
        typer.variables, typer.bound = dict(instance.parameters), instance.bound
        return typer.check_body(instance.form.body, instance.result)

    # -- functions that are expanded

    def check_template(self, function: tree.Function, bound: dict[str, Type]) -> bool:
        """Whether the body of a function has its type; what is wrong with it is reported."""
        opened = opened_template(function, self.known.types, bound)
        pairs = [(p.name, t) for p, t in zip(function.parameters, opened.parameters, strict=True)]
        self.variables = {name: t for name, t in pairs if not isinstance(t, ClosureType)}
        self.closures = {name: Held(t) for name, t in pairs if isinstance(t, ClosureType)}
        self.bound, self.is_checking = bound, True
        return self.check_body(function.body, opened.result) is not None

    def check_body(self, body: tree.Expr, result: Type) -> Expr | None:
        """The body of a function with this result, or None."""
        return self._guarded(body, lambda: self._body(body, result))

    @abstractmethod
    def _body(self, body: tree.Expr, result: Type) -> Expr | None:
        """The body of a function, in the scope of its parameters."""

    def _expand(
        self, expr: tree.Call, form: tree.Function, opened: Opened, args: dict[int, Expr]
    ) -> Expr | None:
        """The body of a function, in which its parameters stand for the arguments."""
        self._expansions += 1
        if self._expansions > MOST_EXPANSIONS or self._depth >= DEEPEST:
            message = f"this expands more than {MOST_EXPANSIONS} functions, or {DEEPEST} inside each other"
            self.problems.report("E006", expr.span, message)
            return None
        outer = self._scope()
        held: dict[str, Held] = {}
        for i, type_ in enumerate(opened.parameters):
            if isinstance(type_, ClosureType):
                shown = print_type(form.parameters[i].type)
                closure = self._written_closure(expr.args[i], type_, shown)
                if closure is None:
                    return None
                held[form.parameters[i].name] = Held(type_, closure, outer)
        values = [(form.parameters[i].name, value) for i, value in args.items()]
        binders = {name: self._name(f"{name}.") for name, _ in values}
        types_: dict[str, Type | None] = {name: value.type for name, value in values}
        quiet = Problems()
        self._enter(Scope(types_, dict(binders), opened.bound, held, frozenset(), True, quiet))
        self._depth += 1
        body = self._body(form.body, opened.result)
        self._depth -= 1
        self._enter(outer)
        if body is None:
            self._report_expansion(expr, quiet)
            return None
        for name, value in reversed(values):
            body = Let(binders[name], value, body, body.type)
        return body

    def _report_expansion(self, expr: tree.Call, inside: Problems) -> None:
        """Report at a call what went wrong in the body of its function."""
        for found in inside.found[:1]:
            if found.code == "E006":
                self.problems.report("E006", expr.span, found.message)
            else:
                message = f"`{expr.function}` cannot be used with these types"
                self.problems.report("E201", expr.span, message, note=found.message)

    def _call_closure(self, expr: tree.Call, held: Held) -> Expr | None:
        """A call of a closure that is a parameter."""
        wanted = held.type
        if len(expr.args) != len(wanted.parameters):
            self._wrong_count(expr, str(len(wanted.parameters)), None)
            return None
        args = [self._check(a, t) for a, t in zip(expr.args, wanted.parameters, strict=True)]
        sound = [a for a in args if a is not None]
        if len(sound) < len(args):
            return None
        if held.text is None or held.scope is None:
            return Call(expr.function, tuple(sound), wanted.result)
        return self._call_held(held.text, held.scope, wanted, sound)

    def _call_held(
        self, closure: tree.Closure, scope: Scope, wanted: ClosureType, args: list[Expr]
    ) -> Expr | None:
        """The body of a closure, in the scope in which it was written."""
        here = self._scope()
        self._enter(replace(scope, is_expanding=True, early=NO_FUNCTION))
        names: dict[str, Type | None] = {}
        for parameter, type_ in zip(closure.parameters, wanted.parameters, strict=True):
            names[parameter.name] = self._parameter(parameter, type_)
        binders = {name: self._name(f"{name}.") for name in names}
        before = self._scoped(names, binders)
        body = self._check(closure.body, wanted.result)
        self._leave(before)
        self._enter(here)
        if body is None or None in names.values():
            return None
        for name, value in zip(reversed(binders.values()), reversed(args), strict=True):
            body = Let(name, value, body, body.type)
        return body

    def _scope(self) -> Scope:
        return Scope(
            self.variables,
            self._renamed,
            self.bound,
            self.closures,
            self.reserved,
            self._is_expanding,
            self.problems,
            self._early,
        )

    def _enter(self, scope: Scope) -> None:
        self.variables, self._renamed = scope.variables, scope.renamed
        self.bound, self.closures, self.reserved = scope.bound, scope.closures, scope.reserved
        self._is_expanding, self.problems = scope.is_expanding, scope.problems
        self._early = scope.early

    # -- closures

    def _is_closure(self, arg: tree.Expr) -> bool:
        return isinstance(arg, tree.Closure) or (isinstance(arg, tree.Variable) and arg.name in self.closures)

    def _written_closure(self, arg: tree.Expr, wanted: ClosureType, shown: str) -> tree.Closure | None:
        """An argument as a closure with the right number of parameters, or None after reporting an error."""
        if isinstance(arg, tree.Variable) and self._is_function(arg.name):
            arg = _expanded(arg, len(wanted.parameters))
        if not isinstance(arg, tree.Closure):
            message = f"expected a closure of type `{shown}`"
            self.problems.report("E201", arg.span, message, hint="write `|x| …`")
            return None
        count = len(wanted.parameters)
        if len(arg.parameters) != count:
            message = (
                f"expected a closure with {count} parameter{'s' * (count != 1)}, "
                f"but this has {len(arg.parameters)}"
            )
            self.problems.report("E105", arg.span, message, note=f"its type is `{shown}`")
            return None
        return arg

    def _closure(self, arg: tree.Expr, wanted: ClosureType, shown: str) -> Lambda | None:
        """A closure that a standard function calls, or None after reporting an error."""
        closure = self._written_closure(arg, wanted, shown)
        if closure is None:
            return None
        names: dict[str, Type | None] = {}
        for parameter, type_ in zip(closure.parameters, wanted.parameters, strict=True):
            names[parameter.name] = self._parameter(parameter, type_)
        binders = {name: self._binder(name) for name in names}
        before, early = self._scoped(names, binders), self._early
        self._early = NO_FUNCTION
        body = self._check(closure.body, wanted.result)
        self._early = early
        self._leave(before)
        if body is None or None in names.values():
            return None
        parameters = [Var(binders[n], self._known(t)) for n, t in names.items() if t is not None]
        return Lambda(tuple(parameters), body)

    def _is_function(self, name: str) -> bool:
        if name in self.variables:
            return False
        written = name in self.closures or name in self.known.calls or name in self.known.templates
        return written or bool(library.lookup(name))

    def _parameter(self, parameter: tree.Parameter, type_: Type) -> Type | None:
        self._taken(parameter.name, parameter.span)
        if parameter.type is None:
            return type_
        written = resolve_type(parameter.type, self.known.types, self.problems, self.bound)
        if written is None:
            return None
        if not self.unknowns.unify(written, type_):
            message = f"this parameter is `{self._known(type_)}`, not `{written}`"
            self.problems.report("E201", parameter.span, message)
            return None
        return written


def _is_plain(function: library.StandardFunction) -> bool:
    """Whether a function has no type variable but `T`, and none inside other types."""
    used = (*(p.type for p in function.parameters), function.result)
    return not any(isinstance(t, library.Applied | library.Closure) for t in used)


def _typed_first(args: Sequence[tree.Expr]) -> list[int]:
    return sorted(range(len(args)), key=lambda i: (is_flexible(args[i]), i))


def _expanded(function: tree.Variable, count: int) -> tree.Expr:
    """The closure that calls a function."""
    names = [f"$arg{i}" for i in range(count)]
    parameters = tuple(tree.Parameter(name, None, function.span) for name in names)
    args = tuple(tree.Variable(name, function.span) for name in names)
    call = tree.Call(function.name, args, span=function.span, name_span=function.span)
    return tree.Closure(parameters, call, function.span)


def _instance(type_: library.ParamType, generic: Type | None) -> Type | None:
    """A parameter's type once `T` is known; None before that."""
    if isinstance(type_, library.Applied | library.Closure):
        return None
    if not isinstance(type_, library.TypeVariable):
        return type_
    if generic is None or isinstance(generic, types.Option):
        return generic if not type_.optional else None
    return types.Option(generic) if type_.optional else generic
