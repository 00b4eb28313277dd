"""Commands as pages show them: `$ tidelog run reach.dl < in > out`, with what they print.

Commands of Tidelog run in this process, and what stands before a pipe outside of it. In what is shown, `…`
stands for anything, and a measured time, share or size for any other.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
import pytest
from click.testing import CliRunner

from documentation.blocks import ROOT
from tidelog.cli import main

__all__ = ["expect", "expect_valid", "run_console", "run_shell"]

_COMMAND: Final = re.compile(r"^\$ ", re.MULTILINE)
_PROMPT: Final = re.compile(r"^(?:tidelog> |     \.\.\. )", re.MULTILINE)
_BANNER: Final = "Ctrl-D ends"
_MEASURED: Final = re.compile(r"\b\d[\d,.]*(?: (?:µs|ms|s|kB|MB)\b|%)")
_ANY: Final = re.compile(r"…|\x00")
_TARGETS: Final = re.compile(r"^([a-z]+):", re.MULTILINE)
_SETTLING: Final = 4  # looks until a changed file counts


def expect(shown: str, printed: str) -> None:
    """`printed` is what is shown."""
    pattern = ".*".join(re.escape(part.rstrip(" ")) for part in _ANY.split(_plain(shown)))
    assert re.fullmatch(pattern, _plain(printed), re.DOTALL), f"shown:\n{shown}\nprinted:\n{printed}"


def _plain(text: str) -> str:
    """A text without measurements, and without the spaces that line columns up."""
    lines = (re.sub(r"(?<=\S) {2,}", " ", line.rstrip()) for line in text.strip().splitlines())
    return _MEASURED.sub("#", "\n".join(lines))


def _commands(text: str) -> Iterable[tuple[str, str]]:
    """The commands of a block, each with what is shown for it."""
    before, *parts = _COMMAND.split(text)
    assert not before, "a block of commands begins with `$ `"
    for part in parts:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more
        yield command, shown


def expect_valid(text: str) -> None:
    """The commands of a block have arguments and options that exist. None is run."""
    for command, _ in _commands(text):
        name, *arguments = shlex.split(command, comments=True)
        assert name == "tidelog", f"{command}: only commands of Tidelog can be checked"
        _expect_arguments(main, arguments)


def _expect_arguments(command: click.Command, arguments: Sequence[str]) -> None:
    names = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    if isinstance(command, click.Group):
        inner = command.get_command(click.Context(command), arguments[0])
        assert inner is not None, f"unknown command `{arguments[0]}`"
        _expect_arguments(inner, arguments[1:])
        return
    for option in (a for a in arguments if a.startswith("-") and len(a) > 1):
        assert option in names, f"unknown option {option} of `{command.name}`"


def run_console(text: str, during_watch: list[Callable[[], object]]) -> None:
    """Run the commands of a block. Those in `during_watch` are called one by one while `watch` waits."""
    for command, shown in _commands(text):
        is_typed = _PROMPT.search(shown) is not None
        arguments, given, output = _redirected(command)
        typed = "".join(line[9:] for line in shown.splitlines(keepends=True) if _PROMPT.match(line))
        printed = _run(arguments, typed.encode() if is_typed else given, during_watch)
        if output is not None:
            Path(output).write_text(printed)
            printed = ""
        lines = [s for s in shown.splitlines() if not (_PROMPT.match(s) or (is_typed and _BANNER in s))]
        expect("\n".join(lines), printed)


def _redirected(command: str) -> tuple[list[str], bytes | None, str | None]:
    """The arguments of a command, its standard input, and the file of its output."""
    *before, last = _pipe(command)
    given = None
    for other in before:
        given = subprocess.run(other, input=given, capture_output=True, check=True).stdout
    output = None
    while len(last) > 2 and last[-2] in ("<", ">"):
        *last, sign, name = last
        if sign == "<":
            given = Path(name).read_bytes()
        else:
            output = name
    return last, given, output


def _pipe(command: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in shlex.split(command):
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _run(arguments: list[str], given: bytes | None, during_watch: list[Callable[[], object]]) -> str:
    name, *rest = arguments
    assert name == "tidelog", f"{name}: only commands of Tidelog can be run here"
    with pytest.MonkeyPatch.context() as patch:
        if rest[0] == "watch":
            patch.setattr("tidelog.cli.watch.command.time.sleep", _Waiting(during_watch))
        result = CliRunner().invoke(main, rest, input=given, prog_name="tidelog")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


class _Waiting:
    """Instead of waiting, does the next thing, and in the end what Ctrl-C does."""

    def __init__(self, things: list[Callable[[], object]]) -> None:
        self.things = [*things]
        self.looks = 0

    def __call__(self, _: float) -> None:
        self.looks += 1
        if self.looks % _SETTLING:
            return
        if not self.things:
            raise KeyboardInterrupt
        self.things.pop(0)()


# -- commands that install or build something


def run_shell(text: str) -> None:
    """The lines of a block are commands whose targets exist. Those of Tidelog are run as in a console."""
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        match words:
            case ["pip", "install", *packages]:
                _expect_packages(packages)
            case ["make", target]:
                assert target in _TARGETS.findall((ROOT / "Makefile").read_text()), line
            case ["python", script, *_] if script.endswith(".py"):
                assert (ROOT / script).exists(), line
            case ["tidelog", *arguments]:
                _expect_arguments(main, arguments)
            case ["pygmentize", *_]:
                code = "import sys; from pygments.cmdline import main; sys.exit(main(sys.argv))"
                subprocess.run([sys.executable, "-c", code, *words[1:]], check=True, capture_output=True)
            case ["cd", folder]:
                assert (ROOT / folder).is_dir(), line
            case _:
                raise AssertionError(f"{line}: nobody knows how to check this command")


def _expect_packages(packages: Sequence[str]) -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for package in packages:
        name, _, extra = package.rstrip("]").partition("[")
        assert name == project["name"], package
        assert not extra or extra in project["optional-dependencies"], package
