"""The README's main job, as a newcomer runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[3] / "examples" / "access" / "demo.py"


@pytest.mark.spark
def test_the_demo_tells_what_changed_and_leaves_its_results(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DEMO)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "CanReach     102 rows  (102 added, 0 removed)" in done.stdout
    assert "CanReach     105 rows  (19 added, 16 removed)" in done.stdout
    assert "+ Unanswered(omar, finance)  omar is on call for finance and suspended" in done.stdout
    assert "+ CanReach(imani, firewall)  imani is in network, which may use firewall" in done.stdout
    assert list((tmp_path / "out" / "access" / "results" / "CanReach" / "current").glob("*.parquet"))
