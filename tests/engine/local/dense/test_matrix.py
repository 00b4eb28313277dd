"""Dense recursions as bit matrices: the same results and changes as rows, in every form."""

from __future__ import annotations

import random

import numpy as np
import pytest

from conformance.reasoners import LocalReasoner
from tidelog.bench import graphs
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense import matrix as bits
from tidelog.engine.local.dense.bits import Bits
from tidelog.engine.local.dense.matrix import BitRelation, Source
from tidelog.engine.local.dense.patterns import Operand, Pattern, pattern
from tidelog.errors import EngineError
from tidelog.plan.flatten import flatten
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program
from tidelog.reference.chibi import Chibi, consequences

DECLARED = """
input relation E(a: int, b: int)
input relation F(a: int, b: int)
input relation R(a: int, b: int)
output relation Q(a: int)
R(x, y) :- E(x, y).
"""
RECURSIVE = [
    "R(x, z) :- R(x, y), E(y, z).",
    "R(x, z) :- E(x, y), R(y, z).",
    "R(x, z) :- R(x, y), R(y, z).",
    "R(x, z) :- E(y, x), R(y, z).",
    "R(x, z) :- R(x, y), E(z, y).",
    "R(x, z) :- R(x, y), F(y, z).",
    "R(x, z) :- E(x, y), F(z, y).",
]
Pairs = set[tuple[int, int]]


def _pattern(rules: list[str]) -> Pattern | None:
    flat = flatten(load(DECLARED + "\n".join(rules)))
    return pattern(next(u for u in flat.strata if "R" in u.relations), flat)


def _codes(pairs: Pairs) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def test_a_right_linear_closure_is_turned_over_so_that_edges_lead() -> None:
    fits = _pattern(["R(x, z) :- R(x, y), E(y, z)."])
    turned = Operand("E", turned=True)
    assert fits == Pattern("R", (turned,), (turned,), turned=True)


def test_recursion_in_both_directions_stays_rows() -> None:
    assert _pattern([RECURSIVE[0], RECURSIVE[1]]) is None
    assert _pattern([RECURSIVE[0], RECURSIVE[2]]) is None


@pytest.mark.parametrize(
    "rule",
    [
        "R(x, z) :- R(x, y), E(y, z), x != z.",
        "R(x, z) :- R(x, y), E(y, z), F(z, w), F(w, z).",
        "R(y, x) :- R(x, y).",
        "R(x, x) :- R(x, y), E(y, y).",
        "R(x, 1) :- R(x, y), E(y, 1).",
        "R(x, y) :- R(x, y), E(x, z).",
    ],
)
def test_what_is_no_chain_stays_rows(rule: str) -> None:
    assert _pattern([rule]) is None


def test_a_relation_that_others_read_fits_too() -> None:
    assert _pattern([RECURSIVE[0], "Q(x) :- R(x, x)."]) == _pattern([RECURSIVE[0]])


@pytest.mark.parametrize("seed", range(150))
def test_a_matrix_follows_what_comes_and_goes(seed: int) -> None:
    choose = random.Random(seed)
    rules = choose.sample(RECURSIVE[:6], choose.choice([1, 2, 2, 3]))
    program = load(DECLARED + "\n".join(rules))
    fits = _pattern(rules)
    if fits is None:  # in both directions
        return
    size = choose.choice([3, 5, 8])
    facts: dict[str, Pairs] = {"E": set(), "F": set(), "R": set()}
    relation = BitRelation()
    for _ in range(5):
        old = facts
        kept = facts
        if choose.random() < 0.3:
            kept = {name: {p for p in known if choose.random() < 0.7} for name, known in facts.items()}
        facts = {name: known | _random(choose, size) for name, known in kept.items()}
        before = set(map(tuple, relation.rows().tolist()))
        sources = {
            name: Source(_codes(now), _codes(now - old[name]), _codes(old[name] - now))
            for name, now in facts.items()
        }
        given = Source(_codes(facts["R"]), sources["R"].inserted, sources["R"].deleted)
        relation.update(fits, given, sources, starts_over=choose.random() < 0.2)
        want = set(consequences(program, facts).get("R", frozenset()))
        assert set(map(tuple, relation.inserted().codes().tolist())) == want - before
        assert set(map(tuple, relation.deleted().codes().tolist())) == before - want
        assert (len(relation.inserted()), len(relation.deleted())) == (len(want - before), len(before - want))
        relation.commit()
        assert set(map(tuple, relation.rows().tolist())) == want
        assert relation.size == len(want)


