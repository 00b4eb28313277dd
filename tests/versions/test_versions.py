"""The ranges of pyproject.toml hold: the lowest and the newest versions, and every Spark, pass a smoke test.

Each set of versions gets an environment of its own, from PyPI. Only in the nightly size.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sizes import size

ROOT = Path(__file__).parent.parent.parent
SMOKE = Path(__file__).parent / "smoke.py"
CONSTRAINTS = ROOT / "constraints.txt"
SPARKS = ("4.0", "4.1", "4.2", "4.3")

pytestmark = pytest.mark.skipif(size(0, 1) == 0, reason="takes minutes for each environment: nightly only")


def declared() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["spark"]]


def lowest() -> list[str]:
    return [re.sub(r">=([^,]+).*", r"==\1", requirement) for requirement in declared()]


def pinned(but: str) -> list[str]:
    """The direct dependencies as they are pinned, but one."""
    names = {re.split(r"[<>=]", requirement)[0] for requirement in declared()} - {but}
    lines = CONSTRAINTS.read_text().splitlines()
    return [line for line in lines if line.partition("==")[0] in names]


CASES = {
    "lowest": lowest(),
    "newest": declared(),
    **{f"Spark {v}": [*pinned("pyspark"), f"pyspark=={v}.*"] for v in SPARKS},
}


@pytest.mark.parametrize("case", CASES)
def test_a_set_of_versions_works(case: str, tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *CASES[case]], check=True)
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([str(python), str(SMOKE)], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-3000:]
