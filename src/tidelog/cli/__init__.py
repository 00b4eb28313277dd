"""The command line.

Exit codes: 0 on success; 1 if a program has errors (or `fmt --check` would change it), if facts do not match
their relations, or if a run fails; 2 if the command line is invalid. Diagnostics are written to standard
error, results to standard output.

A command is imported when it is called: each needs only a part of the package.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

import tidelog
from tidelog.cli.messages import fail, show_problems
from tidelog.errors import ProgramError, TidelogError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["main"]

# the module and the name of each command, and its line in the list of commands
_COMMANDS: Final = {
    "bench": ("tidelog.bench.commands", "commands", "Measure and compare the times of reasoners."),
    "check": ("tidelog.cli.programs", "check", "Check programs and report all errors and warnings."),
    "completion": (
        "tidelog.cli.completion",
        "completion",
        "Print a script that completes commands in a shell.",
    ),
    "fmt": ("tidelog.cli.programs", "fmt", "Format programs in the standard layout, with their comments."),
    "lsp": ("tidelog.cli.lsp", "lsp", "Run the language server for editors, on standard input and output."),
    "pipeline": (
        "tidelog.pipeline.commands",
        "commands",
        "Data pipelines on Spark: evaluate a program over tables, incrementally.",
    ),
    "profile": (
        "tidelog.cli.profiling",
        "profile",
        "Show where the time of a run goes, and which rule to look at.",
    ),
    "query": ("tidelog.cli.asking", "query", "Answer a query over the results of a program."),
    "rdf": (
        "tidelog.rdf.commands",
        "commands",
        "Work with RDF graphs: infer triples by RDFS or OWL 2 RL, and query them by SPARQL.",
    ),
    "repl": (
        "tidelog.cli.repl.command",
        "repl",
        "Change facts and rules interactively, and see what each change does.",
    ),
    "run": (
        "tidelog.cli.running",
        "run",
        "Run a program over a folder of facts and write its output relations.",
    ),
    "show": ("tidelog.cli.programs", "show", "Print a program at one of its stages."),
    "watch": (
        "tidelog.cli.watch.command",
        "watch",
        "Keep outputs current while the program and its facts are edited.",
    ),
    "why": (
        "tidelog.cli.asking",
        "why",
        "Explain why a row is there: by which rules, from which facts.",
    ),
    "why-not": (
        "tidelog.cli.asking",
        "why_not",
        "Explain why a row is not there: what fails in each rule, and what would help.",
    ),
}


class _Commands(click.Group):
    """Imports commands on demand, and prints errors for users instead of tracebacks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        for inner in command.commands.values() if isinstance(command, click.Group) else ():
            inner.short_help = inner.short_help or _first_sentence(inner.help or "")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            close = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"the commands are {', '.join(_COMMANDS)}"
            ctx.fail(f"unknown command `{args[0]}`; {hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands and options, without importing the commands."""
        from click.shell_completion import CompletionItem  # is needed for nothing else

        found = [
            CompletionItem(n, help=text) for n, (*_, text) in _COMMANDS.items() if n.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ProgramError as error:
            show_problems(error.diagnostics)
            sys.exit(1)
        except TidelogError as error:
            fail(str(error))
        except BrokenPipeError:
            raise  # the reader has closed the pipe; click exits quietly
        except OSError as error:
            fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        except UnicodeEncodeError as error:
            fail(f"the output cannot be encoded as {error.encoding}; set PYTHONIOENCODING=utf-8")


def _first_sentence(text: str) -> str:
    """The first sentence of a help text, which click would cut off."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".") + "." * bool(paragraph)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(tidelog.__version__, prog_name="tidelog")
def main() -> None:
    """Tidelog: Datalog whose facts and rules change while it runs."""
