"""The memory of the driver does not depend on the data: 20 million rows with 1 GB each for Java and Python.

In local mode the driver's Java is that of the executors, so this takes a cluster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from sizes import size
from tally import tally

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed"),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="starts a cluster of Linux processes"),
]

ROWS = size(0, int(os.environ.get("TIDELOG_DRIVER_ROWS", "20000000")))
LIMIT = 1 << 30
FILES = 10
PROGRAM = """input relation Sale(item: int, cents: int)
output relation Dear(item: int, cents: int)
Dear(i, c) :- Sale(i, c), c >= 50.
"""
SPEC = """program = "p.dl"
store = "store"
placement = "shuffled"

[sources.Sale]
path = "in"

[outputs.Dear]
path = "out"
mode = "merge"

[changes.Dear]
path = "changes"
"""


def write(folder: Path, file: int, shift: int) -> None:
    """A file with its share of the rows: items from its own range, with another price for each shift."""
    items = np.arange(ROWS // FILES, dtype=np.int64) + file * (ROWS // FILES)
    table = pa.table({"item": items, "cents": (items + shift) % 100})
    parquet.write_table(table, folder / "in" / f"{file}.parquet")


def dear(shift: int) -> int:
    """How many rows of a file cost 50 or more."""
    items = np.arange(ROWS // FILES, dtype=np.int64)
    return int(((items + shift) % 100 >= 50).sum())


@pytest.mark.skipif(not ROWS, reason="takes minutes; nightly")
def test_a_driver_of_1_gb_does(tmp_path: Path) -> None:
    from engine.spark.cluster import Cluster

    for name in ("in", "cluster"):
        (tmp_path / name).mkdir()
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "pipeline.toml").write_text(SPEC)
    for file in range(FILES):
        write(tmp_path, file, 0)
    cluster = Cluster(tmp_path / "cluster")
    try:
        for _ in range(2):
            cluster.add_worker("2g")
        runs(tmp_path, cluster)
    finally:
        cluster.stop()
    tally("rows through a driver of 1 GB", ROWS)


def runs(folder: Path, cluster: Any) -> None:
    """A first load, and a run after one of the files was replaced."""
    conf = {
        "spark.master": cluster.url,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1500m",
        "spark.sql.shuffle.partitions": "16",
    }
    command = [
        sys.executable,
        str(Path(__file__).with_name("driver_probe.py")),
        str(folder),
        json.dumps(conf),
    ]
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    here = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "JAVA_HOME": str(cluster.java_home)}
    with subprocess.Popen(
        command, env={**os.environ, **here}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdin is not None
        first = run(driver)
        assert first["changes"]["Dear"] == [FILES * dear(0), 0]
        assert read(folder) == FILES * dear(0)
        write(folder, 3, 1)
        second = run(driver)
        inserted, deleted = second["changes"]["Dear"]
        assert inserted == dear(1)
        assert deleted == dear(0)
        assert read(folder) == (FILES - 1) * dear(0) + dear(1)
        assert max(first["peak"], second["peak"]) < LIMIT, (first, second)
        driver.stdin.close()


def run(driver: subprocess.Popen[str]) -> Any:
    assert driver.stdin is not None
    assert driver.stdout is not None
    driver.stdin.write("\n")
    driver.stdin.flush()
    line = driver.stdout.readline()
    assert line, "the driver ended"
    print(line)
    return json.loads(line)


def read(folder: Path) -> int:
    """How many rows the sum of all changes has; each of them once."""
    changes = dataset.dataset(sorted(map(str, (folder / "changes").glob("commit=*/*.parquet"))))
    total = changes.to_table(columns=["sign"])["sign"].to_numpy()
    return int(total.astype(np.int64).sum())
