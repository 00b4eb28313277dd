"""The COST question: from how many tuples on does Spark beat one thread in this process?

The same program is materialised over more and more facts, in process and on Spark in each placement (local
mode, all cores). Time on Spark begins with the facts in its frames and ends with the results in them; in
process, with an Arrow table and with the results counted. Each place has a process of its own for all sizes,
and a first run, which is not measured, for whatever has to be loaded.

Where Spark is slower at one size and faster at the next, they cross in between, where straight lines between
the measurements on logarithmic scales do. Where Spark never was faster, the question is answered by
extrapolation: a line through a place's times, which has a start and a price for each tuple, and where the two
lines meet, if they do and both times grow.
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

_SHORT: Final = 1.0  # seconds, within which a measurement is repeated


@dataclass(frozen=True, slots=True)
class Size:
    """Seconds to materialise so many tuples from so many facts, in one place."""

    data: str
    program: str
    place: str
    facts: int
    tuples: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """From how many tuples on a place of Spark is faster than one thread; None if they never meet.

    `measured` says that it lies between two sizes that were measured, or before the first.
    """

    data: str
    program: str
    place: str
    tuples: int | None
    measured: bool

    def __str__(self) -> str:
        if self.tuples is None:
            return "not within the measured sizes, and their times do not come together"
        if not self.measured:
            return f"not within the measured sizes; by extrapolation at about {self.tuples:,} tuples"
        return f"from about {self.tuples:,} tuples on"


def measure_growth(
    cases: Sequence[Case], place: str, timeout: float, take: Callable[[Size], None]
) -> Missing | None:
    """All sizes of one program in one place, in a process of its own, each within the time."""
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
    """The session of Spark, if any, with everything loaded that a run needs."""
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
    """The facts where they are to be taken from: in Arrow tables, or in frames."""
    tables = [(name, table) for part in (facts.always, facts.moving) for name, table in part.items()]
    if spark is None:
        return tables
    return [(name, spark.createDataFrame(table).localCheckpoint()) for name, table in tables]


def _materialise(
    text: str, tables: list[tuple[str, Any]], spark: Any, place: str
) -> tuple[float, int, Session]:
    """The seconds that it takes, and the number of tuples that there are then."""
    gc.collect()
    begun = time.perf_counter()
    db = open_session(text=text) if spark is None else open_session(text=text, spark=spark, placement=place)
    with db.transaction() as tx:
        for name, table in tables:
            tx.insert(name, table)
    tuples = sum(len(db[name]) for name in db)
    return time.perf_counter() - begun, tuples, db


def _expect_place(db: Session, place: str) -> None:
    """A placement in which the program does not run is not measured under its name."""
    strata = [stratum for stratum in db.stats.run.strata if stratum.placed]
    if place != IN_PROCESS and not any(stratum.placed.startswith(place) for stratum in strata):
        whys = dict.fromkeys(stratum.placed for stratum in strata)
        raise EngineError(f"nothing of it runs in {place}: {'; '.join(whys)}")


# -- where lines meet


def crossings(sizes: Sequence[Size]) -> list[Crossing]:
    """For each program and place of Spark, from how many tuples on it is faster than one thread."""
    found: list[Crossing] = []
    for data, program, place in dict.fromkeys((s.data, s.program, s.place) for s in sizes):
        of_case = [s for s in sizes if (s.data, s.program) == (data, program)]
        times = {s.tuples: s.seconds for s in of_case if s.place == place}
        here = {s.tuples: s.seconds for s in of_case if s.place == IN_PROCESS}
        if place != IN_PROCESS and times.keys() & here.keys():
            found.append(Crossing(data, program, place, *_meet(here, times)))
    return found


def _meet(here: Mapping[int, float], there: Mapping[int, float]) -> tuple[int | None, bool]:
    """From how many tuples on it is faster there, and whether that was measured; times are by tuples."""
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
    """Where lines through the times meet beyond what was measured, if they do.

    Times that do not grow with the tuples are those of starting, and say nothing of larger sizes.
    """
    if len(tuples) < 2:
        return None
    (slope, start), (other, later) = np.polyfit(tuples, here, 1), np.polyfit(tuples, there, 1)
    meet = (later - start) / (slope - other) if slope > other > 0 else 0.0
    return round(meet) if meet > tuples[-1] else None
