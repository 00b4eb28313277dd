"""What commands have in common: their options, and how programs, functions and facts are read."""

from __future__ import annotations

import errno
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidelog.cli.messages import warn
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.typed import Relation, Role

if TYPE_CHECKING:
    from tidelog.session import Transaction

FORMATS = ["csv", "facts", "jsonl", "parquet"]
PROGRAM = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
FACTS = click.option(
    "-F",
    "--facts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Read facts from FOLDER: one file per input relation, such as Edge.csv.",
)
FUNCTIONS = click.option(
    "--functions",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="Python module with annotated functions that the program can call.",
)


SEARCH = click.option(
    "-L",
    "--search",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Search FOLDER for modules that the program imports.",
)


STRATEGY = click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="elastic", help="Evaluation strategy for commits."
)


# -- programs


def read_program(file: Path) -> tuple[str, str]:
    """A file's text and the name users know it by."""
    try:
        if str(file) == "-":
            return standard_input().decode(), "<stdin>"
        return file.read_bytes().decode(), str(file)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not UTF-8 text (at byte {error.start})") from None
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from None


def standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return sys.stdin.buffer.read()


def functions_of(modules: Iterable[str]) -> list[Callable[..., object]]:
    """The annotated public functions that the named modules define."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # find modules in the working directory, as `python -m` does
    found: list[Callable[..., object]] = []
    for name in modules:
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:  # the user's module can raise anything
            raise click.ClickException(f"the module {name} cannot be imported: {error}") from None
        for member, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not member.startswith("_"):
                found.append(function)
    return found


# -- facts


def expect_facts(relations: Iterable[Relation], facts: Path | None, allow_missing: bool) -> None:
    inputs = [r.name for r in relations if r.role is Role.INPUT]
    if inputs and facts is None and not allow_missing:
        raise click.UsageError(f"missing facts for {', '.join(inputs)}; give their folder with -F FOLDER")


def insert_folder(tx: Transaction, folder: Path, allow_missing: bool, *, header: bool) -> None:
    for other in tx.insert_folder(folder, allow_missing=allow_missing, header=header):
        warn(f"{other} matches no input relation")
