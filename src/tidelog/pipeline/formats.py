"""The formats of sources and sinks: one registry of what a pipeline knows of each.

Spark reads and writes others too; nothing is known of them here, so they are read as values, as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["EXTENSIONS", "FORMATS", "Format", "format_of"]


@dataclass(frozen=True, slots=True)
class Format:
    """What a pipeline knows of a format.

    - `extensions`: files with one of these have the format, unless the description says otherwise.
    - `is_lines`: Tidelog parses its records itself, from lines of text.
    - `is_delimited`: a record is cells between delimiters.
    - `width`: the number of its columns, all text, if that is fixed.
    - `has_places`: Spark says which file a row is from, and where in it.
    - `is_apart`: files are independent of each other, so that new ones can be read alone.
    - `header`: whether files have a header unless the description says otherwise.
    """

    name: str
    extensions: tuple[str, ...] = ()
    is_lines: bool = False
    is_delimited: bool = False
    width: int | None = None
    has_places: bool = True
    is_apart: bool = True
    header: bool = False


_ALL: Final = (
    Format("csv", (".csv",), is_lines=True, is_delimited=True, header=True),
    Format("tsv", (".tsv", ".facts"), is_lines=True, is_delimited=True),
    Format("json", (".json", ".jsonl", ".ndjson"), is_lines=True),
    Format("text", (".txt",), is_lines=True, width=1),
    Format("ntriples", (".nt",), is_lines=True, width=3),
    Format("parquet", (".parquet",)),
    Format("orc", (".orc",)),
    Format("avro", is_apart=False),
)

FORMATS: Final[Mapping[str, Format]] = {known.name: known for known in _ALL}
EXTENSIONS: Final[Mapping[str, str]] = {e: known.name for known in _ALL for e in known.extensions}


def format_of(name: str) -> Format:
    """What is known of a format; of an unknown one, nothing."""
    return FORMATS.get(name) or Format(name, has_places=False, is_apart=False)
