"""`profile`: where the time of a run goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tidelog.cli.asking import evaluated, over_facts
from tidelog.cli.inputs import PROGRAM

__all__ = ["profile"]


@click.command()
@click.argument("file", type=PROGRAM)
@click.option("--json", "form", flag_value="json", help="Print the profile as JSON.")
@click.option("--html", "form", flag_value="html", help="Print a page with a picture.")
@click.option("--svg", "form", flag_value="svg", help="Print a picture: strata and rules, by their times.")
@over_facts
def profile(file: Path, form: str | None, **options: Any) -> None:
    """Show where the time of a run goes, and which rule to look at.

    The program is evaluated over the facts from nothing. For each stratum and rule, the profile has the time,
    the rounds, the instances that were found and the rows that were added; for the slowest rules, the join
    order with estimated and measured fan-outs.
    """
    found = evaluated(file, **options).profile()
    shown: dict[str, Callable[[], str]] = {
        "json": found.to_json,
        "html": found.to_html,
        "svg": found.to_svg,
    }
    click.echo(str(found) if form is None else shown[form]())
