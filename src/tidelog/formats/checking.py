"""Validation row by row: which rows fit a relation, and what is wrong with each of the others.

`tables.given` and `files` stop at the first value that does not fit, since they accept all rows or none. Here
a bad row is an ordinary result. Values are parsed as in those modules, a column at a time. Only if a column
has a bad value is each distinct value checked by itself.

The result is a table of the relation's columns, null where a value is bad, plus the columns named below. This
module does not know where rows come from: the caller names the columns to carry along with their rows. For
delimited text they are filled for bad rows only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.data.types import Type, present
from tidelog.data.values import BadValue
from tidelog.errors import DataError
from tidelog.formats.assembly import LINE, Assembled, Delimited, assembled
from tidelog.formats.cells import read_cells
from tidelog.formats.envelopes import WRONG, events_of, field_of
from tidelog.formats.folders import with_folder_columns
from tidelog.formats.json_lines import is_written_apart, read_object, read_value
from tidelog.formats.triples import TERMS, parse_triples
from tidelog.program.declared import Relation
from tidelog.tables.arrow import UNIT, arrow_type
from tidelog.tables.casting import cast_table
from tidelog.tables.fitting import Misfit, fit_arrow, fit_values
from tidelog.tables.signed import SIGN

__all__ = ["PROBLEM", "RAW", "Form", "Layout", "check_batches"]

PROBLEM: Final = "#problem"  # why a row is bad; null for a good row
RAW: Final = "#raw"  # the original text of a bad row
_SIGNS: Final = {"+": 1, "+1": 1, "1": 1, "-": -1, "-1": -1}


class Form(Enum):
    """The kind of columns that a source has."""

    CELLS = "lines of delimited text"
    VALUES = "typed values"
    JSON = "lines of JSON"
    TEXT = "lines"
    TRIPLES = "lines of N-Triples"


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows of a source map to rows of a relation.

    `names` are the source columns of the relation's columns. `sign` is the source column that says whether a
    row is inserted or deleted, if there is one; `signs` says what its texts mean. `carried` are columns to
    copy unchanged, the first of which is the file; `has_files` says that it is needed for all rows. `folders`
    are the columns of the relation whose values are in the names of folders. `delimited` is the layout of
    delimited text.

    With `envelope`, lines of JSON are envelopes of change events (see `envelopes`), ordered by the fields
    `sequence`. `beside` are columns that are added to the objects of the lines. `wanted` are columns that may
    be missing in deleted rows only.
    """

    relation: Relation
    form: Form
    names: tuple[str, ...]
    sign: str | None = None
    carried: tuple[str, ...] = ()
    delimited: Delimited | None = None
    signs: Mapping[str, int] = field(default_factory=lambda: _SIGNS)
    has_files: bool = False
    folders: frozenset[str] = frozenset()
    envelope: bool = False
    sequence: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    wanted: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Part:
    """Columns in progress, with a problem or None for each row."""

    columns: list[Any]
    problems: list[str | None]


