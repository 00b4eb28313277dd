"""Differences between the program that a store was written for and the program it is opened with.

Rules may differ, and relations may be added or dropped: the difference is applied as a transaction, and the
store remains in use. If a relation has other columns or a function has another definition, no change of rules
can make up for it, and opening the store is an error.
"""

from __future__ import annotations

from tidelog.errors import StoreError
from tidelog.program.model import Program, difference
from tidelog.program.text import print_function, print_relation, print_rule
from tidelog.program.typed import Function, Relation, Rule

__all__ = ["clashes", "differences", "expect_same", "expect_similar"]


def differences(old: Program, new: Program) -> tuple[str, ...]:
    """A line for each difference that a transaction can apply: `+` for added, `-` for removed."""
    found = difference(old, new)
    return (
        *(f"- {print_relation(r)}" for r in found.dropped),
        *(f"+ {print_relation(r)}" for r in found.declared),
        *(f"- {_text(r)}" for r in found.removed),
        *(f"+ {_text(r)}" for r in found.added),
    )


def clashes(old: Program, new: Program) -> tuple[str, ...]:
    """A line for each difference that no transaction can apply."""
    relations = [
        f"{print_relation(old.relations[name])}  is now  {print_relation(relation)}"
        for name, relation in new.relations.items()
        if name in old.relations and _shape(old.relations[name]) != _shape(relation)
    ]
    functions = [
        f"{print_function(before)}  is now  {print_function(after)}"
        for name, after in new.functions.items()
        if isinstance(before := old.functions.get(name), Function)
        and isinstance(after, Function)
        and print_function(before) != print_function(after)
    ]
    return (*relations, *functions)


def expect_same(old: Program, new: Program, store: str) -> None:
    """Raise StoreError with the list of differences, if there are any."""
    found = (*clashes(old, new), *differences(old, new))
    if found:
        raise StoreError(_listed(f"the store {store} was written for another program", found))


def expect_similar(old: Program, new: Program, store: str) -> None:
    """Raise StoreError with the list of incompatible differences, if there are any."""
    found = clashes(old, new)
    if found:
        remedy = "rename each of these, or use a new store"
        raise StoreError(_listed(f"the store {store} is incompatible with this program; {remedy}", found))


def _listed(problem: str, lines: tuple[str, ...]) -> str:
    return "\n".join([f"{problem}:", *(f"  {line}" for line in lines)])


def _shape(relation: Relation) -> tuple[object, ...]:
    return tuple((c.name, c.type) for c in relation.columns), relation.key, relation.kind


def _text(rule: Rule) -> str:
    return " ".join(line.strip() for line in (rule.span.text or print_rule(rule)).splitlines())
