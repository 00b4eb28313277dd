"""Run as a program by `test_cluster`: a driver on a cluster that does what it is told.

What it is told, and what came of it, are lines of JSON; its argument are the settings of Spark.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import tidelog
from engine.spark.cluster_functions import passed
from engine.spark.histories import SHAPES, play, random_moments, wanted
from tidelog.engine.spark.runtime.session import local_session

PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, w), var z = passed(w).
"""
# nothing passes through it, so that tasks have to send each other what they find
EXCHANGED = """
input relation Edge(src: int, dst: int)
input relation Begin(x: int)
output relation Reach(x: int)
Reach(x) :- Begin(x).
Reach(y) :- Reach(x), Edge(x, y).
"""
EDITS: list[list[tuple[int, str, list[tuple[int, ...]]]]] = [
    [(1, "Begin", [(0,)]), (1, "Edge", [(n, n + 1) for n in range(8)])],
    [(-1, "Edge", [(3, 4)]), (1, "Edge", [(1, 6)])],
]
CALM = 2.0  # seconds after which attempts that Spark has killed are gone
FIRST, NEXT = [(0, 1), (1, 2), (2, 3), (5, 1)], [(3, 4)]


def main(conf: dict[str, str]) -> None:
    spark = local_session(conf=conf)
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        print(json.dumps(COMMANDS[what](spark, *arguments)), flush=True)


def refused(spark: SparkSession, placement: str) -> str:
    """What is said of a cluster that has no folder for checkpoints."""
    try:
        opened(spark, placement or None)
    except tidelog.SessionError as error:
        return str(error)
    return ""


def set_folder(spark: SparkSession, folder: str) -> None:
    spark.sparkContext.setCheckpointDir(folder)


def commits(spark: SparkSession, placement: str) -> list[list[Any]]:
    """What two commits change, beside what they change without Spark."""
    return told(opened(spark, placement), opened(None, None))


def commits_after_one_that_failed(spark: SparkSession, placement: str, mark: str) -> list[list[Any]]:
    """The same, after a commit that could not be carried out, since there was a mark."""
    db = opened(spark, placement)
    try:
        insert(db, FIRST)
    except tidelog.EngineError as error:
        failure = str(error)
    Path(mark).unlink()
    assert (db.commit, len(db["Edge"]), len(db["Reach"])) == (0, 0, 0)
    return [[failure], *told(db, opened(None, None))]


def opened(spark: SparkSession | None, placement: str | None) -> Any:
    db: Any = tidelog.open(text=PROGRAM, functions=[passed], spark=spark, placement=placement)
    if placement in ("tasks", "shuffled"):
        db._state.checkpoints.small = 0  # however little there is, it is computed in tasks
    return db


def told(*sessions: Any) -> list[list[Any]]:
    return [[insert(db, FIRST), insert(db, NEXT), sorted(db["Reach"])] for db in sessions]


def insert(db: Any, edges: list[tuple[int, int]]) -> list[Any]:
    with db.transaction() as tx:
        tx.insert("Edge", edges)
    return sorted(tx.changes["Reach"])


def exchange(spark: SparkSession, marks: str) -> list[Any]:
    """What commits come to whose tasks send each other what they find; a mark is left before each step."""
    steps = count()

    def leave_mark(_: object) -> None:
        (Path(marks) / f"step.{next(steps)}").touch()

    db: Any = tidelog.open(text=EXCHANGED, spark=spark, placement="shuffled", progress=leave_mark)
    return [exchanged(db), exchanged(tidelog.open(text=EXCHANGED)), next(steps)]


def exchanged(db: Any) -> list[Any]:
    seen = []
    for signed in EDITS:
        with db.transaction() as tx:
            for sign, name, rows in signed:
                (tx.insert if sign > 0 else tx.delete)(name, rows)
        seen.append([sorted(tx.changes["Reach"]), sorted(db["Reach"])])
    return seen


def history(spark: SparkSession, name: str, seed: int, commits: int, marks: str) -> list[Any]:
    """What a random history comes to, on Spark and computed from scratch, and the files left over.

    The last commit comes when nothing disturbs it: the mark `calm` is there.
    """
    shape = SHAPES[name]
    moments = random_moments(shape, seed, commits + 1)
    db: Any = tidelog.open(text=shape.text, spark=spark, placement=shape.placement)
    db._state.checkpoints.small = 0
    seen = []
    for number, found in enumerate(play(shape, db, moments)):
        seen.append(found)
        if number == commits - 1:
            (Path(marks) / "disturbed").touch()
            settle(spark, Path(marks) / "calm")
    return [seen, list(wanted(shape, moments)), files_beyond(db)]


def settle(spark: SparkSession, mark: Path) -> None:
    """Wait until nothing disturbs any more, and until no task runs that nobody waits for."""
    while not mark.exists() or spark.sparkContext.statusTracker().getActiveStageIds():
        time.sleep(0.05)
    time.sleep(CALM)


def files_beyond(db: Any) -> list[str]:
    """The files of tasks that the state of no partition needs."""
    divided = db._state.engine._whole._divided.values()
    needed = {name for one in divided for name in one.all_files}
    folder = Path(db._state.checkpoints.scratch.folder)
    return sorted({file.name for file in folder.iterdir()} - needed) if folder.exists() else []


COMMANDS: dict[str, Any] = {
    "history": history,
    "exchange": exchange,
    "refused": refused,
    "set folder": set_folder,
    "commits": commits,
    "commits after one that failed": commits_after_one_that_failed,
}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
