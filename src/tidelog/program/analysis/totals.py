"""`sum` and `count` in recursion: which relations keep a total per key, and what depends on the totals.

A relation derived by `sum` or `count` from itself keeps one row per key: the total over the instances of all
its rules. A column of the stratum is *aggregated* if its values depend on totals. The other columns of a
relation identify its *groups*: for a total its keys, for an ordinary relation of the recursion its rows.

A group depends on another if an instance of its body reads it, without the conditions that test totals. If
no group depends on itself, their order defines the result. `rule_of_groups` has these instances: the body
of a rule over groups in place of rows.

In the *threshold form*, totals are only compared with what they must exceed. If no contribution is negative,
more rows then only lead to more rows, and groups may depend on themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, assert_never

from tidelog.program import traversal, typed
from tidelog.program.declared import Relation
from tidelog.program.elaborate.problems import Problems
from tidelog.program.typed import (
    Absent,
    Binary,
    Bind,
    Body,
    Cast,
    Each,
    Expr,
    Head,
    Literal,
    Match,
    Nested,
    Rule,
    Stage,
    Term,
    Test,
    Total,
    Totals,
    Var,
    Wildcard,
    Without,
)

__all__ = [
    "GroupRule",
    "contributions",
    "group_columns",
    "groups_of",
    "report_mixture",
    "report_nested",
    "rule_of_groups",
    "total_relations",
    "totals_of",
]

_FUNCTIONS = ("sum", "count")
_EXCEEDS = {">": True, ">=": True, "<": False, "<=": False}  # whether the total is on the left


# -- which relations


def total_relations(rules: tuple[Rule, ...], through: frozenset[str], problems: Problems) -> dict[str, Total]:
    """The relations among `through` that keep a total per key."""
    found: dict[str, Total] = {}
    for name in sorted(through):
        deriving = [r for r in rules if not r.is_fact and any(h.relation == name for h in r.heads)]
        forms = [_form(rule, name) for rule in deriving]
        chosen = next((form for form in forms if form is not None), None)
        if chosen is None:
            continue
        found[name] = chosen
        for rule, form in zip(deriving, forms, strict=True):
            if form != chosen:
                _report(rule, name, chosen, problems)
    return found


def _report(rule: Rule, name: str, chosen: Total, problems: Problems) -> None:
    column, function = chosen.column + 1, chosen.function
    problems.report(
        "E503",
        rule.span,
        f"`{name}` keeps the {function} of its column {column} per key, "
        "so every rule for it must end in that aggregate",
        hint=f"end the body with `var v = ….group_by(…).{function}()` and use `v` as column {column}",
    )


def _form(rule: Rule, name: str) -> Total | None:
    """The column and function if the rule's last step is one `sum` or `count` that fills one column."""
    if rule.group is None or rule.after != ((),) or len(rule.group.aggregates) != 1:
        return None
    aggregate = rule.group.aggregates[0]
    if aggregate.function not in _FUNCTIONS or aggregate.distinct:
        return None
    forms = set()
    for head in (h for h in rule.heads if h.relation == name):
        columns = [i for i, v in enumerate(head.values) if aggregate.result in traversal.variables(v)]
        if len(columns) != 1 or head.values[columns[0]] != aggregate.result:
            return None
        forms.add(Total(columns[0], aggregate.function))
    return forms.pop() if len(forms) == 1 else None


def report_mixture(
    rules: tuple[Rule, ...], best: Iterable[str], totals: Iterable[str], problems: Problems
) -> None:
    """Report a recursion through both best values and totals."""
    first, second = min(best), min(totals)
    rule = next(r for r in rules if any(h.relation == second for h in r.heads))
    problems.report(
        "E505",
        rule.span,
        f"`{first}` keeps a best value and `{second}` a total, and they depend on each other",
        hint="a recursion can use `min` and `max`, or `sum` and `count`, but not both; break the cycle",
    )


def report_nested(rules: tuple[Rule, ...], name: str, problems: Problems) -> None:
    """Report nested bodies in a recursion with totals."""
    for rule in rules:
        literals = [x for body in (*rule.bodies, *rule.after) for x in body]
        if any(isinstance(x, Nested | Without) for x in literals):
            problems.report(
                "E506",
                rule.span,
                f"`{name}` keeps a total, so the rules of its recursion cannot have nested bodies",
                hint="derive a relation of its own from the nested body, and read that",
            )


