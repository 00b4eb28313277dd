"""Changes of a case that change nothing that it means: other names, another order, a function written out.

A *law* makes another case of a case, whose relations hold the same rows after every step. No oracle is needed
to check it: sessions are compared with sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import count
from random import Random
from typing import Any, TypeVar

from oracle.language.case import Action, AddRule, Case, Clear, RemoveRule, Replace, RuleText, Step
from tidelog.syntax import tree
from tidelog.syntax.inline import print_literal
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_item

__all__ = [
    "LAWS",
    "Law",
    "with_functions_inlined",
    "with_negation_by_helpers",
    "with_other_names",
    "with_other_order",
]

Law = Callable[[Case, Random], tuple[Case, Mapping[str, str]]]  # the other case, and its names of relations
_Node = TypeVar("_Node")
_Change = Callable[[Any], Any]


# -- trees


def _rebuilt(node: _Node, change: _Change) -> _Node:
    """A tree with its nodes changed, from the leaves up."""
    if isinstance(node, tuple):
        return tuple(_rebuilt(part, change) for part in node)  # type: ignore[return-value]
    if not hasattr(node, "__dataclass_fields__") or getattr(tree, type(node).__name__, None) is not type(
        node
    ):
        return node
    parts = {f.name: _rebuilt(getattr(node, f.name), change) for f in fields(node)}  # type: ignore[arg-type]
    made: _Node = change(replace(node, **parts))  # type: ignore[type-var]
    return made


def _tree(rule: RuleText) -> tree.Rule:
    (item,) = parse(rule.text).items
    assert isinstance(item, tree.Rule)
    return item


def _text(rule: tree.Rule) -> RuleText:
    return RuleText(tuple(print_literal(h) for h in rule.heads), tuple(print_literal(x) for x in rule.body))


# -- cases


def _everywhere(
    case: Case,
    rule: Callable[[RuleText], RuleText],
    declared: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda texts: texts,
    name: Callable[[str], str] = lambda name: name,
    extra: Callable[[tuple[str, ...]], tuple[RuleText, ...]] = lambda texts: (),
) -> Case:
    """A case with its rules, declarations and names of relations changed wherever they stand.

    `extra` are the rules that declarations bring with them.
    """

    def act(action: Action) -> Action:
        match action:
            case AddRule(text):
                return AddRule(rule(text))
            case RemoveRule(text):
                return RemoveRule(rule(text))
            case Replace(declarations, rules):
                return Replace(declared(declarations), (*map(rule, rules), *extra(declarations)))
            case Clear(relation):
                return Clear(name(relation))
            case _:
                return replace(action, relation=name(action.relation))

    steps = tuple(Step(tuple(map(act, step.actions)), step.ending) for step in case.steps)
    return replace(
        case,
        declarations=declared(case.declarations),
        rules=(*map(rule, case.rules), *extra(case.declarations)),
        steps=steps,
        watched=tuple(map(name, case.watched)),
    )


def _items(case: Case) -> tuple[tree.Item, ...]:
    return parse("\n".join(case.declarations)).items


def _relations(declarations: tuple[str, ...]) -> dict[str, tree.Relation]:
    items = parse("\n".join(declarations)).items
    return {item.name: item for item in items if isinstance(item, tree.Relation)}


def _same_names(case: Case) -> dict[str, str]:
    return {name: name for name in _relations(case.declarations)}


def with_other_order(case: Case, random: Random) -> tuple[Case, Mapping[str, str]]:
    """The literals of each body, the alternatives of each choice and the rules, in another order."""
    known: dict[RuleText, RuleText] = {}

    def shuffled(node: Any) -> Any:
        if isinstance(node, tree.Disjunction | tree.NegatedBody | tree.SubAggregate):
            bodies = [tuple(random.sample(body, len(body))) for body in node.alternatives]
            return replace(node, alternatives=tuple(random.sample(bodies, len(bodies))))
        return node

    def other(rule: RuleText) -> RuleText:
        if rule not in known:
            made = _rebuilt(_tree(rule), shuffled)
            known[rule] = _text(replace(made, body=tuple(random.sample(made.body, len(made.body)))))
        return known[rule]

    made = _everywhere(case, other)
    return replace(made, rules=tuple(random.sample(made.rules, len(made.rules)))), _same_names(case)


def with_other_names(case: Case, random: Random) -> tuple[Case, Mapping[str, str]]:
    """Other names for variables, relations and functions; some change the order in which names are sorted."""
    items = _items(case)
    functions = {i.name for i in items if isinstance(i, tree.Function) and not i.type_parameters}
    relations = {i.name: f"{random.choice('AMZ')}{i.name}_" for i in items if isinstance(i, tree.Relation)}
    prefix = random.choice(["a_", "z_", "_q"])

    def change(node: Any) -> Any:
        match node:
            case tree.Variable(name) | tree.Assignment(name) | tree.At(name) | tree.Parameter(name):
                return replace(node, name=f"{prefix}{name}")
            case tree.TypeDefinition(parameters=parameters) | tree.Alias(parameters=parameters):
                return replace(node, parameters=_unchanged(parameters, prefix) or ())
            case tree.Atom(relation):
                return replace(node, relation=relations.get(relation, relation))
            case tree.Relation(name=name):
                return replace(node, name=relations[name], key=_unchanged(node.key, prefix))
            case tree.Call(function) if function in functions:
                return replace(node, function=f"{prefix}{function}")
            case tree.Function(name, parameters):
                renamed = tuple(replace(p, name=f"{prefix}{p.name}") for p in parameters)
                return replace(node, name=f"{prefix}{name}", parameters=renamed)
        return node

    def declared(texts: tuple[str, ...]) -> tuple[str, ...]:
        items = [parse(text).items[0] for text in texts]
        return tuple(print_item(i if _is_generic(i) else _rebuilt(i, change)) for i in items)

    def rule(text: RuleText) -> RuleText:
        return _text(_rebuilt(_tree(text), change))

    return _everywhere(case, rule, declared, lambda name: relations.get(name, name)), relations


def _is_generic(item: tree.Item) -> bool:
    """Whether an item is a function with type parameters; it calls closures by its parameters' names."""
    return isinstance(item, tree.Function) and bool(item.type_parameters)


