"""The rules of OWL 2 RL as the W3C writes them: over triples, lists included, without any translation.

From "OWL 2 Web Ontology Language Profiles", section 4.3, the rules that conclude something of individuals;
those about equality, contradictions and datatypes are left out. A rule has the name it has there.
"""

from __future__ import annotations

import re
from typing import Final

from tidelog.program.draft import load
from tidelog.reference.chibi import consequences

Triple = tuple[str, str, str]

_PREFIXES: Final = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}
_RULES: Final = """
    prp-dom   T(x, a, c)    <- T(p, rdfs:domain, c), T(x, p, _)
    prp-rng   T(y, a, c)    <- T(p, rdfs:range, c), T(_, p, y)
    prp-symp  T(y, p, x)    <- T(p, a, owl:SymmetricProperty), T(x, p, y)
    prp-trp   T(x, p, z)    <- T(p, a, owl:TransitiveProperty), T(x, p, y), T(y, p, z)
    prp-spo1  T(x, q, y)    <- T(p, rdfs:subPropertyOf, q), T(x, p, y)
    prp-spo2  T(x, p, y)    <- T(p, owl:propertyChainAxiom, l), Chain(l, x, y)
    prp-eqp1  T(x, q, y)    <- T(p, owl:equivalentProperty, q), T(x, p, y)
    prp-eqp2  T(x, p, y)    <- T(p, owl:equivalentProperty, q), T(x, q, y)
    prp-inv1  T(y, q, x)    <- T(p, owl:inverseOf, q), T(x, p, y)
    prp-inv2  T(y, p, x)    <- T(p, owl:inverseOf, q), T(x, q, y)
    cls-int1  T(x, a, c)    <- T(c, owl:intersectionOf, l), InAll(l, x)
    cls-int2  T(x, a, d)    <- T(c, owl:intersectionOf, l), Member(l, d), T(x, a, c)
    cls-uni   T(x, a, c)    <- T(c, owl:unionOf, l), Member(l, d), T(x, a, d)
    cls-svf1  T(x, a, c)    <- T(c, owl:someValuesFrom, d), T(c, owl:onProperty, p), T(x, p, y), T(y, a, d)
    cls-svf2  T(x, a, c)    <- T(c, owl:someValuesFrom, owl:Thing), T(c, owl:onProperty, p), T(x, p, _)
    cls-avf   T(y, a, d)    <- T(c, owl:allValuesFrom, d), T(c, owl:onProperty, p), T(x, a, c), T(x, p, y)
    cls-hv1   T(x, p, v)    <- T(c, owl:hasValue, v), T(c, owl:onProperty, p), T(x, a, c)
    cls-hv2   T(x, a, c)    <- T(c, owl:hasValue, v), T(c, owl:onProperty, p), T(x, p, v)
    cls-oo    T(x, a, c)    <- T(c, owl:oneOf, l), Member(l, x)
    cax-sco   T(x, a, d)    <- T(c, rdfs:subClassOf, d), T(x, a, c)
    cax-eqc1  T(x, a, d)    <- T(c, owl:equivalentClass, d), T(x, a, c)
    cax-eqc2  T(x, a, c)    <- T(c, owl:equivalentClass, d), T(x, a, d)
    list      Member(l, c)  <- T(l, rdf:first, c)
    list      Member(l, c)  <- T(l, rdf:rest, m), Member(m, c)
    list      InAll(l, x)   <- T(l, rdf:first, c), T(l, rdf:rest, rdf:nil), T(x, a, c)
    list      InAll(l, x)   <- T(l, rdf:first, c), T(x, a, c), T(l, rdf:rest, m), InAll(m, x)
    list      Chain(l, x, y) <- T(l, rdf:first, p), T(l, rdf:rest, rdf:nil), T(x, p, y)
    list      Chain(l, x, z) <- T(l, rdf:first, p), T(x, p, y), T(l, rdf:rest, m), Chain(m, y, z)
"""


def _rule(line: str) -> str:
    """A line in our language: its name left out, `a` and prefixed names as the terms they stand for."""
    _, rule = line.split(maxsplit=1)
    spelled = re.sub(r"\ba\b", "rdf:type", rule)
    terms = re.sub(r"(\w+):(\w+)", lambda m: f'"<{_PREFIXES[m[1]]}{m[2]}>"', spelled)
    return f"{terms.replace('<-', ':-')}."


PROGRAM: Final = load(
    """
    input relation T(s: string, p: string, o: string)
    relation Member(list: string, x: string)
    relation InAll(list: string, x: string)
    relation Chain(list: string, x: string, y: string)
    """
    + "\n".join(_rule(line) for line in _RULES.strip().splitlines())
)


def entailed(graph: set[Triple]) -> set[Triple]:
    """A graph and everything that the rules conclude from it, blank nodes and literals included."""
    rows = consequences(PROGRAM, {"T": graph})["T"]
    return {(str(s), str(p), str(o)) for s, p, o in rows}
