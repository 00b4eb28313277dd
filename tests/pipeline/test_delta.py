"""Real Delta tables get merged outputs and appended changes, each once. Nightly: it needs a download."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sizes import size

SCRIPT = Path(__file__).with_name("delta_runs.py")
VERSION = "4.4.0"
JARS = (f"io.delta:delta-spark_4.2_2.13:{VERSION}", f"io.delta:delta-storage:{VERSION}")

pytestmark = pytest.mark.skipif(size(0, 1) == 0, reason="downloads the packages of Delta: nightly only")


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The packages of Delta, from Maven Central."""
    folder = tmp_path_factory.mktemp("delta")
    for artifact in JARS:
        _, name, version = artifact.split(":")
        get = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        subprocess.run(get, check=True, cwd=folder)
        assert (folder / f"{name}-{version}.jar").exists()
    return ",".join(map(str, folder.glob("*.jar")))


def run(script: Path, *arguments: str, folder: Path) -> list[list[Any]]:
    """What a script prints, in a process of its own."""
    paths = [str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, str(script), str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def test_a_pipeline_follows_a_delta_table_that_is_edited_in_any_way(jars: str, tmp_path: Path) -> None:
    *runs, unchanged = run(SCRIPT.with_name("delta_sources.py"), jars, folder=tmp_path)
    assert [what for what, is_right, _ in runs if not is_right] == []
    reports = {str(what): str(report) for what, _, report in runs}
    assert "another table" in reports.pop("recreated")
    assert "change data was not recorded" in reports.pop("feed off")
    assert "does not exist" in reports.pop("vacuumed")
    assert [what for what, report in reports.items() if "in full" in report] == []
    assert unchanged == ["unchanged", True, 0]


def test_delta_tables_have_the_results_once_and_keep_what_is_theirs(jars: str, tmp_path: Path) -> None:
    *days, table = run(SCRIPT, jars, folder=tmp_path)
    expected = [["milk", 1, 0], ["salt", 1, 0], ["tea", 1, 0]]
    for number, (wanted, shown, whole, changes) in enumerate(days):
        assert shown == whole == wanted
        expected += [["rice", 1, 1], ["salt", -1, 1], ["tea", -1, 1], ["tea", 1, 1]] if number else []
        assert changes == sorted(expected)
    properties, partitions, comment, _ = table
    assert properties["made.by"] == "hand"
    assert (partitions, comment) == (["item"], "what")
