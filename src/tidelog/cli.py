"""The command line.

Exit codes: 0 on success; 1 if a program has errors (or `fmt --check` would change it), if facts do not match
their relations, or if a run fails; 2 if the command line is invalid. Diagnostics are written to standard
error, results to standard output.
"""

from __future__ import annotations

import errno
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

import tidelog
from tidelog.bench.commands import commands as bench_commands
from tidelog.errors import Diagnostic, ProgramError, Severity, TidelogError, render, select
from tidelog.maintain.describe import describe_scripts
from tidelog.maintain.strategy import STRATEGIES
from tidelog.pipeline.commands import commands as pipeline_commands
from tidelog.plan.describe import describe_indexes, describe_plan
from tidelog.plan.flatten import flatten
from tidelog.program.describe import describe_program, describe_strata
from tidelog.program.draft import check as check_program
from tidelog.program.draft import load
from tidelog.program.model import Program
from tidelog.program.typed import Relation, Role
from tidelog.program.weighting import without_kinds
from tidelog.progress import Line, end
from tidelog.rdf.commands import commands as rdf_commands
from tidelog.syntax.outline import outline
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

if TYPE_CHECKING:
    from tidelog.session import Session, Transaction

__all__ = ["main"]

_FORMATS = ["csv", "facts", "jsonl", "parquet"]
_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_FUNCTIONS = click.option(
    "--functions",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="Python module with annotated functions that the program can call.",
)


_SEARCH = click.option(
    "-L",
    "--search",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Search FOLDER for modules that the program imports.",
)


_STRATEGY = click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="elastic", help="Evaluation strategy for commits."
)


_STAGES: dict[str, Callable[[Program], str]] = {
    "program": describe_program,
    "strata": describe_strata,
    "plan": lambda program: describe_plan(flatten(without_kinds(program))),
    "indexes": lambda program: describe_indexes(flatten(without_kinds(program))),
}


