"""The command `lsp`: the language server, for editors."""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.inputs import FUNCTIONS, SEARCH, functions_of
from tidelog.cli.messages import fail

__all__ = ["lsp"]


@click.command()
@FUNCTIONS
@SEARCH
def lsp(modules: tuple[str, ...], search: tuple[Path, ...]) -> None:
    """Run the language server for editors, on standard input and output.

    Editors start it themselves. It needs the package pygls: pip install 'tidelog[lsp]'.
    """
    try:
        from tidelog.editors.server.service import server  # needs a package that is not always there
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        fail("the language server needs the package pygls: pip install 'tidelog[lsp]'")
    server(search, functions_of(modules)).start_io()
