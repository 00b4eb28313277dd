"""The parts of a flat program while it is made from an earlier one.

An assembly starts with the parts of the program before. It knows which relations and rules were added and
removed, whose rules differ (`touched`), and who reads what, so that a change costs what it touches.
"""

from __future__ import annotations

import zlib

from tidelog.data.overlay import copied
from tidelog.plan.flat import FlatProgram, FlatRule, Kind, Stored
from tidelog.program.declared import Relation
from tidelog.program.library.catalog import NUMBER
from tidelog.program.text import print_value
from tidelog.program.traversal import expressions, subexpressions
from tidelog.program.typed import Body, Call, Expr, Match, Term, Var, Wildcard

__all__ = ["Assembly", "declared", "hidden", "mark_of"]


class Assembly:
    def __init__(self, before: FlatProgram) -> None:
        self.before = before
        self.relations = copied(before.relations)
        self.rules = copied(before.rules)
        self.groupings = copied(before.groupings)
        self.parts = copied(before.index.parts)
        self.deriving = copied(before.index.deriving)
        self.readers = copied(before.index.readers)
        self.touched: dict[str, None] = {}  # relations whose rules differ
        self.stored: dict[str, None] = {}  # relations that are new or stored otherwise
        self.dropped: dict[str, None] = {}
        self.made: dict[str, None] = {}  # flat rules, by id
        self.unmade: dict[str, None] = {}

    def _put(self, rule: FlatRule) -> None:
        self.rules[rule.id] = rule
        self.made[rule.id] = None
        self.deriving[rule.head] = (*self.deriving.get(rule.head, ()), rule.id)
        self.touched[rule.head] = None

    def _take_out(self, rule_id: str) -> None:
        """Remove what a rule became."""
        parts = self.parts.pop(rule_id)
        for flat_id in parts.rules:
            self._remove(self.rules[flat_id])
        for name in parts.relations:
            self.touched[name] = None
            self._drop(name)
            self.groupings.pop(name, None)

    def _store(self, stored: Stored) -> None:
        self.relations[stored.name] = stored
        self.stored[stored.name] = None

    def _drop(self, name: str) -> None:
        del self.relations[name]
        self.dropped[name] = None

    def _remove(self, rule: FlatRule) -> None:
        self.touched[rule.head] = None
        del self.rules[rule.id]
        self.unmade[rule.id] = None
        left = tuple(id_ for id_ in self.deriving[rule.head] if id_ != rule.id)
        if left:
            self.deriving[rule.head] = left
        else:
            del self.deriving[rule.head]

    def _drop_projections(self) -> None:
        """Projections exist while something reads them."""
        for name in list(self.touched):
            self._update_readers(name)
        for name in [n for n in self._projections() if not self.readers.get(n)]:
            self._remove(self.rules[name])
            self._update_readers(name)
            self._drop(name)

    def _projection(self, relation: str, columns: tuple[int, ...]) -> str:
        """The projection of a relation on some columns, which is created if there is none."""
        name = f"{relation} [columns {', '.join(map(str, columns))}]"
        if name not in self.relations:
            source = self.relations[relation]
            kept = {i: Var(source.columns[i], source.types[i]) for i in columns}
            values = tuple(kept[i] for i in columns)
            shown = ", ".join(v.name for v in values) or "no column"
            title = f"projection of {source.title or relation} on {shown}"
            self._store(hidden(name, Kind.PROJECTION, values, title))
            terms: tuple[Term, ...] = tuple(kept.get(i, Wildcard()) for i in range(len(source.types)))
            self._put(FlatRule(name, name, values, (Match(relation, terms),), title))
        return name

    def _projections(self) -> list[str]:
        """The projections that a rule reads or read that was changed."""
        changed = {r for head in self.touched for r in (*self.before.below(head), *self._below(head))}
        there = (name for name in sorted(changed) if name in self.relations)
        return [name for name in there if self.relations[name].kind is Kind.PROJECTION]

    def _update_readers(self, head: str) -> None:
        now, then = self._below(head), self.before.below(head)
        for name in then - now:
            left = self.readers.get(name, frozenset()) - {head}
            if left:
                self.readers[name] = left
            else:
                self.readers.pop(name, None)
        for name in now - then:
            self.readers[name] = self.readers.get(name, frozenset()) | {head}

    def _below(self, head: str) -> frozenset[str]:
        grouping = self.groupings.get(head)
        own = frozenset() if grouping is None else grouping.reads
        return own.union(*(self.rules[id_].reads for id_ in self.deriving.get(head, ())))


def hidden(name: str, kind: Kind, values: tuple[Expr, ...], title: str) -> Stored:
    """A hidden relation whose columns are these values."""
    columns = tuple(map(print_value, values))
    return Stored(name, tuple(v.type for v in values), kind, columns=columns, title=title)


def declared(relation: Relation) -> Stored:
    columns = tuple(c.name for c in relation.columns)
    return Stored(relation.name, relation.types, keyed=relation.key is not None, columns=columns)


def mark_of(body: Body) -> str:
    """Distinguishes a body from that of the same rule in other strata: which results must be numbers."""
    found: list[str] = []
    pending = [e for literal in body for e in expressions(literal)]
    for expr in pending:  # grows during the loop
        pending += subexpressions(expr)
        if isinstance(expr, Call) and expr.function == NUMBER:
            found.append(repr(expr))
    return f", numbers {zlib.crc32(repr(found).encode())}" if found else ""
