"""What OpenLineage calls the sources and sinks of a pipeline: a namespace and a name each.

The names follow its naming conventions, so that other systems mean the same dataset: a file system and a
path, a database and a table, a broker and a topic. A table of Spark's catalog has a name of its own in every
deployment; here its namespace is that of the pipeline. Passwords in the address of a database are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.source_spec import Source

__all__ = ["Named", "datasets_of", "sink_dataset"]

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(/?.*)")
_OBJECTS: Final = {"s3a": "s3", "s3n": "s3", "s3": "s3", "gs": "gs"}
_DATABASES: Final = {"postgresql": "postgres"}
_JDBC: Final = re.compile(r"jdbc:([a-z0-9]+):(?:thin:)?(?://|@/{0,2})(?:[^/@]*@)?([^/?;]+)(?:/([^?;]*))?")


class Named(NamedTuple):
    namespace: str
    name: str


def datasets_of(source: Source, namespace: str, job: str) -> Iterator[Named]:
    """The datasets that a source reads; its paths are qualified."""
    if source.paths:
        yield from map(_file, source.paths)
    elif source.table is not None:
        yield Named(namespace, source.table)
    elif source.format == "kafka":
        yield from _topics(source)
    elif source.format == "jdbc":
        yield _database(source.options, namespace)
    else:
        yield Named(namespace, f"{job}.{source.relation}")


def sink_dataset(sink: Sink, namespace: str, job: str) -> Named:
    """The dataset that a sink writes: a folder, whatever its version."""
    if sink.table is not None:
        return Named(namespace, sink.table)
    if sink.path is not None:
        return _file(sink.path)
    if sink.format == "jdbc":
        return _database(sink.options, namespace)
    return Named(namespace, f"{job}.{sink.name}")


def _file(uri: str) -> Named:
    found = _URI.fullmatch(uri)
    if found is None:
        return Named("file", uri)
    scheme, authority, path = found[1].lower(), found[2] or "", found[3]
    if scheme in _OBJECTS:
        return Named(f"{_OBJECTS[scheme]}://{authority}", path.strip("/") or "/")
    return Named(f"{scheme}://{authority}" if authority else scheme, path.rstrip("/") or "/")


def _topics(source: Source) -> Iterator[Named]:
    options = {key.lower(): value for key, value in source.options.items()}
    broker = options.get("kafka.bootstrap.servers", "").split(",")[0]
    topics = options.get("subscribe") or options.get("subscribepattern") or "*"
    for topic in topics.split(",") if "subscribe" in options else [topics]:
        yield Named(f"kafka://{broker}", topic.strip())


def _database(options: object, namespace: str) -> Named:
    known = {key.lower(): value for key, value in dict(options).items()}  # type: ignore[call-overload]
    table = known.get("dbtable") or "query"
    found = _JDBC.match(known.get("url", ""))
    if found is None:
        return Named(namespace, table)
    system = _DATABASES.get(found[1], found[1])
    return Named(f"{system}://{found[2]}", f"{found[3]}.{table}" if found[3] else table)
