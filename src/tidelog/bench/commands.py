"""`tidelog bench`: reproducible measurements.

Progress goes to standard error, the tables to standard output.
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
    """Measure and compare the times of reasoners."""


@commands.command()
@click.option("--quick", is_flag=True, help="Small sizes: a few minutes.")
@click.option(
    "--only", default="", metavar="TEXT", help="Only cases with TEXT in data/program, such as LUBM/rdfs."
)
@click.option(
    "--part",
    type=click.Choice(["all", "shares", "epochs", "cost"]),
    default="all",
    help="The experiment to run.",
)
@click.option(
    "--reasoner", "reasoners", multiple=True, type=click.Choice(REASONERS), help="Only these reasoners."
)
@click.option(
    "--limit",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Time limit of one measurement (3 or 25).",
)
@click.option("--graph", "graphs", multiple=True, type=_FILE, help="A CSV file of numbers: src,dst.")
@click.option(
    "--rdf", "triples", multiple=True, type=_FILE, help="N-Triples or Turtle files, read as one graph."
)
@click.option("--ontology", "ontologies", multiple=True, type=_FILE, help="The ontology of --rdf.")
@click.option("--json", "json_file", type=_OUTPUT, metavar="FILE", help="Write the results to this file.")
@click.option(
    "--plot", "plot_file", type=_OUTPUT, metavar="FILE", help="Plot the results to this file (.png, .svg)."
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
    """Repeat the experiments of the papers that Tidelog is based on.

    For each data set and program, shares measures the time and memory that each reasoner needs to materialise
    a share of the facts, to add the rest and to delete it again. epochs runs thirteen commits, small and
    large: always updated, always bootstrapped, and chosen. cost finds the number of tuples from which Spark
    is faster than one thread. A series stops at its first measurement that exceeds the limit. The file of
    --json is written after every measurement.
    """
    if bool(triples) != bool(ontologies):
        raise click.UsageError("give --rdf and --ontology together: the data and its ontology")
    if plot_file is not None:
        _expect_matplotlib()
    work = bench.Experiments(
        limit or (3.0 if quick else 25.0),
        lambda text: click.echo(f"{text} …", err=True),
        lambda found: None if json_file is None else _replace(json_file, found),
    )
    chosen = work.choose(only, quick=quick, graphs=graphs, triples=triples, ontologies=ontologies)
    growing = work.choose_growing(only, quick=quick)
    if not chosen and not growing:
        raise click.UsageError(f"no data/program contains {only!r}; try LUBM/rdfs or growing graph/tc")
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
    """Replace a file atomically."""
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
