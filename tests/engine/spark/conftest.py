"""What the Spark tests share: one session in process, and the one warning of PySpark's that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.spark.cluster import Cluster

HERE = Path(__file__).parent

# PySpark 4.2 says it of every pandas 3, wherever it first needs pandas.
PANDAS_3 = "ignore:PySpark does not yet fully support pandas:FutureWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings(PANDAS_3))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that Tidelog makes, in this process."""
    yield from sparks.session()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    made: Cluster = import_module("engine.spark.cluster").Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for _ in range(2):
            made.add_worker()
        yield made
    finally:
        made.stop()


@pytest.fixture
def checkpoints(spark: SparkSession, tmp_path: Path) -> Path:
    """The folder in which Spark keeps checkpoints, from now on."""
    spark.sparkContext.setCheckpointDir(tmp_path.as_uri())
    return tmp_path


@pytest.fixture
def interpreted(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """Spark without compiled plans, which take longer to make than these take to run."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    own = import_module("tidelog.engine.spark.runtime.sessions").SETTINGS
    for name, value in settings.items():
        spark.conf.set(name, value)
        monkeypatch.setitem(own, name, value)
    yield spark
    for name in settings:
        spark.conf.unset(name)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the driver hold no more than so many rows, in sessions that may move."""
    moving = import_module("tidelog.session.backends.adaptive")

    def set_budget(rows: int) -> None:
        monkeypatch.setitem(moving.AdaptiveBackend.__init__.__kwdefaults__, "budget", rows)

    return set_budget
