"""Differences between the program that a store was written for and the program it is opened with.

Rules may differ, and relations may be added or dropped: the difference is applied as a transaction. Some
differences are *breaks*: no transaction can make up for them.

- A relation that is not an input has other columns, or was one before, or a function has another definition:
  all results are computed again from the stored facts.
- An input relation has other columns: its facts must be converted, too (see `pipeline.migrations`).
- A relation that was not an input is one now: what the store has of it are no facts. This is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidelog.errors import StoreError
from tidelog.program.declared import Function, Relation, Role
from tidelog.program.model import Program, difference
from tidelog.program.text import print_function, print_relation, print_rule
from tidelog.program.typed import Rule

__all__ = ["Breaks", "breaks", "differences", "expect_no_new_inputs", "expect_same", "listed"]

Pair = tuple[Relation, Relation]  # a relation before and now


@dataclass(frozen=True, slots=True)
class Breaks:
    """What no transaction can apply, by name: relations with other columns, and those that were inputs."""

    inputs: Mapping[str, Pair]
    results: Mapping[str, Pair]
    former_inputs: Mapping[str, Pair]
    functions: Mapping[str, tuple[Function, Function]]

    def __bool__(self) -> bool:
        return bool(self.inputs or self.results or self.former_inputs or self.functions)

    @property
    def reshaped(self) -> Mapping[str, Pair]:
        """All relations with other columns."""
        return {**self.inputs, **self.results}

    @property
    def reason(self) -> str:
        """The difference, in a few words."""
        relations = [*self.inputs, *self.results]
        parts = [f"the columns of {', '.join(relations)} changed"] if relations else []
        parts += [f"{name} is derived now" for name in self.former_inputs if name not in relations]
        named = "function" + "s" * (len(self.functions) > 1)
        parts += [f"the definition of the {named} {', '.join(self.functions)} changed"] * bool(self.functions)
        return " and ".join(parts)

    @property
    def lines(self) -> tuple[str, ...]:
        relations = {**self.reshaped, **self.former_inputs}
        return (
            *(f"{print_relation(old)}  is now  {print_relation(new)}" for old, new in relations.values()),
            *(
                f"{print_function(old)}  is now  {print_function(new)}"
                for old, new in self.functions.values()
            ),
        )


def breaks(old: Program, new: Program) -> Breaks:
    pairs = {
        name: (old.relations[name], relation)
        for name, relation in new.relations.items()
        if name in old.relations
    }
    reshaped = {name: (a, b) for name, (a, b) in pairs.items() if _shape(a) != _shape(b)}
    functions = {
        name: (before, after)
        for name, after in new.functions.items()
        if isinstance(before := old.functions.get(name), Function)
        and isinstance(after, Function)
        and print_function(before) != print_function(after)
    }
    return Breaks(
        {n: (a, b) for n, (a, b) in reshaped.items() if b.role is Role.INPUT},
        {n: (a, b) for n, (a, b) in reshaped.items() if b.role is not Role.INPUT},
        {n: (a, b) for n, (a, b) in pairs.items() if a.role is Role.INPUT and b.role is not Role.INPUT},
        functions,
    )


def differences(old: Program, new: Program) -> tuple[str, ...]:
    """A line for each difference that a transaction can apply: `+` for added, `-` for removed."""
    found = difference(old, new)
    return (
        *(f"- {print_relation(r)}" for r in found.dropped),
        *(f"+ {print_relation(r)}" for r in found.declared),
        *(f"- {_text(r)}" for r in found.removed),
        *(f"+ {_text(r)}" for r in found.added),
    )


def expect_same(old: Program, new: Program, store: str) -> None:
    """Raise StoreError with the list of differences, if there are any."""
    found = (*breaks(old, new).lines, *_new_inputs(old, new), *differences(old, new))
    if found:
        raise StoreError(listed(f"the store {store} was written for another program", found))


def expect_no_new_inputs(old: Program, new: Program, store: str) -> None:
    """Raise StoreError if a relation that was not an input is one now."""
    found = _new_inputs(old, new)
    if found:
        problem = f"the store {store} has derived rows of what is an input relation now"
        raise StoreError(listed(f"{problem}; rename each of these, or use a new store", found))


def listed(problem: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{problem}:", *(f"  {line}" for line in lines)])


def _new_inputs(old: Program, new: Program) -> tuple[str, ...]:
    return tuple(
        f"{print_relation(old.relations[name])}  is now  {print_relation(relation)}"
        for name, relation in new.relations.items()
        if relation.role is Role.INPUT
        and name in old.relations
        and old.relations[name].role is not Role.INPUT
    )


def _shape(relation: Relation) -> tuple[object, ...]:
    return tuple((c.name, c.type) for c in relation.columns), relation.key, relation.kind


def _text(rule: Rule) -> str:
    return " ".join(line.strip() for line in (rule.span.text or print_rule(rule)).splitlines())
