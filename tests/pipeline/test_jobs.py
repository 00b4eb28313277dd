"""Pipelines in the jobs of others: started by spark-submit, and over Spark Connect without any rights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.places import Place
from sizes import size

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed"),
    pytest.mark.skipif(not size(0, 1), reason="a Java for each of them: in the nightly size"),
]

if find_spec("pyspark") is not None:
    from engine.spark.test_connect import server as server  # a fixture

JOB = """
import sys
from pyspark.sql import SparkSession
from tidelog import pipeline

spark = SparkSession.builder.getOrCreate()
before = dict(spark.conf.getAll)
for _ in range(2):
    print(pipeline.run(sys.argv[1], spark=spark).is_new)
print(spark.sparkContext.master, dict(spark.conf.getAll) == before)
"""


def test_a_script_of_spark_submit_runs_a_pipeline(tmp_path: Path) -> None:
    from engine.spark.cluster import java_home_in
    from tidelog.engine.spark.runtime.class_archive import spark_home

    place = Place(tmp_path)
    place.write({(1, 2)}, {9})
    (tmp_path / "job.py").write_text(JOB)
    env = {**os.environ, "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
    env["JAVA_HOME"] = str(java_home_in(tmp_path / "java"))
    private = ["spark.ui.enabled=false", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1"]
    settings = [part for setting in private for part in ("--conf", setting)]
    submit = str(spark_home() / "bin" / "spark-submit")
    done = subprocess.run(
        [submit, "--master", "local[2]", *settings, str(tmp_path / "job.py"), str(place.spec)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout.splitlines()[-3:]  # after what PySpark says about pandas
    assert told == ["True", "False", "local[2] True"], done.stderr


def test_a_pipeline_runs_over_connect_without_setting_anything(server: str, tmp_path: Path) -> None:
    probe = Path(__file__).with_name("jobs_over_connect.py")
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore::FutureWarning", str(probe), server, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    wanted = [[0, True, True], [0, False, True], [1, True, True], [2, True, True]]
    assert (told["driver"], told["tasks"]) == (wanted, wanted)
    assert (
        "streams: batches are processed by this process, which Spark Connect does not allow" in told["stream"]
    )
