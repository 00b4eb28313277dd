"""Random programs over the whole language, in every placement: what users see is what the model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from oracle.language.case import Case, Delete, Insert, RuleText, Step
from oracle.language.gallery import gallery
from oracle.language.on_spark import PLACES, difference_on, without_conflicts
from sizes import size
from tally import tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SEEDS = size(1, 120)
TYPES = size(2, 6)  # of a case with many of them
STRUCTURED = size(1, 120)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_program_is_right_in_every_placement(interpreted: SparkSession, seed: int) -> None:
    case = without_conflicts(1_000 * seed)
    place = PLACES[seed % len(PLACES)]
    assert difference_on(interpreted, case, place) is None, case.text
    tally(f"random sessions on Spark, {place}")


@pytest.mark.parametrize("seed", range(STRUCTURED))
def test_structured_values_of_many_types_are_keys_in_every_placement(
    interpreted: SparkSession, seed: int
) -> None:
    case, place = gallery(seed, TYPES, 4), PLACES[(seed + 4) % len(PLACES)]
    assert difference_on(interpreted, case, place) is None, case.text
    tally(f"cases with many types on Spark, {place}")


@pytest.mark.parametrize("seed", range(size(0, 120)))
def test_a_program_over_structured_columns_is_right_in_every_placement(
    interpreted: SparkSession, seed: int
) -> None:
    case, place = without_conflicts(10_000_000 + 1_000 * seed, structured=True), PLACES[seed % len(PLACES)]
    assert difference_on(interpreted, case, place) is None, case.text
    tally(f"structured sessions on Spark, {place}")


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
    "nested bodies that test the recursion around them": Case(
        declarations=(
            "input relation E(a: int, b: int)",
            "input relation L(a: int, k: int)",
            "output relation R(x: int, n: int)",
        ),
        rules=(
            RuleText(("R(x, 0)",), ("E(x, _)", "x < 2")),
            RuleText(
                ("R(x, n)",),
                (
                    "R(y, m)",
                    "E(y, x)",
                    "var n = count { L(y, k), k > m }",
                    "not (L(_, k), k < m, 12 / k > y)",
                ),
            ),
        ),
        steps=(
            Step((Insert("E", ((1, 2), (2, 3), (3, 1), (3, 4))), Insert("L", ((1, 5), (2, 4), (2, 7))))),
            Step((Insert("L", ((3, 1),)), Delete("L", ((2, 7),)))),
        ),
    ),
}


@pytest.mark.parametrize("place", ["joined", "tasks"])
@pytest.mark.parametrize("name", KEPT)
def test_what_was_once_wrong_is_right(interpreted: SparkSession, name: str, place: str) -> None:
    assert difference_on(interpreted, KEPT[name], place) is None
