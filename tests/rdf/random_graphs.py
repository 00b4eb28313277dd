"""Random ontologies with a few individuals; everything follows from the seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from tidelog.rdf.terms import DOMAIN, FIRST, NIL, RANGE, REST, SUBCLASS, SUBPROPERTY, TYPE, owl

Triple = tuple[str, str, str]

CLASSES: Final = [f"<http://example.org/C{i}>" for i in range(6)]
PROPERTIES: Final = [f"<http://example.org/p{i}>" for i in range(4)]
INDIVIDUALS: Final = [f"<http://example.org/a{i}>" for i in range(5)] + ["_:someone", '"a text"@en']


def facts(rng: Random, number: int) -> set[Triple]:
    """What is said of individuals; a literal is never the subject."""
    subjects = INDIVIDUALS[:-1]
    made: set[Triple] = set()
    for _ in range(number):
        if rng.random() < 0.4:
            made.add((rng.choice(subjects), TYPE, rng.choice(CLASSES)))
        else:
            made.add((rng.choice(subjects), rng.choice(PROPERTIES), rng.choice(INDIVIDUALS)))
    return made


def schema(rng: Random, number: int) -> set[Triple]:
    """Subclasses, subproperties, domains and ranges, cycles included; a few classes without a name."""
    classes = [*CLASSES, "_:class"]
    kinds = (
        (SUBCLASS, classes, classes),
        (SUBPROPERTY, PROPERTIES, PROPERTIES),
        (DOMAIN, PROPERTIES, classes),
        (RANGE, PROPERTIES, classes),
    )
    made: set[Triple] = set()
    for _ in range(number):
        word, subjects, objects = rng.choice(kinds)
        made.add((rng.choice(subjects), word, rng.choice(objects)))
    return made


class Ontology:
    """Random axioms of OWL, in the profile and out of it, as triples.

    No blank node is used twice, as the mapping of OWL to RDF has it.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.triples: set[Triple] = set()
        self._blank = 0

    def add_axiom(self) -> None:
        rng = self.rng
        kinds: list[Callable[[], object]] = [
            lambda: self._say(self._expression(1), SUBCLASS, self._expression(2)),
            lambda: self._say(self._expression(3), SUBCLASS, rng.choice(CLASSES)),
            lambda: self._say(rng.choice(CLASSES), SUBCLASS, self._expression(3)),
            lambda: self._say(rng.choice(CLASSES), owl("equivalentClass"), self._expression(2)),
            lambda: self._describe(rng.choice(CLASSES), 2),
            lambda: self._say(rng.choice(PROPERTIES), rng.choice([DOMAIN, RANGE]), self._expression(1)),
            lambda: self._say(self._role(), SUBPROPERTY, rng.choice(PROPERTIES)),
            lambda: self._say(rng.choice(PROPERTIES), owl("inverseOf"), rng.choice(PROPERTIES)),
            lambda: self._say(rng.choice(PROPERTIES), owl("equivalentProperty"), rng.choice(PROPERTIES)),
            lambda: self._say(rng.choice(PROPERTIES), TYPE, owl("TransitiveProperty")),
            lambda: self._say(rng.choice(PROPERTIES), TYPE, owl("SymmetricProperty")),
            lambda: self._say(
                rng.choice(PROPERTIES), owl("propertyChainAxiom"), self._list([self._role(), self._role()])
            ),
            lambda: self._say(rng.choice(INDIVIDUALS[:-2]), TYPE, self._expression(1)),
        ]
        rng.choice(kinds)()

    def _say(self, s: str, p: str, o: str) -> None:
        self.triples.add((s, p, o))

    def _new(self) -> str:
        self._blank += 1
        return f"_:n{self._blank}"

    def _role(self) -> str:
        """A property, or the inverse of one."""
        if self.rng.random() < 0.8:
            return self.rng.choice(PROPERTIES)
        inverse = self._new()
        self._say(inverse, owl("inverseOf"), self.rng.choice(PROPERTIES))
        return inverse

    def _expression(self, depth: int) -> str:
        if depth == 0 or self.rng.random() < 0.4:
            return self.rng.choice(CLASSES)
        node = self._new()
        self._describe(node, depth)
        return node

    def _describe(self, node: str, depth: int) -> None:
        rng = self.rng
        kind = rng.choice("intersectionOf unionOf oneOf complementOf some some only value".split())
        if kind in ("intersectionOf", "unionOf"):
            parts = [self._expression(depth - 1) for _ in range(rng.randint(1, 3))]
            self._say(node, owl(kind), self._list(parts))
        elif kind == "oneOf":
            self._say(node, owl(kind), self._list(rng.sample(INDIVIDUALS[:-2], 2)))
        elif kind == "complementOf":
            self._say(node, owl(kind), self._expression(depth - 1))
        elif node in CLASSES:  # restrictions have no name
            self._say(node, owl("equivalentClass"), self._restriction(kind, depth))
        else:
            self._restriction(kind, depth, node)

    def _restriction(self, kind: str, depth: int, node: str | None = None) -> str:
        node = node or self._new()
        self._say(node, owl("onProperty"), self._role())
        if kind == "value":
            self._say(node, owl("hasValue"), self.rng.choice(INDIVIDUALS))
        elif kind == "some" and self.rng.random() < 0.3:
            self._say(node, owl("someValuesFrom"), owl("Thing"))
        else:
            word = "someValuesFrom" if kind == "some" else "allValuesFrom"
            self._say(node, owl(word), self._expression(depth - 1))
        return node

    def _list(self, members: list[str]) -> str:
        rest = NIL
        for member in reversed(members):
            node = self._new()
            self._say(node, FIRST, member)
            self._say(node, REST, rest)
            rest = node
        return rest


def ontology(rng: Random, number: int) -> set[Triple]:
    made = Ontology(rng)
    for _ in range(number):
        made.add_axiom()
    return made.triples
