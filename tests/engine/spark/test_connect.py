"""Over Spark Connect, with nothing but its public API, sessions are what they are elsewhere."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from sizes import size

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed"),
    pytest.mark.skipif(find_spec("grpc") is None, reason="what PySpark needs for Connect is not installed"),
]

HOST = "127.0.0.1"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.connect.grpc.binding.address": HOST,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a Connect server on this machine."""
    from engine.spark.cluster import free_port, java_home_in, listens, wait_for
    from sparks import BRIEF
    from tidelog.engine.spark.runtime.class_archive import class_path, spark_home
    from tidelog.engine.spark.runtime.gateway import MODULE_OPTIONS

    port = free_port()
    conf = {
        **SETTINGS,
        "spark.connect.grpc.binding.port": str(port),
        "spark.checkpoint.dir": (tmp_path / "checkpoints").as_uri(),
        "spark.sql.warehouse.dir": (tmp_path / "warehouse").as_uri(),
        "spark.local.dir": str(tmp_path),
    }
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    java = [str(java_home_in(tmp_path / "java") / "bin" / "java"), "-cp", class_path(), "-Xmx1g"]
    command = [*java, *shlex.split(BRIEF), *MODULE_OPTIONS, "org.apache.spark.deploy.SparkSubmit", *settings]
    env = {**os.environ, "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--class", SERVER, "spark-internal"], env=env, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_for("the server", lambda: listens(port) or None)
        yield f"sc://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(not size(0, 1), reason="a server and a client for two minutes: in the nightly size")
def test_sessions_over_connect(server: str, tmp_path: Path) -> None:
    probe = Path(__file__).with_name("connect_probe.py")
    places = ("shuffled", "tasks", "driver")[: size(1, 3)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore::FutureWarning", str(probe), server, *places],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    saw = json.loads(done.stdout)
    assert list(saw["told"]) == [*places, "held in files"]
    for told in saw["told"].values():
        assert told == saw["here"]
    assert {"mine", "Tidelog commit 1 · Reach · round 2"} <= set(saw["seen"])
    assert saw["left"] == ["mine"]
    assert set(map(tuple, saw["moments"].values())) == {("2024-07-01T10:00:00+00:00", "2024-07-01 12:00:00")}
    assert saw["changed"] == []
    assert any((tmp_path / "checkpoints").glob("*/rdd-*"))
