"""Finds unknown OWL terms in a graph and counts them.

A term is known if `axioms` reads or reports its statements, if it is a part of what `axioms` reads (the class
of a restriction, the members of a list), or if it is a declaration or annotation. Any other term of the OWL
namespace is misspelt, or newer than OWL 2. Statements with it have no effect, so it must be reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import pyarrow.compute as pc

from tidelog.rdf.axioms import WORDS
from tidelog.rdf.terms import TYPE, owl, short

__all__ = ["unknown_words"]

_PARTS: Final = """
someValuesFrom allValuesFrom hasValue hasSelf onClass onProperties onDataRange onDatatype withRestrictions
minCardinality maxCardinality cardinality minQualifiedCardinality maxQualifiedCardinality qualifiedCardinality
datatypeComplementOf members distinctMembers sourceIndividual assertionProperty targetIndividual targetValue
""".split()
_NOTES: Final = """
versionInfo versionIRI priorVersion backwardCompatibleWith incompatibleWith deprecated
annotatedSource annotatedProperty annotatedTarget
""".split()
_DECLARATIONS: Final = """
Class Thing Nothing NamedIndividual ObjectProperty DatatypeProperty AnnotationProperty OntologyProperty
Ontology Restriction DataRange Axiom Annotation DeprecatedClass DeprecatedProperty
""".split()
_KNOWN: Final = WORDS | {owl(word) for word in (*_PARTS, *_NOTES, *_DECLARATIONS)}


def unknown_words(graph: Any) -> Mapping[str, int]:
    """The unknown terms, shortened, with their numbers of statements, most frequent first."""
    types = graph.filter(pc.equal(graph["p"], TYPE))["o"]
    found: Counter[str] = Counter()
    for column in (graph["p"], types):
        words = column.filter(pc.starts_with(column, owl("")[:-1]))
        found.update({w["values"]: w["counts"] for w in pc.value_counts(words).to_pylist()})
    return {short(word): number for word, number in found.most_common() if word not in _KNOWN}
