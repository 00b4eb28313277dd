"""The description of a pipeline: which program, what feeds its inputs, where its results go.

Written as TOML, or given as the same tables in Python. Reading it checks its form and, against the program,
its names; all problems are told at once, each with the key that it is about and the way out. Nothing is
opened yet: whether a file is there is found out when it is read.

Paths are relative to the folder of the description. A value in `options` of the form `${NAME}` is taken from
the environment, so that passwords need not be written down.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tidelog.errors import PipelineError, StoreError
from tidelog.pipeline.spec_tables import Table
from tidelog.program.elaborate.problems import did_you_mean
from tidelog.program.model import Program
from tidelog.program.typed import Relation, Role
from tidelog.store.places import local_folder

__all__ = [
    "Sink",
    "Source",
    "Spec",
    "as_literal",
    "describe_source",
    "expect_relations",
    "has_scheme",
    "read_spec",
    "spec_from",
]

BAD_ROWS: Final = ("fail", "quarantine")
PROGRAM_CHANGES: Final = ("apply", "refuse")
PLACEMENTS: Final = ("driver", "tasks", "shuffled")
# what an extension says about a format, if the description says nothing
_EXTENSIONS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".facts": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".orc": "orc",
    ".txt": "text",
    ".nt": "ntriples",
}
_UTF8: Final = ("utf-8", "utf8")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, slots=True)
class Source:
    """Where an input relation's facts are.

    Either `paths` and `format`, or `table`, or `format` and `options` alone (JDBC). `columns` has the
    source's name of each column that is called otherwise there. `sign` is the column of a stream that says
    whether a row comes or goes; without one, all come.
    """

    relation: str
    format: str
    paths: tuple[str, ...] = ()
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    bad_rows: str = "fail"
    sign: str | None = None


@dataclass(frozen=True, slots=True)
class Sink:
    """Where an output relation goes (`outputs`), or what changes in it (`changes`).

    `described` is its path as it was written, wherever the description lies.
    """

    kind: str
    relation: str
    format: str
    path: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    described: str | None = None

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.relation}"

    @property
    def key(self) -> str:
        """What the manifest calls it: another place or format is another sink."""
        described = json.dumps([self.format, self.described, self.table])
        return f"{self.name}:{hashlib.sha256(described.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Spec:
    """A pipeline. `name` is what messages call it: its file, or where it was given."""

    name: str
    program: Path
    store: Path
    sources: Mapping[str, Source] = field(default_factory=dict)
    streams: Mapping[str, Source] = field(default_factory=dict)
    outputs: Mapping[str, Sink] = field(default_factory=dict)
    changes: Mapping[str, Sink] = field(default_factory=dict)
    quarantine: str | None = None
    program_changes: str = "apply"
    functions: tuple[str, ...] = ()
    spark: Mapping[str, str] = field(default_factory=dict)
    placement: str | None = None

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return (*self.outputs.values(), *self.changes.values())


def describe_source(source: Source) -> str:
    """All that decides what a source means, as text."""
    return json.dumps(asdict(source), sort_keys=True)


def as_literal(path: str) -> str:
    """The pattern that matches this path only: Spark reads patterns."""
    return re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", path)


def has_scheme(path: str) -> bool:
    """Whether a path says which file system it is on."""
    return _SCHEME.match(path) is not None


# -- reading


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """The description in a file, or PipelineError with all that is wrong with it."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_bytes().decode())
    except OSError as error:
        raise PipelineError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PipelineError(f"{file} is not UTF-8 text (at byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise PipelineError(f"{file} is not TOML: {error}") from None
    return spec_from(content, folder=file.parent, name=str(file))


def spec_from(
    content: Mapping[str, Any], *, folder: str | os.PathLike[str] = ".", name: str = "<pipeline>"
) -> Spec:
    """The description that tables of Python give; paths are relative to `folder`."""
    problems: list[str] = []
    spec = _spec(Table(content, "", problems), Path(folder), name)
    if problems or spec is None:
        raise PipelineError("\n".join(f"{name}: {problem}" for problem in problems))
    return spec


def _store(table: Table, folder: Path) -> Path | None:
    text = table.text("store", needed='write store = "FOLDER", where the state is to be kept')
    if text is None:
        return None
    try:
        return local_folder(text, folder)
    except StoreError as error:
        table.problem("store", str(error))
        return None


def _spec(table: Table, folder: Path, name: str) -> Spec | None:
    program = table.text("program", needed='write program = "FILE.dl"')
    store = _store(table, folder)
    quarantine = table.text("quarantine")
    bad_rows = table.choice("bad_rows", BAD_ROWS, "quarantine" if quarantine else "fail")
    sources = {n: _source(n, t, folder, bad_rows) for n, t in table.tables("sources").items()}
    streams = {n: _stream(n, t, folder, bad_rows) for n, t in table.tables("streams").items()}
    outputs = {n: _sink("outputs", n, t, folder) for n, t in table.tables("outputs").items()}
    changes = {n: _sink("changes", n, t, folder) for n, t in table.tables("changes").items()}
    program_changes = table.choice("program_changes", PROGRAM_CHANGES, "apply")
    functions = table.texts("functions")
    spark = table.mapping("spark", table.setting)
    placement = table.choice_or_none("placement", PLACEMENTS)
    for relation in sorted(sources.keys() & streams.keys()):
        table.problem(
            f"streams.{relation}", "has a source too, which would undo what comes; keep one of them"
        )
    if not quarantine and any(s.bad_rows == "quarantine" for s in (*sources.values(), *streams.values())):
        table.problem("quarantine", 'is missing; write quarantine = "FOLDER", where bad rows are to go')
    table.end()
    if program is None or store is None:
        return None
    return Spec(
        name,
        folder / program,
        store,
        sources,
        streams,
        outputs,
        changes,
        _placed(folder, quarantine) if quarantine else None,
        program_changes,
        functions,
        spark,
        placement,
    )


def _stream(relation: str, table: Table, folder: Path, bad_rows: str) -> Source:
    sign = table.text("sign")
    source = replace(_source(relation, table, folder, bad_rows), sign=sign)
    if len(source.paths) > 1:
        table.problem("path", "is a list; a stream reads one folder or one pattern")
    if sign is not None and source.format in ("text", "ntriples"):
        table.problem(
            "sign", f"is for columns, and {source.format} has none; use another format, or leave it out"
        )
    return source


def _source(relation: str, table: Table, folder: Path, bad_rows: str) -> Source:
    here = Path(as_literal(str(folder.absolute())))  # the paths are patterns, the folder is not
    paths = tuple(_placed(here, p) for p in table.texts("path"))
    from_table = table.text("table")
    format_ = table.text("format") or _format(paths)
    if from_table is None and format_ is None:
        table.problem(
            "format", f"is missing; write one, such as {', '.join(sorted(set(_EXTENSIONS.values())))}"
        )
    if from_table is not None and (paths or format_):
        table.problem("table", "is a source by itself; leave path and format out")
    options = table.mapping("options", table.setting)
    if format_ in ("csv", "tsv"):
        _expect_plain(options, table)
    columns = table.mapping("columns", table.word)
    bad_rows = table.choice("bad_rows", BAD_ROWS, bad_rows)
    table.end()
    return Source(relation, format_ or "", paths, from_table, options, columns, bad_rows)


def _sink(kind: str, relation: str, table: Table, folder: Path) -> Sink:
    path, into = table.text("path"), table.text("table")
    format_ = table.text("format")
    options = table.mapping("options", table.setting)
    table.end()
    if path is not None and into is not None:
        table.problem("table", "is a place by itself; leave path out")
    if path is None and into is None and format_ is None:
        table.problem(
            "path", 'is missing; write path = "FOLDER", or table = "NAME", or a format such as jdbc'
        )
    placed = None if path is None else _placed(folder, path)
    return Sink(kind, relation, format_ or "parquet", placed, into, options, path)


def _placed(folder: Path, path: str) -> str:
    """A path that does not depend on the working directory; `paths` says which file system it is on."""
    return path if has_scheme(path) else str(folder.absolute() / path)


def _format(paths: Iterable[str]) -> str | None:
    found = {_EXTENSIONS.get(Path(p.removesuffix(".gz")).suffix.lower()) for p in paths}
    return found.pop() if len(found) == 1 else None


# options of Spark's that would change what a file of CSV means
_DIALECT: Final = frozenset(
    """
    comment chartoescapequoteescaping ignoreleadingwhitespace ignoretrailingwhitespace nullvalue nanvalue
    positiveinf negativeinf dateformat timestampformat timestampntzformat maxcolumns maxcharspercolumn mode
    columnnameofcorruptrecord emptyvalue locale unescapedquotehandling inferschema enforceschema
    """.split()
)
_FIXED: Final = {"quote": ('"',), "escape": ('"',), "encoding": _UTF8, "charset": _UTF8, "linesep": ("\n",)}


def _expect_plain(options: Mapping[str, str], table: Table) -> None:
    """Problems of options that a reader of delimited text does not have."""
    for key, value in options.items():
        name = key.lower()
        if name in _DIALECT or (name in _FIXED and value.lower() not in _FIXED[name]):
            table.problem(
                f"options.{key}",
                "CSV is read by Tidelog's own rules, as UTF-8; convert the file, "
                'or read it with Spark and write table = "VIEW"',
            )
        is_mark = value == "\\t" or (len(value) == 1 and value.isascii() and value not in '"\r\n')
        if name in ("sep", "delimiter") and not is_mark:
            table.problem(f"options.{key}", f"is {value!r}; write one ASCII character")


# -- against the program


def expect_relations(spec: Spec, program: Program) -> None:
    """PipelineError if the description does not fit the program: names, roles, columns."""
    problems: list[str] = []
    groups = (("sources", spec.sources), ("streams", spec.streams))
    for kind, sources in groups:
        for name, source in sources.items():
            problems += _problems_of_source(f"{kind}.{name}", source, program)
    for sink in spec.sinks:
        relation = program.relations.get(sink.relation)
        if relation is None:
            problems.append(f"{sink.name}: {_unknown(sink.relation, program, None)}")
    fed = {*spec.sources, *spec.streams}
    problems += [
        f"sources.{r.name}: is missing; {spec.program} has this input relation: write [sources.{r.name}]"
        for r in program.relations.values()
        if r.role is Role.INPUT and r.name not in fed
    ]
    if problems:
        raise PipelineError("\n".join(f"{spec.name}: {problem}" for problem in problems))


def _problems_of_source(key: str, source: Source, program: Program) -> list[str]:
    relation = program.relations.get(source.relation)
    if relation is None or relation.role is not Role.INPUT:
        return [f"{key}: {_unknown(source.relation, program, Role.INPUT)}"]
    if any(head.relation == relation.name for rule in program.rules.values() for head in rule.heads):
        return [f"{key}: rules derive `{relation.name}` too; let them derive another relation"]
    names = [c.name for c in relation.columns]
    unknown = [n for n in source.columns if n not in names]
    problems = [
        f"{key}.columns.{n}: {relation.name} has no such column; "
        f"{did_you_mean(n, names) or 'it has ' + ', '.join(names)}"
        for n in unknown
    ]
    widths = {"text": 1, "ntriples": 3}
    wanted = widths.get(source.format, len(names))
    if len(names) != wanted or (source.format in widths and not _only_text(relation)):
        problems.append(
            f"{key}.format: {source.format} gives {wanted} column{'s' * (wanted != 1)} of text; "
            f"declare {relation.name} with {wanted} of type string"
        )
    return problems


def _only_text(relation: Relation) -> bool:
    return all(str(c.type) == "string" for c in relation.columns)


def _unknown(name: str, program: Program, role: Role | None) -> str:
    known = [r.name for r in program.relations.values() if role is None or r.role is role]
    what = "relation" if role is None else f"{role.value} relation"
    hint = did_you_mean(name, known) or f"there is {', '.join(known) or 'none'}"
    return f"the program has no {what} `{name}`; {hint}"
