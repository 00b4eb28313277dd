"""Words of OWL that are not known here, and how often a graph has them.

A word is known if `axioms` reads it or reports what it states, if it is a part of what is read (the class of
a restriction, the members of a list), or if it states no more than that something is. Whatever else begins
as words of OWL do is misspelt, or newer than OWL 2; statements with it say nothing here, which is to be told.
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
    """The words, short, and in how many statements each is, most frequent first."""
    types = graph.filter(pc.equal(graph["p"], TYPE))["o"]
    found: Counter[str] = Counter()
    for column in (graph["p"], types):
        words = column.filter(pc.starts_with(column, owl("")[:-1]))
        found.update({w["values"]: w["counts"] for w in pc.value_counts(words).to_pylist()})
    return {short(word): number for word, number in found.most_common() if word not in _KNOWN}
