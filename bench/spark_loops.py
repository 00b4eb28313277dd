"""Plain Spark without Tidelog: loops over DataFrames, and recursive SQL.

The loops are semi-naive: join the delta with the known rows, keep the rows that are new, and repeat until
there are none. They use Spark's default settings (adaptive execution, automatic broadcasts). The plan is
checkpointed every round, since the loops do not finish otherwise.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql.functions import expr

from tidelog.rdf.terms import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE

__all__ = ["closure", "doubling", "rdfs", "recursive_sql"]


def closure(edges: Any) -> Any:
    """The closure of a DataFrame of edges (src, dst)."""
    found = edges.distinct().localCheckpoint()
    delta, steps = found, edges.withColumnsRenamed({"src": "mid", "dst": "next"})
    while not delta.isEmpty():
        heads = delta.join(steps, delta["dst"] == steps["mid"]).select("src", "next").toDF("src", "dst")
        delta = heads.distinct().join(found, ["src", "dst"], "left_anti").localCheckpoint()
        found = found.union(delta).localCheckpoint()
    return found


def doubling(edges: Any) -> Any:
    """The closure of a DataFrame of edges (src, dst), by joining the closure with itself."""
    found = edges.distinct().localCheckpoint()
    delta = found
    while not delta.isEmpty():
        heads = _steps(delta, found).union(_steps(found, delta))
        delta = heads.distinct().join(found, ["src", "dst"], "left_anti").localCheckpoint()
        found = found.union(delta).localCheckpoint()
    return found


def _steps(before: Any, after: Any) -> Any:
    onward = after.withColumnsRenamed({"src": "mid", "dst": "next"})
    return before.join(onward, before["dst"] == onward["mid"]).select("src", "next").toDF("src", "dst")


def rdfs(triples: Any) -> Any:
    """All triples that follow from a DataFrame of triples (s, p, o) by the rules of RDFS."""
    found = triples.distinct().localCheckpoint()
    delta = found
    while not delta.isEmpty():
        heads = reduce(lambda x, y: x.union(y), (*_heads(delta, found), *_heads(found, delta)))
        delta = heads.distinct().join(found, ["s", "p", "o"], "left_anti").localCheckpoint()
        found = found.union(delta).localCheckpoint()
    return found


def _heads(schema: Any, data: Any) -> list[Any]:
    """The heads of the six rules, with the schema triple from `schema` and the other triple from `data`."""

    def met(word: str, place: str, also: str | None = None) -> Any:
        said = schema.where(schema["p"] == word).selectExpr("s as a", "o as b")
        rows = data if also is None else data.where(data["p"] == also)
        return said.join(rows, expr(f"a = {place}"))

    onward = ((SUBCLASS, TYPE), (SUBCLASS, SUBCLASS), (SUBPROPERTY, SUBPROPERTY))
    return [
        met(DOMAIN, "p").selectExpr("s", f"'{TYPE}' as p", "b as o"),
        met(RANGE, "p").selectExpr("o as s", f"'{TYPE}' as p", "b as o"),
        met(SUBPROPERTY, "p").selectExpr("s", "b as p", "o"),
        *(met(word, "o", also).selectExpr("s", f"'{also}' as p", "b as o") for word, also in onward),
    ]


def recursive_sql(spark: Any, edges: Any) -> Any:
    """The closure of a tree; Spark's recursion keeps duplicates, and does not end on cycles."""
    spark.conf.set("spark.sql.cteRecursionRowLimit", "-1")
    edges.createOrReplaceTempView("edge")
    return spark.sql(
        """
        WITH RECURSIVE reach(src, dst) AS (
          SELECT src, dst FROM edge
          UNION ALL SELECT r.src, e.dst FROM reach r JOIN edge e ON r.dst = e.src
        ) SELECT src, dst FROM reach
        """
    )
