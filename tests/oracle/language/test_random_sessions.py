"""Random programs and histories over the whole language: every strategy does what the model does.

TIDELOG_SEEDS and TIDELOG_FIRST_SEED say how many, and from which seed on; `campaign` does the same without
pytest and counts what was run.
"""

from __future__ import annotations

import pytest

from oracle.language import campaign
from oracle.language.campaign import check
from oracle.language.checking import Report
from sizes import size
from tally import tally

BLOCK = 10
SEEDS = campaign.seeds(size(40, 3_000))


@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, BLOCK))
def test_sessions_do_what_the_model_does(first: int) -> None:
    report = Report()
    for seed in range(first, min(first + BLOCK, SEEDS.stop)):
        problem = check(seed, report)
        assert problem is None, problem
    for what, number in report.items():
        tally(f"random sessions: {what}", number)
