"""Equality of individuals, against the rules of the standard written down once more, over Python sets."""

from __future__ import annotations

from random import Random

import pytest

from tidelog import rdf
from tidelog.rdf.terms import SUBCLASS, TYPE, owl

Triple = tuple[str, str, str]
SAME, FUNCTIONAL, INVERSE = owl("sameAs"), owl("FunctionalProperty"), owl("InverseFunctionalProperty")


def closure(triples: set[Triple], *, classes: bool) -> set[Triple]:
    """The fixpoint; with `classes`, also of subclasses."""
    found = set(triples)
    while True:
        more: set[Triple] = set()
        for s, p, o in found:
            if p == SAME:
                more.add((o, SAME, s))
                more |= {(s, SAME, z) for y, q, z in found if (y, q) == (o, SAME)}
                more |= {(o, q, z) for y, q, z in found if y == s}
                more |= {(y, o, z) for y, q, z in found if q == s}
                more |= {(y, q, o) for y, q, z in found if z == s}
            if (p, o) == (TYPE, FUNCTIONAL):
                pairs = [(a, b) for a, q, b in found if q == s and not b.startswith('"')]
                more |= {(b, SAME, d) for a, b in pairs for c, d in pairs if a == c and b != d}
            if (p, o) == (TYPE, INVERSE):
                pairs = [(a, b) for a, q, b in found if q == s]
                more |= {(a, SAME, c) for a, b in pairs for c, d in pairs if b == d and a != c}
            if classes and p == SUBCLASS:
                more |= {(x, TYPE, o) for x, q, c in found if (q, c) == (TYPE, s)}
                more |= {(s, SUBCLASS, z) for y, q, z in found if (y, q) == (o, SUBCLASS)}
        more = {t for t in more if not t[0].startswith('"') and t[1].startswith("<")}
        if more <= found:
            return found
        found |= more


def graph(rng: Random) -> set[Triple]:
    people = [f"<http://e/{n}>" for n in "abcd"]
    properties = [f"<http://e/p{n}>" for n in range(2)]
    classes = [f"<http://e/C{n}>" for n in range(3)]
    made: set[Triple] = set()
    for _ in range(rng.randint(2, 7)):
        kind = rng.random()
        if kind < 0.25:
            made.add((rng.choice(people), SAME, rng.choice(people)))
        elif kind < 0.35:
            made.add((rng.choice(properties), TYPE, rng.choice([FUNCTIONAL, INVERSE])))
        elif kind < 0.5:
            made.add((rng.choice(classes), SUBCLASS, rng.choice(classes)))
        elif kind < 0.65:
            made.add((rng.choice(people), TYPE, rng.choice(classes)))
        else:
            made.add((rng.choice(people), rng.choice(properties), rng.choice([*people, '"v"'])))
    return made


@pytest.mark.parametrize("seed", range(25))
def test_equality_is_what_the_rules_of_the_standard_give(seed: int) -> None:
    triples = graph(Random(seed))
    assert set(rdf.triples(rdf.with_equality(rdf.graph(triples)))) == closure(triples, classes=False)


@pytest.mark.parametrize("profile", ["rdfs", "owlrl"])
@pytest.mark.parametrize("seed", range(8))
def test_both_kinds_of_inference_reach_their_common_fixpoint(seed: int, profile: str) -> None:
    triples = graph(Random(seed))
    found = rdf.infer(rdf.graph(triples), profile, same_as=True)
    together = set(rdf.triples(found.together()))
    wanted = closure(triples, classes=True)
    about_schema = {t for t in wanted - triples if t[1] == SUBCLASS}  # a program of OWL does not derive these
    assert together - about_schema == wanted - about_schema
    assert not [s for s in found.left_out if "sameAs" in s.said]
