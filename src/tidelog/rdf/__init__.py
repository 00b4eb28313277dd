"""RDF: read and write graphs, and translate RDFS and OWL 2 RL to programs.

Importing this package does not import an engine: names are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.rdf.equality import EQUALITY_RULES, with_equality
    from tidelog.rdf.graphs import graph, read, read_quads, triples, union, write
    from tidelog.rdf.inference import PROFILES, Inference, infer
    from tidelog.rdf.lubm import universities, university_ontology
    from tidelog.rdf.ontology import LeftOut
    from tidelog.rdf.prefixes import shown
    from tidelog.rdf.rdfs import RDFS, schema_closure
    from tidelog.rdf.sparql.answers import query, sparql_rules
    from tidelog.rdf.translation import Translation, owl_rules, rdfs_rules

__all__ = [
    "EQUALITY_RULES",
    "PROFILES",
    "RDFS",
    "Inference",
    "LeftOut",
    "Translation",
    "graph",
    "infer",
    "owl_rules",
    "query",
    "rdfs_rules",
    "read",
    "read_quads",
    "schema_closure",
    "shown",
    "sparql_rules",
    "triples",
    "union",
    "universities",
    "university_ontology",
    "with_equality",
    "write",
]

_MODULES = {
    "graphs": ("graph", "read", "read_quads", "triples", "union", "write"),
    "inference": ("PROFILES", "Inference", "infer"),
    "ontology": ("LeftOut",),
    "rdfs": ("RDFS", "schema_closure"),
    "translation": ("Translation", "owl_rules", "rdfs_rules"),
    "equality": ("EQUALITY_RULES", "with_equality"),
    "prefixes": ("shown",),
    "sparql.answers": ("query", "sparql_rules"),
    "lubm": ("universities", "university_ontology"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"tidelog.rdf.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
