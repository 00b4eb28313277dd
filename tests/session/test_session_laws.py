"""Whatever was said on the way, a session holds what its last program derives from its last facts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from tidelog import Transaction
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.reference.chibi import Chibi

PROGRAM = """
input relation E(x: int, y: int)
relation T(x: int, y: int)
output relation Leaf(x: int)
output relation Fan(x: int, n: int)
T(x, y) :- E(x, y).
Leaf(y) :- T(_, y), not E(y, _).
Fan(x, n) :- T(x, y), var n = y.group_by(x).count().
"""
RULES = ("T(x, z) :- T(x, y), E(y, z).", "T(y, x) :- T(x, y), x < 2.", "Leaf(x) :- E(x, x).")

Operation = tuple[str, str, list[tuple[int, int]]]
Facts = dict[str, set[Row]]

_rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5)
_facts = st.tuples(st.sampled_from(["insert", "delete"]), st.sampled_from(["E", "T"]), _rows)
_rules: st.SearchStrategy[Operation] = st.sampled_from(RULES).map(lambda rule: ("toggle", rule, []))
_ends = st.sampled_from(["commit", "commit", "preview", "rollback"])
_transactions = st.lists(st.tuples(st.lists(st.one_of(_facts, _rules), max_size=5), _ends), max_size=6)


def say(tx: Transaction, operation: Operation, facts: Facts, added: set[str]) -> None:
    """Do it to a transaction and to what is expected of it."""
    kind, name, rows = operation
    if kind == "insert":
        tx.insert(name, rows)
        facts[name] |= set(rows)
    elif kind == "delete":
        tx.delete(name, rows)
        facts[name] -= set(rows)
    elif name in added:
        tx.remove_rule(name)
        added.remove(name)
    else:
        tx.add_rule(name)
        added.add(name)


@settings(max_examples=60)
@given(_transactions)
def test_a_session_is_its_last_program_over_its_last_facts(
    transactions: list[tuple[list[Operation], str]],
) -> None:
    db = tidelog.open(text=PROGRAM)
    facts: Facts = {"E": set(), "T": set()}
    added: set[str] = set()
    contents: dict[str, set[Row]] = {name: set() for name in db}
    for operations, end in transactions:
        before = {name: set(rows) for name, rows in facts.items()}, set(added)
        tx = db.transaction()
        for operation in operations:
            say(tx, operation, facts, added)
        if end == "preview":
            previewed = {name: set(change) for name, change in tx.preview().items()}
            assert previewed == {name: set(change) for name, change in tx.commit().items()}
        elif end == "commit":
            tx.commit()
        else:
            tx.rollback()
            facts, added = before
        reference = Chibi()
        reference.commit(db.program, {name: ZSet.of(rows) for name, rows in facts.items()})
        held = {name: set(view) for name, view in db.snapshot().items()}
        assert held == {name: set(reference.contents.get(name, ())) for name in db}
        assert {name: set(db[name].given) for name in facts} == facts
        if end != "rollback":
            for name, rows in contents.items():
                assert rows | set(tx.changes[name].inserted) == held[name] | set(tx.changes[name].deleted)
                assert not rows & set(tx.changes[name].inserted)
        contents = held
