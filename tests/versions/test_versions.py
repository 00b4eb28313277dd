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


def _installed(folder: Path, *requirements: str) -> Path:
    """A Python with these requirements and nothing else."""
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def _run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(python.parent)}
    return subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, env=env, cwd=python.parent, check=False
    )


@pytest.mark.parametrize("case", CASES)
def test_a_set_of_versions_works(case: str, wheel: str, tmp_path: Path) -> None:
    done = _run(_installed(tmp_path, wheel, *CASES[case]), str(SMOKE))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-3000:]


def test_a_wheel_needs_no_compiler_and_nothing_but_its_dependencies(wheel: str, tmp_path: Path) -> None:
    assert Path(wheel).name.split("-")[2:4] == ["py3", "none"]
    done = _run(_installed(tmp_path, wheel), "-c", FIRST)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