class _Commands(click.Group):
    """Prints errors for users instead of tracebacks, for every command."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ProgramError as error:
            _show(error.diagnostics)
            sys.exit(1)
        except TidelogError as error:
            _fail(str(error))
        except BrokenPipeError:
            raise  # the reader has closed the pipe; click exits quietly
        except OSError as error:
            _fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        except UnicodeEncodeError as error:
            _fail(f"the output cannot be encoded as {error.encoding}; set PYTHONIOENCODING=utf-8")


def _fail(problem: str) -> NoReturn:
    click.echo(f"{click.style('error', fg='red', bold=True)}: {problem}", err=True)
    sys.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(tidelog.__version__, prog_name="tidelog")
def main() -> None:
    """Tidelog: Datalog whose facts and rules change while it runs."""


main.add_command(rdf_commands)
main.add_command(bench_commands)
main.add_command(pipeline_commands)


@main.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@_FUNCTIONS
@_SEARCH
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def check(files: tuple[Path, ...], modules: tuple[str, ...], search: tuple[Path, ...], strict: bool) -> None:
    """Check programs and report all errors and warnings.

    Use - as FILE to read from standard input.
    """
    functions = _functions(modules)
    found = [d for file in files for d in check_program(*_read(file), functions, search=search)]
    _show(found)
    errors = sum(d.severity is Severity.ERROR for d in found)
    warnings = len(found) - errors
    click.echo(_summary(len(files), errors, warnings), err=bool(found))
    sys.exit(1 if errors or (strict and warnings) else 0)


@main.command()
@click.argument("what", type=click.Choice(["tree", *_STAGES, "script"]))
@click.argument("file", type=_FILE)
@click.option(
    "-F",
    "--facts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="With plan: run the program over the facts in FOLDER, and show estimated and found instances.",
)
@_STRATEGY
@_FUNCTIONS
@_SEARCH
def show(
    what: str,
    file: Path,
    facts: Path | None,
    strategy: str,
    modules: tuple[str, ...],
    search: tuple[Path, ...],
) -> None:
    """Print a program at one of its stages.

    tree: the syntax tree. program: relations, functions and rules with names and types resolved. strata: the
    strata in evaluation order, with recursive ones marked. plan: the join orders of each rule; with facts,
    those at their sizes. indexes: the columns that relations are looked up by. script: the steps of a commit
    under a strategy.
    """
    text, name = _read(file)
    if facts is not None:
        if what != "plan":
            raise click.UsageError(f"--facts applies to show plan, not to show {what}")
        db = tidelog.open(functions=_functions(modules), strategy=strategy, search=search)
        with db.transaction() as tx:
            tx.load(text, name)
            _insert(tx, facts, allow_missing=False, header=True)
        click.echo(db.plan())
        return
    if what == "tree":
        click.echo(outline(parse(text, name)))
        return
    program = load(text, name, _functions(modules), search=search)
    if what == "script":
        click.echo(describe_scripts(flatten(without_kinds(program)), STRATEGIES[strategy]))
    else:
        click.echo(_STAGES[what](program))


@main.command()
@click.argument("file", type=_FILE)
@click.option(
    "-F",
    "--facts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Read facts from FOLDER: one file per input relation, such as Edge.csv.",
)
@click.option(
    "-D",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write one file per output relation to FOLDER.",
)
@click.option("--format", "form", type=click.Choice(_FORMATS), default="csv", help="Output format.")
@click.option("--allow-missing", is_flag=True, help="Treat a relation without a file as empty.")
@click.option("--no-header", is_flag=True, help="CSV files have no header; match columns by position.")
@_STRATEGY
@click.option("--timeout", type=float, metavar="SECONDS", help="Abort after SECONDS.")
@click.option("--max-rows", type=int, metavar="N", help="Abort when a recursion exceeds N rows.")
@click.option("--max-memory", metavar="SIZE", help="Abort when the run exceeds SIZE, such as 500MB or 4GB.")
@click.option(
    "--max-iterations",
    type=int,
    default=100_000,
    show_default=True,
    metavar="N",
    help="Abort when a recursion exceeds N rounds; 0 for no limit.",
)
@click.option("--max-threads", type=int, metavar="N", help="Use at most N threads; by default one per core.")
@click.option("--stats", is_flag=True, help="Print statistics of the run.")
@_FUNCTIONS
@_SEARCH
def run(
    file: Path,
    facts: Path | None,
    output: Path | None,
    form: str,
    allow_missing: bool,
    no_header: bool,
    strategy: str,
    timeout: float | None,
    max_rows: int | None,
    max_memory: str | None,
    max_iterations: int,
    max_threads: int | None,
    stats: bool,
    modules: tuple[str, ...],
    search: tuple[Path, ...],
) -> None:
    """Run a program over a folder of facts and write its output relations.

    The extension of a file selects its format: .csv, .facts, .tsv, .jsonl, .parquet or .arrow; text formats
    may also end in .gz. CSV files start with a header that names the columns, unless --no-header is given;
    .facts and .tsv files have no header. Without an output folder, only the number of rows of each output
    relation is printed. On a terminal, progress is shown during the run.
    """
    text, name = _read(file)
    line = Line(sys.stderr) if _is_watched() else None
    db = tidelog.open(
        functions=_functions(modules),
        strategy=strategy,
        timeout=timeout,
        max_iterations=max_iterations or None,
        max_rows=max_rows,
        max_memory=max_memory,
        max_threads=max_threads,
        progress=line or False,
        search=search,
    )
    with db.transaction() as tx:
        with _loading(name, line):
            tx.load(text, name)
        _expect_facts(tx.relations.values(), facts, allow_missing)
        if facts is not None:
            _insert(tx, facts, allow_missing, header=not no_header)
    _finish(db, output, form)
    if stats:
        click.echo(f"\n{db.stats}")


@contextmanager
def _loading(name: str, line: Line | None) -> Iterator[None]:
    """Show on the terminal, if there is one, that a program is being loaded."""
    if line is not None:
        line(f"loading {name}")
    try:
        yield
    finally:
        end(line)


def _is_watched() -> bool:
    return sys.stderr.isatty()


def _expect_facts(relations: Iterable[Relation], facts: Path | None, allow_missing: bool) -> None:
    inputs = [r.name for r in relations if r.role is Role.INPUT]
    if inputs and facts is None and not allow_missing:
        raise click.UsageError(f"missing facts for {', '.join(inputs)}; give their folder with -F FOLDER")


def _insert(tx: Transaction, folder: Path, allow_missing: bool, *, header: bool) -> None:
    for other in tx.insert_folder(folder, allow_missing=allow_missing, header=header):
        _warn(f"{other} matches no input relation")


def _finish(db: Session, output: Path | None, form: str) -> None:
    names = [r.name for r in db.program.relations.values() if r.role is Role.OUTPUT]
    if output is None:
        for name in names:
            click.echo(f"{name}: {_rows(len(db[name]))}")
        return
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        written = db.write_folder(output, form)
    for name, path in zip(names, written, strict=True):
        click.echo(f"{path}: {_rows(len(db[name]))}")
    for warning in warned:
        _warn(str(warning.message))


def _rows(number: int) -> str:
    return f"{number:,} row{'s' * (number != 1)}"


def _warn(text: str) -> None:
    click.echo(f"{click.style('warning', fg='yellow', bold=True)}: {text}", err=True)


@main.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option(
    "--check", "only_check", is_flag=True, help="Do not write files; exit with 1 if a file would change."
)
def fmt(files: tuple[Path, ...], only_check: bool) -> None:
    """Format programs in the standard layout, with their comments.

    Files are rewritten in place. Use - as FILE to read from standard input and write to standard output. A
    file with syntax errors is left unchanged.
    """
    failed = changed = False
    for file in files:
        text, name = _read(file)
        try:
            formatted = print_program(parse(text, name))
        except ProgramError as error:
            _show(error.diagnostics)
            failed = True
            continue
        changed |= formatted != text
        if str(file) == "-":
            click.echo(formatted, nl=False)
        elif formatted != text:
            _rewrite(file, formatted, only_check)
    sys.exit(1 if failed or (only_check and changed) else 0)


def _rewrite(file: Path, text: str, only_check: bool) -> None:
    if not only_check:
        file.write_text(text, encoding="utf-8", newline="")
    click.echo(f"{'would change' if only_check else 'changed'} {file}", err=True)


# -- reading and showing


def _read(file: Path) -> tuple[str, str]:
    """A file's text and the name users know it by."""
    try:
        if str(file) == "-":
            return _standard_input().decode(), "<stdin>"
        return file.read_bytes().decode(), str(file)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not UTF-8 text (at byte {error.start})") from None
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return sys.stdin.buffer.read()


def _functions(modules: Iterable[str]) -> list[Callable[..., object]]:
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


def _show(diagnostics: Sequence[Diagnostic]) -> None:
    shown, others = select(diagnostics)
    for diagnostic in shown:
        first, *rest = render(diagnostic).split("\n")
        colour = "red" if diagnostic.severity is Severity.ERROR else "yellow"
        tag = f"{diagnostic.severity.value}[{diagnostic.code}]"
        click.echo(first.replace(tag, click.style(tag, fg=colour, bold=True), 1), err=True)
        for line in rest:
            is_caret = line.rstrip("^").endswith(" ") and line.endswith("^")
            click.echo(click.style(line, fg=colour) if is_caret else line, err=True)
        click.echo(err=True)
    if others:
        click.echo(f"{others}\n", err=True)


def _summary(files: int, errors: int, warnings: int) -> str:
    checked = f"{files} file{'s' * (files != 1)} checked"
    if not errors and not warnings:
        return f"{checked}: no problems found"
    counts = [(errors, "error"), (warnings, "warning")]
    return f"{checked}: " + ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts if n)
