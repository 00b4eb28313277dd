"""The engine on Spark.

Importing this package without PySpark, PyArrow or pandas raises an `EngineError` that says what to install.
So its modules can import them at the top.
"""

from __future__ import annotations

from importlib.util import find_spec

from tidelog.errors import EngineError

__all__: list[str] = []

_missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
if _missing:
    raise EngineError(
        f"Tidelog on Spark needs packages that are not installed: {' and '.join(_missing)}; "
        "install them with pip install 'tidelog[spark]'"
    )
