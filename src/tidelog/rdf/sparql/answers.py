"""Queries of SPARQL over graphs: their rules, and their answers in the order that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tidelog.rdf.graphs import graph as make_graph
from tidelog.rdf.sparql.expressions import order_key, value_of
from tidelog.rdf.sparql.functions import ALL
from tidelog.rdf.sparql.literals import Failure
from tidelog.rdf.sparql.reading import expression_of, parsed
from tidelog.rdf.sparql.translation import Solutions, Translator
from tidelog.session import Session, open_session

__all__ = ["Answer", "Sparql", "query", "sparql_rules"]

Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of terms in N-Triples syntax, with None for what has no value. Equal rows may occur several times.

    `holds` is the answer of ASK, and None for SELECT.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    holds: bool | None = None

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __bool__(self) -> bool:
        return bool(self.rows) if self.holds is None else self.holds


@dataclass(frozen=True, slots=True)
class Sparql:
    """A query as a program: `text` declares its relations and the relation `T(s, p, o)` of triples.

    `modifiers` are DISTINCT, ORDER BY and LIMIT, from the outermost on, which `answer` applies.
    """

    text: str
    columns: tuple[str, ...]
    is_ask: bool
    solutions: Solutions
    names: dict[str, str]
    modifiers: tuple[Any, ...]

    @property
    def functions(self) -> tuple[Callable[..., object], ...]:
        """The functions that the program calls."""
        return ALL

    def answer(self, db: Session) -> Answer:
        """The answer in a session that has the program."""
        rows = [dict(zip(self.solutions.variables, row, strict=False)) for row in db[self.solutions.relation]]
        if self.is_ask:
            return Answer((), (), bool(rows))
        found = [{v: row.get(n, "") for v, n in self.names.items()} for row in rows]
        kept = self._modified(found)
        listed = (tuple(row.get(c, "") or None for c in self.columns) for row in kept)
        return Answer(self.columns, tuple(listed))

    def _modified(self, rows: list[dict[str, str]]) -> list[dict[str, str]]:
        rows = sorted(rows, key=lambda row: tuple(order_key(row.get(c, "")) for c in self.columns))
        for node in reversed(self.modifiers):
            match node.name:
                case "OrderBy":
                    rows = _ordered(rows, node.expr)
                case "Distinct" | "Reduced":
                    shown = {tuple(row.get(c, "") for c in self.columns): row for row in reversed(rows)}
                    chosen = {id(row) for row in shown.values()}
                    rows = [row for row in rows if id(row) in chosen]
                case _:  # Slice
                    end = None if node.length is None else node.start + node.length
                    rows = list(islice(rows, node.start, end))
        return rows


def _ordered(rows: list[dict[str, str]], conditions: Sequence[Any]) -> list[dict[str, str]]:
    for condition in reversed(conditions):
        expression = expression_of(condition.expr)
        is_reverse = condition.order == "DESC"
        rows = sorted(rows, key=lambda row: order_key(_value(expression, row)), reverse=is_reverse)
    return rows


def _value(expression: Any, row: dict[str, str]) -> str:
    try:
        return value_of(expression, row)
    except Failure:
        return ""


def sparql_rules(text: str) -> Sparql:
    """A query as a program. Raises SessionError, which names what is not supported."""
    algebra = parsed(text)
    translator = Translator()
    node = algebra.p
    modifiers = []
    while node.name in ("Slice", "Distinct", "Reduced", "OrderBy", "Project"):
        if node.name != "Project":
            modifiers.append(node)
        if node.name == "OrderBy":
            for condition in node.expr:
                expression_of(condition.expr)  # refused before anything is computed
        node = node.p
    found = translator.solutions(node)
    lines = [
        line.replace(f"relation {found.relation}(", f"output relation {found.relation}(", 1)
        if line.startswith(f"relation {found.relation}(")
        else line
        for line in translator.lines
    ]
    columns = tuple(str(v) for v in algebra.PV)
    is_ask = algebra.name == "AskQuery"
    return Sparql("\n".join(lines) + "\n", columns, is_ask, found, translator.names, tuple(modifiers))


def query(graph: Any, text: str | Sparql) -> Answer:
    """The answer of a query over a graph."""
    made = sparql_rules(text) if isinstance(text, str) else text
    db = open_session(text=made.text, functions=made.functions)
    with db.transaction() as tx:
        tx.insert("T", graph if hasattr(graph, "column_names") else make_graph(graph))
    return made.answer(db)
