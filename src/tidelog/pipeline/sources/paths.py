"""Qualifies paths: the only module that decides which file system a path of a spec is on.

The rules are those of Hadoop and Spark: a path with a scheme is on that file system, a path without one on
the default file system (`fs.defaultFS`). Relative paths are relative to the folder of the spec, not to the
working directory of Java as in Hadoop: `spec` makes them absolute. After this module every path has a scheme,
so that reading a path and listing its files always mean the same file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tidelog.errors import PipelineError
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.spec import Source, Spec, as_literal, has_scheme

__all__ = [
    "as_pattern",
    "as_uri",
    "is_pattern",
    "local",
    "options_of_files",
    "plain",
    "qualified",
    "qualified_spec",
    "shown_path",
]

_LOCAL: Final = re.compile(r"file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_CHOOSING: Final = frozenset("pathglobfilter recursivefilelookup modifiedbefore modifiedafter".split())
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")


def qualified_spec(spec: Spec, default: str) -> Spec:
    """The spec with every path qualified; `default` is the default file system."""
    sources = {n: _source(s, default) for n, s in spec.sources.items()}
    streams = {n: _source(s, default) for n, s in spec.streams.items()}
    quarantine = None if spec.quarantine is None else qualified(spec.quarantine, default)
    return replace(
        spec,
        sources=sources,
        streams=streams,
        outputs=_sinks(spec.outputs, default),
        changes=_sinks(spec.changes, default),
        quarantine=quarantine,
    )


def _source(source: Source, default: str) -> Source:
    return replace(source, paths=tuple(qualified(path, default) for path in source.paths))


def _sinks(sinks: Mapping[str, Sink], default: str) -> dict[str, Sink]:
    return {n: _sink(s, default) for n, s in sinks.items()}


def _sink(sink: Sink, default: str) -> Sink:
    if sink.path is None:
        return sink
    path = qualified(sink.path, default)
    if sink.mode is not None and sink.is_folder and local(path) is None:
        raise PipelineError(
            f"{sink.name}.mode: merging into Parquet files needs a local folder, not {path}; "
            'use format = "delta"'
        )
    return replace(sink, path=path)


def qualified(path: str, default: str) -> str:
    """Add a scheme to a path; a path without one is absolute and on the default file system."""
    file = local(path)
    if file is not None:
        return as_uri(file)
    if has_scheme(path):
        scheme, _, rest = path.partition(":")
        is_same = default.partition(":")[0].lower() == scheme.lower()
        return f"{default}{rest}" if is_same and not rest.startswith("//") else path
    return as_uri(Path(path)) if default.lower() == "file:" else f"{default}{path}"


def local(path: str) -> Path | None:
    """The local file of a qualified path; None if it is on another file system."""
    found = _LOCAL.match(path)
    return Path(path[found.end() :]) if found else None


def plain(path: str) -> str:
    """A qualified path in one of the spellings that it has: a local one without scheme and `..`."""
    found = _LOCAL.match(path)
    return posixpath.normpath(path[found.end() :]) if found else path


def as_uri(file: Path) -> str:
    """A local file as a qualified path."""
    return f"file://{file.absolute()}"


def as_pattern(file: Path) -> str:
    """A local file as a pattern that matches nothing else, since Spark reads paths as patterns."""
    return as_literal(as_uri(file))


def is_pattern(path: str) -> bool:
    return _PATTERN.search(path) is not None


def shown_path(path: str) -> str:
    """A qualified path as shown in messages."""
    file = local(path)
    if file is None:
        return path
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def options_of_files(options: Mapping[str, str]) -> dict[str, Any]:
    """The options by which Spark chooses files."""
    return {key: value for key, value in options.items() if key.lower() in _CHOOSING}
