"""Scripts are data: what each strategy does to each kind of stratum is written down.

Run with TIDELOG_RENEW=1 to write the expected files again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidelog.maintain.describe import describe_scripts
from tidelog.maintain.strategy import STRATEGIES
from tidelog.plan.flatten import flatten
from tidelog.program.draft import load

GOLDEN = Path(__file__).parent / "golden"
PROGRAMS = sorted(path.stem for path in GOLDEN.glob("*.dl"))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_scripts_of_a_program(program: str, strategy: str) -> None:
    made = (
        describe_scripts(flatten(load((GOLDEN / f"{program}.dl").read_text())), STRATEGIES[strategy]) + "\n"
    )
    expected = GOLDEN / f"{program}.{strategy}.txt"
    if os.environ.get("TIDELOG_RENEW"):
        expected.write_text(made)
    assert made == expected.read_text()


def test_there_is_a_program_for_each_kind_of_stratum() -> None:
    assert PROGRAMS == ["extrema", "groups", "negation", "recursion", "totals"]
