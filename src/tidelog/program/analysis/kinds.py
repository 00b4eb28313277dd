"""What streams and multisets must not do: be recursive, or be read by what keeps the rows of a stream.

A stream has rows only during one commit. A relation or multiset derived from it would lose them with the
next commit, which is rarely meant, so only `S'` may be read elsewhere. A weight in a recursion would have no
unique value. Earlier commits (`R-1`) are given facts and close no cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from tidelog.program.analysis.strata import Strata, reads
from tidelog.program.declared import Relation, RelationKind
from tidelog.program.elaborate.problems import Problems
from tidelog.program.typed import Absent, Bind, Body, Each, Match, Nested, Rule, Stage, Stratum, Test, Without

__all__ = ["atoms_in", "atoms_of", "check_kinds"]


def atoms_of(rule: Rule) -> Iterator[Match | Absent]:
    """All atoms of the bodies of a rule, also of nested bodies."""
    for body in (*rule.bodies, *rule.after):
        yield from atoms_in(body)


def atoms_in(body: Body) -> Iterator[Match | Absent]:
    """All atoms of a body, also of nested bodies."""
    for literal in body:
        match literal:
            case Match() | Absent():
                yield literal
            case Nested(bodies=bodies) | Without(bodies=bodies) | Stage(bodies=bodies):
                for inner in bodies:
                    yield from atoms_in(inner)
            case Test() | Bind() | Each():
                pass
            case _:
                assert_never(literal)


def check_kinds(
    relations: Mapping[str, Relation], added: Iterable[Rule], strata: Strata, problems: Problems
) -> None:
    """Report rules that were added and read streams wrongly, or make streams or multisets recursive."""
    reported: set[frozenset[str]] = set()
    for rule in added:
        _check_streams(rule, relations, problems)
        for head in rule.heads:
            number = strata.order.number.get(head.relation)
            stratum = None if number is None else strata.strata[number]
            if stratum is not None and stratum.recursive and stratum.relations not in reported:
                reported.add(stratum.relations)
                _check_recursion(stratum, relations, problems)


def _kind(relations: Mapping[str, Relation], name: str) -> RelationKind:
    found = relations.get(name)
    return RelationKind.SET if found is None else found.kind


def _check_streams(rule: Rule, relations: Mapping[str, Relation], problems: Problems) -> None:
    streams = [
        atom.relation
        for atom in atoms_of(rule)
        if not atom.is_prime and _kind(relations, atom.relation) is RelationKind.STREAM
    ]
    others = [h.relation for h in rule.heads if _kind(relations, h.relation) is not RelationKind.STREAM]
    if streams and others:
        read = streams[0]
        kind = _kind(relations, others[0]).value
        problems.report(
            "E507",
            rule.span,
            f"`{others[0]}` is a {kind}, but it is derived from the stream `{read}`",
            note=f"`{read}` has its rows only during one commit",
            hint=f"declare `stream {others[0]}`, or read `{read}'(…)`, whose rows leave at the next commit",
        )


def _check_recursion(stratum: Stratum, relations: Mapping[str, Relation], problems: Problems) -> None:
    for name in sorted(stratum.relations):
        kind = _kind(relations, name)
        if kind is RelationKind.SET:
            continue
        deriving = [r for r in stratum.rules if any(h.relation == name for h in r.heads)]
        rule = next(r for r in deriving if any(read in stratum.relations for read, _ in reads(r)))
        problems.report(
            "E508",
            rule.span,
            f"the {kind.value} `{name}` depends on itself",
            note=f"the cycle has {', '.join(f'`{n}`' for n in sorted(stratum.relations))}",
            hint=f"only relations can be recursive; `{name}-1(…)` reads the commit before this one",
        )
        return
