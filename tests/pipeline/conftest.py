"""What the tests of pipelines share: one Spark session in process, and a folder with a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@pytest.fixture
def jobs(spark: SparkSession) -> Callable[[], int]:
    """Counts the jobs that Spark has started."""
    context = spark.sparkContext._jsc.sc()

    def count() -> int:
        context.listenerBus().waitUntilEmpty()
        return int(context.statusStore().jobsList(None).size())

    return count
