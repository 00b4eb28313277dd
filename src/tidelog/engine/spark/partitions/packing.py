"""Changes of relations as bytes: sent along with tasks, and logged between commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.engine.local.storage.record import Corrupt, Record
from tidelog.engine.spark.partitions.worker import Signed

__all__ = ["log", "logged", "packed", "unpacked"]


def packed(rows: Signed) -> tuple[bytes, bytes]:
    """Changes as bytes."""
    inserted, deleted = (_stream(table) for table in rows)
    return inserted, deleted


def _stream(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpacked(content: tuple[bytes, bytes]) -> Signed:
    """The changes that `packed` made bytes of."""
    inserted, deleted = (pa.ipc.open_stream(rows).read_all() for rows in content)
    return Signed(inserted, deleted)


def log(changed: Mapping[str, tuple[bytes, bytes]]) -> Record:
    """A record of changes as bytes, by relation."""
    record = Record()
    record.values = {
        name: [record.put(np.frombuffer(rows, np.uint8)) for rows in packed]
        for name, packed in changed.items()
    }
    return record


def logged(record: Record) -> dict[str, Signed]:
    """The changes in a log; Corrupt if it is damaged."""
    try:
        found = {
            n: [record.array(i, np.uint8, None) for i in numbers] for n, numbers in record.values.items()
        }
        changes = {
            name: unpacked((inserted.tobytes(), deleted.tobytes()))
            for name, (inserted, deleted) in found.items()
        }
        for table in (table for signed in changes.values() for table in signed):
            table.validate(full=True)
    except (AttributeError, TypeError, ValueError, OSError) as error:  # Arrow's errors are ValueErrors too
        raise Corrupt(f"invalid log: {error}") from None
    return changes
