"""The README's main job, as a newcomer runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = "import sys; sys.modules['pyspark'] = None; from tidelog.cli import main; main(sys.argv[1:])"
DEMO = Path(__file__).parents[3] / "examples" / "access" / "demo.py"


@pytest.mark.spark
def test_the_demo_tells_what_changed_and_leaves_its_results(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DEMO)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "CanReach     102 rows  (102 added, 0 removed)" in done.stdout
    assert "CanReach     105 rows  (19 added, 16 removed)" in done.stdout
    assert '+ Unanswered(omar, finance)  Suspended("omar") is new' in done.stdout
    assert '- CanReach(keiko, ledger)  MemberOf("keiko", "payments") was deleted' in done.stdout
    assert "+ CanReach(imani, firewall)  the rule In(p, t) :- OnCall(p, t). is new" in done.stdout
    explained = tidelog(tmp_path, "why", 'CanReach("chen", "audit-log")')
    assert 'MemberOf("chen", "security")  asserted' in explained
    assert 'Suspended("omar") is there' in tidelog(tmp_path, "why-not", 'CanReach("omar", "mail")')
    assert list((tmp_path / "out" / "access" / "results" / "CanReach" / "current").glob("*.parquet"))


def tidelog(folder: Path, command: str, row: str) -> str:
    """What a command on the demo's pipeline prints, without Spark."""
    words = [sys.executable, "-c", BLOCKED, "pipeline", command, "out/access/access.toml", row]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
