"""Where paths are: the one place that decides which file system a path of a description is on.

The rules are those of Hadoop, and so of Spark: a path with a scheme is where it says, and one without is on
the default file system (`fs.defaultFS`). What Hadoop takes from its working directory, which here would be
that of Java, is taken from the folder of the description: `spec` makes paths absolute. Behind this module
every path has a scheme, so that who reads it and who looks at its files mean the same file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tidelog.pipeline.spec import Sink, Source, Spec, as_literal, has_scheme

__all__ = [
    "as_pattern",
    "as_uri",
    "is_pattern",
    "local",
    "options_of_files",
    "qualified",
    "qualified_spec",
    "shown_path",
]

_LOCAL: Final = re.compile(r"file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_CHOOSING: Final = frozenset("pathglobfilter recursivefilelookup modifiedbefore modifiedafter".split())
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")


def qualified_spec(spec: Spec, default: str) -> Spec:
    """The description with each path qualified; `default` is the default file system."""
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
    return {n: replace(s, path=s.path and qualified(s.path, default)) for n, s in sinks.items()}


def qualified(path: str, default: str) -> str:
    """A path with a scheme; without one it is absolute, and on the default file system."""
    file = local(path)
    if file is not None:
        return as_uri(file)
    if has_scheme(path):
        scheme, _, rest = path.partition(":")
        is_same = default.partition(":")[0].lower() == scheme.lower()
        return f"{default}{rest}" if is_same and not rest.startswith("//") else path
    return as_uri(Path(path)) if default.lower() == "file:" else f"{default}{path}"


def local(path: str) -> Path | None:
    """The file of this machine that a qualified path means; None if it is elsewhere."""
    found = _LOCAL.match(path)
    return Path(path[found.end() :]) if found else None


def as_uri(file: Path) -> str:
    """A file of this machine as a qualified path."""
    return f"file://{file.absolute()}"


def as_pattern(file: Path) -> str:
    """A file of this machine as a pattern that matches nothing else: Spark reads patterns."""
    return as_literal(as_uri(file))


def is_pattern(path: str) -> bool:
    return _PATTERN.search(path) is not None


def shown_path(path: str) -> str:
    """A qualified path as messages show it."""
    file = local(path)
    if file is None:
        return path
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def options_of_files(options: Mapping[str, str]) -> dict[str, Any]:
    """The options by which Spark chooses files."""
    return {key: value for key, value in options.items() if key.lower() in _CHOOSING}
