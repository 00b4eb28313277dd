"""Cases on Spark, in every placement; rows go in and come out as frames.

As a script it runs many structured cases: `TIDELOG_SEEDS=100 python -m oracle.language.on_spark`, with
`tests` on the path. TIDELOG_FIRST_SEED is where they begin.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, Final

import sparks
import tidelog
from oracle.language import host
from oracle.language.campaign import seeds
from oracle.language.case import Action, Case, Delete, Insert, Upsert, render
from oracle.language.checking import Opened, Subject, act, difference, shown
from oracle.language.checking import _expect_stored as expect_stored
from oracle.language.frames import rows_of, table_of
from oracle.language.gallery import gallery
from oracle.language.histories import programs
from oracle.language.model import MAX_ROUNDS, outcomes
from tidelog.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PLACES", "difference_on", "structured", "without_conflicts"]

# as asked; by joins even if tasks could send each other what they find; and all that is
# evaluated and aggregated, however little, in tasks; in the driver; and there until there are more rows
PLACES: Final = ("tasks", "shuffled", "joined", "evaluated", "driver", "moving")
_INTERPRETED: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
ROOM: Final = 20  # rows in the driver, before a session moves into frames


def difference_on(spark: SparkSession, case: Case, *places: str) -> str | None:
    """What sessions on Spark do that the model does not; None if they agree."""
    return difference(case, places, partial(_open, spark), made=partial(FrameSubject, spark))


def _open(spark: SparkSession, case: Case, place: str) -> Any:
    placement: Any = {"joined": "shuffled", "evaluated": "shuffled", "moving": None}.get(place, place)
    db = tidelog.open(spark=spark, placement=placement, max_iterations=MAX_ROUNDS, functions=host.FUNCTIONS)
    home: Any = db._state
    if place in ("joined", "evaluated"):
        home.engine.sends = False
    if place == "evaluated":
        home.checkpoints.small = 0
    if place == "moving":
        home._budget = ROOM
    try:
        with db.transaction() as tx:
            tx.load(case.text)
    except EngineError as error:
        expect_stored(error)
        raise
    return db


class FrameSubject(Subject):
    """A session that is given half of its rows as frames; its relations are read as frames at the end."""

    def __init__(self, spark: SparkSession, case: Case, name: str, opened: Opened) -> None:
        super().__init__(case, name, opened)
        self.spark = spark
        self.random = Random(f"frames:{case.text}")

    def asks(self, step: int, is_in_turn: bool) -> bool:
        """After the last one only, since each question is a job or more."""
        return step == len(self.case.steps) - 1

    def act(self, tx: Any, action: Action) -> None:
        frame = self._frame(action) if isinstance(action, Insert | Delete | Upsert) else None
        if frame is None:
            act(tx, action)
        else:
            getattr(tx, type(action).__name__.lower())(frame[0], frame[1])

    def _frame(self, action: Insert | Delete | Upsert) -> tuple[str, Any] | None:
        """The relation and the rows as a frame; None if they are to be given as they are."""
        relation = self.session.program.relations.get(action.relation)
        if relation is None or not relation.columns or self.random.random() < 0.5:
            return None
        names = [c.name for c in relation.columns]
        table = table_of(self.random, names, relation.types, action.rows)
        return relation.name, self.spark.createDataFrame(table)

    def end(self) -> str | None:
        """A relation that is not the same as a frame, or does not know one of its rows."""
        for name in self.session:
            facts = self.session[name]
            rows = list(facts)
            read = rows_of(facts.relation.types, facts.to_spark().toArrow())
            if shown(read) != shown(rows):
                return f"{name} as a frame is\n    {shown(read)}\nand should be\n    {shown(rows)}"
            if rows and rows[0] not in facts:
                return f"{name} has {shown(rows[:1])}, but says that it has not"
        return None


# -- cases


def without_conflicts(first: int, *, structured: bool = False) -> Case:
    """The first case from a seed on in which no key has two rows.

    In frames it is the commit that refuses them, in process the insert.
    """
    cases = (programs(first + i, structured=structured) for i in count())
    return next(c for c in cases if not any(outcome.refused for outcome in outcomes(c)))


def structured(number: int) -> Case:
    """One of many cases with structured columns: every third has many types, the others many rules."""
    if number % 3 == 0:
        return gallery(number)
    return without_conflicts(10_000_000 + 1_000 * number, structured=True)


def _session() -> Iterator[SparkSession]:
    """A session without compiled plans, which take longer to make than these cases take to run."""
    own = import_module("tidelog.engine.spark.runtime.sessions").SETTINGS
    for spark in sparks.session():
        for name, value in _INTERPRETED.items():
            spark.conf.set(name, value)
            own[name] = value
        yield spark


def run() -> int:
    """The number of cases that are wrong."""
    wrong = 0
    begun = time.monotonic()
    for spark in _session():
        for done, number in enumerate(seeds(100), 1):
            case, place = structured(number), PLACES[number * 7 // 3 % len(PLACES)]
            try:
                problem = difference_on(spark, case, place)
            except Exception as error:
                problem = f"crash: {type(error).__name__}: {error}"
            if problem is not None:
                wrong += 1
                print(f"case {number}, {place}: {problem}\n{render(case)}\n{case.text}\n", flush=True)
            print(f"{done}: case {number}, {place}, {time.monotonic() - begun:,.0f} s", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
