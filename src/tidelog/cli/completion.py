"""`completion`: scripts for shells."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

__all__ = ["completion"]

_SHELLS: Final = ("bash", "fish", "zsh")
_VARIABLE: Final = "_TIDELOG_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands in a shell.

    Evaluate it when the shell starts:

    \b
    bash  eval "$(tidelog completion bash)"  in ~/.bashrc
    zsh   eval "$(tidelog completion zsh)"   in ~/.zshrc, after compinit
    fish  tidelog completion fish | source   in ~/.config/fish/config.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    # bash's own method would also start bash, to see how old it is
    click.echo(ShellComplete.source(made(ctx.find_root().command, {}, "tidelog", _VARIABLE)))
