"""`tidelog bench`: measurements that anybody can repeat.

What is being measured goes to standard error, the tables to standard output.
"""

from __future__ import annotations

from pathlib import Path

import click

from tidelog import bench
from tidelog.bench.names import REASONERS

__all__ = ["commands"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.group("bench")
def commands() -> None:
    """Measure: how long reasoners take, beside each other."""


@commands.command()
@click.option("--quick", is_flag=True, help="Small sizes: a few minutes.")
@click.option(
    "--only", default="", metavar="TEXT", help="Only what has this in data/program, such as LUBM/rdfs."
)
@click.option(
    "--part",
    type=click.Choice(["all", "shares", "epochs", "cost"]),
    default="all",
    help="Which experiment.",
)
@click.option("--reasoner", "reasoners", multiple=True, type=click.Choice(REASONERS), help="Only these.")
@click.option(
    "--limit", type=click.FloatRange(min=0.1), metavar="SECONDS", help="For one measurement (10 or 25)."
)
@click.option("--graph", "graphs", multiple=True, type=_FILE, help="A CSV file of numbers: src,dst.")
@click.option("--rdf", "triples", multiple=True, type=_FILE, help="N-Triples or Turtle, taken together.")
@click.option("--ontology", "ontologies", multiple=True, type=_FILE, help="What the words of --rdf mean.")
@click.option("--json", "json_file", type=_OUTPUT, metavar="FILE", help="Write the results to this file.")
@click.option(
    "--plot", "plot_file", type=_OUTPUT, metavar="FILE", help="Draw them into this file (.png, .svg)."
)
def papers(
    quick: bool,
    only: str,
    part: str,
    reasoners: tuple[str, ...],
    limit: float | None,
    graphs: tuple[Path, ...],
    triples: tuple[Path, ...],
    ontologies: tuple[Path, ...],
    json_file: Path | None,
    plot_file: Path | None,
) -> None:
    """Repeat the experiments of the papers that Tidelog comes from.

    For each data set and program: how long each reasoner takes to materialise a share of the facts, to add
    the rest and to delete it again, and how much memory it takes; then thirteen commits, small and large,
    always updated, always begun anew, and chosen; then the COST question: from how many tuples on Spark is
    faster than one thread. What passes the limit is left out from there on. The file of --json is written
    after every measurement.
    """
    if bool(triples) != bool(ontologies):
        raise click.UsageError("give --rdf and --ontology together: the data, and what its words mean")
    if plot_file is not None:
        _expect_matplotlib()
    work = bench.Experiments(
        limit or (10.0 if quick else 25.0),
        lambda text: click.echo(f"{text} …", err=True),
        lambda found: None if json_file is None else _replace(json_file, found),
    )
    chosen = work.choose(only, quick=quick, graphs=graphs, triples=triples, ontologies=ontologies)
    growing = work.choose_growing(only, quick=quick)
    if not chosen and not growing:
        raise click.UsageError(f"no data/program has {only!r} in its name; LUBM/rdfs and growing graph/tc do")
    if part in ("all", "shares"):
        work.measure_shares(chosen, reasoners or REASONERS)
    if part in ("all", "epochs"):
        work.measure_epochs(chosen)
    if part in ("all", "cost") and not reasoners:
        work.measure_growth(growing)
    click.echo(work.tables())
    if plot_file is not None:
        work.plot(plot_file)


def _replace(file: Path, text: str) -> None:
    """Write a file so that it is there as a whole or as it was."""
    beside = file.with_name(f"{file.name}.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def _expect_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise click.ClickException(
            "plots need matplotlib; install it: pip install 'tidelog[bench]'"
        ) from None
