"""The stratum of a partition's engine, with relations for the tuples that it sends and receives.

- `R [sent]` are the heads to send, `R [received]` what other partitions have sent, with the sender, and
  `R [by 1]` the tuples that are arranged by column 1. They belong to the stratum, so that received tuples
  have ranks: they only support tuples of higher rank. If R keeps the best value per key, so do they, and
  the rules of the stratum remain strict.
- A share is the part of what a rule outside the recursion copies that belongs to the partition.
- `S [at 0]` is the part of a lower relation with the partition's values in column 0.
- `S [absent]` is a lower relation under `not`, if deletions come before insertions and the rules also read it
  otherwise: rows inserted into one of the two are deletions for the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tidelog.data.types import INT
from tidelog.engine.spark.partitions.routes import Routes
from tidelog.plan.flat import FlatLiteral, FlatProgram, FlatRule, Stored, Stratum
from tidelog.plan.seeds import is_inner, taken_over
from tidelog.program.typed import Absent, Best, Match, Var, Wildcard

__all__ = [
    "Copy",
    "arranged",
    "copies",
    "leaves_by_insertion",
    "received",
    "sent",
    "shares",
    "through",
    "with_routes",
    "with_shares",
    "without_new_rules",
]


class Copy(NamedTuple):
    """A lower relation as a partition has it: under another name, with these columns of the relation.

    It is divided by the column number `by`, or sent to all partitions if that is None. The rule that copies a
    share has the `head`.
    """

    name: str
    relation: str
    columns: tuple[int, ...]
    by: int | None
    head: str = ""


def sent(relation: str) -> str:
    """The relation of heads to send."""
    return f"{relation} [sent]"


def received(relation: str) -> str:
    """The relation of received tuples: the sender, then the tuple."""
    return f"{relation} [received]"


def arranged(relation: str, column: int) -> str:
    """The relation of tuples received to be arranged by a column: the sender, then the tuple."""
    return f"{relation} [by {column}]"


def through(routes: Routes) -> dict[str, int]:
    """The columns by which relations of tuples to receive are divided."""
    made = {received(name): column + 1 for name, column in routes.owners.items()}
    return made | {arranged(name, column): column + 1 for name, column in routes.arranged}


def with_routes(
    stratum: Stratum, relations: Mapping[str, Stored], routes: Routes
) -> tuple[Stratum, Mapping[str, Stored]]:
    """The stratum of a partition, and its relations."""
    made: dict[str, Stored] = {}
    both = _on_both_sides(stratum) if routes.in_phases else frozenset[str]()
    rules = [_rerouted(rule, routes, both) for rule in stratum.rules]
    best = dict(stratum.best)
    for name in sorted(routes.senders(stratum)):
        made[sent(name)] = replace(relations[name], name=sent(name), keyed=False)
        if name in best:
            best[sent(name)] = best[name]
    for name in sorted(routes.senders(stratum) | routes.copied.keys()):
        types = relations[name].types
        made[received(name)] = Stored(received(name), (INT, *types))
        values = tuple(Var(f"v{i}", type_) for i, type_ in enumerate(types))
        body = (Match(received(name), (Wildcard(), *values)),)
        rules.append(FlatRule(received(name), name, values, body, stratum.rules[0].origin))
        if name in best:
            best[received(name)] = _moved(best[name])
    for name, column in routes.arranged:
        kept = arranged(name, column)
        made[kept] = Stored(kept, (INT, *relations[name].types))
        if name in best:
            best[kept] = _moved(best[name])
    own = replace(
        stratum,
        relations=stratum.relations.union(made),
        rules=tuple(rules),
        best=tuple(sorted(best.items())),
    )
    below = {
        copy.name: replace(
            relations[copy.relation],
            name=copy.name,
            keyed=False,
            title=relations[copy.relation].title or copy.relation,
        )
        for copy in copies(stratum, relations, routes)
    }
    return own, {**relations, **made, **below}


def _moved(best: Best) -> Best:
    return replace(best, column=best.column + 1)


def copies(stratum: Stratum, relations: Mapping[str, Stored], routes: Routes) -> list[Copy]:
    """The lower relations that partitions have under other names, except shares."""
    both = _on_both_sides(stratum) if routes.in_phases else frozenset[str]()
    rules = {rule.id: rule for rule in stratum.rules}
    found: dict[str, Copy] = {}

    def add(name: str, relation: str, by: int | None) -> None:
        found[name] = Copy(name, relation, tuple(range(len(relations[relation].types))), by)

    for beside in routes.beside:
        literal = rules[beside.rule].body[beside.position]
        assert isinstance(literal, Match | Absent)
        add(_name(literal, beside.column, both), beside.relation, beside.column)
    for relation in both & _broadcast_absent(stratum, routes):
        add(_absent(relation), relation, None)
    return [found[name] for name in sorted(found)]


def shares(stratum: Stratum, owners: Mapping[str, int]) -> list[Copy]:
    """The relations that rules outside a recursion copy; with separate seeds, they do nothing else.

    A partition has the part of them that belongs to it.
    """
    found = []
    for rule in stratum.rules:
        if not is_inner(rule, stratum):
            taken = taken_over(rule)
            assert taken is not None, "the seeds of a divided recursion have relations of their own"
            found.append(Copy(_share(rule), *taken, owners[rule.head], rule.head))
    return found


def with_shares(stratum: Stratum, relations: Mapping[str, Stored]) -> tuple[Stratum, Mapping[str, Stored]]:
    """The stratum, with rules that read the shares of a partition instead of what they copy."""
    made: dict[str, Stored] = {}
    rules = []
    for rule in stratum.rules:
        if is_inner(rule, stratum):
            rules.append(rule)
            continue
        name, title = _share(rule), relations[rule.head].title or rule.head
        made[name] = replace(relations[rule.head], name=name, keyed=False, title=title)
        rules.append(replace(rule, body=(Match(name, tuple(v for v in rule.values if isinstance(v, Var))),)))
    return replace(stratum, rules=tuple(rules)), {**relations, **made}


def _share(rule: FlatRule) -> str:
    return f"{rule.id} [share]"


def without_new_rules(program: FlatProgram, before: FlatProgram) -> FlatProgram:
    """The program of a partition with only those of its rules that it had before."""
    rules = {id_: rule for id_, rule in program.rules.items() if id_ in before.rules}
    *below, own = program.strata
    own = replace(own, rules=tuple(rule for rule in own.rules if rule.id in rules))
    return replace(program, rules=rules, strata=(*below, own))


def leaves_by_insertion(stratum: Stratum) -> frozenset[str]:
    """The lower relations of a partition's stratum that are only read under `not`."""
    return frozenset(x.relation for x in _literals(stratum) if isinstance(x, Absent)) - frozenset(
        x.relation for x in _literals(stratum) if isinstance(x, Match)
    )


