"""Random programs and edits: every absent row that is tried has a refutation that holds.

A second checker computes everything again and makes the changes that refutations name. TIDELOG_SEEDS is the
number of seeds. A seed that ever failed stays here for good.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from oracle.generator import DECLARED, FLAVOURS, WIDE, Generator
from proofs.histories import committed, with_sessions
from sizes import size
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.draft import Draft
from tidelog.proofs.refutation import Refutation
from tidelog.reference.refutations import RefutationChecker
from tidelog.session.session import Session

CORE = int(os.environ.get("TIDELOG_SEEDS", size(2, 200)))
WHOLE = int(os.environ.get("TIDELOG_SEEDS", size(15, 2_000)))
SAMPLE = 3  # absent rows of a relation
OFTEN = size(3, 10) / 10  # the part of the commits after which refutations are checked
KEPT_CORE: list[tuple[str, int]] = []
KEPT_WHOLE: list[int] = []


def absent_rows(db: Session, relation: str, random: Random) -> Iterator[tuple[Any, ...]]:
    """Rows that are not there, made of values that are; some with columns that may have any value."""
    types = db.program.relations[relation].types
    values: dict[Any, list[Any]] = {t: [] for t in types}
    for name in db:
        for row in list(db[name])[:20]:
            for type_, value in zip(db.program.relations[name].types, row, strict=True):
                if type_ in values:
                    values[type_].append(value)
    if not all(values.values()):
        return
    there = {repr(row) for row in db[relation]}
    for _ in range(SAMPLE):
        row = tuple(random.choice(values[t]) for t in types)
        if repr(row) not in there and not any(v != v for v in row if isinstance(v, float)):
            yield row


def refutations(db: Session, random: Random) -> Iterator[Refutation]:
    derived = {head.relation for rule in db.program.rules.values() for head in rule.heads}
    for relation in [*sorted(derived), *random.sample(sorted(db), min(1, len(db)))]:
        for row in absent_rows(db, relation, random):
            yield db.why_not(relation, row)
            column = random.randrange(len(row)) if row else 0
            part = (*row[:column], ..., *row[column + 1 :])
            if row and not len(db[relation].where(**_named(db, relation, part))):
                yield db.why_not(relation, part)


def _named(db: Session, relation: str, row: tuple[Any, ...]) -> dict[str, Any]:
    return {n: v for n, v in zip(db[relation].columns, row, strict=True) if v is not ...}


def check_refutations(db: Session, random: Random, *, is_small: bool = True) -> None:
    second = RefutationChecker(db.program, {name: db[name].given for name in db}) if is_small else None
    for refutation in refutations(db, random):
        refutation.check()
        problem = None if second is None else second.problem(refutation.goal, refutation.obstacles)
        assert problem is None, f"{problem}: {refutation}"
        refutation.to_dict()


def core(flavour: str, seed: int) -> None:
    random = Random(seed)
    db = Session(Draft(DECLARED), random.choice(list(STRATEGIES)))
    for step in Generator(seed, flavour).steps():
        if committed(db, step) is None:
            return
        if random.random() < OFTEN:
            check_refutations(db, random, is_small=flavour not in WIDE)


@pytest.mark.parametrize(("flavour", "seed"), [*KEPT_CORE, *((f, s) for f in FLAVOURS for s in range(CORE))])
def test_absent_rows_of_core_programs_have_refutations(flavour: str, seed: int) -> None:
    core(flavour, seed)


def whole(seed: int) -> None:
    random = Random(seed)

    def check(db: Session) -> None:
        if random.random() < OFTEN:
            check_refutations(db, random)

    with_sessions(seed, random, check)


@pytest.mark.parametrize("seed", [*KEPT_WHOLE, *range(WHOLE)])
def test_absent_rows_of_programs_of_the_whole_language_have_refutations(seed: int) -> None:
    whole(seed)
