"""The rows of a large change set are copied when it is read, and no later commit changes them."""

from __future__ import annotations

import tidelog

TEXT = """
input relation Given(a: int, b: string)
output relation Copy(a: int, b: string)
Copy(a, b) :- Given(a, b).
"""
MANY = 10_000


def test_a_change_set_that_is_read_late_has_the_rows_of_its_commit() -> None:
    db = tidelog.open(text=TEXT)
    facts = [(i, f"text {i}") for i in range(MANY)]
    with db.transaction() as first:
        first.insert("Given", facts)
    with db.transaction() as second:  # most rows are dead afterwards, so tables are compacted
        second.delete("Given", facts[10:])
    with db.transaction() as third:  # numbers that need wider cells, and texts in place of forgotten ones
        third.insert("Given", [(i + 2**40, f"other {i}") for i in range(MANY)])
    assert len(first.changes["Copy"].inserted) == MANY
    assert set(first.changes["Copy"].inserted) == set(facts)
    assert set(second.changes["Copy"].deleted) == set(facts[10:])
    assert set(third.changes["Copy"].inserted) == {(i + 2**40, f"other {i}") for i in range(MANY)}
