"""The spec of a pipeline: its program, the sources of its inputs, the sinks of its results.

A spec is a TOML file, or the same tables in Python. Reading checks its form; `expecting` checks its names
against the program. All problems are reported together, each with its key and a remedy. No source or sink is
opened, so a missing file is only found when it is read.

Paths are relative to the folder of the spec. `${NAME}` in a value of `options` is replaced by an environment
variable, so that passwords need not be in the file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from tidelog.errors import PipelineError, StoreError
from tidelog.pipeline.lineage.spec import Lineage, read_lineage
from tidelog.pipeline.migrations import Migration, read_migration
from tidelog.pipeline.sink_modes import MODES, Sink, expect_mode
from tidelog.pipeline.source_spec import BAD_ROWS, Source, describe_source, read_source
from tidelog.pipeline.spec_tables import Table
from tidelog.store.places import Place, place_of

__all__ = [
    "Source",
    "Spec",
    "as_literal",
    "describe_source",
    "has_scheme",
    "read_spec",
    "spec_from",
]

PROGRAM_CHANGES: Final = ("apply", "refuse")
PLACEMENTS: Final = ("driver", "tasks", "shuffled")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, slots=True)
class Spec:
    """A pipeline. `name` is its name in messages: usually the file.

    `text` is the program, if it is not in the file `program`, which is then only its name in messages. The
    store keeps the facts of `history` earlier commits, so that their changes can be explained.
    """

    name: str
    program: Path
    store: Place
    sources: Mapping[str, Source] = field(default_factory=dict)
    streams: Mapping[str, Source] = field(default_factory=dict)
    outputs: Mapping[str, Sink] = field(default_factory=dict)
    changes: Mapping[str, Sink] = field(default_factory=dict)
    quarantine: str | None = None
    program_changes: str = "apply"
    functions: tuple[str, ...] = ()
    spark: Mapping[str, str] = field(default_factory=dict)
    placement: str | None = None
    history: int = 0
    text: str | None = None
    migrations: Mapping[str, Migration] = field(default_factory=dict)
    metrics: Path | None = None
    lineage: Lineage | None = None

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return (*self.outputs.values(), *self.changes.values())


def as_literal(path: str) -> str:
    """The pattern that matches this path only, since Spark reads paths as patterns."""
    return re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", path)


def has_scheme(path: str) -> bool:
    """Whether a path names its file system."""
    return _SCHEME.match(path) is not None


# -- reading


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a spec from a file; raises PipelineError with all its problems."""
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
    """Read a spec from Python mappings; paths are relative to `folder`."""
    problems: list[str] = []
    spec = _spec(Table(content, "", problems), Path(folder), name)
    if problems or spec is None:
        raise PipelineError("\n".join(f"{name}: {problem}" for problem in problems))
    return spec


def _store(table: Table, folder: Path) -> Place | None:
    text = table.text("store", needed='write store = "FOLDER", the folder for the state')
    options = table.mapping("store_options", table.setting)
    if text is None:
        return None
    try:
        return place_of(text, folder, options)
    except StoreError as error:
        table.problem("store", str(error))
        return None


def _spec(table: Table, folder: Path, name: str) -> Spec | None:
    program, text = _program(table, folder)
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
    history = table.count("history")
    metrics = _metrics(table, folder)
    lineage = read_lineage(table)
    migrations = {n: read_migration(t) for n, t in table.tables("migrations").items()}
    for relation in sorted(sources.keys() & streams.keys()):
        table.problem(
            f"streams.{relation}",
            "also has a source, which would undo the changes of the stream; keep one of them",
        )
    if not quarantine and any(s.bad_rows == "quarantine" for s in (*sources.values(), *streams.values())):
        table.problem("quarantine", 'is missing; write quarantine = "FOLDER", the folder for bad rows')
    table.end()
    if program is None or store is None:
        return None
    return Spec(
        name,
        program,
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
        history,
        text,
        migrations,
        metrics,
        lineage,
    )


def _metrics(table: Table, folder: Path) -> Path | None:
    path = table.text("metrics")
    if path is not None and has_scheme(path):
        table.problem("metrics", f"is {path!r}; write the path of a local file")
    return None if path is None else folder / path


def _program(table: Table, folder: Path) -> tuple[Path | None, str | None]:
    """The file of the program, or a name for it and its text; imports in it are relative to the folder."""
    text = table.text("text")
    program = table.text("program", needed=None if text else 'write program = "FILE.dl"')
    if program is not None and text is not None:
        table.problem("text", "cannot be combined with program; remove one of them")
    if text is not None:
        return folder / "<text>", text
    return None if program is None else folder / program, None


def _stream(relation: str, table: Table, folder: Path, bad_rows: str) -> Source:
    """A stream: a source whose rows are changes."""
    source = read_source(
        relation, table, partial(_placed, Path(as_literal(str(folder.absolute())))), bad_rows
    )
    if len(source.paths) > 1:
        table.problem("path", "is a list; a stream reads one folder or one pattern")
    return source


def _source(relation: str, table: Table, folder: Path, bad_rows: str) -> Source:
    here = Path(as_literal(str(folder.absolute())))  # paths are patterns, the folder is not
    return read_source(relation, table, partial(_placed, here), bad_rows, is_stream=False)


def _sink(kind: str, relation: str, table: Table, folder: Path) -> Sink:
    path, into = table.text("path"), table.text("table")
    format_ = table.text("format")
    options = table.mapping("options", table.setting)
    mode = table.choice_or_none("mode", (MODES[kind],))
    key = table.texts("key") if kind == "outputs" else ()
    partition_by = table.texts("partition_by")
    table.end()
    if path is not None and into is not None:
        table.problem("table", "cannot be combined with path; remove one of them")
    if path is None and into is None and format_ is None:
        table.problem(
            "path", 'is missing; write path = "FOLDER", or table = "NAME", or a format such as jdbc'
        )
    placed = None if path is None else _placed(folder, path)
    form = format_ or ("delta" if mode is not None and into is not None else "parquet")
    sink = Sink(kind, relation, form, placed, into, options, path, mode, key, partition_by)
    expect_mode(sink, table)
    return sink


def _placed(folder: Path, path: str) -> str:
    """An absolute path; its file system is determined in `paths`."""
    return path if has_scheme(path) else str(folder.absolute() / path)
