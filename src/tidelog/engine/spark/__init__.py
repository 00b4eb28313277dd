"""Tidelog on Spark: the only package that knows PySpark.

Importing it without PySpark, PyArrow and pandas is an `EngineError` that says what to install, so every
module inside may import them at its top.
"""

from __future__ import annotations

from importlib.util import find_spec

from tidelog.errors import EngineError

__all__: list[str] = []

_missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
if _missing:
    raise EngineError(
        f"Tidelog on Spark needs {' and '.join(_missing)}, not installed here: pip install 'tidelog[spark]'"
    )
