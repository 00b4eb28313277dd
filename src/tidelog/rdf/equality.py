"""Equality of individuals: `owl:sameAs`, functional and inverse functional properties, as rules over triples.

These are the rules eq-sym, eq-trans, eq-rep-s, eq-rep-p, eq-rep-o, prp-fp and prp-ifp of OWL 2 RL.
Individuals without a statement of equality are not stated to equal themselves. Literals are never made equal
to anything.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tidelog.rdf.graphs import distinct, is_writable
from tidelog.rdf.terms import TYPE, owl
from tidelog.session import open_session
from tidelog.syntax.printer import quote

__all__ = ["EQUALITY_RULES", "EXPRESSED", "with_equality"]

_SAME, _TYPE = quote(owl("sameAs")), quote(TYPE)
_FUNCTIONAL, _INVERSE = quote(owl("FunctionalProperty")), quote(owl("InverseFunctionalProperty"))
EXPRESSED: Final = frozenset(["sameAs", "FunctionalProperty", "InverseFunctionalProperty"])  # terms of OWL
EQUALITY_RULES: Final = f"""\
T(y, {_SAME}, x) :- T(x, {_SAME}, y).
T(x, {_SAME}, z) :- T(x, {_SAME}, y), T(y, {_SAME}, z).
T(y, p, o) :- T(x, {_SAME}, y), T(x, p, o).
T(s, q, o) :- T(p, {_SAME}, q), T(s, p, o).
T(s, p, y) :- T(x, {_SAME}, y), T(s, p, x).
T(y, {_SAME}, z) :- T(p, {_TYPE}, {_FUNCTIONAL}), T(x, p, y), T(x, p, z), y != z,
    not starts_with(y, "\\""), not starts_with(z, "\\"").
T(x, {_SAME}, z) :- T(p, {_TYPE}, {_INVERSE}), T(x, p, y), T(z, p, y), x != z.
"""


def with_equality(graph: Any) -> Any:
    """The graph and what follows from equality, in this order."""
    db = open_session(text=f"input relation T(s: string, p: string, o: string)\n{EQUALITY_RULES}")
    with db.transaction() as tx:
        tx.insert("T", graph)
    derived = db["T"].derived.to_arrow()
    return distinct(pa.concat_tables([graph, derived.filter(is_writable(derived)).cast(graph.schema)]))