@pytest.mark.parametrize("seed", range(30))
def test_states_that_share_rows_stay_as_they_were(seed: int) -> None:
    """Commits of few edges compute few rows, in place of rows that no state has that is still held."""
    choose = random.Random(seed)
    fits = Pattern("R", (Operand("E"),), (Operand("E"),))
    edges: Pairs = {(x, y) for x, y in graphs.mesh(choose.choice([3, 9, 12]), 12).tolist()}
    relation, nothing = BitRelation(), Source(_codes(set()), _codes(set()), _codes(set()))
    held: list[tuple[Bits, list[list[int]]]] = []
    before: Pairs = set()
    for turn in range(25):
        source = Source(_codes(edges), _codes(edges - before), _codes(before - edges))
        relation.update(fits, nothing, {"E": source}, starts_over=False)
        assert _pairs(relation.rows_now()) == _closed(edges)
        assert relation.next_size == len(_closed(edges))
        held.append((relation.now, relation.now.pairs().tolist()))
        if choose.random() < 0.2:
            relation.rollback()
            edges = before
        else:
            relation.commit()
        held = [kept for kept in held if choose.random() < 0.7]
        for state, pairs in held:
            assert state.pairs().tolist() == pairs
        before, change = edges, {(choose.randrange(150), choose.randrange(150 + turn)) for _ in range(2)}
        edges = edges ^ (
            change if choose.random() < 0.5 else set(choose.sample(sorted(edges), min(2, len(edges))))
        )


def test_a_commit_of_one_edge_computes_the_rows_that_lead_to_it() -> None:
    fits = Pattern("R", (Operand("E"),), (Operand("E"),))
    edges: Pairs = {(x, x + 1) for x in range(1000)}
    relation, nothing = BitRelation(), Source(_codes(set()), _codes(set()), _codes(set()))
    relation.update(
        fits, nothing, {"E": Source(_codes(edges), _codes(edges), _codes(set()))}, starts_over=True
    )
    relation.commit()
    before = len(relation.bits.rows)
    for edge in [(100, 101)] * 6 + [(30, 200)] * 6:
        edges ^= {edge}
        source = Source(_codes(edges), _codes(edges & {edge}), _codes({edge} - edges))
        relation.update(fits, nothing, {"E": source}, starts_over=False)
        relation.commit()
        assert len(relation.bits.rows) <= before + 101
    assert _pairs(relation.rows()) == {(x, y) for x in range(1000) for y in range(x + 1, 1001)}


def _pairs(codes: Codes) -> Pairs:
    return set(map(tuple, codes.tolist()))


def _closed(edges: Pairs) -> Pairs:
    """The closure, by a search from every node."""
    after: dict[int, list[int]] = {}
    for x, y in edges:
        after.setdefault(x, []).append(y)
    found: Pairs = set()
    for start in after:
        left = [start]
        while left:
            for y in after.get(left.pop(), ()):
                if (start, y) not in found:
                    found.add((start, y))
                    left.append(y)
    return found


def _random(choose: random.Random, size: int) -> Pairs:
    count = choose.choice([0, 1, 3])
    return {(choose.randrange(size) * 100 - 7, choose.randrange(size) * 100 - 7) for _ in range(count)}


@pytest.mark.parametrize("threshold", [8, 20])
@pytest.mark.parametrize("seed", range(40))
def test_a_relation_changes_its_form_with_its_density_and_its_readers(
    seed: int, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bits, "_ENOUGH_ROWS", threshold)
    choose = random.Random(seed)
    size = choose.choice([4, 6, 9])
    program = load(DECLARED + choose.choice(RECURSIVE[:3]) + "\noutput relation Bad(x: int)")
    reference, local = Chibi(), LocalReasoner()
    for _ in range(7):
        draft = Draft(program)
        base = ["R(x, x) :- E(x, _), not F(x, x).", "R(x, 100 - x) :- F(x, _).", "R(1, 2)."]
        draft.load(choose.choice([*RECURSIVE[:3], *base, "Q(x) :- R(x, x).", "", "", ""]))
        if choose.random() < 0.2 and len(draft.finish().rules) > 1:
            draft.remove_rule(choose.choice(sorted(draft.finish().rules)))
        program = draft.finish()
        facts = {name: _edits(choose, _random(choose, size) | _random(choose, 3)) for name in ("E", "F", "R")}
        _refuse(local, program, facts)
        assert local.commit(program, facts) == reference.commit(program, facts)
        assert dict(local.contents) == dict(reference.contents)


def _edits(choose: random.Random, pairs: Pairs) -> ZSet[Row]:
    rows: dict[Row, int] = {pair: choose.choice([1, 1, -1]) for pair in pairs}
    return ZSet(rows)


def _refuse(local: LocalReasoner, program: Program, facts: dict[str, ZSet[Row]]) -> None:
    """A commit that fails after the recursion has run, whatever form it took, leaves nothing behind."""
    before = dict(local.contents)
    draft = Draft(program)
    draft.load("Bad(1 / x) :- Zero(x).\nrelation Zero(x: int)\nZero(0).")
    with pytest.raises(EngineError, match="division by zero"):
        local.commit(draft.finish(), facts)
    assert dict(local.contents) == before
