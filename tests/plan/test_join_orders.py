"""Join orders: on skewed data, the chosen one is never much worse than any other, whatever was written."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Collection

import pytest

from sizes import size
from tidelog.plan.cost import Fixed
from tidelog.plan.flat import FlatRule
from tidelog.plan.flatten import flatten
from tidelog.plan.join_order import Join, order
from tidelog.program.draft import load
from tidelog.program.typed import Match, Var

Row = tuple[int, ...]

ROWS = 400
FACTOR = 8  # how much more than the best order the chosen one may cost
SOME = 3_000  # lookups and rows that do not count


class Exact:
    """Statistics that are counted, not estimated."""

    def __init__(self, data: dict[str, list[Row]], missing: Collection[tuple[str, Row]] = ()) -> None:
        self._data = data
        self.missing = missing

    def size(self, relation: str, fixed: Fixed = ()) -> float:
        return len(self._having(relation, fixed))

    def _having(self, relation: str, fixed: Fixed) -> list[Row]:
        return [row for row in self._data[relation] if all(row[c] == x.value for c, x in fixed)]

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        return (relation, columns) not in self.missing

    def alike(self, relation: str, columns: tuple[int, ...], fixed: Fixed = ()) -> float | None:
        rows = self._having(relation, fixed)
        counts = Counter(tuple(row[c] for c in columns) for row in rows)
        return sum(n * n for n in counts.values()) / max(len(rows), 1)


def column(kind: str, rows: int, random_: random.Random) -> list[int]:
    match kind:
        case "unique":
            return random_.sample(range(2 * rows), rows)
        case "few":
            return [random_.randrange(4) for _ in range(rows)]
        case "hub":  # half of all rows have one value
            return [0 if random_.random() < 0.5 else random_.randrange(rows) for _ in range(rows)]
        case "same":
            return [0] * rows
        case _:
            return [random_.randrange(rows // 2) for _ in range(rows)]


def relation(arity: int, rows: int, random_: random.Random) -> list[Row]:
    kinds = [random_.choice(["unique", "few", "hub", "same", "spread"]) for _ in range(arity)]
    columns = [column(kind, rows, random_) for kind in kinds]
    return sorted(set(zip(*columns, strict=True)))


def cost(rule: FlatRule, path: tuple[int, ...], data: dict[str, list[Row]], most: int) -> int:
    """The lookups and matched rows of an order of atoms, up to `most`."""
    spent = 0
    found: list[dict[str, int]] = [{}]
    for position in path:
        atom = rule.body[position]
        assert isinstance(atom, Match)
        names = [t.name if isinstance(t, Var) else None for t in atom.terms]
        bound = set(found[0]) if found else set()
        key = [i for i, n in enumerate(names) if n in bound]
        index: dict[Row, list[Row]] = {}
        for row in data[atom.relation]:
            index.setdefault(tuple(row[i] for i in key), []).append(row)
        extended = []
        for binding in found:
            matches = index.get(tuple(binding[names[i] or ""] for i in key), [])
            spent += 1 + len(matches)
            if spent > most:
                return spent
            for row in matches:
                made = dict(binding)
                if all(made.setdefault(n, v) == v for n, v in zip(names, row, strict=True) if n):
                    extended.append(made)
        found = extended
    return spent


def a_program(random_: random.Random) -> tuple[FlatRule, dict[str, list[Row]]]:
    """A rule whose body is connected, over relations of different sizes and skews."""
    count, variables = random_.randint(2, 4), "abcdef"
    lines, body, data = [], [], {}
    for i in range(count):
        arity = random_.randint(1, 3)
        columns = ", ".join(f"c{c}: int" for c in range(arity))
        lines.append(f"input relation R{i}({columns})")
        data[f"R{i}"] = relation(arity, random_.choice([5, 60, ROWS]), random_)
        names = random_.sample(variables[: random_.randint(3, 5)], arity)
        body.append(f"R{i}({', '.join(names)})")
    head = random_.choice([v for v in variables if any(v in atom.partition("(")[2] for atom in body)])
    text = "\n".join([*lines, "output relation Q(x: int)", f"Q({head}) :- {', '.join(body)}."])
    flat = flatten(load(text, "orders.dl"))
    (rule,) = flat.rules.values()
    return rule, data


def atoms_of(steps: object) -> tuple[int, ...]:
    assert isinstance(steps, tuple)
    return tuple(step.position for step in steps if isinstance(step, Join))


def least_cost(rule: FlatRule, paths: list[tuple[int, ...]], data: dict[str, list[Row]]) -> int | None:
    """The cost of the cheapest order; None if all of them cost over a million."""
    for most in (10**5, 10**6):
        best = most
        for path in paths:
            best = min(best, cost(rule, path, data, best))
        if best < most:
            return best
    return None


@pytest.mark.parametrize("seed", range(size(40, 1000)))
def test_no_other_order_is_much_better(seed: int) -> None:
    rule, data = a_program(random.Random(seed))
    positions = [i for i, x in enumerate(rule.body) if isinstance(x, Match)]
    for first in (None, *positions):
        chosen = atoms_of(order(rule, first, Exact(data)))
        others = [p for p in itertools.permutations(positions) if first is None or p[0] == first]
        best = least_cost(rule, others, data)
        if best is None:
            continue
        found = cost(rule, chosen, data, FACTOR * best + SOME)
        assert found <= FACTOR * best + SOME, (first, chosen, best)


def test_more_atoms_than_can_be_compared_are_taken_one_by_one() -> None:
    body = ", ".join(f"R(v{i}, v{i + 1})" for i in range(12))
    text = f"input relation R(a: int, b: int) output relation Q(x: int) Q(v0) :- {body}."
    (rule,) = flatten(load(text, "long.dl")).rules.values()
    data: dict[str, list[Row]] = {"R": [(i, i + 1) for i in range(100)]}
    path = atoms_of(order(rule, 5, Exact(data)))
    assert sorted(path) == list(range(12))
    joined = [set(path[: n + 1]) for n in range(12)]
    assert all(max(p) - min(p) + 1 == len(p) for p in joined)  # never a product


def test_an_atom_that_is_rarely_matched_precedes_one_with_many_rows_per_key() -> None:
    text = """
    input relation Seen(heap: int, var: int)
    input relation Type(heap: int, type: int)
    input relation Rare(type: int, var: int, field: int)
    output relation Q(x: int)
    Q(f) :- Seen(h, v), Type(g, t), Type(h, t), Rare(t, v, f).
    """
    (rule,) = flatten(load(text, "types.dl")).rules.values()
    data: dict[str, list[Row]] = {
        "Seen": [(i, i % 50) for i in range(300)],
        "Type": [(i, i % 3) for i in range(300)],  # a hundred heaps per type
        "Rare": [(i % 3, i, i) for i in range(10)],
    }
    assert atoms_of(order(rule, 0, Exact(data)))[-1] == 1  # one type, many heaps


@pytest.mark.parametrize(("rows", "chosen"), [(1, (0, 1, 2)), (10_000, (0, 2, 1)), (math.inf, (0, 2, 1))])
def test_few_rows_make_do_with_the_indexes_that_there_are(rows: float, chosen: tuple[int, ...]) -> None:
    text = """
    input relation S(x: int, y: int)
    input relation Many(x: int, z: int)
    input relation One(z: int, y: int)
    output relation Q(x: int)
    Q(x) :- S(x, y), Many(x, z), One(z, y).
    """
    (rule,) = flatten(load(text, "paths.dl")).rules.values()
    data: dict[str, list[Row]] = {
        "S": [(i, i) for i in range(40)],
        "Many": [(i % 40, i) for i in range(400)],  # ten rows for each x
        "One": [(i, i) for i in range(400)],
    }
    assert atoms_of(order(rule, 0, Exact(data, missing=[("One", (1,))]), rows=rows)) == chosen


def test_a_rare_constant_is_looked_up_first_although_most_rows_have_a_frequent_one() -> None:
    text = """
    input relation D(o: int, y: int)
    input relation T(s: int, p: int, o: int)
    input relation U(a: int, y: int)
    output relation Q(x: int)
    Q(a) :- D(o, y), U(a, y), T(a, 1, o).
    """
    (rule,) = flatten(load(text, "triples.dl")).rules.values()
    data: dict[str, list[Row]] = {
        "D": [(i % 3, i) for i in range(30)],
        "T": [*((i, 2, i % 3) for i in range(300)), *((i, 1, i % 3) for i in range(6))],
        "U": [(i, i % 30) for i in range(300)],  # ten rows for each y
    }
    assert atoms_of(order(rule, 0, Exact(data))) == (0, 2, 1)
