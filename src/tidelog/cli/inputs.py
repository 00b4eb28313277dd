"""What commands have in common: their options, and how programs, functions and facts are read."""

from __future__ import annotations

import errno
import importlib
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidelog.cli.messages import warn
from tidelog.errors import SessionError
from tidelog.maintain.strategy import STRATEGIES
from tidelog.program.declared import Relation, Role

if TYPE_CHECKING:
    from tidelog.session import Transaction


class _FolderOrDash(click.Path):
    """A folder, or `-`, which click only allows for files."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return Path("-") if str(value) == "-" else super().convert(value, param, ctx)


FORMATS = ["csv", "facts", "jsonl", "parquet"]
PROGRAM = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
FACTS = click.option(
    "-F",
    "--facts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Read facts from FOLDER: one file per input relation, such as Edge.csv.",
)
FACTS_OR_ROWS = click.option(
    "-F",
    "--facts",
    type=_FolderOrDash(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Read facts from FOLDER: one file per input relation, such as Edge.csv; - is standard input.",
)
FILES = click.option(
    "-i",
    "--input",
    "files",
    multiple=True,
    metavar="RELATION=FILE",
    help="Read facts of RELATION from FILE; - is CSV from standard input.",
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


def pair(text: str, what: str) -> tuple[str, str]:
    """The two parts of an option such as NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"`{text}` is not {what}")
    return name, value


def insert_facts(
    tx: Transaction,
    program: Path,
    folder: Path | None,
    files: Iterable[str],
    *,
    allow_missing: bool,
    header: bool,
) -> None:
    """Assert the facts of the options for folders and files; `-` is standard input."""
    single = dict(pair(file, "--input RELATION=FILE") for file in files)
    inputs = [r for r in tx.relations.values() if r.role is Role.INPUT and r.name not in single]
    if str(folder) == "-":
        if len(inputs) != 1:
            names = ", ".join(r.name for r in inputs) or "none"
            raise click.UsageError(
                f"-F - is for programs with one input relation, and this one has {names}; "
                "write -i RELATION=- instead"
            )
        single[inputs[0].name], folder, inputs = "-", None, []
    if list(single.values()).count("-") + (str(program) == "-") > 1:
        raise click.UsageError("standard input can be the program or the facts of one relation, not both")
    for relation, path in single.items():
        _insert_file(tx, relation, path, header=header)
    expect_facts(inputs, folder, allow_missing)
    if folder is not None:
        insert_folder(tx, folder, allow_missing or bool(single), header=header)


def _insert_file(tx: Transaction, relation: str, path: str, *, header: bool) -> None:
    from tidelog.formats.files import read_facts  # imports the libraries of all formats

    declared = tx.relations.get(relation)
    if declared is None:
        raise SessionError(f"the program has no relation `{relation}`, which --input names")
    if path != "-":
        tx.insert(relation, read_facts(declared, path, header=header))
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"
        copy.write_bytes(standard_input())
        tx.insert(relation, read_facts(declared, copy, header=header))


def expect_facts(relations: Iterable[Relation], facts: Path | None, allow_missing: bool) -> None:
    inputs = [r.name for r in relations if r.role is Role.INPUT]
    if inputs and facts is None and not allow_missing:
        raise click.UsageError(f"missing facts for {', '.join(inputs)}; give their folder with -F FOLDER")


def insert_folder(tx: Transaction, folder: Path, allow_missing: bool, *, header: bool) -> None:
    for other in tx.insert_folder(folder, allow_missing=allow_missing, header=header):
        warn(f"{other} matches no input relation")
