"""Elaboration of one aggregate: its function, its value and its other arguments."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.data.types import INT, STRING
from tidelog.errors import Span
from tidelog.program import typed
from tidelog.program.elaborate.declarations import Signature
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.forms import ClosureType, open_form
from tidelog.program.elaborate.unknowns import Unknowns, is_open
from tidelog.program.folds import fold_of, part
from tidelog.program.library import catalog as library
from tidelog.program.typed import Aggregate, Constant, Var
from tidelog.syntax import tree
from tidelog.syntax.inline import print_type

__all__ = ["grouped", "over_body"]


def grouped(name: str, aggregate: tree.Aggregate, typer: Typer) -> Aggregate | None:
    """`value.group_by(…).function(args)` as the value of a name, or None after reporting an error."""
    if _is_state(aggregate.function, typer):
        args = (aggregate.value, *aggregate.args)
        return _state(name, aggregate, args, typer, is_distinct=aggregate.distinct)
    value = typer.infer(aggregate.value)
    found = _made(name, aggregate, aggregate.value.span, value, aggregate.args, typer)
    if found is None or not aggregate.distinct:
        return found
    return Aggregate(found.result, found.function, found.args, distinct=True)


def over_body(name: str, aggregate: tree.SubAggregate, typer: Typer) -> Aggregate | None:
    """`function(value, args) { … }` as the value of a name, or None after reporting an error."""
    if _is_state(aggregate.function, typer):
        return _state(name, aggregate, aggregate.args, typer, is_distinct=False)
    if aggregate.args:
        value = typer.infer(aggregate.args[0])
        return _made(name, aggregate, aggregate.args[0].span, value, aggregate.args[1:], typer)
    if aggregate.function == "count":
        return Aggregate(Var(name, INT), "count", (Constant(1, INT),), distinct=False)
    if library.lookup_aggregate(aggregate.function) is None:
        _unknown(aggregate, typer)
    else:
        message = f"`{aggregate.function}` needs the value to aggregate"
        hint = f"write `{aggregate.function}(x) {{ … }}`"
        typer.problems.report("E407", aggregate.span, message, hint=hint)
    return None


def _is_state(function: str, typer: Typer) -> bool:
    """Whether an aggregate is the state of one of the program."""
    return fold_of(function) in typer.known.folds


def _state(
    name: str,
    aggregate: tree.Aggregate | tree.SubAggregate,
    args: Sequence[tree.Expr],
    typer: Typer,
    *,
    is_distinct: bool,
) -> Aggregate | None:
    """The state of an aggregate over the values of its parameters."""
    fold = typer.known.folds[fold_of(aggregate.function) or ""]
    if f"{fold.name}::insert" not in (typer.known.templates if fold.type_parameters else typer.known.calls):
        return None  # its declaration is reported
    parameters = fold.parameters
    if len(args) != len(parameters):
        count = len(parameters)
        message = f"`{fold.name}` aggregates {count} value{'s' * (count != 1)}, not {len(args)}"
        hint = "the first is the value before `group_by`" if isinstance(aggregate, tree.Aggregate) else None
        typer.problems.report("E407", aggregate.span, message, note=f"`{_shown(fold)}`", hint=hint)
        return None
    if fold.type_parameters:
        return _generic_state(name, fold, aggregate, args, typer, is_distinct=is_distinct)
    signature = typer.known.calls[f"{fold.name}::insert"]
    return _checked_state(name, aggregate.function, args, signature, typer, is_distinct=is_distinct)


def _shown(fold: tree.Fold) -> str:
    return f"{fold.name}({', '.join(f'{p.name}: {print_type(p.type)}' for p in fold.parameters)})"


def _checked_state(
    name: str, function: str, args: Sequence[tree.Expr], insert: Signature, typer: Typer, *, is_distinct: bool
) -> Aggregate | None:
    wanted = [type_ for _, type_ in insert.columns[1:]]
    values = [None if t is None else typer.check(arg, t) for arg, t in zip(args, wanted, strict=True)]
    sound = tuple(v for v in values if v is not None)
    if len(sound) < len(values) or insert.result is None:
        return None
    return Aggregate(Var(name, insert.result), function, sound, is_distinct)


def _generic_state(
    name: str,
    fold: tree.Fold,
    aggregate: tree.Aggregate | tree.SubAggregate,
    args: Sequence[tree.Expr],
    typer: Typer,
    *,
    is_distinct: bool,
) -> Aggregate | None:
    """The state of an aggregate with type parameters, whose functions become instances."""
    form, unknowns = typer.known.templates[f"{fold.name}::insert"][0], Unknowns()
    opened = open_form(form, typer.known.types, unknowns)
    for arg, parameter in zip(args, opened.parameters[1:], strict=True):
        value = typer.infer(arg)
        if value is None:
            return None
        assert not isinstance(parameter, ClosureType)
        if not unknowns.unify(parameter, value.type):
            message = f"`{fold.name}` cannot take `{value.type}` here"
            typer.problems.report("E201", arg.span, message, note=f"`{_shown(fold)}`")
            return None
    bound = {p: unknowns.known(type_) for p, type_ in opened.bound.items()}
    if any(map(is_open, bound.values())):
        message = f"a type parameter of `{fold.name}` is not determined by these values"
        typer.problems.report("E209", aggregate.span, message)
        return None
    words = ("start", "insert", *(() if fold.delete is None else ("delete",)))
    if not typer.add_instances([f"{fold.name}::{word}" for word in words], bound, aggregate.span):
        return None
    state = f"{fold.name}::state<{', '.join(map(str, bound.values()))}>"
    insert = typer.known.functions[part(state, "insert")]
    columns = tuple((p.name, p.type) for p in insert.parameters)
    signature = Signature(columns, insert.result)
    return _checked_state(name, state, args, signature, typer, is_distinct=is_distinct)


def _made(
    name: str,
    aggregate: tree.Aggregate | tree.SubAggregate,
    span: Span,
    value: typed.Expr | None,
    args: Sequence[tree.Expr],
    typer: Typer,
) -> Aggregate | None:
    function = library.lookup_aggregate(aggregate.function)
    if function is None:
        _unknown(aggregate, typer)
        return None
    extra = _extra(function, aggregate.span, args, typer)
    if value is None or extra is None:
        return None
    result = library.aggregate_result(function.name, value.type, tuple(e.type for e in extra))
    if result is None:
        message = f"`{function.name}` needs {function.argument.value}, but this is `{value.type}`"
        typer.problems.report("E407", span, message)
        return None
    counts = function.name == "count_distinct"
    return Aggregate(Var(name, result), "count" if counts else function.name, (value, *extra), counts)


def _unknown(aggregate: tree.Aggregate | tree.SubAggregate, typer: Typer) -> None:
    own = typer.known.folds, typer.known.calls, typer.known.templates
    hint = typer.problems.suggest(aggregate.function, library.AGGREGATE_NAMES, *own)
    message = f"unknown aggregate `{aggregate.function}`"
    typer.problems.report("E406", aggregate.name_span, message, hint=hint)


def _extra(
    function: library.AggregateFunction, span: Span, args: Sequence[tree.Expr], typer: Typer
) -> tuple[typed.Expr, ...] | None:
    """The arguments of the aggregate besides its value, with defaults filled in."""
    required = sum(1 for e in function.extra if e.default is None and not e.optional)
    if not required <= len(args) <= len(function.extra):
        wanted = ", ".join(f"[{e.name}]" if e.optional else e.name for e in function.extra) or "nothing"
        message = f"wrong arguments for `{function.name}`, which takes {wanted} in its parentheses"
        typer.problems.report("E407", span, message)
        return None
    values: list[typed.Expr] = []
    for number, extra in enumerate(function.extra):
        if number < len(args):
            value = _one_extra(function, extra, args[number], typer)
            if value is None:
                return None
            values.append(value)
        elif extra.default is not None:
            values.append(Constant(extra.default, STRING))
    return tuple(values)


def _one_extra(
    function: library.AggregateFunction, extra: library.Extra, arg: tree.Expr, typer: Typer
) -> typed.Expr | None:
    value = typer.infer(arg)
    if value is None:
        return None
    if not library.allows(extra.kind, value.type):
        message = (
            f"`{extra.name}` of `{function.name}` must be {extra.kind.value}, but this is `{value.type}`"
        )
        typer.problems.report("E407", arg.span, message)
        return None
    wanted = _misfit(extra, value) if extra.is_constant else None
    if wanted is not None:
        typer.problems.report("E407", arg.span, f"`{extra.name}` of `{function.name}` must be {wanted}")
        return None
    return value


def _misfit(extra: library.Extra, value: typed.Expr) -> str | None:
    """What a constant argument must be, if it is something else."""
    if not isinstance(value, Constant):
        return "a constant"
    match value.value:
        case float(q) if not 0 <= q <= 1:
            return "0.0 to 1.0"
        case int(n) if n < 1:
            return "at least 1"
        case _:
            return None
