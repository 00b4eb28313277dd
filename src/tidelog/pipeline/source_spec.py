"""The sources and streams of a spec, and what their rows mean.

A *source* has all facts of its relation. What it allows says how its changes are found: files by their list,
Delta tables by their version, databases by a `watermark`, topics of Kafka by their offsets, and all others by
reading them again. A *stream*, and a topic, delivers changes: rows with a `sign`, or events in an `envelope`.
With a `key`, the last event of a key counts, by its `sequence`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tidelog.data.types import is_structured, present
from tidelog.pipeline.formats import EXTENSIONS, format_of
from tidelog.pipeline.spec_tables import Table
from tidelog.program.declared import Relation
from tidelog.program.elaborate.problems import did_you_mean

__all__ = ["BAD_ROWS", "FRAME", "Source", "describe_source", "problems_of_events", "read_source"]

BAD_ROWS: Final = ("fail", "quarantine")
ENVELOPES: Final = ("debezium",)
VALUES: Final = ("json",)
SEQUENCE_TYPES: Final = ("int", "string", "timestamp", "date", "double")
# settings that earlier versions did not have
_LATER: Final = ("sign_map", "envelope", "key", "sequence", "watermark", "value")
_EVENTS: Final = ("sign", "sign_map", "envelope", "sequence")
FRAME: Final = "dataframe"  # the format of a source that is given as rows
_STREAMING: Final = "is a stream of Spark; write [streams.…], or read it with spark.read"
_NOT_STREAMING: Final = "is not a stream of Spark; read it with spark.readStream, or write [sources.…]"
_UTF8: Final = ("utf-8", "utf8")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the facts of an input relation are.

    Either `paths` and `format`, or `table`, or `format` and `options` alone (JDBC). `columns` maps columns of
    the relation to their names in the source, where these differ. `sign` is the column of a stream that says
    whether a row is inserted or deleted, by `sign_map` if there is one; without it, all rows are inserted.
    `envelope` is the form of events that are not plain rows. `sequence` are the columns by which the events
    of a `key` are ordered, each with its type, or an empty text if that is to be found.

    `watermark` is the column that grows with every change of a source that is not read again.

    `frame` is a DataFrame or an Arrow table with the rows, in place of all that says where they are.
    """

    relation: str
    format: str
    paths: tuple[str, ...] = ()
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    bad_rows: str = "fail"
    sign: str | None = None
    sign_map: Mapping[str, int] = field(default_factory=dict)
    envelope: str | None = None
    key: tuple[str, ...] = ()
    sequence: Mapping[str, str] = field(default_factory=dict)
    watermark: str | None = None
    value: str | None = None
    frame: Any = field(default=None, compare=False, repr=False)


def describe_source(source: Source) -> str:
    """Everything that determines the meaning of a source, as text.

    What is not given of the settings that earlier versions didn't have is left out, so that the text is the
    same.
    """
    content = asdict(replace(source, frame=None))
    del content["frame"]
    plain = {name: value for name, value in content.items() if value or name not in _LATER}
    return json.dumps(plain, sort_keys=True)


# -- reading


def read_source(
    relation: str, table: Table, placed: Callable[[str], str], bad_rows: str, *, is_stream: bool = True
) -> Source:
    """A source or stream of a spec; `placed` makes paths absolute."""
    paths = tuple(map(placed, table.texts("path")))
    from_table = table.text("table")
    frame = table.frame("frame")
    format_ = table.text("format") or _format(paths)
    if frame is not None:
        if paths or from_table is not None or format_ is not None:
            table.problem("frame", "cannot be combined with path, table or format; remove them")
        format_ = FRAME
    if from_table is None and format_ is None:
        table.problem(
            "format", f"is missing; write one, such as {', '.join(sorted(set(EXTENSIONS.values())))}"
        )
    if from_table is not None and (paths or format_ not in (None, "delta")):
        table.problem("table", "cannot be combined with path or format; remove them")
    options = table.mapping("options", table.setting)
    if format_ is not None and format_of(format_).is_delimited:
        _expect_plain(options, table)
    source = Source(
        relation,
        format_ or "",
        paths,
        from_table,
        options,
        table.mapping("columns", table.word),
        table.choice("bad_rows", BAD_ROWS, bad_rows),
        sign=table.text("sign"),
        sign_map=_signs(table),
        envelope=table.choice_or_none("envelope", ENVELOPES),
        key=table.texts("key"),
        sequence=_sequence(table),
        watermark=table.text("watermark"),
        value=table.choice_or_none("value", VALUES),
        frame=frame,
    )
    table.end()
    for key, problem in _problems(source, is_stream=is_stream):
        table.problem(key, problem)
    return source


def _signs(table: Table) -> dict[str, int]:
    found = table.mapping("sign_map", lambda key, value: _sign(table, key, value))
    return {name: int(sign) for name, sign in found.items()}


def _sign(table: Table, key: str, value: Any) -> str | None:
    if isinstance(value, bool) or value not in (1, -1):
        table.problem(key, f"is {value!r}; write 1 for inserted rows, -1 for deleted rows")
        return None
    return str(value)


