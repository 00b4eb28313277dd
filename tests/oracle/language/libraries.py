"""What a session holds, given to other libraries and taken back: every row is the same afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars

from oracle.language import host
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.session.session import Session

__all__ = ["taken_back"]

_LIBRARIES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Arrow": lambda facts: facts.to_arrow(),
    "pandas": lambda facts: facts.to_pandas(),
    "Polars": polars.DataFrame,
}


def taken_back(session: Any, declarations: str, number: int) -> tuple[str, Session]:
    """A library, chosen by a number, and a session with the rows of another one as that library has them."""
    name = sorted(_LIBRARIES)[number % len(_LIBRARIES)]
    draft = host.draft()
    draft.load(declarations)
    again = Session(draft)
    with again.transaction() as tx:
        for relation, facts in session.snapshot().items():
            is_kept = name != "pandas" or not any(_loses(c.type) for c in facts.relation.columns)
            tx.insert(relation, _LIBRARIES[name](facts) if is_kept else facts)
    return name, again


def _loses(type_: Type) -> bool:
    """Whether pandas takes a value of a type for a missing one: it has NaN for both."""
    waiting, seen = [type_], {type_}
    while waiting:
        part = waiting.pop()
        if isinstance(part, types.Option) and types.is_float(part.item):
            return True
        waiting += [p for p in types.parts(part) if p not in seen]
        seen.update(types.parts(part))
    return False
