"""Translates triples to axioms: the statements of a graph about classes and properties.

No statement is dropped silently. A statement becomes axioms, or it is reported with its problem. Only
declarations, labels and versions are ignored, and unknown OWL terms, which `words` reports.

`owl_axioms` reads OWL, in which blank nodes describe classes. `rdfs_axioms` reads the four terms of ρdf and
treats every term as a name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.rdf import terms
from tidelog.rdf.graphs import triples
from tidelog.rdf.ontology import (
    CONTRADICTION,
    EQUALITY,
    THING,
    All,
    Axiom,
    Complement,
    Datatype,
    Expression,
    HasValue,
    Included,
    Intersection,
    LeftOut,
    Named,
    OneOf,
    Other,
    Path,
    Role,
    Some,
    Union,
    describe,
    describe_role,
)
from tidelog.rdf.terms import DOMAIN, FIRST, NIL, RANGE, REST, SUBCLASS, SUBPROPERTY, TYPE, owl, rdfs, short

__all__ = ["WORDS", "owl_axioms", "rdfs_axioms"]

_RESTRICTION: Final = "rules support only the restrictions some, only, value and at least one"
_IMPORT: Final = "imports are not followed; give the file as another ontology"
_PROBLEMS: Final[Mapping[str, str]] = {
    **{owl(n): EQUALITY for n in "sameAs hasKey FunctionalProperty InverseFunctionalProperty".split()},
    **{
        owl(name): CONTRADICTION
        for name in """disjointWith differentFrom propertyDisjointWith AllDifferent AllDisjointClasses
        AllDisjointProperties AsymmetricProperty IrreflexiveProperty NegativePropertyAssertion""".split()
    },
    owl("imports"): _IMPORT,
    owl("disjointUnionOf"): "OWL 2 RL has no disjoint unions; write subclasses",
    owl("ReflexiveProperty"): "OWL 2 RL has no reflexive properties",
}
_LISTS: Final[Mapping[str, Callable[[tuple[Expression, ...]], Expression]]] = {
    owl("intersectionOf"): Intersection,
    owl("unionOf"): Union,
}
_ON: Final = owl("onProperty")
_INVERSE: Final = owl("inverseOf")
_DEPTH: Final = 50
_CONSTRUCTORS: Final = (*_LISTS, owl("oneOf"), owl("complementOf"), _ON)


def owl_axioms(ontology: Any) -> tuple[list[Axiom], list[LeftOut]]:
    """The OWL axioms of a graph, and the statements that cannot be read or are beyond rules."""
    found = list(dict.fromkeys(_Reader(triples(_about_classes(ontology))).statements()))
    axioms = [axiom for axiom in found if not isinstance(axiom, LeftOut)]
    return axioms, [statement for statement in found if isinstance(statement, LeftOut)]


def _about_classes(ontology: Any) -> Any:
    """The part of a graph that uses the OWL vocabulary; the rest may be large."""
    words = pa.array([SUBCLASS, SUBPROPERTY, DOMAIN, RANGE, FIRST, REST])
    in_owl = owl("")[:-1]
    structural = pc.or_(pc.is_in(ontology["p"], words), pc.starts_with(ontology["p"], in_owl))
    typed = pc.equal(ontology["p"], TYPE)
    telling = pc.or_(pc.starts_with(ontology["o"], in_owl), pc.starts_with(ontology["o"], "_:"))
    datatypes = pc.equal(ontology["o"], rdfs("Datatype"))
    return ontology.filter(pc.or_(structural, pc.and_(typed, pc.or_(telling, datatypes))))


class _Reader:
    def __init__(self, rows: Iterable[tuple[str, str, str]]) -> None:
        self._rows = list(rows)
        self._nodes: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for s, p, o in self._rows:
            self._nodes[s][p].append(o)

    # -- statements

    def statements(self) -> Iterator[Axiom | LeftOut]:
        for s, p, o in self._rows:
            if p in _PROBLEMS:
                yield LeftOut(f"{short(s)} {short(p)} {short(o)}", _PROBLEMS[p])
            elif p == TYPE:
                yield from self._typed(s, o)
            elif p in _CONSTRUCTORS:
                if not terms.is_blank(s):
                    yield from self._defined(s, p, o)
            elif p in _CLASS_AXIOMS:
                yield from _CLASS_AXIOMS[p](self, s, o)

    def _typed(self, s: str, o: str) -> Iterator[Axiom | LeftOut]:
        said = f"{short(s)} is a {short(o)}"
        if o in _PROBLEMS:
            yield LeftOut(said, _PROBLEMS[o])
        elif o == owl("TransitiveProperty"):
            yield Path((self.role(s), self.role(s)), self.role(s), said)
        elif o == owl("SymmetricProperty"):
            yield Path((self.role(s).inverted(),), self.role(s), said)
        elif terms.is_blank(o) and any(p in self._nodes[o] for p in _CONSTRUCTORS):
            described = self.expression(o)
            yield Included(OneOf((s,)), described, f"{short(s)} is a {describe(described)}")

    def _defined(self, s: str, p: str, o: str) -> Iterator[Axiom]:
        """A named class that is itself the node of a description, as in OWL 1; it may have several."""
        described = self._constructed(s, p, o, ())
        yield from _both(Named(s), described, f"{short(s)} is {describe(described)}")

    def subclass(self, s: str, o: str) -> Iterator[Axiom]:
        left, right = self.expression(s), self.expression(o)
        yield Included(left, right, f"{describe(left)} rdfs:subClassOf {describe(right)}")

    def equivalent(self, s: str, o: str) -> Iterator[Axiom]:
        left, right = self.expression(s), self.expression(o)
        yield from _both(left, right, f"{describe(left)} owl:equivalentClass {describe(right)}")

    def domain(self, s: str, o: str) -> Iterator[Axiom]:
        right = self.expression(o)
        yield Included(Some(self.role(s), THING), right, f"{short(s)} rdfs:domain {describe(right)}")

    def range(self, s: str, o: str) -> Iterator[Axiom]:
        right, role = self.expression(o), self.role(s)
        yield Included(Some(role.inverted(), THING), right, f"{short(s)} rdfs:range {describe(right)}")

    def subproperty(self, s: str, o: str) -> Iterator[Axiom]:
        left, right = self.role(s), self.role(o)
        yield Path((left,), right, f"{describe_role(left)} rdfs:subPropertyOf {describe_role(right)}")

    def same_property(self, s: str, o: str) -> Iterator[Axiom]:
        said = f"{short(s)} owl:equivalentProperty {short(o)}"
        yield Path((self.role(s),), self.role(o), said)
        yield Path((self.role(o),), self.role(s), said)

    def inverse(self, s: str, o: str) -> Iterator[Axiom]:
        if terms.is_blank(s):  # an inverse property expression, used elsewhere
            return
        said = f"{short(s)} owl:inverseOf {short(o)}"
        yield Path((self.role(s),), self.role(o).inverted(), said)
        yield Path((self.role(o),), self.role(s).inverted(), said)

    def chain(self, s: str, o: str) -> Iterator[Axiom | LeftOut]:
        members = self._list(o)
        if members:
            said = f"{' · '.join(map(short, members))} implies {short(s)}"
            yield Path(tuple(map(self.role, members)), self.role(s), said)
        else:
            yield LeftOut(f"{short(s)} owl:propertyChainAxiom", "its list is empty or malformed")

    # -- expressions

    def role(self, term: str) -> Role:
        inverses = self._nodes[term][_INVERSE] if terms.is_blank(term) else []
        return Role(inverses[0], inverse=True) if inverses else Role(term)

    def expression(self, term: str, above: tuple[str, ...] = ()) -> Expression:
        """The expression of a term; `above` are the enclosing blank nodes."""
        if term == owl("Thing"):
            return THING
        if term == owl("Nothing"):
            return Union(())
        if terms.is_datatype(term) or rdfs("Datatype") in self._nodes[term][TYPE]:
            return Datatype(term)
        if term.startswith('"'):
            return Other(f"{term} is not a class")
        if not terms.is_blank(term):
            return Named(term)
        if term in above:
            return Other("its description contains itself")
        if len(above) == _DEPTH:
            return Other(f"its description is nested more than {_DEPTH} levels deep")
        found = [p for p in _CONSTRUCTORS if p in self._nodes[term]]
        if not found:
            return Named(term)
        values = [(p, value) for p in found for value in self._nodes[term][p]]
        if len(values) > 1:
            return Other(f"it is described by {' and by '.join(short(p) for p, _ in values)}")
        return self._constructed(term, *values[0], (*above, term))

    def _constructed(self, term: str, p: str, value: str, above: tuple[str, ...]) -> Expression:
        """The expression of a node, from one of its statements."""
        if p == _ON:
            return self._restriction(term, self.role(value), above)
        if p == owl("complementOf"):
            return Complement(self.expression(value, above))
        members = self._list(value)
        if members is None:
            return Other(f"the list of its {short(p)} is malformed")
        if p == owl("oneOf"):
            return OneOf(tuple(members))
        return _LISTS[p](tuple(self.expression(m, above) for m in members))

    def _restriction(self, term: str, role: Role, above: tuple[str, ...]) -> Expression:
        node = self._nodes[term]
        found = [
            *(Some(role, self.expression(o, above)) for o in node[owl("someValuesFrom")]),
            *(All(role, self.expression(o, above)) for o in node[owl("allValuesFrom")]),
            *(HasValue(role, o) for o in node[owl("hasValue")]),
            *(self._counted(node, role, o, above) for o in node[owl("minCardinality")]),
            *(self._counted(node, role, o, above) for o in node[owl("minQualifiedCardinality")]),
        ]
        if len(found) == 1:
            return found[0]
        return Other("it combines several restrictions" if found else _RESTRICTION)

    def _counted(
        self, node: Mapping[str, list[str]], role: Role, number: str, above: tuple[str, ...]
    ) -> Expression:
        if not number.startswith('"1"'):
            return Other(_RESTRICTION)
        of = [self.expression(o, above) for o in node[owl("onClass")]]
        return Some(role, of[0] if of else THING)

    def _list(self, term: str) -> list[str] | None:
        """The members of a list; None if it is malformed."""
        members: list[str] = []
        seen: set[str] = set()
        while term != NIL:
            node = self._nodes[term]
            if term in seen or len(node[FIRST]) != 1 or len(node[REST]) != 1:
                return None
            seen.add(term)
            members += node[FIRST]
            (term,) = node[REST]
        return members


_CLASS_AXIOMS: Final[Mapping[str, Callable[[_Reader, str, str], Iterator[Axiom | LeftOut]]]] = {
    SUBCLASS: _Reader.subclass,
    SUBPROPERTY: _Reader.subproperty,
    DOMAIN: _Reader.domain,
    RANGE: _Reader.range,
    owl("equivalentClass"): _Reader.equivalent,
    owl("equivalentProperty"): _Reader.same_property,
    _INVERSE: _Reader.inverse,
    owl("propertyChainAxiom"): _Reader.chain,
}


# the terms whose statements are read or reported
WORDS: Final = frozenset(
    {*_PROBLEMS, *_CONSTRUCTORS, *_CLASS_AXIOMS, owl("TransitiveProperty"), owl("SymmetricProperty")}
)


def _both(left: Expression, right: Expression, said: str) -> Iterator[Axiom]:
    yield Included(left, right, said)
    yield Included(right, left, said)


# -- ρdf


_SCHEMA: Final = (SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)


def rdfs_axioms(schema: Any) -> list[Axiom]:
    """The subclass, subproperty, domain and range axioms of a graph, with all terms as names."""
    found = triples(schema.filter(pc.is_in(schema["p"], pa.array(_SCHEMA))))
    return list(dict.fromkeys(_rdfs_axiom(*statement) for statement in found))


def _rdfs_axiom(s: str, p: str, o: str) -> Axiom:
    said = f"{short(s)} {short(p)} {short(o)}"
    if p == SUBCLASS:
        return Included(Named(s), Named(o), said)
    if p == SUBPROPERTY:
        return Path((Role(s),), Role(o), said)
    return Included(Some(Role(s, inverse=p == RANGE), THING), Named(o), said)
