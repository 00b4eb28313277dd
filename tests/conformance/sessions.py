"""Sessions and the replay as reasoners for programs with multisets, streams and delays.

Contents have the weight of each row, which is 1 in a set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import tidelog
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.program.declared import RelationKind
from tidelog.program.model import EMPTY, Program
from tidelog.program.text import print_relation
from tidelog.reference.replay import Contents, Replay

__all__ = ["ReplayReasoner", "SessionReasoner", "WeightedReasoner", "weights"]


class WeightedReasoner(Protocol):
    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> tuple[Contents, Contents | None]:
        """The contents after a commit, and the changes that it reported, if it reports any."""
        ...


class ReplayReasoner:
    def __init__(self) -> None:
        self._replay = Replay()

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> tuple[Contents, None]:
        changes = [
            ("insert" if weight > 0 else "delete", name, row)
            for name, rows in facts.items()
            for row, weight in rows.items()
            for _ in range(abs(weight))
        ]
        return self._replay.commit(program, changes), None


class SessionReasoner:
    def __init__(self, **options: Any) -> None:
        self._db = tidelog.open(**options)
        self._program = EMPTY
        self._is_new = True

    def commit(self, program: Program, facts: Mapping[str, ZSet[Row]]) -> tuple[Contents, Contents]:
        with self._db.transaction() as tx:
            before = self._program
            if before is EMPTY:
                text = "".join(sorted({r.span.source.text for r in program.relations.values()}))
                tx.load(text)
            else:
                new = [r for name, r in program.relations.items() if name not in before.relations]
                for relation in new:
                    tx.load(print_relation(relation))
                for id_, rule in before.rules.items():
                    if id_ not in program.rules:
                        tx.remove_rule(rule)
                for id_, rule in program.rules.items():
                    if id_ not in before.rules:
                        tx.add_rule(rule.span.text)
            for name, rows in facts.items():
                tx.insert(name, [row for row, weight in rows.items() for _ in range(weight)])
                tx.delete(name, [row for row, weight in rows.items() for _ in range(-weight)])
        self._program = program
        contents = {name: weights(self._db, name) for name in program.relations}
        return contents, {name: Counter(dict(tx.changes[name])) for name in program.relations}


def weights(db: Any, name: str) -> Counter[Row]:
    """The rows of a relation with their weights."""
    rows = [tuple(row) for row in db[name]]
    if db.program.relations[name].kind is RelationKind.SET:
        return Counter(rows)
    return Counter({row[:-1]: row[-1] for row in rows})
