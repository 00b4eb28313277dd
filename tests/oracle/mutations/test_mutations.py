"""A test of the tests: each patch beside this file brings a defect back, and the net for it catches it.

The sources are copied, patched and tried in a process of their own. In the small size it is only checked that
the patches still fit; one that does not has to be written again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from sizes import size
from tally import tally

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
PROGRAMS: Final = 200


@dataclass(frozen=True)
class Mutation:
    """A patch, and the arguments of Python for the net that has to fail."""

    patch: str
    net: tuple[str, ...]


_ORACLE: Final = ("-m", "oracle.language.campaign", "--stop")
_PYTEST: Final = ("-m", "pytest", "-p", "no:cacheprovider", "-x")

MUTATIONS: Final = (
    Mutation("equations", _ORACLE),
    Mutation("decimals", _ORACLE),
    Mutation("counts", (*_PYTEST, "tests/engine/local/kernels/test_wide_numbers.py")),
    Mutation("groups", (*_PYTEST, "tests/engine/local/test_increments.py")),
    Mutation(
        "opening", (*_PYTEST, "tests/cli/test_run.py", "tests/session/test_opening.py", "-k", "one_commit")
    ),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.patch)
def test_a_defect_that_comes_back_is_caught(mutation: Mutation, tmp_path: Path) -> None:
    sources = _patched(mutation, tmp_path)
    if size(0, 1):
        tried = _try(mutation, sources)
        assert tried.returncode == 1, f"the net let {mutation.patch} through:\n{tried.stdout}{tried.stderr}"
        tally("defects brought back")


def _patched(mutation: Mutation, folder: Path) -> Path:
    sources = folder / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    command = ["git", "apply", "-p1", "--recount", str(HERE / f"{mutation.patch}.patch")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"the patch does not fit any more; write it again: {done.stderr}"
    return sources


def _try(mutation: Mutation, sources: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, (sources, ROOT / "tests")))
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "TIDELOG_SEEDS": str(PROGRAMS),
        "TIDELOG_FIRST_SEED": "0",
    }
    command = [sys.executable, *mutation.net]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
