"""Terms of RDF, RDFS and OWL, in N-Triples syntax."""

from __future__ import annotations

from typing import Final

__all__ = [
    "DOMAIN",
    "FIRST",
    "NIL",
    "PREFIXES",
    "RANGE",
    "REST",
    "SUBCLASS",
    "SUBPROPERTY",
    "TYPE",
    "is_blank",
    "is_datatype",
    "local_name",
    "owl",
    "rdfs",
    "short",
]

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
_OWL: Final = "http://www.w3.org/2002/07/owl#"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
PREFIXES: Final = {_RDF: "rdf", _RDFS: "rdfs", _OWL: "owl", _XSD: "xsd"}


def owl(name: str) -> str:
    return f"<{_OWL}{name}>"


def rdfs(name: str) -> str:
    return f"<{_RDFS}{name}>"


def _rdf(name: str) -> str:
    return f"<{_RDF}{name}>"


TYPE: Final = _rdf("type")
FIRST: Final = _rdf("first")
REST: Final = _rdf("rest")
NIL: Final = _rdf("nil")
SUBCLASS: Final = rdfs("subClassOf")
SUBPROPERTY: Final = rdfs("subPropertyOf")
DOMAIN: Final = rdfs("domain")
RANGE: Final = rdfs("range")
_DATATYPES: Final = frozenset(
    {
        rdfs("Literal"),
        _rdf("PlainLiteral"),
        _rdf("XMLLiteral"),
        _rdf("langString"),
        owl("rational"),
        owl("real"),
    }
)


def is_blank(term: str) -> bool:
    return term.startswith("_:")


def is_datatype(term: str) -> bool:
    """Whether a term is a datatype, a class of literals."""
    return term.startswith(f"<{_XSD}") or term in _DATATYPES


def short(term: str) -> str:
    """A term for people: `rdfs:label` for well-known terms, the last part of other IRIs."""
    if not term.startswith("<"):
        return term
    text = term[1:-1]
    for namespace, prefix in PREFIXES.items():
        if text.startswith(namespace):
            return f"{prefix}:{text[len(namespace) :]}"
    return local_name(term) or term


def local_name(term: str) -> str:
    """What follows the last `#`, `/` or `:` of an IRI; the label of a blank node."""
    text = term.strip("<>").rstrip("#/")
    return text[max(text.rfind(c) for c in "#/:") + 1 :]
