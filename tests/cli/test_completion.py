"""Shells complete commands, options and files; help texts are whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tidelog.cli import _COMMANDS, main


def completed(*words: str) -> list[str]:
    """What bash would be offered for the last word."""
    environment = {
        **os.environ,
        "_TIDELOG_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["tidelog", *words]),
        "COMP_CWORD": str(len(words)),
    }
    command = [sys.executable, "-m", "tidelog"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_commands_options_and_files_are_completed() -> None:
    assert completed("re") == ["plain,repl"]
    assert "plain,--facts" in completed("repl", "--f")
    assert "plain,infer" in completed("rdf", "in")
    assert completed("run", "prog") == ["file,prog"]


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_each_shell_has_a_script(shell: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"_TIDELOG_COMPLETE={shell}_complete" in done.stdout
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(done.stdout)
        subprocess.run([shell, "-n", str(script)], check=True)


def test_another_shell_is_refused() -> None:
    done = CliRunner().invoke(main, ["completion", "tcsh"])
    assert done.exit_code == 2


def test_completing_a_command_imports_none() -> None:
    code = (
        "import sys, click; from tidelog.cli import main; ctx = click.Context(main); "
        "print(len(main.shell_complete(ctx, 'r')), 'tidelog.session' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3 False\n"


@pytest.mark.parametrize("name", ["", *_COMMANDS])
def test_no_help_text_is_cut_off(name: str) -> None:
    group = main if not name else main.get_command(click.Context(main), name)
    names = list(group.commands) if isinstance(group, click.Group) and name else []
    for path in [[name] if name else [], *([name, inner] for inner in names)]:
        shown = CliRunner().invoke(main, [*path, "--help"]).stdout
        cut = [line for line in shown.splitlines() if line.endswith("...") and "Usage:" not in line]
        assert cut == []
