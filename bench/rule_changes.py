"""What it costs to add and remove one rule, by the size of the program: `python -m bench.rule_changes`.

Half of the rules are recursive; each recursion is a stratum of its own. Times are CPU milliseconds of a whole
transaction, the best of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import tidelog
from tidelog.session import Session, Transaction

__all__ = ["measure", "program"]

SIZES = (100, 1_000, 10_000)
REPEAT = 15


def program(rules: int) -> str:
    """The text of a program with so many rules."""
    lines = ["input relation Edge(a: int, b: int)", "output relation Out(a: int)", "Out(x) :- R0(x, _)."]
    for i in range(rules // 2):
        lines += (
            f"relation R{i}(a: int, b: int)",
            f"R{i}(x, y) :- Edge(x, y), x != {i}.",
            f"R{i}(x, z) :- R{i}(x, y), Edge(y, z), z != {i}.",
        )
    return "\n".join(lines)


def measure(rules: int, repeat: int = REPEAT) -> tuple[float, float]:
    """Milliseconds to add one rule, and to remove it again."""
    db = tidelog.open(text=program(rules))
    with db.transaction() as tx:
        tx.insert("Edge", [(1, 2), (2, 3)])
    added, removed = [], []
    for number in range(repeat):
        rule = f"Out(x) :- R1(x, _), x > {number}."
        added.append(_changed(db, rule, Transaction.add_rule))
        removed.append(_changed(db, rule, Transaction.remove_rule))
    return min(added), min(removed)


def _changed(db: Session, rule: str, change: Callable[[Transaction, str], object]) -> float:
    start = time.process_time()
    with db.transaction() as tx:
        change(tx, rule)
    return 1000 * (time.process_time() - start)


def main() -> None:
    print(f"{'rules':>8} {'add, ms':>9} {'remove, ms':>11}")
    for rules in SIZES:
        added, removed = measure(rules)
        print(f"{rules:>8,} {added:>9.1f} {removed:>11.1f}")


if __name__ == "__main__":
    main()
