"""A little of everything that rests on other libraries. Prints `ok`; anything else is a failure."""

from __future__ import annotations

import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa

import tidelog

PROGRAM = """
input relation Edge(src: string, dst: string, cost: decimal(10, 2))
input relation Seen(who: string, at: timestamp)
output relation Reach(src: string, dst: string)
output relation Cheapest(src: string, dst: string, cost: decimal(10, 2))
output relation Known(who: string)
Reach(x, y) :- Edge(x, y, _).
Reach(x, z) :- Reach(x, y), Edge(y, z, _).
Cheapest(x, y, least) :- Edge(x, y, c), var least = c.group_by(x, y).min().
Cheapest(x, z, least) :- Cheapest(x, y, a), Edge(y, z, b), var least = (a + b).group_by(x, z).min().
Known(lower(who)) :- Seen(who, _), regex_match(who, "[A-Z][a-z]+").
"""

EDGES = pd.DataFrame(
    {
        "src": ["a", "b", "a", "c"],
        "dst": ["b", "c", "c", "a"],
        "cost": [Decimal("1.50"), Decimal("2.25"), Decimal("9.00"), Decimal("1.00")],
    }
)
SEEN = pa.table(
    {"who": ["Ada", "bob"], "at": pa.array([0, 1], pa.timestamp("us", "UTC"))},
)
REACH = {(x, y) for x in "abc" for y in "abc"}


def expect(found: object, wanted: object) -> None:
    if found != wanted:
        sys.exit(f"found {found!r}, expected {wanted!r}")


def drive(db: tidelog.Session) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", EDGES)
        tx.insert("Seen", SEEN)
    expect(set(db["Reach"]), REACH)
    expect(("a", "c", Decimal("3.75")) in db["Cheapest"], True)
    expect(list(db["Known"]), [("ada",)])
    with db.transaction() as tx:
        tx.delete("Edge", [("c", "a", Decimal("1.00"))])
    expect(set(tx.changes["Reach"].deleted), REACH - {("a", "b"), ("a", "c"), ("b", "c")})
    expect(len(db["Reach"].to_pandas()), 3)
    expect(db["Reach"].to_arrow().num_rows, 3)


def in_process() -> None:
    drive(tidelog.open(text=PROGRAM))
    with tempfile.TemporaryDirectory() as folder:
        EDGES.to_parquet(Path(folder, "Edge.parquet"))
        Path(folder, "Seen.csv").write_text("who,at\nAda,2024-01-01T00:00:00Z\n")
        db = tidelog.open(text=PROGRAM, facts=folder)
        expect(set(db["Reach"]), REACH)


def on_spark() -> None:
    from tidelog.engine.spark.runtime.session import local_session

    spark = local_session()
    for placement in ("driver", "tasks", "shuffled"):
        drive(tidelog.open(text=PROGRAM, spark=spark, placement=placement))
    spark.stop()


if __name__ == "__main__":
    in_process()
    on_spark()
    print("ok")
