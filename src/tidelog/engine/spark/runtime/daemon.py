"""The process from which Spark forks its Python workers, with everything imported that their tasks need.

A worker that starts otherwise imports NumPy, PyArrow, pandas and Tidelog first, and loads the kernels, which
takes longer than most tasks. Nothing here starts a thread, so that forking is safe.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Final

from pyspark.daemon import manager

from tidelog.engine.local.storage.table import Table

__all__ = ["warm_up"]

_NEEDED: Final = (
    "pandas",  # PyArrow imports it to convert values of Python
    "pyarrow.compute",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "tidelog.engine.spark.partitions.worker",
)


def warm_up() -> None:
    """Import what tasks need, and load the kernels."""
    for name in _NEEDED:
        with suppress(ImportError):
            import_module(name)
    Table(1).index((0,))


if __name__ == "__main__":
    warm_up()
    manager()
