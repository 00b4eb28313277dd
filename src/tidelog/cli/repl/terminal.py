"""The REPL in a terminal: prompts, history, completion, highlighting, and lines that belong together.

Ctrl-C ends what is typed or what runs, never the REPL; Ctrl-D on an empty line ends it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

import tidelog
from tidelog.cli.messages import show_error, show_problem
from tidelog.cli.repl.commands import COMMANDS, execute
from tidelog.cli.repl.completion import is_path, names_of, suggestions
from tidelog.cli.repl.console import Console
from tidelog.cli.repl.highlighting import STYLES, highlighted
from tidelog.cli.repl.showing import NOTE, Line, say_coloured
from tidelog.cli.repl.statements import Reader, statements
from tidelog.errors import ProgramError, TidelogError
from tidelog.session import Session

__all__ = ["HISTORY", "execute_text", "history", "is_complete", "run"]

HISTORY: Final = "TIDELOG_HISTORY"  # the file of the history; an empty text for none
_INPUT: Final = "<input>"
_NO_PREFIXES: Final[Mapping[str, str]] = MappingProxyType({})


def run(db: Session) -> None:
    """Read and execute statements until the end."""
    console = Console(db, say_coloured, execute)
    session = _prompts(console)
    click.echo(f"Tidelog {tidelog.__version__}; :help lists the commands, Ctrl-D ends")
    while not console.is_over:
        try:
            text = session.prompt(_prompt(console), prompt_continuation=_continuation)
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        execute_text(console, text)
    if console.close():
        say_coloured(Line("the open transaction is rolled back", NOTE))


def execute_text(console: Console, text: str) -> None:
    """Execute all statements of a text, up to the first error, which is shown."""
    try:
        for statement in statements(text, _INPUT, prefixes=console.prefixes):
            console.execute(statement)
            if console.is_over:
                return
    except KeyboardInterrupt:
        say_coloured(Line("interrupted", NOTE))
    except TidelogError as error:
        show_error(error)
    except OSError as error:
        show_problem(": ".join(str(part) for part in (error.filename, error.strerror) if part))


def is_complete(text: str, prefixes: Mapping[str, str] = _NO_PREFIXES) -> bool:
    """Whether a text can be executed: no statement goes on, or the last line is empty."""
    reader = Reader(_INPUT, prefixes=prefixes)
    try:
        for _ in reader.feed(text):
            pass
    except ProgramError:
        return True  # to report it
    return not reader.is_inside or not text.rpartition("\n")[2].strip()


# -- the prompt


def _prompts(console: Console) -> PromptSession[str]:
    return PromptSession(
        history=history(),
        lexer=_Highlighter(),
        completer=_Completer(console),
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        style=Style.from_dict(STYLES),
        key_bindings=_keys(console),
        multiline=True,
    )


def _prompt(console: Console) -> str:
    return "tidelog> " if console.open is None else "tidelog*> "


def _continuation(width: int, _: int, __: int) -> str:
    return "... ".rjust(width)


def _keys(console: Console) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        _enter(event.current_buffer, console)

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    return keys


def _enter(buffer: Buffer, console: Console) -> None:
    """Accept a completion, execute the text, or begin a new line."""
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None
    elif is_complete(buffer.text, console.prefixes):
        buffer.validate_and_handle()
    else:
        buffer.newline(copy_margin=False)


class _Highlighter(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = highlighted(document.text)

        def line(number: int) -> StyleAndTextTuples:
            if number >= len(lines):
                return []
            return [(f"class:{style}" if style else "", text) for style, text in lines[number]]

        return line


class _Completer(Completer):
    def __init__(self, console: Console) -> None:
        self._console = console
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        console = self._console
        relations = console.db.program.relations if console.open is None else console.open.relations
        names = names_of(console.db.program, relations)
        for found in suggestions(before, names, {name: c.about for name, c in COMMANDS.items()}):
            yield Completion(found.text, start_position=-found.length, display_meta=found.about)
        if is_path(before):
            word = before.split()[-1] if not before[-1].isspace() else ""
            yield from self._paths.get_completions(Document(word), complete_event)


# -- the history


def history() -> History:
    given = os.environ.get(HISTORY)
    if given == "":
        return InMemoryHistory()
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = Path(given) if given else state / "tidelog" / "history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)
        return _CarefulHistory(str(file))
    except OSError as error:
        print(f"the history is not kept: {file}: {error.strerror}", file=sys.stderr)
        return InMemoryHistory()


class _CarefulHistory(FileHistory):
    """A file that can fail without ending the REPL."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string)
        except (OSError, UnicodeError):
            return
