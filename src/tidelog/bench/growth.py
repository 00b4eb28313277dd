"""The COST question: at how many tuples does Spark become faster than one thread in process?

The same program is materialised over more and more facts, in process and on Spark in each placement (local
mode, all cores). On Spark, time is measured from facts in DataFrames to results in DataFrames; in process,
from Arrow tables to counted results. Each place runs all sizes in one separate process, after a warm-up run.

If Spark is slower at one size and faster at the next, the crossing is interpolated linearly between these
measurements, on logarithmic scales. If Spark is never faster, the crossing is extrapolated: a line is fitted
to the times of each place (a start-up time and a cost per tuple). The lines cross if they meet and both times
grow.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final

import numpy as np

from tidelog.bench.cases import Case, Facts
from tidelog.bench.isolate import isolated_parts
from tidelog.bench.names import IN_PROCESS
from tidelog.bench.papers import Missing
from tidelog.errors import EngineError
from tidelog.session import Session, open_session

__all__ = ["Crossing", "Size", "crossings", "measure_growth"]

_SHORT: Final = 1.0  # seconds; shorter measurements are repeated


@dataclass(frozen=True, slots=True)
class Size:
    """Seconds to materialise `tuples` tuples from `facts` facts in one place."""

    data: str
    program: str
    place: str
    facts: int
    tuples: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """The number of tuples from which a placement on Spark is faster than one thread; None if never.

    `measured` says that it is between two measured sizes, or at the first.
    """

    data: str
    program: str
    place: str
    tuples: int | None
    measured: bool

    def __str__(self) -> str:
        if self.tuples is None:
            return "not within the measured sizes, and the times do not converge"
        if not self.measured:
            return f"not within the measured sizes; by extrapolation at about {self.tuples:,} tuples"
        return f"from about {self.tuples:,} tuples on"


def measure_growth(
    cases: Sequence[Case], place: str, timeout: float, take: Callable[[Size], None]
) -> Missing | None:
    """Measure all sizes of a program in one place, in a separate process; each has `timeout` seconds."""
    missing = partial(Missing, cases[0].data, cases[0].program, place)
    if place != IN_PROCESS:
        try:
            import_module("tidelog.engine.spark")
        except EngineError as error:
            return missing(str(error))
    prepare, work = partial(_prepare, cases[0], place), partial(_sizes, tuple(cases), place)
    why = isolated_parts(prepare, work, timeout, take)
    return None if why is None else missing(why)


def _prepare(case: Case, place: str) -> Any:
    """The Spark session, if any, after a warm-up run."""
    spark = (
        None if place == IN_PROCESS else import_module("tidelog.engine.spark.runtime.session").local_session()
    )
    facts = case.make()
    _expect_place(_materialise(facts.text, _tables(facts, spark), spark, place)[2], place)
    return spark


def _sizes(cases: tuple[Case, ...], place: str, spark: Any) -> Iterator[Size]:
    for case in cases:
        facts = case.make()
        tables = _tables(facts, spark)
        seconds, tuples, _ = _materialise(facts.text, tables, spark, place)
        if seconds < _SHORT:
            seconds = min(seconds, _materialise(facts.text, tables, spark, place)[0])
        given = sum(len(table) for part in (facts.always, facts.moving) for table in part.values())
        yield Size(case.data, case.program, place, given, tuples, seconds)


def _tables(facts: Facts, spark: Any) -> list[tuple[str, Any]]:
    """The facts as Arrow tables, or as DataFrames on Spark."""
    tables = [(name, table) for part in (facts.always, facts.moving) for name, table in part.items()]
    if spark is None:
        return tables
    return [(name, spark.createDataFrame(table).localCheckpoint()) for name, table in tables]


def _materialise(
    text: str, tables: list[tuple[str, Any]], spark: Any, place: str
) -> tuple[float, int, Session]:
    """The time in seconds, the resulting number of tuples, and the session."""
    gc.collect()
    begun = time.perf_counter()
    where: dict[str, Any] = {"max_threads": 1} if spark is None else {"spark": spark, "placement": place}
    db = open_session(text=text, **where)
    with db.transaction() as tx:
        for name, table in tables:
            tx.insert(name, table)
    tuples = sum(len(db[name]) for name in db)
    return time.perf_counter() - begun, tuples, db


def _expect_place(db: Session, place: str) -> None:
    """Raise EngineError if no part of the program ran in this placement."""
    strata = [stratum for stratum in db.stats.run.strata if stratum.placed]
    if place != IN_PROCESS and not any(stratum.placed.startswith(place) for stratum in strata):
        whys = dict.fromkeys(stratum.placed for stratum in strata)
        raise EngineError(f"no part of the program runs in {place}: {'; '.join(whys)}")


# -- crossings


def crossings(sizes: Sequence[Size]) -> list[Crossing]:
    """The crossing of each program and placement on Spark with one thread in process."""
    found: list[Crossing] = []
    for data, program, place in dict.fromkeys((s.data, s.program, s.place) for s in sizes):
        of_case = [s for s in sizes if (s.data, s.program) == (data, program)]
        times = {s.tuples: s.seconds for s in of_case if s.place == place}
        here = {s.tuples: s.seconds for s in of_case if s.place == IN_PROCESS}
        if place != IN_PROCESS and times.keys() & here.keys():
            found.append(Crossing(data, program, place, *_meet(here, times)))
    return found


def _meet(here: Mapping[int, float], there: Mapping[int, float]) -> tuple[int | None, bool]:
    """The number of tuples from which `there` is faster, and whether it was measured; times are by tuples."""
    common = sorted(here.keys() & there.keys())
    leads = [math.log(there[n] / here[n]) for n in common]
    if leads[-1] >= 0:
        return _extrapolate(common, [here[n] for n in common], [there[n] for n in common]), False
    last = max((i for i, lead in enumerate(leads) if lead >= 0), default=None)
    if last is None:
        return common[0], True
    part = leads[last] / (leads[last] - leads[last + 1])
    low, high = math.log(common[last]), math.log(common[last + 1])
    return round(math.exp(low + part * (high - low))), True


def _extrapolate(tuples: Sequence[int], here: Sequence[float], there: Sequence[float]) -> int | None:
    """The number of tuples beyond the measured sizes where the fitted lines meet, if they do.

    Times that do not grow with the tuples are start-up times, which do not predict larger sizes.
    """
    if len(tuples) < 2:
        return None
    (slope, start), (other, later) = np.polyfit(tuples, here, 1), np.polyfit(tuples, there, 1)
    meet = (later - start) / (slope - other) if slope > other > 0 else 0.0
    return round(meet) if meet > tuples[-1] else None