# -- what depends on totals


def totals_of(relations: frozenset[str], rules: tuple[Rule, ...], kept: Mapping[str, Total]) -> Totals:
    """What is known about a stratum in which these relations keep totals."""
    aggregated: dict[str, set[int]] = {name: set() for name in relations}
    for name, total in kept.items():
        aggregated[name].add(total.column)
    size = -1
    while size != (size := sum(map(len, aggregated.values()))):
        for rule in rules:
            for head, names in _heads(rule, aggregated):
                places = enumerate(head.values)
                aggregated[head.relation].update(i for i, v in places if _depends(v, names))
    columns = tuple((name, frozenset(aggregated[name])) for name in sorted(relations))
    threshold = all(_exceeds(rule, aggregated) for rule in rules)
    return Totals(tuple(sorted(kept.items())), columns, threshold)


def _heads(rule: Rule, aggregated: Mapping[str, Iterable[int]]) -> Iterator[tuple[Head, frozenset[str]]]:
    """The heads in the stratum, each with the variables that depend on totals, for each alternative."""
    heads = [head for head in rule.heads if head.relation in aggregated]
    before = frozenset().union(*(_dependent(body, aggregated) for body in rule.bodies))
    if rule.group is None:
        yield from ((head, before) for head in heads)
        return
    keys = before & {key.name for key in rule.group.keys}
    # a result other than the total itself is one of a lower stratum
    names = keys.union(*(_dependent(body, aggregated, keys) for body in rule.after))
    yield from ((head, names) for head in heads)


def _dependent(
    body: Body, aggregated: Mapping[str, Iterable[int]], known: frozenset[str] = frozenset()
) -> frozenset[str]:
    """The variables of a body whose values depend on totals."""
    names = set(known)
    for literal in body:
        if isinstance(literal, Match):
            terms = (literal.terms[i] for i in aggregated.get(literal.relation, ()))
            names.update(t.name for t in terms if isinstance(t, Var))
    for literal in body:
        if isinstance(literal, Bind | Each) and any(
            _depends(e, names) for e in traversal.expressions(literal)
        ):
            names.add(literal.variable.name)
    return frozenset(names)


def _depends(expr: Expr, names: Iterable[str]) -> bool:
    return any(v.name in names for v in traversal.variables(expr))


# -- the threshold form


def _exceeds(rule: Rule, aggregated: Mapping[str, Iterable[int]]) -> bool:
    """Whether a rule only compares totals with what they must exceed."""
    keys = rule.group.keys if rule.group else ()
    used: list[Expr] = [*(v for head in rule.heads for v in head.values), *keys]
    used += (arg for a in rule.group.aggregates for arg in a.args) if rule.group else ()
    for body in (*rule.bodies, *rule.after):
        totals = _values(body, aggregated)
        if totals is None or any(_depends(expr, totals) for expr in used):
            return False
        if not all(_is_allowed(literal, totals, aggregated) for literal in body):
            return False
    return True


def _values(body: Body, aggregated: Mapping[str, Iterable[int]]) -> frozenset[str] | None:
    """The variables bound to totals; None if one must equal something."""
    found: set[str] = set()
    for literal in (x for x in body if isinstance(x, Match)):
        for i in aggregated.get(literal.relation, ()):
            term = literal.terms[i]
            if isinstance(term, typed.Constant) or (isinstance(term, Var) and term.name in found):
                return None
            found.update([term.name] if isinstance(term, Var) else ())
    return frozenset(found)


def _is_allowed(literal: Literal, totals: frozenset[str], aggregated: Mapping[str, Iterable[int]]) -> bool:
    match literal:
        case Match(relation, terms):
            own = frozenset(aggregated.get(relation, ()))
            others = (t for i, t in enumerate(terms) if i not in own)
            return not any(isinstance(t, Var) and t.name in totals for t in others)
        case Absent() | Bind() | Each() | Nested() | Without() | Stage():
            return not any(_depends(e, totals) for e in traversal.expressions(literal))
        case Test(condition):
            return all(_is_threshold(part, totals) for part in _conjuncts(condition))
        case _:
            assert_never(literal)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, Binary) and condition.op == "and":
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _is_threshold(condition: Expr, totals: frozenset[str]) -> bool:
    """Whether a condition does not use totals, or is a comparison that stays true as its total grows."""
    if not _depends(condition, totals):
        return True
    if not isinstance(condition, Binary) or condition.op not in _EXCEEDS:
        return False
    is_left = _EXCEEDS[condition.op]
    total, limit = (condition.left, condition.right) if is_left else (condition.right, condition.left)
    return isinstance(total, Var) and not _depends(limit, totals)


