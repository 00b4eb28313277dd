"""What is asserted of input relations, in the store.

Mostly that is all that the store has of them. If rules derive facts of an input relation too, as in RDFS, the
store has both: under its name all facts, as those of any relation, and what is asserted under another, which
no relation of a program can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.program.model import Program
from tidelog.program.typed import Relation, Role
from tidelog.store.durable import Store

__all__ = ["asserted_apart", "inputs", "stored_asserted"]


def inputs(program: Program) -> Iterator[Relation]:
    return (r for r in program.relations.values() if r.role is Role.INPUT)


def asserted_apart(program: Program) -> dict[str, Relation]:
    """The input relations that rules derive facts of, by the names of what is asserted of them."""
    heads = {head.relation for rule in program.rules.values() for head in rule.heads}
    return {_apart(r).name: r for r in inputs(program) if r.name in heads}


def stored_asserted(store: Store, relation: Relation) -> Relation:
    """The relation of the store that holds what is asserted of an input relation."""
    known = {} if store.current is None else store.current.relations
    apart = _apart(relation)
    return apart if apart.name in known else relation


def _apart(relation: Relation) -> Relation:
    return replace(relation, name=f"{relation.name} (asserted)")
