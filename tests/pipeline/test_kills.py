"""A pipeline whose processes are killed, Java included, leaves whole versions, and goes on from there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pipeline.killing import kill_again_and_again
from sizes import size
from tally import tally

pytestmark = pytest.mark.spark

KILLS = size(1, 100)


def test_killed_pipelines_leave_whole_versions_and_go_on(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, KILLS, random.Random(2))
    tally("kills of pipelines", KILLS)


@pytest.mark.skipif(not size(0, 1), reason="processes for minutes: in the nightly size")
def test_so_do_killed_streams(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, KILLS, random.Random(3), "stream")
    tally("kills of streams", KILLS)


@pytest.mark.skipif(not size(0, 1), reason="processes for minutes: in the nightly size")
def test_so_do_killed_pipelines_with_states_in_frames(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, KILLS // 3, random.Random(4), placements=("tasks", "shuffled", "driver"))
    tally("kills of pipelines with states in frames", KILLS // 3)
