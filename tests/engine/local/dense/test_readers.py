"""Rules that read relations stored as bits find the same instances as over rows, in every form and commit."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tidelog
from conformance.reasoners import LocalReasoner
from engine.local.recount import check_state
from session.routes import home
from sizes import size
from tally import tally
from tidelog.bench import graphs
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.engine.local.codes.codec import Codes
from tidelog.engine.local.dense import matrix as bits
from tidelog.engine.local.dense.matrix import BitRelation, Source
from tidelog.engine.local.dense.patterns import Operand, Pattern
from tidelog.engine.local.kernels.layout import ALIVE, OLD
from tidelog.engine.local.rules import runner
from tidelog.engine.local.storage.pending import MASKS, NEGATED
from tidelog.errors import EngineError
from tidelog.maintain.script import View
from tidelog.plan.flatten import flatten
from tidelog.program.draft import Draft, load
from tidelog.program.model import Program
from tidelog.reference.chibi import Chibi

SEEDS = size(60, 3000)
DECLARED = """
input relation E(a: int, b: int)
input relation N(a: int)
input relation R(a: int, b: int)
relation R2(a: int, b: int)
output relation Q(a: int)
output relation P(a: int, b: int)
output relation T(a: int, b: int, c: int)
output relation S(a: int, b: int)
output relation D(a: int, d: int)
R(x, y) :- E(x, y).
"""
RECURSIVE = (
    "R(x, z) :- R(x, y), E(y, z).",
    "R(x, z) :- E(x, y), R(y, z).",
    "R(x, z) :- R(x, y), R(y, z).",
)
READERS = (
    "Q(x) :- R(x, x).",
    "Q(x) :- R(x, _).",
    "Q(y) :- R(_, y).",
    "Q(1) :- R(_, _).",
    "Q(x) :- N(x), R(x, _).",
    "Q(x) :- N(x), R(_, x).",
    "Q(x) :- R(x, 93).",
    "Q(x) :- R(93, x).",
    "Q(5) :- R(93, 193).",
    "Q(x) :- N(x), not R(x, x).",
    "Q(x) :- N(x), not R(x, _).",
    "Q(x) :- N(x), not R(_, x).",
    "Q(x) :- N(x), not R(x, 93).",
    "Q(x) :- R(x, y), R(y, x), x != y.",
    "P(x, y) :- R(x, y).",
    "P(y, x) :- R(x, y), x < y.",
    "P(x, y) :- N(x), N(y), R(x, y).",
    "P(x, y) :- N(x), N(y), not R(x, y).",
    "P(x, y) :- N(x), R(x, y).",
    "P(x, y) :- N(y), R(x, y).",
    "P(x, y) :- E(x, y), not R(y, x).",
    "P(x, z) :- R(x, y), E(y, z), not R(z, x).",
    "P(x, y) :- N(x), R(x, y), y > x.",
    "P(x, y) :- N(x), N(z), R(x, y), y > x, y < z.",
    "P(x, 1000 / y) :- R(x, y), N(y), y > 0.",
    "P(x, x + y) :- R(x, y), N(x + y).",
    "P(x, y) :- N(x), var y = x + 100, not R(x, y).",
    "P(x, y % 3) :- R(x, y), not N(x).",
    "P(x, w) :- R(x, y), var w = y % 3, not R(w, x).",
    "P(x, y) :- R(x, y), x % 2 == 1, R(y % 5, x).",
    "T(x, y, z) :- R(x, y), R(y, z), N(x).",
    "T(x, y, z) :- N(z), R(x, z), R(y, z).",
    "T(x, y, z) :- R(x, y), E(y, z), R(x, z).",
    "T(x, y, z) :- E(x, y), N(z), not R(x, z), not R(z, y).",
    "S(x, n) :- R(x, y), var n = y.group_by(x).count().",
    "S(x, n) :- N(x), R(y, x), var n = y.group_by(x).sum().",
    "S(x, n) :- N(x), not R(x, _), var n = x.group_by(x).max().",
    "R2(x, y) :- R(x, y), not E(x, y).",
    "R2(x, z) :- R2(x, y), E(y, z), R(z, x).",
    "R2(x, y) :- R(x, y).",
    "R2(x, z) :- R2(x, y), R(y, z).",
    "R2(x, z) :- R(y, x), R2(y, z).",
)
CHAINS = ("R2(x, y) :- R(x, y).", "R2(x, y) :- E(y, x).", "R2(x, z) :- R2(x, y), R(y, z).")
BEST = (
    "D(x, d) :- N(x), var d = x.group_by(x).min().",
    "D(y, d) :- D(x, c), R(x, y), var d = c.group_by(y).min().",
)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_readers_find_what_they_would_over_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    if choose.random() < 0.3:  # bindings are materialized in small parts
        monkeypatch.setattr(runner, "MOST", 4)
        monkeypatch.setattr(runner, "_FIRST_PART", 2)
    if choose.random() < 0.4:
        monkeypatch.setattr(BitRelation, "worth_transposing", -1)
    program = load(DECLARED + choose.choice(RECURSIVE))
    reference, local = Chibi(), LocalReasoner()
    values = choose.choice([3, 5, 8])
    for _ in range(7):
        monkeypatch.setattr(bits, "_ENOUGH_ROWS", choose.choice([2, 2, 4, 12, 10**6]))
        program = _edited(choose, program)
        facts = {name: _facts(choose, values, columns) for name, columns in (("E", 2), ("N", 1), ("R", 2))}
        tally("commits with readers of bits", any(_is_read(n, program) for n in local.engine.dense.bits))
        if choose.random() < 0.3:
            _refuse(local, program, facts)
        try:
            expected = reference.commit(program, facts)
        except EngineError:
            with pytest.raises(EngineError):
                local.commit(program, facts)
            return
        assert local.commit(program, facts) == expected
        assert dict(local.contents) == dict(reference.contents)
        check_state(local)


def _is_read(name: str, program: Program) -> bool:
    return bool(flatten(program).index.readers.get(name, frozenset()) - {name})


def _edited(choose: random.Random, program: Program) -> Program:
    """A program with other readers, and sometimes another recursion."""
    draft = Draft(program)
    for _ in range(choose.choice([0, 1, 1, 2, 3])):
        draft.load(choose.choice(READERS))
    kind = choose.random()
    if kind < 0.15:
        draft.load("\n".join(choose.choice([CHAINS[::2], CHAINS[1:], BEST])))
    elif kind < 0.25:
        draft.load(choose.choice(RECURSIVE))
    elif kind < 0.3:
        draft.load("R(x, x) :- N(x), not E(x, x).")
    for _ in range(choose.choice([0, 0, 1, 1, 2])):
        known = sorted(draft.finish().rules)
        if len(known) > 2:
            draft.remove_rule(choose.choice(known))
    return draft.finish()


def _facts(choose: random.Random, values: int, columns: int) -> ZSet[Row]:
    count = choose.choice([0, 1, 2, 5] if columns == 2 else [0, 1, 3])
    rows: set[Row] = {tuple(choose.randrange(values) * 100 - 7 for _ in range(columns)) for _ in range(count)}
    return ZSet({row: choose.choice([1, 1, 1, -1]) for row in rows})


def _refuse(local: LocalReasoner, program: Program, facts: dict[str, ZSet[Row]]) -> None:
    """A commit that fails after the readers have run leaves nothing behind."""
    before = dict(local.contents)
    draft = Draft(program)
    draft.load("relation Zero(x: int)\nZero(0).\noutput relation Bad(x: int)")
    draft.load("Bad(1 / x) :- Zero(x), not Q(x).\nBad(1 / x) :- Zero(x), Q(x).")
    with pytest.raises(EngineError, match="zero"):
        local.commit(draft.finish(), facts)
    assert dict(local.contents) == before


# -- what rules know of bits

LINEAR = Pattern("R", (Operand("E"),), (Operand("E"),))
TURNED = Pattern("R", (Operand("E", turned=True),), (Operand("E", turned=True),), turned=True)


def _codes(pairs: set[tuple[int, int]]) -> Codes:
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def _relation(before: set[tuple[int, int]], after: set[tuple[int, int]], fits: Pattern) -> BitRelation:
    """A relation in a commit that changes its steps."""
    made, nothing = BitRelation(), Source(_codes(set()), _codes(set()), _codes(set()))
    made.update(fits, nothing, {"E": Source(_codes(before), _codes(before), _codes(set()))}, starts_over=True)
    made.commit()
    change = Source(_codes(after), _codes(after - before), _codes(before - after))
    made.update(fits, nothing, {"E": change}, starts_over=False)
    return made


@pytest.mark.parametrize("fits", [LINEAR, TURNED])
def test_pairs_have_the_tags_that_rows_would_have(fits: Pattern) -> None:
    choose = random.Random(1)
    for _ in range(30):
        old, new = ({(choose.randrange(9), choose.randrange(9)) for _ in range(7)} for _ in range(2))
        relation = _relation(old, new, fits)
        before, after = (set(map(tuple, rows.tolist())) for rows in (relation.rows(), relation.rows_now()))
        asked = _codes({(x, y) for x in range(-1, 10) for y in range(10)})
        for mask in {*MASKS.values(), *NEGATED.values()} - {MASKS[View.SUSPECTS]}:
            for pair, shown in zip(asked.tolist(), relation.shows(asked, mask).tolist(), strict=True):
                tag = ALIVE * (tuple(pair) in after) + OLD * (tuple(pair) in before)
                assert shown == bool(tag and mask >> tag & 1)


@pytest.mark.parametrize("seed", range(20))
def test_transposed_rows_have_the_pairs_the_other_way_round(seed: int) -> None:
    choose = random.Random(seed)
    values = choose.choice([1, 5, 63, 64, 65, 300])
    steps = {(choose.randrange(values), choose.randrange(values)) for _ in range(choose.choice([0, 5, 200]))}
    before = _relation(set(), steps, LINEAR).now
    room = before.transposed_room(_no_limit)
    after = before.transposed(room, _no_limit)
    assert sorted(after.pairs()[:, ::-1].tolist()) == sorted(before.pairs().tolist())


def _no_limit(ahead: int | None = None) -> None:
    pass


def test_columns_are_transposed_when_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "_SEARCHED", 0.001)
    db = tidelog.open(text=DECLARED + RECURSIVE[1] + "P(x, y) :- N(y), R(x, y).")
    with db.transaction() as tx:
        tx.insert("E", list(map(tuple, graphs.mesh(98, 23).tolist())))
    columns: list[tuple[int, int]] = []
    for i in range(30):  # what was searched in a commit decides about the next one that is no bootstrap
        with db.transaction() as tx:
            tx.insert("N", [(n,) for n in range(i * 50, i * 50 + 50)])
        columns += tx.changes["P"].inserted
        if home(db).engine.dense.bits["R"].is_transposed:
            break
    assert home(db).engine.dense.bits["R"].is_transposed
    assert sorted(columns) == sorted((x, y) for x, y in db["R"] if y < i * 50 + 50)


def test_columns_are_not_transposed_if_memory_is_short() -> None:
    def check(ahead: int | None = None) -> None:
        if ahead:
            raise EngineError("the commit exceeded the memory limit")

    relation = _relation(set(), {(1, 2), (2, 3)}, LINEAR)
    found: list[bool] = []
    for limit in (check, _no_limit):
        relation.transpose(limit)
        found.append(relation.is_transposed)
    relation.commit()  # keeps those of the new state
    assert [*found, relation.is_transposed] == [False, True, True]


@pytest.mark.parametrize("fits", [LINEAR, TURNED])
def test_fan_outs_are_those_of_the_pairs(fits: Pattern) -> None:
    relation = _relation(set(), set(map(tuple, graphs.mesh(60, 20).tolist())), fits)
    pairs = relation.rows_now()
    assert relation.alike(()) == len(pairs)
    assert relation.alike((0, 1)) == 1
    for column in (0, 1):
        counts = np.unique(pairs[:, column], return_counts=True)[1]
        assert relation.alike((column,)) == pytest.approx((counts**2).sum() / counts.sum(), rel=0.3)
