"""Run as a program by `test_connect`: a client of Spark Connect, which tells in one line of JSON what it saw.

Its arguments are the address of the server, which has a folder for checkpoints, and placements.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from pyspark.sql import SparkSession

import tidelog
from tidelog.engine.spark.frames import persistence as holding

PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
output relation Fan(src: int, n: int)
output relation Met(x: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Met(0).
Met(y) :- Met(x), Edge(x, y).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
"""
MOMENTS = """
input relation Seen(at: timestamp, who: int)
output relation Last(at: timestamp)
Last(at) :- Seen(at, who), who > 0.
"""
# by joins, while tasks send each other what is of `Met`
JOINED = PROGRAM.replace("Edge(y, z).", "Reach(y, z), Reach(_, z).")
FIRST, NEXT, GONE = [(0, 1), (1, 2), (2, 3)], [(3, 4)], [(0, 1)]


def main(address: str, *places: str) -> None:
    spark: Any = SparkSession.builder.remote(address).getOrCreate()
    settings = dict(spark.conf.getAll)
    here = commits(tidelog.open(text=PROGRAM), lambda rows: rows)
    spark.addTag("mine")
    seen: set[str] = set()
    told = {}
    for placement in places:
        db = tidelog.open(
            text=JOINED if placement == "shuffled" else PROGRAM,
            spark=spark,
            placement=placement,
            progress=lambda _: seen.update(spark.getTags()),
        )
        told[placement] = commits(db, lambda rows: spark.createDataFrame(rows, "src long, dst long"))
    holding._LOCAL = re.compile("elsewhere")  # type: ignore[misc]
    db = tidelog.open(text=JOINED, spark=spark, placement="shuffled")
    told["held in files"] = commits(db, lambda rows: rows)
    moments = {place: moment(spark, place) for place in places}
    changed = {name for name, value in spark.conf.getAll.items() if settings.get(name) != value}
    print(
        json.dumps(
            {
                "here": here,
                "told": told,
                "seen": sorted(seen),
                "left": sorted(spark.getTags()),
                "moments": moments,
                "changed": sorted(changed),
            }
        )
    )


def moment(spark: Any, placement: str) -> list[str]:
    """A timestamp without a zone, as a commit and a frame of its result have it."""
    db = tidelog.open(text=MOMENTS, spark=spark, placement=placement)
    with db.transaction() as tx:
        tx.insert("Seen", spark.sql("select timestamp'2024-07-01 12:00:00' as at, 1L as who"))
    (row,) = db["Last"]
    return [row[0].isoformat(), db["Last"].to_spark().selectExpr("cast(at as string)").first()[0]]


def commits(db: Any, given: Any) -> list[Any]:
    with db.transaction() as first:
        first.insert("Edge", given(FIRST))
    with db.transaction() as second:
        second.insert("Edge", given(NEXT))
        second.delete("Edge", given(GONE))
    changes = [sorted(tx.changes[name]) for tx in (first, second) for name in ("Reach", "Met")]
    return [*changes, sorted(db["Fan"]), sorted(db["Reach"].where(src=1)), (2, 4) in db["Reach"]]


if __name__ == "__main__":
    main(*sys.argv[1:])
