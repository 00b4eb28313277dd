"""From a graph to what follows from it, by one of the profiles.

| profile | what is known                                                                              |
|---------|--------------------------------------------------------------------------------------------|
| `rdfs`  | subclasses, subproperties, domains and ranges, and what follows of them                    |
| `owlrl` | what the graph says of its classes and properties in OWL 2 RL; nothing about the ontology  |

Both work out everything at once. To keep a graph's consequences up to date, open a session with the program
(`RDFS`, or the text of a `Translation`) and change its facts in transactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from tidelog.errors import SessionError
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.rdf.graphs import is_writable
from tidelog.rdf.ontology import LeftOut
from tidelog.rdf.rdfs import RDFS
from tidelog.rdf.translation import owl_rules
from tidelog.session import open_session

__all__ = ["PROFILES", "Inference", "infer"]

PROFILES: Final = ("rdfs", "owlrl")


@dataclass(frozen=True, slots=True)
class Inference:
    """`triples` follow from `graph` and are not in it.

    `about_literals` is how many others there are whose subject is a literal, which RDF cannot say. `rules` is
    the size of the program, and `left_out` what of an ontology it leaves out; `passed_over` are words of OWL
    that are not known, and how often they are there.
    """

    graph: Any
    triples: Any
    about_literals: int
    rules: int
    left_out: tuple[LeftOut, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def together(self) -> Any:
        """The graph and what follows from it."""
        return pa.concat_tables([self.graph, self.triples])


def infer(graph: Any, profile: str = "rdfs") -> Inference:
    """What follows from a graph, the ontology among its triples."""
    if profile not in PROFILES:
        hint = did_you_mean(profile, PROFILES) or f"the profiles are {', '.join(PROFILES)}"
        raise SessionError(f"there is no profile `{profile}`; {hint}")
    return _by_rdfs(graph) if profile == "rdfs" else _by_owl(graph)


def _by_rdfs(graph: Any) -> Inference:
    db = open_session(text=RDFS)
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
