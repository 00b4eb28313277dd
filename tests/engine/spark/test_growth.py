"""The COST question measures on Spark what it measures in process."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tidelog.bench import graphs, growth
from tidelog.bench.cases import Case, _closure
from tidelog.bench.names import IN_PROCESS, PLACES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("place", [place for place in PLACES if place != IN_PROCESS])
def test_a_closure_has_the_same_tuples_in_every_place(place: str, interpreted: SparkSession) -> None:
    case = Case("chain", "tc", partial(_closure, partial(graphs.chain, 4)))
    (here,) = growth._sizes((case,), IN_PROCESS, growth._prepare(case, IN_PROCESS))
    (there,) = growth._sizes((case,), place, growth._prepare(case, place))
    assert (there.facts, there.tuples) == (here.facts, here.tuples) == (3, 9)
