"""What a program means, by the shortest way there is: try every choice of rows until nothing is new.

It shares nothing with the circuit but the meaning of expressions. Strata are found by reachability: a
relation is evaluated together with those it depends on and that depend on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product

from tidelog.data.values import Row, Value
from tidelog.program.typed import Absent, Bind, Body, Constant, Head, Match, Rule, Term, Test, Var
from tidelog.reference.evaluate import Failure, evaluate

Contents = Mapping[str, frozenset[Row]]
Env = dict[str, Value | Failure]


class Unstratifiable(Exception):
    pass


class Failed(Exception):
    pass


def contents(rules: Collection[Rule], asserted: Contents) -> dict[str, frozenset[Row]]:
    """The rows of every relation that has any."""
    known = {relation: set(rows) for relation, rows in asserted.items()}
    for together in _strata(rules):
        derived = [(h, b) for r in rules for h in r.heads for b in r.bodies if h.relation in together]
        new = True
        while new:
            new = False
            for head, body in derived:
                for row in list(_rows(head, body, known)):
                    rows = known.setdefault(head.relation, set())
                    new |= row not in rows
                    rows.add(row)
    return {relation: frozenset(rows) for relation, rows in known.items() if rows}


def _strata(rules: Collection[Rule]) -> list[set[str]]:
    edges = [
        (head.relation, literal.relation, isinstance(literal, Absent))
        for rule in rules
        for head in rule.heads
        for body in rule.bodies
        for literal in body
        if isinstance(literal, Match | Absent)
    ]
    heads = {head.relation for rule in rules for head in rule.heads}
    below = {relation: _reachable(relation, edges) for relation in heads}
    if any(negated and head in below.get(used, {used}) for head, used, negated in edges):
        raise Unstratifiable
    order = sorted(heads, key=lambda relation: (len(below[relation]), relation))
    return [{other for other in heads if below[other] == below[relation]} for relation in order]


def _reachable(relation: str, edges: Iterable[tuple[str, str, bool]]) -> set[str]:
    reached, grown = {relation}, True
    while grown:
        more = {used for head, used, _ in edges if head in reached} - reached
        reached |= more
        grown = bool(more)
    return reached


def _rows(head: Head, body: Body, known: Mapping[str, set[Row]]) -> Iterator[Row]:
    atoms = [literal for literal in body if isinstance(literal, Match)]
    for rows in product(*(tuple(known.get(atom.relation, ())) for atom in atoms)):
        env: Env | None = {}
        for atom, row in zip(atoms, rows, strict=True):
            env = env if env is None else _agree(atom.terms, row, env)
        if env is not None:
            yield from _finish(head, body, env, known)


def _finish(head: Head, body: Body, env: Env, known: Mapping[str, set[Row]]) -> Iterator[Row]:
    """The head's row if the other literals hold; Failed if they do but for expressions without a value."""
    truths: list[bool | Failure] = []
    for literal in body:
        if isinstance(literal, Bind):
            value = evaluate(literal.value, env, {})
            if isinstance(value, Failure):
                truths.append(value)
            bound = env.setdefault(literal.variable.name, value)
            unknown = isinstance(value, Failure) or isinstance(bound, Failure)
            truths.append(unknown or (bound == value and value is not None))
    for literal in body:
        match literal:
            case Test(condition):
                truth = evaluate(condition, env, {})
                truths.append(truth if isinstance(truth, Failure) else truth is True)
            case Absent(relation, terms):
                truths.append(all(_agree(terms, row, env) is None for row in known.get(relation, ())))
            case Match() | Bind():
                pass
    if False in truths:
        return
    row = tuple(evaluate(value, env, {}) for value in head.values)
    if any(isinstance(t, Failure) for t in (*truths, *row)):
        raise Failed
    yield tuple(value for value in row if not isinstance(value, Failure))


def _agree(terms: tuple[Term, ...], row: Row, env: Env) -> Env | None:
    """The environment with the row's values for new variables, or None if the row does not fit."""
    env = dict(env)
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, Var) and term.name not in env:
            env[term.name] = value
        elif isinstance(term, Var | Constant):
            wanted = env[term.name] if isinstance(term, Var) else term.value
            if value is None or wanted != value:
                return None
    return env