def _sequence(table: Table) -> dict[str, str]:
    """The columns by which events are ordered, with their types: a name, a list, or names with types."""
    if not table.has_table("sequence"):
        return dict.fromkeys(table.texts("sequence"), "")
    return table.mapping("sequence", lambda key, value: _sequence_type(table, key, value))


def _sequence_type(table: Table, key: str, value: Any) -> str | None:
    if value not in SEQUENCE_TYPES:
        table.problem(key, f"is {value!r}; write one of {', '.join(SEQUENCE_TYPES)}")
        return None
    return str(value)


def _format(paths: Iterable[str]) -> str | None:
    found = {EXTENSIONS.get(Path(p.removesuffix(".gz")).suffix.lower()) for p in paths}
    return found.pop() if len(found) == 1 else None


def _problems(source: Source, *, is_stream: bool) -> Iterator[tuple[str, str]]:
    """The settings that do not go together, each with a problem."""
    events = [name for name in _EVENTS if getattr(source, name)]
    if source.frame is not None and getattr(source.frame, "isStreaming", False) is not is_stream:
        yield "frame", _NOT_STREAMING if is_stream else _STREAMING
    if source.frame is not None and source.options:
        yield "options", "are those of a reader, and a DataFrame has been read; remove them"
    if not is_stream and source.format != "kafka":
        yield from (
            (name, "belongs to a stream, which delivers changes; a source has facts: write [streams.…]")
            for name in events
        )
    if source.sign is not None and format_of(source.format).width is not None:
        problem = f"names a column, and {source.format} has no columns; use another format, or remove the key"
        yield "sign", problem
    if source.sign_map and source.sign is None:
        yield "sign_map", "says what the texts of a column mean; name that column, with sign"
    if source.envelope is not None and (source.sign is not None or format_of(source.format).is_delimited):
        yield "envelope", "has the operation of each event; remove sign, and use JSON or a format of Spark"
    if source.key and source.watermark is None and not is_stream and source.format != "kafka":
        yield "key", "belongs to a watermark, or to a stream of events; remove it"
    elif bool(source.key) != bool(source.sequence or source.watermark):
        missing, what = (
            ("key", "the columns of the key") if not source.key else ("sequence", "what orders its events")
        )
        if source.watermark is None:
            yield missing, f'is missing; write {missing} = ["COLUMN"], {what}'
    if source.value is not None and source.format != "kafka":
        yield "value", "is the form of the values of Kafka; remove it"
    yield from _problems_of_watermark(source, is_stream=is_stream)


def _problems_of_watermark(source: Source, *, is_stream: bool) -> Iterator[tuple[str, str]]:
    if source.watermark is None:
        return
    if is_stream:
        yield "watermark", "belongs to a source; a stream knows its own position: remove it"
    if source.frame is not None and not hasattr(source.frame, "sparkSession"):
        yield "watermark", "is for databases, tables of Spark and DataFrames: remove it"
    elif source.paths or source.format in ("kafka", "delta"):
        what = "files are read by their list" if source.paths else f"{source.format} knows its own position"
        yield "watermark", f"is for databases and tables; {what}: remove it"


def problems_of_events(key: str, source: Source, relation: Relation) -> list[str]:
    """What does not fit the relation: the columns of the key."""
    types = {c.name: c.type for c in relation.columns}
    unknown = [name for name in source.key if name not in types]
    problems = [
        f"{key}.key: unknown column {name} of {relation.name}; "
        f"{did_you_mean(name, types) or 'the columns are ' + ', '.join(types)}"
        for name in unknown
    ]
    return problems + [
        f"{key}.key: column {name} is structured; a key needs columns of scalar types"
        for name in source.key
        if name in types and is_structured(present(types[name]))
    ]


# options of Spark that would change the meaning of a CSV file
_DIALECT: Final = frozenset(
    """
    comment chartoescapequoteescaping ignoreleadingwhitespace ignoretrailingwhitespace nullvalue nanvalue
    positiveinf negativeinf dateformat timestampformat timestampntzformat maxcolumns maxcharspercolumn mode
    columnnameofcorruptrecord emptyvalue locale unescapedquotehandling inferschema enforceschema
    """.split()
)
_FIXED: Final = {"quote": ('"',), "escape": ('"',), "encoding": _UTF8, "charset": _UTF8, "linesep": ("\n",)}


def _expect_plain(options: Mapping[str, str], table: Table) -> None:
    """Report options that the reader of delimited text does not support."""
    for key, value in options.items():
        name = key.lower()
        if name in _DIALECT or (name in _FIXED and value.lower() not in _FIXED[name]):
            table.problem(
                f"options.{key}",
                "is not supported: Tidelog reads CSV by its own rules, as UTF-8; convert the file, "
                'or read it with Spark and write table = "VIEW"',
            )
        is_mark = value == "\\t" or (len(value) == 1 and value.isascii() and value not in '"\r\n')
        if name in ("sep", "delimiter") and not is_mark:
            table.problem(f"options.{key}", f"is {value!r}; write one ASCII character")
