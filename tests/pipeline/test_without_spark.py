"""Without the extra for Spark, a pipeline says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BLOCKED = "import sys; sys.modules['pyspark'] = None; from tidelog.cli import main; main(sys.argv[1:])"


def tidelog(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_run_without_the_extra_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("input relation P(x: int)\n")
    spec = tmp_path / "p.toml"
    spec.write_text('program = "p.dl"\nstore = "store"\n[sources.P]\npath = "P.csv"\n')
    for command in ("run", "stream"):
        done = tidelog("pipeline", command, str(spec))
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "pip install 'tidelog[spark]'" in done.stderr
        assert "Traceback" not in done.stderr
    assert "no commits yet" in tidelog("pipeline", "status", str(spec)).stdout
    assert "no commits yet" in tidelog("pipeline", "why", str(spec), "P(1)").stderr
