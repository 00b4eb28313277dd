"""The command line in odd surroundings: closed streams, full disks, modules that exit, marks of editors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidelog.cli import main

GOOD = "output relation P(x: int)\nP(1).\n"
TIDELOG = [sys.executable, "-c", "from tidelog.cli import main; main()"]


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ("- <&-", "- cannot be read: standard input is closed"),
        ("- <program.dl >/dev/full", "error: No space left on device"),
    ],
    ids=["closed input", "full output"],
)
def test_what_is_wrong_with_a_stream_is_said_without_a_traceback(
    tmp_path: Path, streams: str, said: str
) -> None:
    (tmp_path / "program.dl").write_text(GOOD)
    command = " ".join(f"'{part}'" for part in TIDELOG)
    shell = ["sh", "-c", f"{command} check {streams}"]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_that_exits_is_told_as_one_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_that_exits.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "program.dl").write_text(GOOD)
    monkeypatch.syspath_prepend(tmp_path)
    args = ["check", str(tmp_path / "program.dl"), "--functions", "module_that_exits"]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 1
    assert "the module module_that_exits cannot be imported" in result.stderr


def test_a_byte_order_mark_is_no_mistake() -> None:
    content = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    assert CliRunner().invoke(main, ["check", "-"], input=content).exit_code == 0
    assert CliRunner().invoke(main, ["fmt", "-"], input=content).stdout == GOOD


def test_a_comment_ends_at_a_lone_carriage_return() -> None:
    result = CliRunner().invoke(main, ["check", "-"], input=b"output relation P(x: int)\r// one\rP(y).\r")
    assert "<stdin>:3:3: error[E301]" in result.stderr
