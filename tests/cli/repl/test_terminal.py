"""The REPL in a real terminal. What is shown is looked for in the order in which it appears."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from prompt_toolkit.history import InMemoryHistory

from tidelog.cli.repl.terminal import HISTORY, history

PATIENCE = 120  # seconds; the machine may be busy
PROGRAM = "input relation Edge(src: string, dst: string)\noutput relation Reach(src: string, dst: string)\n"
CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    def __init__(self, folder: Path, *args: str) -> None:
        environment = {
            **os.environ,
            "TIDELOG_HISTORY": str(folder / "state" / "history"),
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",  # this terminal does not say where its cursor is
        }
        command = ["-m", "tidelog", "repl", *args]
        self.child = pexpect.spawn(
            sys.executable,
            command,
            cwd=folder,
            env=environment,
            timeout=PATIENCE,
            encoding="utf-8",
            dimensions=(40, 200),
        )
        self.child.expect_exact("tidelog>")

    def type(self, text: str, shown: str, prompt: str = "tidelog>") -> None:
        """Type a line, and wait for a text and the next prompt."""
        self.child.send(f"{text}\r")
        self.child.expect_exact(shown)
        self.child.expect_exact(prompt)

    def press(self, keys: str, shown: str) -> None:
        self.child.send(keys)
        self.child.expect_exact(shown)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "program.dl").write_text(PROGRAM)
    opened = Terminal(tmp_path, "program.dl")
    yield opened
    opened.child.close(force=True)


def test_a_session_as_a_person_types_it(terminal: Terminal) -> None:
    terminal.press("Reach(x, y) :- Edge(x,\r", "...")
    terminal.type("y).", "rule 1: Reach(x, y) :- Edge(x, y).")
    terminal.press("+Ed\t", "ge")
    terminal.type('("a", "b").', '+ Reach("a", "b")')
    terminal.type("?- Reach(x, 1).", "error[E201]")
    terminal.type("begin", "", prompt="tidelog*>")
    terminal.type('-Edge("a", "b").', "", prompt="tidelog*>")
    terminal.type("commit", '- Reach("a", "b")')
    terminal.press("+Edge(no", "no")
    terminal.press(CTRL_C, "tidelog>")
    terminal.type("?- Edge(x, y).", "no answers")
    terminal.press(CTRL_D, "\r\n")
    terminal.child.expect(pexpect.EOF)
    terminal.child.close()
    assert terminal.child.exitstatus == 0


def test_an_interrupt_ends_the_running_commit_only(terminal: Terminal) -> None:
    terminal.type("input relation N(x: int)", "relation N declared")
    terminal.type("N(x) :- var x in range(0, 5000).", "N(0)")
    terminal.type("output relation Q(x: int)", "relation Q declared")
    terminal.child.send("Q(x) :- N(x), N(y), N(z), x + y + z < 0.\r")
    terminal.child.expect_exact("Q (")  # the progress of the commit
    os.kill(terminal.child.pid, signal.SIGINT)
    terminal.child.expect_exact("interrupted")
    terminal.child.expect_exact("tidelog>")
    terminal.type("?- Q(x).", "no answers")
    terminal.type(":rules Q", "no rules")


def test_what_was_typed_before_is_there(tmp_path: Path) -> None:
    history = tmp_path / "state" / "history"
    history.parent.mkdir()
    history.write_text("\n# yesterday\n+input relation Remembered(x: int)\n")
    terminal = Terminal(tmp_path)
    terminal.press("\x1b[A", "Remembered")
    terminal.press("\r", "relation Remembered declared")
    terminal.press("begin\r", "tidelog*>")
    terminal.press(CTRL_D, "the open transaction is rolled back")
    terminal.child.expect(pexpect.EOF)
    assert history.read_text().endswith("+begin\n")


def test_a_history_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HISTORY, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    history().store_string("+A(1).")
    (file,) = (tmp_path / "state" / "tidelog").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert list(history().load_history_strings()) == ["+A(1)."]


def test_a_history_that_cannot_be_kept_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("a file, no folder")
    monkeypatch.setenv(HISTORY, str(tmp_path / "state" / "history"))
    assert list(history().load_history_strings()) == []
    assert "the history is not kept" in capsys.readouterr().err
    monkeypatch.setenv(HISTORY, str(tmp_path / "history"))
    kept = history()
    (tmp_path / "history").unlink()
    (tmp_path / "history").mkdir()
    kept.store_string("+A(1).")
    assert list(kept.load_history_strings()) == []
    monkeypatch.setenv(HISTORY, "")
    assert isinstance(history(), InMemoryHistory)
