"""`:load`: programs with asserted facts, folders of facts, and files of facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidelog.cli.repl.console import Console
from tidelog.cli.repl.showing import NOTE, Line
from tidelog.cli.repl.statements import Add, Assert, Statement, blanked, statements
from tidelog.errors import SessionError
from tidelog.formats.files import EXTENSIONS, TRIPLES
from tidelog.session.folders import read_file
from tidelog.session.rendering import counted

__all__ = ["load"]


def load(console: Console, argument: str) -> None:
    """A file whose name ends like one of facts has those of the relation that it is named after."""
    first, _, rest = argument.partition(" ")
    relations = console.db.program.relations if console.open is None else console.open.relations
    path = Path(argument).expanduser()
    name = path.name.removesuffix(".gz")
    if first in relations and rest.strip():
        _load_facts(console, first, Path(rest.strip()).expanduser())
    elif path.is_dir():
        _expect_none_open(console)
        with console.changing() as (tx, said):
            others = tx.insert_folder(path, allow_missing=True)
            said += [Line(f"{other} matches no input relation", NOTE) for other in others]
    elif Path(name).suffix.lower() in (*EXTENSIONS, *TRIPLES):
        if Path(name).stem not in relations:
            raise SessionError(f"write `:load RELATION {argument}`; there is no relation `{Path(name).stem}`")
        _load_facts(console, Path(name).stem, path)
    else:
        _load_text(console, path)


def _load_facts(console: Console, relation: str, path: Path) -> None:
    with console.changing() as (tx, said):
        table = read_file(tx.relations[relation], path)
        tx.insert(relation, table)
        said.append(Line(f"{relation}: {counted(len(table), 'row')} read", NOTE))


def _load_text(console: Console, path: Path) -> None:
    _expect_none_open(console)
    name = str(path)
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SessionError(f"{name} is not UTF-8 text (at byte {error.start})") from None
    except (OSError, ValueError) as error:
        raise SessionError(f"{name} cannot be read: {getattr(error, 'strerror', error)}") from None
    found = list(statements(text, name, prefixes=console.prefixes))
    for statement in found:
        if not isinstance(statement, Add | Assert):
            place = f"{name}:{statement.place.line}"
            hint = f"run it with `tidelog repl -f {name}`"
            raise SessionError(f"{place}: `:load` takes declarations, rules and + facts; {hint}")
    program = _only(text, [s for s in found if isinstance(s, Add)])
    asserted = _only(text, [s for s in found if isinstance(s, Assert)])
    with console.changing() as (tx, said):
        facts = tx.facts(asserted, name, given=program)
        rules = tx.load(program, name)
        console.insert(tx, facts)
        for rule in rules:
            console.number(rule)
        said.append(
            Line(f"{name}: {counted(len(rules), 'rule')}, {counted(len(facts), 'asserted fact')}", NOTE)
        )


def _expect_none_open(console: Console) -> None:
    """Refuse what could fail after a part of it has changed the open transaction."""
    if console.open is not None:
        raise SessionError(
            "programs and folders are loaded in a transaction of their own; end the open one first"
        )


def _only(text: str, found: Sequence[Statement]) -> str:
    """The text with blanks in place of everything but these statements."""
    parts: list[str] = []
    end = 0
    for statement in found:
        start = statement.place.offset + statement.place.start
        parts += [blanked(text[end:start]), statement.place.text]
        end = start + len(statement.place.text)
    return "".join(parts)
