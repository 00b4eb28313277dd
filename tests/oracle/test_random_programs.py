"""Random programs under random edits: every reasoner agrees with chibi after every commit.

The number of seeds per flavour is TIDELOG_SEEDS (a few dozen in a normal run, thousands in the nightly one).
A seed that ever failed stays here for good.
"""

from __future__ import annotations

import os

import pytest

from conformance.reasoners import REASONERS, Reasoner
from oracle.generator import FLAVOURS, WIDE, Generator, Step
from sizes import size
from tally import tally
from tidelog.data.zset import ZSet
from tidelog.errors import EngineError

SEEDS = int(os.environ.get("TIDELOG_SEEDS", size(14, 600)))
KEPT: list[tuple[str, int]] = []
BLOCK = 15
UNGROUPED = ("positive", "negated", "guarded")  # no aggregates, which the circuit does not have


def _histories() -> list[tuple[str, range]]:
    """The seeds in blocks, since one history takes a few milliseconds, and the kept ones one by one."""
    made = [(flavour, range(seed, seed + 1)) for flavour, seed in KEPT]
    for flavour in FLAVOURS:
        seeds = SEEDS // 4 if flavour == "large" else SEEDS  # those take longer
        made += [(flavour, range(first, min(first + BLOCK, seeds))) for first in range(0, seeds, BLOCK)]
    return made


@pytest.mark.parametrize(("flavour", "seeds"), _histories())
def test_all_reasoners_agree_after_every_commit(flavour: str, seeds: range) -> None:
    for seed in seeds:
        check(flavour, seed)


def check(flavour: str, seed: int) -> None:
    """Run a history on all reasoners that know the flavour; a failure names the seed and the step."""
    reasoners = {name: REASONERS[name]() for name in _able(flavour)}
    first = next(iter(reasoners))
    tally("random programs of the engines' core")
    for number, step in enumerate(Generator(seed, flavour).steps()):
        tally("commits of such programs")
        where = f"{flavour} {seed}, step {number}: {step.edits} {dict(step.facts)}"
        outcomes = {name: _commit(reasoner, step, where) for name, reasoner in reasoners.items()}
        for name, outcome in outcomes.items():
            assert outcome == outcomes[first], f"{name} differs from {first}; {where}"
        if outcomes[first] is None:
            return  # the histories part here: a generator does not know what was refused


def _able(flavour: str) -> list[str]:
    """The reasoners that can run a flavour, the one to compare with first."""
    if flavour in WIDE:
        return [n for n in REASONERS if n not in ("chibi", "circuit", "circuit-indexed")]
    return [n for n in REASONERS if flavour in UNGROUPED or not n.startswith("circuit")]


def _commit(reasoner: Reasoner, step: Step, where: str) -> object:
    """The changes and the contents after a commit, or None if it was refused and nothing changed."""
    before = dict(reasoner.contents)
    try:
        changes = reasoner.commit(step.program, step.facts)
    except EngineError:
        assert dict(reasoner.contents) == before, f"a refused commit changed something; {where}"
        return None
    after = dict(reasoner.contents)
    for name in {**before, **after}:
        difference = ZSet.of(after.get(name, ())) - ZSet.of(before.get(name, ()))
        assert changes.get(name, ZSet()) == difference, f"changes are not the difference in {name}; {where}"
    return changes, after
