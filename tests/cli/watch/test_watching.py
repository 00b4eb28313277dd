"""`tidelog watch` as a person uses it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

from click.testing import CliRunner

from tidelog.cli import main

PROGRAM = "input relation A(x: int)\noutput relation B(x: int)\nB(x + 1) :- A(x).\n"
PATIENCE = 120  # seconds; the machine may be busy


def test_changes_are_printed_until_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "program.dl").write_text(PROGRAM)
    (tmp_path / "facts" / "A.csv").write_text("x\n1\n")
    args = ["watch", "program.dl", "-F", "facts", "-D", "out", "--interval", "0.02"]
    command = [sys.executable, "-u", "-m", "tidelog", *args]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **streams) as process:  # type: ignore[call-overload]
        late = threading.Timer(PATIENCE, process.kill)
        late.start()
        assert process.stdout.readline() == "B: 1 row\n"
        (tmp_path / "facts" / "A.csv").write_text("x\n1\n5\n")
        assert process.stdout.readline() == "B: 1 row added, 0 removed\n"
        assert process.stdout.readline() == "+ B(6)\n"
        (tmp_path / "program.dl").write_text(PROGRAM.replace("A(x).", "C(x)."))
        assert process.stdout.readline() == "program.dl:3:13: error[E101]: unknown relation `C`\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        late.cancel()
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert sorted((tmp_path / "out" / "B.csv").read_text().split()) == ["2", "6", "x"]


def test_a_program_that_does_not_exist_is_a_wrong_command_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["watch", str(tmp_path / "program.dl")])
    assert done.exit_code == 2
    assert "does not exist" in done.stderr
