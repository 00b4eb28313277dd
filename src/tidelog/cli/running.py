"""`run`: a program over a folder of facts."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

import tidelog
from tidelog.cli.inputs import (
    FACTS_OR_ROWS,
    FILES,
    FORMATS,
    FUNCTIONS,
    PROGRAM,
    SEARCH,
    STRATEGY,
    functions_of,
    insert_facts,
    read_program,
)
from tidelog.cli.messages import counted_rows, is_watched, loading, warn
from tidelog.cli.rows import print_rows
from tidelog.program.declared import Role
from tidelog.progress import Line

if TYPE_CHECKING:
    from tidelog.session import Session

__all__ = ["run"]


@click.command()
@click.argument("file", type=PROGRAM)
@FACTS_OR_ROWS
@FILES
@click.option(
    "-D",
    "--output",
    type=click.Path(file_okay=False, allow_dash=True, path_type=Path),
    metavar="FOLDER",
    help="Write one file per output relation to FOLDER; - prints the rows of one relation.",
)
@click.option("--only", metavar="RELATION", help="With -D -: the relation to print.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="csv", help="Output format.")
@click.option("--allow-missing", is_flag=True, help="Treat a relation without a file as empty.")
@click.option("--no-header", is_flag=True, help="CSV files have no header; match columns by position.")
@STRATEGY
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
@FUNCTIONS
@SEARCH
def run(
    file: Path,
    facts: Path | None,
    files: tuple[str, ...],
    output: Path | None,
    only: str | None,
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
    if only is not None and str(output) != "-":
        raise click.UsageError("--only applies to -D -")
    text, name = read_program(file)
    line = Line(sys.stderr) if is_watched() else None
    db = tidelog.open(
        functions=functions_of(modules),
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
        with loading(name, line):
            tx.load(text, name)
        header = not no_header
        insert_facts(tx, file, facts, files, allow_missing=allow_missing, header=header)
    if str(output) == "-":
        _print(db, only, form)
    else:
        _finish(db, output, form)
    if stats:
        click.echo(f"\n{db.stats}", err=str(output) == "-")


def _print(db: Session, only: str | None, form: str) -> None:
    """Print the rows of an output relation, or of the one that is named."""
    if form == "parquet":
        raise click.UsageError("a terminal or pipe takes csv, facts or jsonl, not parquet")
    names = [r.name for r in db.program.relations.values() if r.role is Role.OUTPUT]
    if only is None and len(names) != 1:
        raise click.UsageError(
            f"the program has {len(names)} output relations; name one with --only RELATION"
        )
    print_rows(db[names[0] if only is None else only], f".{form}")


def _finish(db: Session, output: Path | None, form: str) -> None:
    names = [r.name for r in db.program.relations.values() if r.role is Role.OUTPUT]
    if output is None:
        for name in names:
            click.echo(f"{name}: {counted_rows(len(db[name]))}")
        return
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        written = db.write_folder(output, form)
    for name, path in zip(names, written, strict=True):
        click.echo(f"{path}: {counted_rows(len(db[name]))}")
    for warning in warned:
        warn(str(warning.message))
