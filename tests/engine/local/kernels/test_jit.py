"""Compiled kernels on disk are those of the sources beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tidelog.engine.local.kernels import jit as compiled

KERNEL = """
from probe.compiled import njit
from probe.constants import ANSWER

@njit(cache=True, nogil=True)
def answer():
    return ANSWER
"""


def _ask(folder: Path) -> str:
    code = "from probe.kernels import answer; print(answer(), sum(answer.stats.cache_hits.values()))"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def test_a_kernel_is_compiled_again_when_a_file_that_it_takes_a_constant_from_changes(tmp_path: Path) -> None:
    package = tmp_path / "probe"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "kernels.py").write_text(KERNEL)
    shutil.copy(compiled.__file__, package / "compiled.py")
    (package / "constants.py").write_text("ANSWER = 1\n")
    assert _ask(tmp_path) == "1 0"
    assert _ask(tmp_path) == "1 1"  # from the cache
    (package / "constants.py").write_text("ANSWER = 2\n")
    assert _ask(tmp_path) == "2 0"
    assert len(list((package / "__pycache__").glob("kernels-*"))) == 1
