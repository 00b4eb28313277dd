"""RDF triples: N-Triples (read and write), and Turtle, RDF/XML, JSON-LD, N-Quads and TriG (read only).

A triple is a row of three strings, each a term in N-Triples syntax: `<http://example.org/a>`, `_:b1`,
`"text"@en`, `"1"^^<http://www.w3.org/2001/XMLSchema#integer>`. Equal terms are equal strings: escapes are
removed where N-Triples allows it, and language tags are lowercase.

N-Triples are read unchanged, including relative IRIs: nothing here parses an IRI. Turtle resolves relative
IRIs and needs a base for that, from the document or from the caller. Blank nodes without a label (`[ ]`,
lists) are numbered in order of occurrence, so that equal files give equal rows. RDF/XML and JSON-LD are read
as Turtle is.

JSON-LD, N-Quads and TriG can have named graphs. The name of the graph is a fourth column, and empty for the
default graph. Where there are three columns, all graphs are read as one, with a warning.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import count, islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import DefaultGraph, RdfFormat, parse

from tidelog.data import types
from tidelog.errors import DataError, shown
from tidelog.program.declared import Relation
from tidelog.tables.given import make_table

__all__ = ["EXTENSIONS", "QUADS", "TERMS", "parse_triples", "read_terms", "write_ntriples"]

QUADS: Final = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("s", "p", "o", "g")])
TERMS: Final = QUADS.remove(3)
EXTENSIONS: Final = {  # the format and its name
    ".nt": (RdfFormat.N_TRIPLES, "N-Triples"),
    ".ttl": (RdfFormat.TURTLE, "Turtle"),
    ".rdf": (RdfFormat.RDF_XML, "RDF/XML"),
    ".owl": (RdfFormat.RDF_XML, "RDF/XML"),
    ".jsonld": (RdfFormat.JSON_LD, "JSON-LD"),
    ".nq": (RdfFormat.N_QUADS, "N-Quads"),
    ".trig": (RdfFormat.TRIG, "TriG"),
}
_NAMED: Final = (".jsonld", ".nq", ".trig")  # those with named graphs
_PARTS: Final = ("subject", "predicate", "object")
_READ: Final = 1 << 13  # small enough for the CPU cache
_WRITE: Final = 1 << 16
_MARK: Final = "\ufeff".encode()  # byte order mark, which some editors write at the start of a file
_MADE_UP: Final = re.compile(r"_:[0-9a-f]{24,32}")  # the parser's label for an unlabelled blank node
_WHERE: Final = re.compile(
    r"^Parser error (at line \d+ (column \d+|between columns \d+ and \d+)|between .*?): | \(line \d+\)$"
)


def parse_triples(
    content: bytes, file: str, *, extension: str = ".nt", base: str | None = None, named: bool = False
) -> Any:
    """The triples of a text as a table of `TERMS`, in order, including duplicates. Raises DataError.

    `file` is the name of the text in messages, `extension` says what it is. With `named`, the table is one of
    `QUADS`.
    """
    form, title = EXTENSIONS[extension]
    is_plain = extension in (".nt", ".nq")
    try:
        found = parse(content.removeprefix(_MARK), form, base_iri=base, lenient=is_plain)
        batches = list(_batches(iter(found), named=extension in _NAMED))
    except SyntaxError as error:
        raise _wrong(error, file, title) from None
    except MemoryError:  # the parser's error for exceeding its own limit
        problem = "a literal or another term exceeds the limit of 16 MiB; shorten it"
        raise DataError(None, problem).in_file(file) from None
    except ValueError as error:
        raise DataError(None, f"{base!r} is not a valid base IRI: {error}").in_file(file) from None
    table = pa.Table.from_batches(batches, QUADS if extension in _NAMED else TERMS)
    _expect_plain(table, file)
    return _with_graphs(table if is_plain else _labelled(table), file, named)


def _batches(found: Iterator[Any], *, named: bool) -> Iterator[Any]:
    if named:
        while quads := list(islice(found, _READ)):
            columns: list[list[str]] = [[str(getattr(q, part)) for q in quads] for part in _PARTS]
            columns.append(
                ["" if isinstance(q.graph_name, DefaultGraph) else str(q.graph_name) for q in quads]
            )
            yield pa.record_batch([pa.array(c, pa.string()) for c in columns], schema=QUADS)
        return
    while terms := [str(x) for t in islice(found, _READ) for x in (t.subject, t.predicate, t.object)]:
        yield pa.record_batch([pa.array(terms[i::3], pa.string()) for i in range(3)], schema=TERMS)


def _with_graphs(table: Any, file: str, named: bool) -> Any:
    """The table with a column of graphs, or without it."""
    if named:
        if "g" in table.column_names:
            return table
        return table.append_column(QUADS.field(3), pa.array([""] * len(table), pa.string()))
    if "g" not in table.column_names:
        return table
    graphs = [g for g in table["g"].unique().to_pylist() if g]
    if graphs:
        more = f" and {len(graphs) - 1:,} more" * (len(graphs) > 1)
        message = (
            f"{file}: the named graphs {graphs[0]}{more} are read as one; a fourth column has their names"
        )
        warnings.warn(message, stacklevel=2)
    return table.select(["s", "p", "o"])


def _wrong(error: SyntaxError, file: str, title: str) -> DataError:
    problem = _WHERE.sub("", _WHERE.sub("", str(error)))
    if "LoadDocumentCallback" in problem:
        problem = "a context in another document is not loaded; put it into the file"
    if "No scheme found" in problem:
        problem = "a relative IRI without a base; begin the file with @base, or give a base"
    line = error.lineno
    if line is not None and "line jumps" in problem:  # the parser reports the next line
        line, problem = line - 1, "a triple must be on one line and end with a dot"
    return DataError(None, f"invalid {title}: {problem}").in_file(file, line)


def _expect_plain(table: Any, file: str) -> None:
    """Raise DataError for triple terms (new in RDF 1.2), which do not fit three columns."""
    nested = pc.match_substring_regex(table["o"], "^<[^>]*> ")
    if pc.any(nested).as_py():
        row = pc.index(nested, True).as_py()
        value = table["o"][row].as_py()
        problem = f"triples inside triples are not supported; remove the statement about `{value}`"
        raise DataError(None, problem, row=row, value=value).in_file(file)


def _labelled(table: Any) -> Any:
    """The same triples, with numbered labels in place of those that the parser generated."""
    subjects, objects = table["s"].to_pylist(), table["o"].to_pylist()
    graphs = table["g"].to_pylist() if "g" in table.column_names else []
    columns = (subjects, objects, *([graphs] if graphs else []))
    blank = dict.fromkeys(t for row in zip(*columns, strict=True) for t in row if t.startswith("_:"))
    made_up = [label for label in blank if _MADE_UP.fullmatch(label)]
    numbered = (f"_:b{n}" for n in count())
    names = dict(zip(made_up, (label for label in numbered if label not in blank), strict=False))
    if not names:
        return table
    renamed = [pa.array([names.get(t, t) for t in column], pa.string()) for column in columns]
    return pa.table([renamed[0], table["p"], *renamed[1:]], schema=table.schema)


# -- as facts of a relation


def read_terms(relation: Relation, content: bytes, file: str, extension: str) -> Any:
    """The facts of a relation with three string columns, or four for the names of graphs."""
    if [c.type for c in relation.columns] not in ([types.STRING] * 3, [types.STRING] * 4):
        problem = (
            "triples need a relation with three columns of type string, or four with the names of graphs"
        )
        raise DataError(relation.name, problem).in_file(file)
    named = len(relation.columns) == 4
    return make_table(relation, parse_triples(content, file, extension=extension, named=named).columns)


def write_ntriples(table: Any) -> Iterator[bytes]:
    """The content of a file, in parts. Raises DataError if a row is not a triple."""
    if len(table.schema) != 3 or any(not pa.types.is_string(f.type) for f in table.schema):
        raise DataError(None, "N-Triples need exactly three columns of type string; write CSV or Parquet")
    for start in range(0, table.num_rows, _WRITE):
        part = table.slice(start, _WRITE)
        _expect_triples(part, start)
        lines = pc.binary_join_element_wise(*part.columns, ".\n", " ")
        yield "".join(lines.to_pylist()).encode()


_SHAPES: Final = (
    ("subject", "^(<[^>\n]*>|_:\\S+)$", "an IRI in angle brackets or a blank node"),
    ("predicate", "^<[^>\n]*>$", "an IRI in angle brackets"),
    ("object", '^(<[^>\n]*>|_:\\S+|"[^\n]*"(@\\S+|\\^\\^<[^>\n]*>)?)$', "a term of N-Triples"),
)


def _expect_triples(part: Any, start: int) -> None:
    for field, column, (role, shape, expected) in zip(part.schema, part.columns, _SHAPES, strict=True):
        fits = pc.match_substring_regex(column, shape)
        if not pc.all(fits).as_py():
            row = pc.index(fits, False).as_py()
            value = column[row].as_py()
            problem = f"{shown(value)} is not a valid {role} of a triple; it must be {expected}"
            raise DataError(None, problem, column=field.name, row=start + row, value=value)
