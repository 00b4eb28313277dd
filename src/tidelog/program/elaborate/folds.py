"""Elaboration of aggregates with a state: each becomes functions over its state.

The state is a tuple of its variables, or the value of the only one:

    aggregate mean(x: int): double { var n = 0; var s = 0; insert { … } s as double / n as double }

    function mean::start(): (int, int)                       { var n = 0; var s = 0; (n, s) }
    function mean::insert(state: (int, int), x: int): (int, int) { var (n, s) = state; …; (n, s) }
    function mean::result(state: (int, int)): double         { var (n, s) = state; s as double / n as double }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.errors import NOWHERE, Span
from tidelog.program.analysis.linear import linear
from tidelog.program.declared import Function
from tidelog.program.elaborate.declarations import Declarations, Signature, declare, template_bound
from tidelog.program.elaborate.expressions import Typer
from tidelog.program.elaborate.problems import Problems
from tidelog.program.elaborate.typedefs import twice
from tidelog.program.library.catalog import AGGREGATE_NAMES, RESERVED_NAMES
from tidelog.program.text import type_tree
from tidelog.syntax import tree
from tidelog.syntax.rebuilding import nodes_of
from tidelog.syntax.variables import expression_variables

__all__ = ["check_folds", "declare_folds"]

_STATE = "$state"


def declare_folds(items: Iterable[tree.Item], known: Declarations, problems: Problems) -> list[tree.Function]:
    """Declare the aggregates among the items; return the functions whose bodies are still to be typed."""
    made: list[tree.Function] = []
    for item in items:
        if isinstance(item, tree.Fold) and _is_new(item, known, problems):
            known.folds[item.name] = item
            functions = _functions(item, known, problems)
            if functions is None:
                known.calls[f"{item.name}::result"] = Signature((("state", None),))  # reported already
            else:
                made += functions
    return declare(made, known, problems)


def check_folds(items: Iterable[tree.Item], known: Declarations, problems: Problems) -> None:
    """Report each `delete` that adds what `insert` adds. The functions are typed."""
    for item in items:
        if isinstance(item, tree.Fold) and item.delete is not None and known.folds.get(item.name) is item:
            functions = (known.functions.get(f"{item.name}::{word}") for word in ("insert", "delete"))
            insert, delete = (linear(f) if isinstance(f, Function) else None for f in functions)
            for variable, more, less in zip(_names(item), insert or (), delete or (), strict=False):
                if more and set(more) == set(less):
                    message = f"`delete` changes `{variable.name}` as `insert` does; it must undo that"
                    problems.report("E218", item.delete.span, message)


def _is_new(item: tree.Fold, known: Declarations, problems: Problems) -> bool:
    before = known.folds.get(item.name)
    if before is not None:
        if before != item or before.span.source is item.span.source:
            twice(item.name, "aggregate", item.name_span, before.span, problems)
        return False
    if item.name in AGGREGATE_NAMES or item.name in RESERVED_NAMES:
        what = "aggregate" if item.name in AGGREGATE_NAMES else "function"
        problems.report("E112", item.name_span, f"`{item.name}` is a standard {what}")
        return False
    if item.name in known.calls or item.name in known.templates:
        twice(item.name, "function", item.name_span, NOWHERE, problems)
        return False
    return True


def _functions(item: tree.Fold, known: Declarations, problems: Problems) -> list[tree.Function] | None:
    """The functions of an aggregate, or None after reporting an error."""
    if not item.parameters:
        hint = f"name the value that it aggregates: `aggregate {item.name}(x: int): …`"
        problems.report("E218", item.name_span, f"the aggregate `{item.name}` has no parameter", hint=hint)
        return None
    returns = [n for body in (item.insert, item.delete) for n in _returns(body)]
    for found in returns:
        message = "`insert` and `delete` assign the variables of the state, and return nothing"
        problems.report("E215", found.span, message, hint="use `if` and `else`")
    state = _state_type(item, known, problems)
    return None if state is None or returns else list(_made(item, state))


def _returns(body: tree.Steps | None) -> list[tree.Return]:
    return [n for n in nodes_of(body) if isinstance(n, tree.Return)] if body is not None else []


def _state_type(item: tree.Fold, known: Declarations, problems: Problems) -> tree.TypeName | None:
    typer = Typer(known, problems)
    typer.bound = template_bound(item)
    typer.is_checking = True
    found = typer.infer(tree.Block(item.state, _whole(item), item.span))
    return None if found is None else type_tree(found.type)


def _names(item: tree.Fold) -> tuple[tree.Variable, ...]:
    found: list[tree.Variable] = []
    for binding in item.state:
        if isinstance(binding, tree.Assignment):
            found.append(tree.Variable(binding.name, binding.name_span))
        else:
            found += expression_variables(binding.pattern)
    return tuple(found)


def _whole(item: tree.Fold) -> tree.Expr:
    """The state, of its variables."""
    names = _names(item)
    return names[0] if len(names) == 1 else tree.TupleValue(names, item.name_span)


def _made(item: tree.Fold, state: tree.TypeName) -> Iterator[tree.Function]:
    given = tree.Column(_STATE, state, item.name_span)
    yield _function(item, "start", (), state, tree.Block(item.state, _whole(item), item.span))
    for word, body in (("insert", item.insert), ("delete", item.delete)):
        if body is not None:
            steps = tree.Steps((_taken_apart(item), *body.statements), _whole(item), body.span)
            yield _function(item, word, (given, *item.parameters), state, steps)
    value = item.value
    result: tree.Block | tree.Steps
    if isinstance(value, tree.Block):
        result = tree.Block((_taken_apart(item), *value.bindings), value.result, value.span)
    else:
        result = tree.Steps((_taken_apart(item), *value.statements), value.result, value.span)
    yield _function(item, "result", (given,), item.result, result)


def _taken_apart(item: tree.Fold) -> tree.Assignment | tree.Destructuring:
    names, state = _names(item), tree.Variable(_STATE, item.name_span)
    if len(names) == 1:
        return tree.Assignment(names[0].name, state, names[0].span, names[0].span)
    return tree.Destructuring(tree.TupleValue(names, item.name_span), state, item.name_span)


def _function(
    item: tree.Fold,
    word: str,
    parameters: tuple[tree.Column, ...],
    result: tree.TypeName,
    body: tree.Block | tree.Steps,
) -> tree.Function:
    span: Span = item.span
    name = f"{item.name}::{word}"
    return tree.Function(name, parameters, result, body, span, item.name_span, item.type_parameters)
