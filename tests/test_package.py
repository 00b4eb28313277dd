"""What importing the package costs, and what it offers."""

from __future__ import annotations

import subprocess
import sys

import tidelog


def test_importing_tidelog_imports_no_engine() -> None:
    heavy = "pyspark numba numpy pandas pyarrow prompt_toolkit tidelog.session tidelog.syntax tidelog.program"
    code = f"import sys, tidelog, tidelog.cli; print(sorted({set(heavy.split())} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    for name in tidelog.__all__:
        assert getattr(tidelog, name) is not None
