"""What a version of Spark must be able to do. Prints `ok`; anything else is a failure.

Sessions in every placement, a pipeline, a stream, and a client of Spark Connect; all of them compared with a
computation from scratch. It needs nothing but Tidelog and what it depends on, and, for Connect, its client.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import tidelog
from engine.spark.histories import SHAPES, Shape, play, random_moments, wanted
from pipeline.places import MERGED_FAN, SPEC, Place, Rows, expected
from tidelog import pipeline
from tidelog.engine.spark.runtime.class_archive import class_path, spark_home
from tidelog.engine.spark.runtime.gateway import MODULE_OPTIONS
from tidelog.engine.spark.runtime.java import find_java
from tidelog.engine.spark.runtime.session import local_session
from versions.smoke import expect

COMMITS = 3
# Java without its optimizing compiler and Spark without compiled plans: both take longer than they save here;
# `smoke.py` runs with all of it
BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
STREAM = """program = "reach.dl"
store = "store"

[streams.Edge]
format = "csv"
path = "edges"
sign = "sign"
options = { maxFilesPerTrigger = 1 }

[sources.Blocked]
path = "Blocked.json"

[outputs.Reach]
path = "out/Reach"

[changes.Reach]
path = "out/changes"
"""
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
HOST = "127.0.0.1"
PATIENCE = 300.0  # seconds until the server of Connect listens; only so that a failure ends


def sessions(spark: SparkSession, *, over_connect: bool = False) -> None:
    """Random histories of facts and rules, with recursions evaluated in each of the ways."""
    for seed, (name, shape) in enumerate(SHAPES.items()):
        history(name, shape, spark, seed, shape.placement)
    if not over_connect:
        history("in the driver", SHAPES["in tasks"], spark, 7, "driver")


def history(name: str, shape: Shape, spark: SparkSession, seed: int, placement: str) -> None:
    moments = random_moments(shape, seed, COMMITS)
    db: Any = tidelog.open(text=shape.text, spark=spark, placement=placement)
    if placement != "driver":
        db._state.checkpoints.small = 0  # however little there is, Spark computes it
    seen = play(shape, db, moments, lambda rows: frame(spark, rows))
    for number, (found, due) in enumerate(zip(seen, wanted(shape, moments), strict=True)):
        if found != due:
            sys.exit(f"{name}, seed {seed}, commit {number + 1}: found {found}, expected {due}")
        if placement != "driver" and shape.how not in str(db.stats) and shape.how not in str(db.explain()):
            sys.exit(f"{name}: the recursion was not evaluated as expected ({shape.how}):\n{db.stats}")


def frame(spark: SparkSession, rows: list[Any]) -> Any:
    return spark.createDataFrame(rows, "x long, y long" if len(rows[0]) == 2 else "x long")


def runs(spark: SparkSession) -> None:
    """Two runs of a pipeline, in the driver and in tasks."""
    for placement in ("driver", "tasks"):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder), spec=f'placement = "{placement}"\n{SPEC}{MERGED_FAN}')
            for edges, blocked in (({(1, 2), (2, 3)}, {9}), ({(1, 2), (2, 4), (4, 5)}, {5})):
                place.write(edges, blocked)
                expect(pipeline.run(place.spec, spark=spark).is_new, True)
                results(place, spark, expected(edges, blocked))
                fans = pipeline.read(place.folder / "out" / "Fan").to_pylist()
                expect({tuple(row.values()) for row in fans}, expected(edges, blocked, relation="Fan"))


def results(place: Place, spark: SparkSession, due: Rows) -> None:
    expect(place.output(spark), due)
    expect(place.added_up(spark), due)


def streams(spark: SparkSession) -> None:
    """Two rounds over the files of a stream, each of which takes what is there."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), STREAM)
        place.write((), ())
        (place.folder / "edges").mkdir()
        for name, lines, edges in (
            ("a", "+,1,2\n+,2,3\n", {(1, 2), (2, 3)}),
            ("b", "-,2,3\n+,2,4\n+,4,5\n", {(1, 2), (2, 4), (4, 5)}),
        ):
            (place.folder / "edges" / f"{name}.csv").write_text(f"sign,src,dst\n{lines}")
            pipeline.stream(place.spec, spark=spark, once=True)
            results(place, spark, expected(edges, set()))


@contextmanager
def connect_server(folder: Path) -> Iterator[SparkSession]:
    """A client's session with a Connect server on this machine."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    conf = {
        **BRIEF,
        "spark.master": "local[2]",
        "spark.driver.bindAddress": HOST,
        "spark.driver.host": HOST,
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.local.dir": str(folder),
    }
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    java = [str(find_java().executable), "-cp", class_path(), "-Xmx1g", *MODULE_OPTIONS]
    command = [*java, "org.apache.spark.deploy.SparkSubmit", *settings, "--class", CONNECT, "spark-internal"]
    env = {**os.environ, "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for_server(port, server, folder / "server.log")
        yield SparkSession.builder.remote(f"sc://{HOST}:{port}").getOrCreate()
    finally:
        server.terminate()
        server.wait()


def wait_for_server(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        if time.monotonic() > end or server.poll() is not None:
            sys.exit(f"the Connect server did not start:\n{log.read_text()[-3000:]}")
        time.sleep(0.2)


def over_connect() -> None:
    """The same histories from a client of Spark Connect."""
    with tempfile.TemporaryDirectory() as folder, connect_server(Path(folder)) as spark:
        sessions(spark, over_connect=True)
        spark.stop()


def in_process() -> None:
    spark = local_session(conf=BRIEF)
    print(f"Spark {spark.version}, Java from {find_java().origin}", file=sys.stderr)
    sessions(spark)
    runs(spark)
    streams(spark)
    spark.stop()


if __name__ == "__main__":
    {"in process": in_process, "over Connect": over_connect}[sys.argv[1]]()
    print("ok")
