"""A short run through the parts of Spark that Tidelog uses, for `class_archive` to see the classes they load.

Run it as a module with Java options as the only argument. The results do not matter, only what is used: Arrow
in and out, joins, anti-joins, distinct, aggregates, checkpoints, Parquet and CSV.
"""

from __future__ import annotations

import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidelog.engine.spark.runtime.session import local_session


def main(java_options: str) -> None:
    spark = local_session("tidelog-training", conf={"spark.driver.extraJavaOptions": java_options})
    with tempfile.TemporaryDirectory() as directory:
        _exercise(spark, directory)
    spark.stop()


def _exercise(spark: SparkSession, directory: str) -> None:
    given = [(n, n + 1, str(n)) for n in range(1000)]
    rows = spark.createDataFrame(given, "src long, dst long, name string")
    edges = spark.createDataFrame(rows.toArrow()).repartition("dst").localCheckpoint()
    onward = edges.select(F.col("src").alias("dst"), F.col("dst").alias("end"))
    paths = edges.join(onward, "dst").select("src", "end").distinct()
    paths.join(F.broadcast(onward.limit(9)), "end", "left_anti").groupBy("end").agg(F.count("*")).collect()
    edges.mapInArrow(lambda batches: batches, edges.schema).toArrow()
    edges.write.parquet(f"{directory}/parquet")
    edges.write.csv(f"{directory}/csv", header=True)
    spark.read.parquet(f"{directory}/parquet").where("src > 10").count()
    spark.read.csv(f"{directory}/csv", header=True).orderBy("name").toPandas()


if __name__ == "__main__":
    main(sys.argv[1])
