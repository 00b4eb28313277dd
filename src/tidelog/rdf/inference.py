"""Infers the triples that follow from a graph, by one of the profiles.

| profile | what is inferred                                                                           |
|---------|--------------------------------------------------------------------------------------------|
| `rdfs`  | what follows from subclasses, subproperties, domains and ranges, also about these          |
| `owlrl` | what follows from the OWL 2 RL statements of the graph; nothing about the ontology itself  |

Both compute everything once. To keep the inferred triples up to date, open a session with the program
(`RDFS`, or the text of a `Translation`) and change its facts in transactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from tidelog.errors import SessionError
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.rdf.equality import EQUALITY_RULES, EXPRESSED, with_equality
from tidelog.rdf.graphs import distinct, is_writable
from tidelog.rdf.ontology import LeftOut
from tidelog.rdf.rdfs import RDFS
from tidelog.rdf.translation import owl_rules
from tidelog.session import open_session

__all__ = ["PROFILES", "Inference", "infer"]

PROFILES: Final = ("rdfs", "owlrl")


@dataclass(frozen=True, slots=True)
class Inference:
    """`triples` follow from `graph` and are not in it.

    `about_literals` counts the other triples that follow, with a literal as subject, which RDF does not
    allow. `rules` is the size of the program. `left_out` are the statements of the ontology that it does not
    express; `passed_over` are unknown OWL terms with their frequencies.
    """

    graph: Any
    triples: Any
    about_literals: int
    rules: int
    left_out: tuple[LeftOut, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def together(self) -> Any:
        """The graph and the inferred triples."""
        return pa.concat_tables([self.graph, self.triples])


def infer(graph: Any, profile: str = "rdfs", *, same_as: bool = False) -> Inference:
    """Infer the triples that follow from a graph, which includes the ontology.

    With `same_as`, also those that follow from equality (`owl:sameAs`, functional and inverse functional
    properties).
    """
    if profile not in PROFILES:
        hint = did_you_mean(profile, PROFILES) or f"the profiles are {', '.join(PROFILES)}"
        raise SessionError(f"unknown profile `{profile}`; {hint}")
    if same_as:
        return _with_equality(graph, profile)
    return _by_rdfs(graph) if profile == "rdfs" else _by_owl(graph)


def _with_equality(graph: Any, profile: str) -> Inference:
    """Both kinds of inference in turn, until neither adds a triple."""
    given = distinct(graph)
    if profile == "rdfs":
        return _by_rdfs(given, EQUALITY_RULES)
    whole = given
    while True:
        equal = with_equality(whole)
        found = _by_owl(equal)
        next_ = distinct(found.together())
        if len(next_) == len(whole):
            left_out = tuple(s for s in found.left_out if not any(word in s.said for word in EXPRESSED))
            return replace(found, graph=given, triples=whole.slice(len(given)), left_out=left_out)
        whole = next_


def _by_rdfs(graph: Any, more: str = "") -> Inference:
    db = open_session(text=RDFS + more)
    with db.transaction() as tx:
        tx.insert("T", graph)
    return _inference(graph, db["T"].derived.to_arrow(), len(db.rules), ())


def _by_owl(graph: Any) -> Inference:
    rules = owl_rules(graph)
    db = open_session(text=rules.text)
    with db.transaction() as tx:
        rules.insert(tx, graph)
    found = _inference(graph, rules.derived(db), rules.rules, rules.left_out)
    return replace(found, passed_over=rules.passed_over)


def _inference(graph: Any, derived: Any, rules: int, left_out: tuple[LeftOut, ...]) -> Inference:
    kept = derived.filter(is_writable(derived))
    return Inference(graph, kept, len(derived) - len(kept), rules, left_out)
