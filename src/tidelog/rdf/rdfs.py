"""RDFS over triples: the six rules of ρdf on one relation.

The rules do not depend on a schema: subclasses, subproperties, domains and ranges are ordinary triples, which
can change and can be derived. `rdfs_rules` of `translation` is the other form: it has one relation for each
class and property, and translates the schema to rules.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.rdf.terms import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from tidelog.session import open_session
from tidelog.syntax.printer import quote

__all__ = ["RDFS", "schema_closure"]

_TYPE, _SUBCLASS, _SUBPROPERTY, _DOMAIN, _RANGE = map(quote, (TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE))

RDFS: Final = f"""\
input relation T(s: string, p: string, o: string)

T(y, {_TYPE}, x) :- T(a, {_DOMAIN}, x), T(y, a, _).
T(z, {_TYPE}, x) :- T(a, {_RANGE}, x), T(_, a, z).
T(x, {_SUBPROPERTY}, z) :- T(x, {_SUBPROPERTY}, y), T(y, {_SUBPROPERTY}, z).
T(x, {_SUBCLASS}, z) :- T(x, {_SUBCLASS}, y), T(y, {_SUBCLASS}, z).
T(z, {_TYPE}, y) :- T(x, {_SUBCLASS}, y), T(z, {_TYPE}, x).
T(x, b, y) :- T(a, {_SUBPROPERTY}, b), T(x, a, y).
"""


def schema_closure(graph: Any) -> Any:
    """The subclass and subproperty triples that follow from a graph by transitivity and are not in it.

    The rules over triples derive them; a `Translation` has no relation for them.
    """
    words = pa.array([SUBCLASS, SUBPROPERTY])
    db = open_session(text=RDFS)
    with db.transaction() as tx:
        tx.insert("T", graph.filter(pc.is_in(graph["p"], words)))
    found = db["T"].derived.to_arrow()
    return found.filter(pc.is_in(found["p"], words))
