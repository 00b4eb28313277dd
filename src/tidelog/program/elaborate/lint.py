"""Warnings: legal code that is probably a mistake. Found in the syntax tree, so type errors hide none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from tidelog.program.analysis.firing import dead_rules
from tidelog.program.elaborate.problems import Problems
from tidelog.program.folds import fold_of
from tidelog.syntax import tree
from tidelog.syntax.variables import (
    calls,
    expression_variables,
    expressions,
    literal_expressions,
    literal_variables,
)

__all__ = ["warn", "warn_single_variables"]


def warn(program: tree.Program, problems: Problems) -> None:
    """Report unused declarations, rules that never fire, and relations that no output depends on."""
    relations = {i.name: i for i in program.items if isinstance(i, tree.Relation)}
    rules = [i for i in program.items if isinstance(i, tree.Rule)]
    indexed = {i.atom.relation for i in program.items if isinstance(i, tree.Index)}
    for name in indexed & relations.keys():
        if relations[name].role != "input":
            relations[name] = replace(relations[name], role="output")  # an index is for reading it
    rules += [tree.Rule((), (i.atom,)) for i in program.items if isinstance(i, tree.Index)]
    _warn_relations(relations, rules, problems)
    _warn_unreachable(relations, rules, problems)
    _warn_functions(program.items, problems)
    _warn_aliases(program.items, problems)


def warn_single_variables(rule: tree.Rule, problems: Problems) -> None:
    """Report variables that occur once. They join nothing: each is a typo, or should be `_`."""
    seen: Counter[str] = Counter()
    first: dict[str, tree.Variable] = {}
    for variable in _rule_variables(rule):
        seen[variable.name] += 1
        first.setdefault(variable.name, variable)
    for name, count in seen.items():
        if count == 1 and not name.startswith("_"):
            problems.report(
                "W003",
                first[name].span,
                f"`{name}` occurs only once in this rule",
                hint=f"if its value does not matter, write `_`, or `_{name}` to keep the name",
            )


def _rule_variables(rule: tree.Rule) -> Iterator[tree.Variable]:
    for literal in (*rule.heads, *rule.body):
        yield from literal_variables(literal)
        yield from _defined([literal])


def _defined(literals: Sequence[tree.Literal]) -> Iterator[tree.Variable]:
    """The variables that `var` defines, at any depth."""
    for literal in _flat(literals):
        if isinstance(literal, tree.Assignment):
            yield tree.Variable(literal.name, literal.name_span)
        elif isinstance(literal, tree.Destructuring | tree.Generator):
            yield from expression_variables(literal.pattern)


# -- relations


def _flat(literals: Sequence[tree.Literal]) -> Iterator[tree.Literal]:
    """The literals, and those inside disjunctions and nested bodies."""
    for literal in literals:
        inner: tuple[tuple[tree.Literal, ...], ...] = ()
        if isinstance(literal, tree.Disjunction | tree.NegatedBody):
            inner = literal.alternatives
        else:
            yield literal
        if isinstance(literal, tree.Assignment) and isinstance(literal.value, tree.SubAggregate):
            inner = literal.value.alternatives
        for alternative in inner:
            yield from _flat(alternative)


def _reads(rule: tree.Rule) -> Iterator[str]:
    for literal in _flat(rule.body):
        if isinstance(literal, tree.Atom):
            yield literal.relation
        elif isinstance(literal, tree.Negation | tree.Row):
            yield literal.atom.relation


def _warn_relations(relations: dict[str, tree.Relation], rules: list[tree.Rule], problems: Problems) -> None:
    read = {name for rule in rules for name in _reads(rule)}
    derived = {head.relation for rule in rules for head in rule.heads}
    for name, relation in relations.items():
        if name not in read and relation.role != "output":
            what = "is declared but never used" if name not in derived else "is derived but never used"
            hint = "declare it `output`" if name in derived and not relation.role else None
            problems.report("W001", relation.name_span, f"`{name}` {what}", hint=hint)
        elif name not in derived and relation.role != "input":
            problems.report(
                "W002",
                relation.name_span,
                f"`{name}` is always empty: it is not an input and no rule derives it",
            )
    told = {n for n, r in relations.items() if n in read and n not in derived and r.role != "input"}
    for rule in _dead(relations, rules, told):
        problems.report("W008", rule.span, "this rule never fires: a relation it reads is always empty")


def _dead(relations: dict[str, tree.Relation], rules: list[tree.Rule], told: set[str]) -> list[tree.Rule]:
    """The rules whose alternatives all read a relation that is always empty and not yet reported."""
    live = told | {name for name, relation in relations.items() if relation.role == "input"}
    live |= {name for rule in rules for name in _reads(rule) if name not in relations}
    return dead_rules(rules, live)


def _warn_unreachable(
    relations: dict[str, tree.Relation], rules: list[tree.Rule], problems: Problems
) -> None:
    """Report internal relations that are read, but not on a path to an output or to an unused relation.

    Unused relations are reported elsewhere.
    """
    read = {name for rule in rules for name in _reads(rule)}
    if not any(relation.role == "output" for relation in relations.values()):
        return
    useful = {name for name, relation in relations.items() if relation.role == "output" or name not in read}
    deriving: dict[str, list[tree.Rule]] = defaultdict(list)
    for rule in rules:
        for head in rule.heads:
            deriving[head.relation].append(rule)
    queue = list(useful)
    done: set[int] = set()
    for name in queue:
        for rule in deriving[name]:
            if id(rule) not in done:
                done.add(id(rule))
                more = set(_reads(rule)) - useful
                useful |= more
                queue += more
    for name, relation in relations.items():
        if not relation.role and name not in useful:
            problems.report("W007", relation.name_span, f"no output depends on `{name}`")


# -- functions and types


def _expressions(items: Sequence[tree.Item]) -> Iterator[tree.Expr]:
    for item in items:
        if isinstance(item, tree.Function):
            yield item.body
        elif isinstance(item, tree.Fold):
            yield from (binding.value for binding in item.state)
            yield from (part for part in (item.insert, item.delete, item.value) if part is not None)
        elif isinstance(item, tree.Rule):
            for literal in (*item.heads, *item.body):
                yield from literal_expressions(literal)


def _warn_functions(items: Sequence[tree.Item], problems: Problems) -> None:
    called = {call.function for expr in _expressions(items) for call in calls(expr)}
    called |= {name for item in items if isinstance(item, tree.Rule) for name in _reads(item)}
    aggregates = (e for e in _everything(items) if isinstance(e, tree.Aggregate | tree.SubAggregate))
    called |= {aggregate.function for aggregate in aggregates}
    called |= {fold for name in called if (fold := fold_of(name)) is not None}
    for item in items:
        if isinstance(item, tree.Function | tree.Fold):
            what = (
                "function `{}` is never called"
                if isinstance(item, tree.Function)
                else "aggregate `{}` is never used"
            )
            if item.name not in called:
                problems.report("W004", item.name_span, f"the {what.format(item.name)}")
            bodies = list(_expressions([item]))
            read = {v.name for body in bodies for v in expression_variables(body)}
            read |= {c.function for body in bodies for c in calls(body)}
            for parameter in item.parameters:
                if parameter.name not in read and not parameter.name.startswith("_"):
                    message = f"the parameter `{parameter.name}` is never used"
                    problems.report("W003", parameter.span, message)


def _warn_aliases(items: Sequence[tree.Item], problems: Problems) -> None:
    used = {
        name
        for item in items
        for type_ in _types(item)
        for name in _names(type_)
        if not (isinstance(item, tree.TypeDefinition) and item.name == name)
    }
    made = {e.constructor for e in _everything(items) if isinstance(e, tree.Construct)}
    for item in items:
        if isinstance(item, tree.TypeDefinition) and any(c.name in made for c in item.constructors):
            used.add(item.name)
    for item in items:
        if isinstance(item, tree.Alias | tree.TypeDefinition) and item.name not in used:
            problems.report("W005", item.name_span, f"the type `{item.name}` is never used")


def _everything(items: Sequence[tree.Item]) -> Iterator[tree.Expr]:
    """All expressions of some items, at any depth."""
    for expr in _expressions(items):
        yield from expressions(expr)


def _types(item: tree.Item) -> Iterator[tree.TypeName]:
    match item:
        case tree.Relation(columns=columns, row=row):
            yield from (c.type for c in columns)
            yield from () if row is None else (row,)
        case (
            tree.Function(parameters=parameters, result=result)
            | tree.Fold(parameters=parameters, result=result)
        ):
            yield from (p.type for p in parameters)
            yield result
        case tree.Alias(type=type_):
            yield type_
        case tree.TypeDefinition(constructors=constructors):
            for constructor in constructors:
                yield from (f.type for f in constructor.fields)
        case tree.Index(parameters=given):
            yield from (p.type for p in given if p.type is not None)
        case tree.Rule() | tree.RuleLoop() | tree.Module() | tree.Import() | tree.Prefix():
            pass
        case _:
            assert_never(item)
    for expr in _expressions([item]):
        yield from (e.type for e in expressions(expr) if isinstance(e, tree.Cast))


def _names(type_: tree.TypeName) -> Iterator[str]:
    yield type_.name
    for arg in type_.args:
        if isinstance(arg, tree.TypeName):
            yield from _names(arg)