def _on_both_sides(stratum: Stratum) -> frozenset[str]:
    """The lower relations that are read under `not` and also otherwise."""
    negated = {x.relation for x in _literals(stratum) if isinstance(x, Absent)}
    return frozenset(x.relation for x in _literals(stratum) if isinstance(x, Match) and x.relation in negated)


def _literals(stratum: Stratum) -> Iterator[FlatLiteral]:
    return (x for rule in stratum.rules for x in rule.body)


def _broadcast_absent(stratum: Stratum, routes: Routes) -> set[str]:
    divided = {(beside.rule, beside.position) for beside in routes.beside}
    return {
        x.relation
        for rule in stratum.rules
        for i, x in enumerate(rule.body)
        if isinstance(x, Absent) and (rule.id, i) not in divided
    }


def _absent(relation: str) -> str:
    return f"{relation} [absent]"


def _name(literal: Match | Absent, column: int | None, both: frozenset[str]) -> str:
    """The name under which a partition has what a literal reads."""
    is_absent = isinstance(literal, Absent) and literal.relation in both
    name = _absent(literal.relation) if is_absent else literal.relation
    return name if column is None else f"{name} [at {column}]"


def _rerouted(rule: FlatRule, routes: Routes, both: frozenset[str]) -> FlatRule:
    """The rule, reading the tuples that are arranged or divided for it and deriving the tuples to send."""
    body = list(rule.body)
    divided = {beside.position: beside.column for beside in routes.beside if beside.rule == rule.id}
    for i, literal in enumerate(rule.body):
        if isinstance(literal, Match | Absent):
            body[i] = replace(literal, relation=_name(literal, divided.get(i), both))
    for reading in routes.readings:
        if reading.rule == rule.id:
            atom = body[reading.position]
            assert isinstance(atom, Match)
            body[reading.position] = Match(arranged(atom.relation, reading.column), (Wildcard(), *atom.terms))
    return replace(rule, head=sent(rule.head) if rule.id in routes.sending else rule.head, body=tuple(body))
