"""The ranges of pyproject.toml hold: the lowest and the newest versions, and every Spark, pass a smoke test.

Each set of versions gets an environment of its own, from PyPI (see `environments`). Only in the nightly size.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sizes import size
from versions.environments import installed, kept, run

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests"
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
    **{f"Spark {v}": [*pinned("pyspark"), f"pyspark[connect]=={v}.*"] for v in SPARKS},
}


FIRST = """
import sys, tidelog
db = tidelog.open(text="input relation P(x: int) output relation Q(x: int) Q(x + 1) :- P(x).")
with db.transaction() as tx:
    tx.insert("P", [(1,), (2,)])
assert set(tx.changes["Q"].inserted) == {(2,), (3,)}
print(sorted({"numba", "llvmlite", "pandas", "pyspark"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The wheel of this platform, built as `pip install .` builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True)
    (built,) = folder.glob("*.whl")
    return str(built)


@pytest.mark.parametrize("case", CASES)
def test_a_set_of_versions_works(case: str, wheel: str) -> None:
    with kept(wheel, CASES[case]) as python:
        done = run(python, str(SMOKE))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-3000:]


@pytest.mark.parametrize("how", ["in process", "over Connect"])
@pytest.mark.parametrize("version", SPARKS)
def test_sessions_pipelines_and_streams_work_with_every_spark(version: str, how: str, wheel: str) -> None:
    with kept(wheel, CASES[f"Spark {version}"]) as python:
        done = run(python, "-m", "versions.spark_smoke", how, modules=TESTS)
    assert (done.returncode, done.stdout) == (0, "ok\n"), (done.stdout + done.stderr)[-3000:]


def test_every_minor_version_of_spark_is_tried() -> None:
    """Those that PyPI has: a new one belongs into `SPARKS`, and one that is gone into docs/spark.md."""
    command = [sys.executable, "-m", "pip", "index", "versions", "pyspark"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert set(SPARKS) == set(re.findall(r"\b4\.\d+(?=\.\d)", listed))


def test_a_wheel_needs_no_compiler_and_nothing_but_its_dependencies(wheel: str, tmp_path: Path) -> None:
    assert Path(wheel).name.split("-")[2:4] == ["py3", "none"]
    done = run(installed(tmp_path, wheel), "-c", FIRST)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