def check_batches(layout: Layout, target: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Batches of a source as batches of validated rows with the schema `target`."""
    if layout.folders:
        yield from _in_folders(layout, target, batches)
        return
    if layout.form is Form.CELLS:
        assert layout.delimited is not None, "delimited text has a layout"
        for found in assembled(layout.delimited, layout.carried, batches):
            yield from _check_records(layout, target, found).to_batches()
        return
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if layout.form in (Form.JSON, Form.TRIPLES):
            table = table.filter(pc.invert(pc.match_substring_regex(table[LINE], _skipped(layout.form))))
        yield from cast_table(_check(layout, table), target).to_batches()


def _in_folders(layout: Layout, target: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """The same for files that lack some columns, whose values are in the names of their folders."""
    columns = layout.relation.columns
    inner = tuple(c for c in columns if c.name not in layout.folders)
    names = tuple(n for n, c in zip(layout.names, columns, strict=True) if c.name not in layout.folders)
    outer = {n: c for n, c in zip(layout.names, columns, strict=True) if c.name in layout.folders}
    relation = replace(layout.relation, columns=inner)
    rest = replace(layout, relation=relation, names=names, has_files=True, folders=frozenset())
    wanted = pa.schema([f for f in target if f.name not in layout.folders])
    for batch in check_batches(rest, wanted, batches):
        table = with_folder_columns(pa.Table.from_batches([batch]), outer, layout.carried[0], PROBLEM)
        yield from cast_table(table.select(target.names), target).to_batches()


def _skipped(form: Form) -> str:
    """The pattern of lines that are not rows."""
    return r"^\s*$" if form is Form.JSON else r"^[ \t]*(#.*)?\r?$"


def _check(layout: Layout, table: Any) -> Any:
    if layout.form is Form.JSON:
        objects, problems, lines = _objects(layout, table)
        table = table.take(pa.array(lines, pa.int64()))
        part = _from_json(layout, objects, problems)
    else:
        part = _rows(layout, table)
        if layout.sign is not None:
            part.columns.append(_signs(layout, table[layout.sign].to_pylist(), part.problems))
    _expect_present(layout, part)
    bad = [i for i, problem in enumerate(part.problems) if problem is not None]
    raw: list[str | None] = [None] * table.num_rows
    for i, text in zip(bad, _raw(layout, table.take(pa.array(bad, pa.int64()))), strict=True):
        raw[i] = text
    return _checked(layout, part, raw, [table[name] for name in layout.carried])


def _checked(layout: Layout, part: _Part, raw: list[str | None], carried: list[Any]) -> Any:
    names = [c.name for c in layout.relation.columns] or [UNIT]
    names += [SIGN] if layout.sign is not None else []
    extra = [pa.array(part.problems, pa.string()), pa.array(raw, pa.string())]
    return pa.table([*part.columns, *extra, *carried], [*names, PROBLEM, RAW, *layout.carried])


def _rows(layout: Layout, table: Any) -> _Part:
    problems: list[str | None] = [None] * table.num_rows
    match layout.form:
        case Form.TRIPLES:
            columns = _triples(_texts(table[LINE], problems).to_pylist(), problems)
        case Form.TEXT:
            columns = [_texts(table[LINE], problems)]
        case Form.VALUES:
            columns = [table[name] for name in layout.names]
        case Form.CELLS | Form.JSON:
            raise AssertionError("cells are read from records, and JSON from objects")
        case _:
            assert_never(layout.form)
    return _fitted_part(layout, columns, problems, table.num_rows)


def _fitted_part(layout: Layout, columns: list[Any], problems: list[str | None], rows: int) -> _Part:
    fit = fit_arrow if layout.form is Form.VALUES else read_cells
    part = _Part([], problems)
    for column, declared in zip(columns, layout.relation.columns, strict=True):
        part.columns.append(_fitted(declared.name, declared.type, column, fit, problems))
    if not layout.relation.columns:
        part.columns.append(pa.repeat(True, rows))
    return part


# -- records


def _check_records(layout: Layout, target: Any, found: Assembled) -> Any:
    cells = found.records.cells
    problems = [found.problem(record) for record in range(cells.num_rows)]
    if found.header_problem is not None:
        blank = pa.chunked_array([pa.nulls(cells.num_rows, pa.string())])
        columns, signs = [blank for _ in layout.names], [None] * cells.num_rows
    else:
        columns = [cells[name] for name in layout.names]
        signs = [] if layout.sign is None else cells[layout.sign].to_pylist()
    if not layout.names and layout.sign is None:
        _expect_units(cells.column(0).to_pylist(), problems)
    part = _fitted_part(layout, columns, problems, cells.num_rows)
    if layout.sign is not None:
        part.columns.append(_signs(layout, signs, problems))
    _expect_present(layout, part)
    raw: list[str | None] = [None] * cells.num_rows
    places: list[tuple[Any, ...]] = [_nowhere(layout, found)] * cells.num_rows
    for record, problem in enumerate(problems):
        if problem is not None:
            raw[record] = found.text(record)
            places[record] = found.place(record)
    listed = list(zip(*places, strict=True)) or [()] * len(layout.carried)
    carried = [pa.array(c, target.field(n).type) for n, c in zip(layout.carried, listed, strict=True)]
    table = cast_table(_checked(layout, part, raw, carried), target)
    return table if layout.names or layout.sign is not None else table.filter(cells.column(0).is_valid())


def _nowhere(layout: Layout, found: Assembled) -> tuple[Any, ...]:
    """The location of a good record: only its file, if that is needed."""
    rest = (None,) * len(layout.carried[1:])
    if layout.has_files and layout.carried:
        return (found.lines[layout.carried[0]][0].as_py(), *rest)
    return (None,) * len(layout.carried)


def _expect_units(cells: Sequence[str | None], problems: list[str | None]) -> None:
    """Each line is a row of a relation without columns; a blank line is not a row."""
    for row, cell in enumerate(cells):
        if cell is not None and cell.strip() != UNIT:
            _note(problems, row, f"the line is not {UNIT}, the row of a relation without columns")


def _note(problems: list[str | None], row: int, problem: str) -> None:
    """Record the problem of a row. Only the first is kept."""
    if problems[row] is None:
        problems[row] = problem


# -- columns


def _fitted(
    name: str, type_: Type, column: Any, fit: Callable[[Type, Any], Any], problems: list[str | None]
) -> Any:
    """The column converted to the type, null where a value is bad; those rows get a problem."""
    good = pa.array([p is None for p in problems], pa.bool_())
    try:
        if pc.all(good).as_py() is not False:
            return fit(type_, column)
    except Misfit:
        pass
    known, places = _distinct(column)
    target = arrow_type(type_)
    fitted, said = [], []
    for i in range(len(known)):
        one, problem = _fit_one(target, partial(fit, type_, _chunked(known.slice(i, 1))))
        fitted.append(one)
        said.append(problem)
    for row, place in enumerate(places.to_pylist()):
        problem = said[place]
        if problem is not None:
            _note(problems, row, f"column {name}: {problem}")
    return pa.chunked_array(fitted, target).take(places)


def _chunked(column: Any) -> Any:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _distinct(column: Any) -> tuple[Any, Any]:
    """The distinct values, and which of them each row has. Nested values are not compared: all count."""
    if pa.types.is_nested(column.type):
        return column, pa.array(range(len(column)), pa.int64())
    known = column.unique()
    return known, pc.index_in(column, known)


def _fit_one(target: Any, fit: Callable[[], Any]) -> tuple[Any, str | None]:
    """An array of the one value, or an array of one null and the problem."""
    try:
        made = fit()
    except Misfit as bad:
        return pa.array([None], target), bad.problem
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made, None


def _signs(layout: Layout, values: Sequence[object], problems: list[str | None]) -> Any:
    signs = [layout.signs.get(str(value)) for value in values]
    known = "write + or 1 for an inserted row, - or -1 for a deleted row"
    if layout.signs != _SIGNS:
        known = f"sign_map has {', '.join(layout.signs)}; add it there, as 1 or -1"
    for row, (sign, value) in enumerate(zip(signs, values, strict=True)):
        if sign is None and str(value).startswith(WRONG):
            problems[row] = str(value).removeprefix(WRONG)
        elif sign is None:
            _note(problems, row, f"the sign is {value!r}; {known}")
    return pa.array(signs, pa.int8())


# -- lines


def _texts(lines: Any, problems: list[str | None]) -> Any:
    """Lines as text; a line that is not UTF-8 gets a problem."""
    try:
        return lines.cast(pa.string())
    except pa.ArrowInvalid:
        pass
    texts: list[str] = []
    for row, line in enumerate(lines.to_pylist()):
        try:
            texts.append(line.decode())
        except UnicodeDecodeError as error:
            wrong = line[error.start : error.end]
            _note(problems, row, f"{wrong!r} is not UTF-8; save the file in that encoding")
            texts.append("")
    return pa.chunked_array([pa.array(texts, pa.string())])


def _triples(lines: Sequence[str], problems: list[str | None]) -> list[Any]:
    """Subjects, predicates and objects. All lines are parsed at once if none is bad."""
    try:
        table = parse_triples("\n".join(lines).encode(), "")
        if table.num_rows == len(lines):
            return list(table.columns)
    except DataError:
        pass
    found: list[Any] = []
    for row, line in enumerate(lines):
        try:
            table = parse_triples(line.encode(), "")
        except DataError as error:
            _note(problems, row, error.problem)
            table = TERMS.empty_table()
        if table.num_rows == 1:
            found.append(table)
        else:
            _note(problems, row, "the line is not one triple; write <subject> <predicate> <object> .")
            found.append(pa.table([[""], [""], [""]], schema=TERMS))
    return list(pa.concat_tables([TERMS.empty_table(), *found]).columns)


def _objects(layout: Layout, table: Any) -> tuple[list[dict[str, Any]], list[str | None], list[int]]:
    """The objects in lines, the problem of each, and its line: an envelope has any number of events."""
    beside = {name: table[name].to_pylist() for name in layout.beside}
    rows: list[dict[str, Any]] = []
    problems: list[str | None] = []
    lines: list[int] = []
    for number, line in enumerate(table[LINE].cast(pa.binary()).to_pylist()):
        more = {name: values[number] for name, values in beside.items()}
        try:
            found = _events(layout, {**read_object(line), **more})
            problem = None
        except ValueError as error:
            found, problem = [{}], str(error)
        rows += found
        problems += [problem] * len(found)
        lines += [number] * len(found)
    return rows, problems, lines


def _events(layout: Layout, row: dict[str, Any]) -> list[dict[str, Any]]:
    if not layout.envelope:
        return [row]
    return list(events_of(row, layout.sequence, has_key=bool(layout.sequence)))


def _from_json(layout: Layout, rows: list[dict[str, Any]], problems: list[str | None]) -> _Part:
    part = _Part([], problems)
    for name, declared in zip(layout.names, layout.relation.columns, strict=True):
        values = [field_of(row, name) for row in rows]
        part.columns.append(_json_column(declared.name, declared.type, values, problems))
    if not layout.relation.columns:
        part.columns.append(pa.repeat(True, len(rows)))
    if layout.sign is not None:
        part.columns.append(_signs(layout, [r.get(layout.sign) for r in rows], problems))
    return part


def _expect_present(layout: Layout, part: _Part) -> None:
    """Deleted rows need only their key; the others need values in all columns that are no options."""
    if not layout.wanted:
        return
    signs = part.columns[-1].to_pylist()
    for declared, column in zip(layout.relation.columns, part.columns[:-1], strict=True):
        if declared.name in layout.wanted and column.null_count:
            for row, is_missing in enumerate(column.is_null().to_pylist()):
                if is_missing and signs[row] == 1:
                    item = present(declared.type)
                    remedy = f"give a value, or declare the column as option<{item}>"
                    _note(part.problems, row, f"column {declared.name}: the value is missing; {remedy}")


def _json_column(name: str, type_: Type, found: list[Any], problems: list[str | None]) -> Any:
    item = present(type_)
    values: list[object] = []
    for row, value in enumerate(found):
        try:
            values.append(read_value(item, value) if is_written_apart(item, value) else value)
        except BadValue as bad:
            _note(problems, row, f"column {name}: {bad}")
            values.append(None)
    try:
        return fit_values(type_, values)
    except Misfit:
        pass
    target = arrow_type(type_)
    ones = []
    for row, value in enumerate(values):
        one, problem = _fit_one(target, partial(fit_values, type_, [value]))
        ones.append(one)
        if problem is not None:
            _note(problems, row, f"column {name}: {problem}")
    return pa.chunked_array(ones, target)


# -- original text


def _raw(layout: Layout, table: Any) -> list[str]:
    if layout.form is not Form.VALUES:
        lines = table[LINE].cast(pa.binary()).to_pylist()
        return [line.decode(errors="backslashreplace") for line in lines]
    shown = (*layout.names, layout.sign) if layout.sign is not None else layout.names
    return [json.dumps(row, default=str, ensure_ascii=False) for row in table.select(shown).to_pylist()]
