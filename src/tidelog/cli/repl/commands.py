"""The commands of the REPL: what begins with a colon, and the words that end or preview a transaction.

To add one, add a row to `COMMANDS`; help, completion and the documentation's test read the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.cli.repl.console import Console
from tidelog.cli.repl.loading import load
from tidelog.cli.repl.saving import python_functions, saved_text, write_text
from tidelog.cli.repl.showing import NOTE, Line
from tidelog.cli.repl.statements import Command
from tidelog.errors import SessionError
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.session.asking import matching_rows, missing_row
from tidelog.session.names import find_relation
from tidelog.session.rendering import counted, text_table
from tidelog.session.rules import SessionRule

__all__ = ["COMMANDS", "Named", "execute"]


@dataclass(frozen=True, slots=True)
class Named:
    """A command: what its argument is, what it does, and the function that does it."""

    argument: str
    about: str
    do: Callable[[Console, str], object]

    @property
    def is_optional(self) -> bool:
        return self.argument.startswith("[") and self.argument.endswith("]")


def execute(console: Console, command: Command) -> None:
    found = COMMANDS.get("quit" if command.name == "exit" else command.name)
    if found is None:
        hint = did_you_mean(f":{command.name}", [f":{name}" for name in COMMANDS])
        raise SessionError(f"unknown command `:{command.name}`; {hint or '`:help` lists the commands'}")
    if command.argument and not found.argument:
        raise SessionError(f"`:{command.name}` takes no argument")
    if not command.argument and found.argument and not found.is_optional:
        raise SessionError(f"write `:{command.name} {found.argument}`")
    found.do(console, command.argument)


# -- about results


def _why(console: Console, text: str) -> None:
    relation, rows = matching_rows(text, console.db.query, console.db.program)
    if not rows:
        _why_not(console, text)
        return
    if len(rows) > 1:
        console.say(Line(f"{text} matches {len(rows):,} rows; this is about the first", NOTE))
    console.say(Line(str(console.db.why(relation, rows[0]))))


def _why_not(console: Console, text: str) -> None:
    console.say(Line(str(console.db.why_not(*missing_row(text, console.db.program)))))


def _explain(console: Console, text: str) -> None:
    """The strata, or the join orders of the rules that derive a relation, or of one rule."""
    db = console.db
    if not text:
        console.say(Line(str(db.explain())))
        return
    rules = _named_rules(console, text)
    for stratum in db.explain().strata:
        if any(head.relation in stratum.relations for r in rules for head in r.rule.heads):
            shown = "recursive" if stratum.recursive else "not recursive"
            place = f", {stratum.where}" if stratum.where else ""
            console.say(
                Line(f"stratum {stratum.name}: {counted(stratum.rules, 'rule')}, {shown}{place}", NOTE)
            )
    console.say(Line(db.plan(*rules)))


def _named_rules(console: Console, text: str) -> list[SessionRule]:
    if text.isdigit():
        return [console.rule(int(text))]
    relation = find_relation(text, console.db.program.relations)
    rules = [r for r in console.db.rules if any(h.relation == relation.name for h in r.rule.heads)]
    if not rules:
        raise SessionError(f"no rule derives {relation.name}")
    return rules


def _stats(console: Console, _: str) -> None:
    console.say(Line(str(console.db.stats)))


def _profile(console: Console, _: str) -> None:
    console.say(Line(str(console.db.profile())))


# -- about the program


def _relations(console: Console, _: str) -> None:
    views = console.db.snapshot()
    rows = [[v.relation.role.value, "{}({})".format(*v.titled()), f"{len(v):,}"] for v in views.values()]
    console.say(Line(text_table(("role", "relation", "rows"), rows) if rows else "no relations"))


def _rules(console: Console, relation: str) -> None:
    shown: Iterator[SessionRule] = iter(console.rules)
    if relation:
        find_relation(relation, console.db.program.relations)
        shown = (r for r in shown if any(h.relation == relation for h in r.rule.heads))
    lines = [f"{console.number(rule):>3}  {_indented(rule.text)}" for rule in shown]
    console.say(Line("\n".join(lines) if lines else "no rules"))


def _indented(text: str) -> str:
    return text.replace("\n", "\n     ")


def _drop(console: Console, relation: str) -> None:
    with console.changing() as (tx, said):
        tx.drop(relation)
        said.append(Line(f"relation {relation} dropped", NOTE))


# -- files


def _save(console: Console, path: str) -> None:
    if console.open is not None:
        raise SessionError("a transaction is open; end it with `commit` or `rollback` first")
    file = Path(path).expanduser()
    if file.exists() and file not in console.saved:
        raise SessionError(f"{path} exists already; remove it, or give another name")
    count = write_text(file, saved_text(console.db))
    console.saved.add(file)
    console.say(Line(f"{path}: {counted(count, 'line')}", NOTE))
    functions = python_functions(console.db)
    if functions:
        console.say(Line(f"Python functions are not saved: {', '.join(functions)}", NOTE))


def _help(console: Console, _: str) -> None:
    rows = [[f":{name} {c.argument}".rstrip(), c.about] for name, c in COMMANDS.items()]
    console.say(Line(_INTRODUCTION))
    console.say(Line(text_table(("command", ""), rows)))


def _quit(console: Console, _: str) -> None:
    console.is_over = True


_INTRODUCTION: Final = """\
  input relation Edge(src: string, dst: string)    declare a relation, type or function
  Reach(x, y) :- Edge(x, y).                       add a rule
  +Edge("a", "b").                                 assert a fact
  -Edge("a", "b").                                 retract a fact
  -3  or  -Reach(x, y) :- Edge(x, y).              remove a rule
  ?- Reach("a", x).                                ask a query
"""

COMMANDS: Final[Mapping[str, Named]] = {
    "begin": Named("", "open a transaction; without one, each statement is one", lambda c, _: c.begin()),
    "commit": Named("", "commit the open transaction", lambda c, _: c.commit()),
    "preview": Named("", "show what the open transaction would change", lambda c, _: c.preview()),
    "rollback": Named("", "discard the open transaction", lambda c, _: c.rollback()),
    "why": Named("ROW", "explain why a row is there, such as Reach(\"a\", x), or why not", _why),
    "why-not": Named("ROW", "explain why a row is not there; _ stands for any value", _why_not),
    "explain": Named("[RELATION or rule number]", "show the strata, or the join orders of rules", _explain),
    "stats": Named("", "show what the last commit took", _stats),
    "profile": Named("", "show which rules took the time of the last commit, and why", _profile),
    "relations": Named("", "list the relations with their sizes", _relations),
    "rules": Named("[RELATION]", "list the rules with their numbers", _rules),
    "drop": Named("RELATION", "drop a relation that no rule uses, with its facts", _drop),
    "load": Named(
        "[RELATION] FILE",
        "load a program with + facts, a folder of facts, or the facts of a relation",
        load,
    ),
    "save": Named("FILE", "write the program and its asserted facts to a new file, for :load", _save),
    "help": Named("", "show this list", _help),
    "quit": Named("", "end the REPL", _quit),
}  # fmt: skip
