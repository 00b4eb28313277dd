"""Laws of the REPL on random statements: what it says is the difference, and what it saves is the state."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from cli.repl.consoles import Repl
from sizes import size
from tidelog.errors import TidelogError
from tidelog.maintain.strategy import STRATEGIES

DECLARED = """input relation Edge(a: int, b: int)
output relation Reach(a: int, b: int)
output relation Fan(a: int, n: int)
"""
RULES = [
    "Reach(x, y) :- Edge(x, y).",
    "Reach(x, z) :- Reach(x, y), Edge(y, z).",
    "Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().",
    "Fan(x, 0) :- Edge(x, _), not Reach(x, x).",
    "Fan(x, y) :- Reach(x, y), Fan(y, _).",
    "Edge(1, 2).",
    "Reach(3, 3).",
    "Reach(x, 10 / x) :- Edge(x, _).",  # fails for 0
    "Reach(x, y) :- Edge(x, z).",  # an error
]


def _statement(choose: random.Random) -> str:
    relation = choose.choice(("Edge", "Edge", "Reach"))
    fact = f"{relation}({choose.randrange(4)}, {choose.randrange(4)})."
    rule = choose.choice(RULES)
    number = f"-{choose.randrange(8)}"
    word = choose.choice(("begin", "preview", "commit", "rollback"))
    return choose.choice((f"+{fact}", f"+{fact}", f"-{fact}", rule, rule, f"-{rule}", number, word))


def _rows(repl: Repl) -> set[str]:
    return {f"{n}({row[0]}, {row[1]})" for n, view in repl.db.snapshot().items() for row in view}


@pytest.mark.parametrize("seed", range(size(8, 300)))
def test_random_statements(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    repl = Repl(DECLARED, strategy=choose.choice(sorted(STRATEGIES)))
    for _ in range(25):
        before, number, text = _rows(repl), repl.db.commit, _statement(choose)
        said: list[str] = []
        with suppress(TidelogError):
            said = repl(text)
        after = _rows(repl)
        if repl.db.commit == number:
            assert after == before
        elif len(after ^ before) < 20:
            assert {line[2:] for line in said if line.startswith("+ ")} == after - before
            assert {line[2:] for line in said if line.startswith("- ")} == before - after
    repl.console.close()
    repl(f":save {tmp_path / 'saved.dl'}")
    again = Repl()
    again(f":load {tmp_path / 'saved.dl'}")
    assert _rows(again) == _rows(repl)
    assert set(again.db.rules) == set(repl.db.rules)
