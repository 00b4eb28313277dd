"""Random programs over the whole language, in every placement: what users see is what the model says."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from oracle.language import host
from oracle.language.case import Case, Insert, RuleText, Step
from oracle.language.checking import _expect_stored as expect_stored
from oracle.language.checking import difference
from oracle.language.histories import programs
from oracle.language.model import MAX_ROUNDS, outcomes
from sizes import size
from tally import tally
from tidelog.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# as asked; by joins even if tasks could send each other what they find; and all that is
# evaluated and aggregated, however little, in tasks
PLACES = ("tasks", "shuffled", "joined", "evaluated")
SEEDS = size(1, 120)


def difference_on(spark: SparkSession, case: Case, *places: str) -> str | None:
    def opened(case: Case, place: str) -> Any:
        placement = {"joined": "shuffled", "evaluated": "shuffled"}.get(place, place)
        db = tidelog.open(
            spark=spark, placement=placement, max_iterations=MAX_ROUNDS, functions=host.FUNCTIONS
        )
        home: Any = db._state
        if place in ("joined", "evaluated"):
            home.engine.sends = False
        if place == "evaluated":
            home.checkpoints.small = 0
        try:
            with db.transaction() as tx:
                tx.load(case.text)
        except EngineError as error:
            expect_stored(error)
            raise
        return db

    return difference(case, places, opened, thorough=True)


def _without_conflicts(seed: int) -> Case:
    """The first case from a seed on in which no key has two rows.

    In frames it is the commit that refuses them, in process the insert.
    """
    cases = (programs(1_000 * seed + i) for i in count())
    return next(c for c in cases if not any(outcome.refused for outcome in outcomes(c)))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_program_is_right_in_every_placement(interpreted: SparkSession, seed: int) -> None:
    case = _without_conflicts(seed)
    place = PLACES[seed % len(PLACES)]
    assert difference_on(interpreted, case, place) is None, case.text
    tally(f"random sessions on Spark, {place}")


KEPT = {
    "conditions without variables": Case(
        declarations=("input relation P(x: int)", "output relation Q(x: int)", "output relation Z()"),
        rules=(
            RuleText(("Q(x)",), ("P(x)", "1 < 2")),
            RuleText(("Q(-x)",), ("2 < 1", "P(x)")),
            RuleText(("Z()",), ("1 < 2",)),
        ),
        steps=(Step((Insert("P", ((1,), (2,))),)), Step((Insert("P", ((3,),)),))),
    ),
    "an assignment to what a negated atom binds": Case(
        declarations=("input relation P(x: int)", "input relation N(x: int)", "output relation Q(x: int)"),
        rules=(RuleText(("Q(y)",), ("P(x)", "var y = 7", "not N(y)")),),
        steps=(Step((Insert("P", ((1,),)),)), Step((Insert("N", ((2,),)),)), Step((Insert("N", ((7,),)),))),
    ),
}


@pytest.mark.parametrize("place", ["joined", "tasks"])
@pytest.mark.parametrize("name", KEPT)
def test_what_was_once_wrong_is_right(interpreted: SparkSession, name: str, place: str) -> None:
    assert difference_on(interpreted, KEPT[name], place) is None