# -- contributions and groups


def contributions(rule: Rule) -> tuple[Body, ...]:
    """The bodies of a rule that ends in a total, with the contribution of an instance as the result."""
    if rule.group is None:  # a fact
        return rule.bodies
    aggregate = rule.group.aggregates[0]
    value, type_ = aggregate.args[0], aggregate.result.type
    more: tuple[Bind, ...] = ()
    if aggregate.function == "count":
        more = (Bind(Var("$counted", value.type), value),)  # if it fails, counting fails
        value = typed.Constant(1, type_)
    if value.type != type_:
        value = Cast(value, type_)
    return tuple((*body, *more, Bind(aggregate.result, value)) for body in rule.bodies)


def groups_of(relation: str, aggregated: frozenset[int]) -> str:
    """The name of the hidden relation of a relation's groups, given the columns that depend on totals."""
    without = f" without {', '.join(map(str, sorted(aggregated)))}" if aggregated else ""
    return f"{relation} [groups{without}]"


def group_columns(arity: int, aggregated: frozenset[int]) -> tuple[int, ...]:
    """The columns that identify the groups of a relation."""
    return tuple(i for i in range(arity) if i not in aggregated)


class GroupRule(NamedTuple):
    """One alternative of a rule over groups: which group follows, and the groups that it depends on.

    `head` are the values of the group of the head. `reads` are the atoms of the body over groups.
    """

    head: tuple[Expr, ...]
    body: Body
    reads: tuple[tuple[str, tuple[Term, ...]], ...]


def rule_of_groups(
    relation: str,
    values: tuple[Expr, ...],
    body: Body,
    aggregated: Mapping[str, frozenset[int]],
    relations: Mapping[str, Relation],
) -> GroupRule:
    """A body over groups in place of rows, without the conditions that test totals."""
    names = _dependent(body, aggregated)
    head = tuple(values[i] for i in group_columns(len(values), aggregated[relation]))
    made: list[Literal] = []
    reads: list[tuple[str, tuple[Term, ...]]] = []
    for literal in body:
        match literal:
            case Match(name, terms) if name in aggregated:
                kept: list[Term] = []
                for i in group_columns(len(terms), aggregated[name]):
                    term = _without_totals(terms[i], names)
                    # the group that is read must be known
                    fresh = Var(f"$group{len(reads)}.{i}", relations[name].columns[i].type)
                    kept.append(fresh if isinstance(term, Wildcard) else term)
                made.append(Match(groups_of(name, aggregated[name]), tuple(kept)))
                reads.append((name, tuple(kept)))
            case Match(name, terms):
                made.append(Match(name, tuple(_without_totals(t, names) for t in terms)))
            case Stage():
                made.append(literal)
            case Absent() | Test() | Bind() | Each() | Nested() | Without():
                if not any(_depends(e, names) for e in traversal.expressions(literal)):
                    made.append(literal)
            case _:
                assert_never(literal)
    return GroupRule(head, _needed(made, head), tuple(reads))


def _needed(body: Iterable[Literal], head: Iterable[Expr]) -> Body:
    """A body without the assignments that nothing else uses, so that they cannot fail."""
    literals = tuple(body)
    others = (e for x in literals if not isinstance(x, Bind) for e in traversal.expressions(x))
    used = {v.name for expr in (*head, *others) for v in traversal.variables(expr)}
    dropped: set[int] = set()
    for number, literal in reversed(tuple(enumerate(literals))):  # each uses only those before it
        if isinstance(literal, Bind):
            if literal.variable.name in used:
                used |= {v.name for v in traversal.variables(literal.value)}
            else:
                dropped.add(number)
    return tuple(x for number, x in enumerate(literals) if number not in dropped)


def _without_totals(term: Term, names: frozenset[str]) -> Term:
    return Wildcard() if isinstance(term, Var) and term.name in names else term
