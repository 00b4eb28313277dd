"""Answers of queries as text: a table for people, CSV, and the JSON format of SPARQL results."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from tidelog.rdf.prefixes import prefixes_in, shown
from tidelog.rdf.sparql.answers import Answer
from tidelog.rdf.sparql.literals import XSD, read_term
from tidelog.session.rendering import counted, text_table

__all__ = ["csv_text", "json_text", "table_text"]


def table_text(answer: Answer, query: str) -> str:
    """A table with short names, by the prefixes of the query."""
    if answer.holds is not None:
        return f"{str(answer.holds).lower()}\n"
    prefixes = prefixes_in(query)
    rows = [["" if term is None else _line(shown(term, prefixes)) for term in row] for row in answer]
    title = counted(len(rows), "solution")
    return f"{title}\n{text_table(answer.columns, rows)}\n" if rows and answer.columns else f"{title}\n"


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def csv_text(answer: Answer) -> str:
    """Terms in N-Triples syntax; nothing for what has no value."""
    if answer.holds is not None:
        return f"{str(answer.holds).lower()}\n"
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(["" if term is None else term for term in row] for row in answer)
    return made.getvalue()


def json_text(answer: Answer) -> str:
    if answer.holds is not None:
        found: dict[str, Any] = {"head": {}, "boolean": answer.holds}
    else:
        rows = [
            {name: _json(term) for name, term in zip(answer.columns, row, strict=True) if term is not None}
            for row in answer
        ]
        found = {"head": {"vars": list(answer.columns)}, "results": {"bindings": rows}}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _json(text: str) -> dict[str, str]:
    term = read_term(text)
    if term.kind == "iri":
        return {"type": "uri", "value": term.text}
    if term.kind == "blank":
        return {"type": "bnode", "value": term.text.removeprefix("_:")}
    if term.language:
        return {"type": "literal", "value": term.text, "xml:lang": term.language}
    more = {} if term.datatype == f"{XSD}string" else {"datatype": term.datatype}
    return {"type": "literal", "value": term.text, **more}