def _unchanged(key: tuple[tree.Variable, ...] | None, prefix: str) -> tuple[tree.Variable, ...] | None:
    """The columns of a key or the parameters of a type, which look like variables and are none."""
    return None if key is None else tuple(replace(k, name=k.name.removeprefix(prefix)) for k in key)


def with_functions_inlined(case: Case, random: Random) -> tuple[Case, Mapping[str, str]]:
    """Each call of a function of the program, written out as a block."""
    functions = {i.name: i for i in _items(case) if isinstance(i, tree.Function) and not _is_generic(i)}
    number = 0

    def change(node: Any) -> Any:
        nonlocal number
        if not isinstance(node, tree.Call) or node.function not in functions:
            return node
        number += 1
        return _inlined(functions[node.function], node.args, f"in{number}_", change)

    known: dict[RuleText, RuleText] = {}

    def rule(text: RuleText) -> RuleText:
        if text not in known:
            known[text] = _text(_rebuilt(_tree(text), change))
        return known[text]

    return _everywhere(case, rule), _same_names(case)


def _inlined(function: tree.Function, args: tuple[tree.Expr, ...], prefix: str, change: _Change) -> tree.Expr:
    def renamed(node: Any) -> Any:
        if isinstance(node, tree.Variable | tree.Assignment | tree.At | tree.Parameter):
            return replace(node, name=f"{prefix}{node.name}")
        return node

    bindings = tuple(
        tree.Assignment(f"{prefix}{p.name}", tree.Cast(arg, p.type))
        for p, arg in zip(function.parameters, args, strict=True)
    )
    body = _rebuilt(_rebuilt(function.body, renamed), change)
    assert isinstance(body, tree.Block)  # the functions of random programs have no statements
    return tree.Block((*bindings, *body.bindings), tree.Cast(body.result, function.result))


def with_negation_by_helpers(case: Case, random: Random) -> tuple[Case, Mapping[str, str]]:
    """`not S(f(x))` as `var y = f(x), not H(y)`, where `H` holds what `S` does."""
    relations = _relations(case.declarations)
    known: dict[RuleText, RuleText] = {}

    def rule(text: RuleText) -> RuleText:
        if text not in known:
            read = _tree(text)
            known[text] = _text(replace(read, body=_helped(read.body, relations, count())))
        return known[text]

    def declared(texts: tuple[str, ...]) -> tuple[str, ...]:
        there = _relations(texts).values()
        helpers = (print_item(replace(r, role="", name=_helper(r.name), key=None)) for r in there)
        return (*texts, *helpers)

    def copies(texts: tuple[str, ...]) -> tuple[RuleText, ...]:
        return tuple(map(_copy, _relations(texts).values()))

    return _everywhere(case, rule, declared, extra=copies), _same_names(case)


def _helper(relation: str) -> str:
    return f"Helper_{relation}"


def _copy(relation: tree.Relation) -> RuleText:
    columns = ", ".join(f"h{i}" for i in range(len(relation.columns)))
    return RuleText((f"{_helper(relation.name)}({columns})",), (f"{relation.name}({columns})",))


def _helped(
    body: tuple[tree.Literal, ...], relations: Mapping[str, tree.Relation], numbers: Iterator[int]
) -> tuple[tree.Literal, ...]:
    grouped = any(isinstance(x, tree.Assignment) and isinstance(x.value, tree.Aggregate) for x in body)
    made: list[tree.Literal] = []
    for literal in body:
        match literal:
            case tree.Negation(tree.Atom(relation, args)) if relation in relations:
                # a variable behind a group would need a key, so there expressions stay where they are
                hoisted, terms = ([], args) if grouped else _hoisted(relations[relation], args, next(numbers))
                made += [*hoisted, tree.Negation(tree.Atom(_helper(relation), terms))]
            case tree.Disjunction(alternatives):
                helped = tuple(_helped(alternative, relations, numbers) for alternative in alternatives)
                made.append(tree.Disjunction(helped))
            case _:
                made.append(literal)
    return tuple(made)


_PLAIN = (
    tree.Variable,
    tree.Wildcard,
    tree.IntLiteral,
    tree.FractionLiteral,
    tree.NoneLiteral,
)


def _hoisted(
    relation: tree.Relation, args: tuple[tree.Argument, ...], number: int
) -> tuple[list[tree.Literal], tuple[tree.Argument, ...]]:
    """The expressions among arguments under names of their own, and the arguments by these names."""
    assignments: list[tree.Literal] = []
    terms: list[tree.Argument] = []
    types = {c.name: c.type for c in relation.columns}
    for i, arg in enumerate(args):
        if isinstance(arg.value, _PLAIN):
            terms.append(arg)
            continue
        name = f"hoisted{number}_{i}"
        type_ = types[arg.name] if arg.name is not None else relation.columns[i].type
        assignments.append(tree.Assignment(name, tree.Cast(arg.value, type_)))
        terms.append(replace(arg, value=tree.Variable(name)))
    return assignments, tuple(terms)


LAWS: Mapping[str, Law] = {
    "another order": with_other_order,
    "other names": with_other_names,
    "functions written out": with_functions_inlined,
    "negation by helpers": with_negation_by_helpers,
}
