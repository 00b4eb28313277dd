"""`tidelog rdf`: commands for RDF graphs.

Exit codes are those of the other commands. Results go to standard output, warnings to standard error.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidelog import rdf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.rdf import LeftOut

__all__ = ["commands"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_BASE = click.option("--base", metavar="IRI", help="Base IRI for relative IRIs in Turtle.")
_SAME_AS = click.option(
    "--same-as",
    is_flag=True,
    help="Also infer what follows from equality: owl:sameAs, functional and inverse functional properties.",
)
_VERBOSE = click.option("-v", "--verbose", is_flag=True, help="List the statements that have no rules.")


@click.group("rdf")
def commands() -> None:
    """Work with RDF graphs: infer triples by RDFS or OWL 2 RL, and query them by SPARQL."""


@commands.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option(
    "--ontology", multiple=True, type=_FILE, metavar="FILE", help="The ontology of the data: more triples."
)
@click.option(
    "--profile",
    type=click.Choice(["rdfs", "owlrl"]),
    default="rdfs",
    show_default=True,
    help="The rules of inference.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the triples to FILE, as N-Triples (.nt or .nt.gz).",
)
@click.option("--only-inferred", is_flag=True, help="Write only the inferred triples.")
@_SAME_AS
@_BASE
@_VERBOSE
def infer(
    files: tuple[Path, ...],
    ontology: tuple[Path, ...],
    profile: str,
    output: Path | None,
    only_inferred: bool,
    same_as: bool,
    base: str | None,
    verbose: bool,
) -> None:
    """Infer the triples that follow from a graph.

    Files are N-Triples (.nt), Turtle (.ttl), RDF/XML (.rdf, .owl), JSON-LD (.jsonld), N-Quads (.nq) or TriG
    (.trig), optionally with .gz; together they form one graph. rdfs covers subclasses, subproperties,
    domains and ranges; owlrl translates the OWL statements of the graph to rules.
    """
    if output is not None and output.suffixes[-2:] != [".nt", ".gz"] and output.suffix != ".nt":
        raise click.UsageError(f"{output}: triples are written as N-Triples; name the file .nt or .nt.gz")
    graph = _graph((*ontology, *files), base)
    click.echo(f"{_counted(len(graph), 'triple')} read")
    found = rdf.infer(graph, profile, same_as=same_as)
    _tell_left_out(found.left_out, verbose)
    _tell_passed_over(found.passed_over)
    if found.about_literals:
        number = _counted(found.about_literals, "more triple")
        _note(f"{number} left out: RDF does not allow a literal as subject")
    click.echo(f"{_counted(len(found.triples), 'triple')} inferred by {_counted(found.rules, 'rule')}")
    if output is not None:
        result = found.triples if only_inferred else found.together()
        rdf.write(result, output)
        click.echo(f"{output}: {_counted(len(result), 'triple')}")


@commands.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option(
    "--profile",
    type=click.Choice(["rdfs", "owlrl"]),
    default="owlrl",
    show_default=True,
    help="The statements to translate.",
)
@_BASE
@_VERBOSE
def rules(files: tuple[Path, ...], profile: str, base: str | None, verbose: bool) -> None:
    """Translate an ontology to a program, with one relation for each class and property, and print it."""
    ontology = _graph(files, base)
    made = rdf.owl_rules(ontology) if profile == "owlrl" else rdf.rdfs_rules(ontology)
    _tell_left_out(made.left_out, verbose)
    _tell_passed_over(made.passed_over)
    click.echo(made.text, nl=False)


@commands.command()
@click.argument("text", metavar="QUERY")
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option(
    "--profile",
    type=click.Choice(["none", "rdfs", "owlrl"]),
    default="none",
    show_default=True,
    help="Query the graph together with what follows from it by these rules.",
)
@click.option("--csv", "form", flag_value="csv", help="Print CSV, with whole terms.")
@click.option("--json", "form", flag_value="json", help="Print the JSON format of SPARQL results.")
@_SAME_AS
@_BASE
def query(
    text: str, files: tuple[Path, ...], profile: str, form: str | None, same_as: bool, base: str | None
) -> None:
    """Answer a SPARQL query over a graph: SELECT or ASK.

    QUERY is the text of a query, or @FILE. Together the other files form one graph. Terms are shown by the
    prefixes of the query.
    """
    from tidelog.rdf.results import csv_text, json_text, table_text  # loads an engine

    if text.startswith("@"):
        text = Path(text[1:]).read_text(encoding="utf-8")
    made = rdf.sparql_rules(text)  # a mistake is reported before anything is read
    graph = _graph(files, base)
    if profile != "none":
        graph = rdf.infer(graph, profile, same_as=same_as).together()
    elif same_as:
        graph = rdf.with_equality(graph)
    answer = rdf.query(graph, made)
    match form:
        case "csv":
            shown = csv_text(answer)
        case "json":
            shown = json_text(answer)
        case _:
            shown = table_text(answer, text)
    click.echo(shown, nl=False)


def _graph(files: Sequence[Path], base: str | None) -> Any:
    """The graph of files; what is lost is shown as a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = rdf.read(*files, base=base)
    for warning in caught:
        _note(str(warning.message))
    return graph


@commands.command()
@click.argument("count", type=click.IntRange(min=1))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the triples to FILE (.nt or .nt.gz).",
)
@click.option("--seed", default=0, help="Seed of the random generator.")
def universities(count: int, output: Path, seed: int) -> None:
    """Generate COUNT universities after the Lehigh benchmark, with its ontology, as test data."""
    graph = rdf.union([rdf.university_ontology(), rdf.universities(count, seed)])
    rdf.write(graph, output)
    click.echo(f"{output}: {_counted(len(graph), 'triple')}")


def _tell_left_out(left_out: Sequence[LeftOut], verbose: bool) -> None:
    if not left_out:
        return
    more = "" if verbose else "; --verbose lists them"
    has = "has" if len(left_out) == 1 else "have"
    _note(f"{_counted(len(left_out), 'statement')} of the ontology {has} no rules{more}")
    for statement in left_out if verbose else ():
        click.echo(f"  {statement}", err=True)


def _tell_passed_over(words: Mapping[str, int]) -> None:
    if words:
        listed = ", ".join(f"{word} ({_counted(number, 'time')})" for word, number in words.items())
        _note(f"unknown OWL terms ignored: {listed}; check the spelling")


def _note(text: str) -> None:
    click.echo(f"{click.style('warning', fg='yellow', bold=True)}: {text}", err=True)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
