"""A file of plain values and arrays: JSON, and behind it the arrays as they lie in memory.

Reading one from a disk of this machine is to map it: only what is looked at is read, and only what is changed
is copied. Nothing but numbers, texts, lists and arrays comes of it, and an array has the type and shape that
whoever asks for it expects, or it is `Corrupt`. What the numbers mean is checked by whoever they belong to.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Corrupt",
    "Record",
    "expect",
    "expect_each",
    "expect_within",
    "map_record",
    "read_record",
    "write_record",
]

_MAGIC: Final = b"TIDELOG\x03"
_ALIGNED: Final = 64
_LENGTH: Final = struct.Struct("<q")
_TYPES: Final = frozenset(["|u1", "<i4", "<i8", "<u8"])

Array = npt.NDArray[Any]


class Corrupt(Exception):
    """A record that cannot have been written so."""


def expect(condition: object, what: str) -> None:
    if not condition:
        raise Corrupt(what)


def expect_within(array: Array, low: int, high: int, what: str) -> None:
    """Corrupt unless all values are at least the one and below the other."""
    if array.size:
        expect(int(array.min()) >= low and int(array.max()) < high, f"{what} out of bounds")


def expect_each(rows: Array, count: int) -> None:
    """Corrupt unless each of so many row numbers is there once; all of them are in bounds."""
    found = np.zeros(count, np.bool_)
    found[rows] = True
    expect(len(rows) == count and found.all(), "a row that is missing")


@dataclass(slots=True)
class Record:
    """`values` are JSON; they refer to arrays by the numbers that `put` gives."""

    values: Any = None
    arrays: list[Array] = field(default_factory=list)

    def put(self, array: Array) -> int:
        self.arrays.append(np.ascontiguousarray(array))
        return len(self.arrays) - 1

    def array(self, number: Any, dtype: npt.DTypeLike, *shape: int | None) -> Array:
        """The array of this number; it has this type and shape, None being any length, or it is Corrupt."""
        expect(type(number) is int and 0 <= number < len(self.arrays), "a missing array")
        found: Array = self.arrays[number]
        fits = found.ndim == len(shape) and all(
            wanted is None or length == wanted for length, wanted in zip(found.shape, shape, strict=True)
        )
        expect(bool(found.dtype == dtype) and fits, f"an array of {found.dtype} {found.shape}")
        return found


# -- files: a magic number, the length of what follows, types and shapes with the values, and the arrays


def write_record(out: Any, record: Record) -> None:
    kinds = [[array.dtype.str, list(array.shape)] for array in record.arrays]
    head = json.dumps({"arrays": kinds, "values": record.values}).encode()
    out.write(_MAGIC + _LENGTH.pack(len(head)) + head)
    at = len(_MAGIC) + _LENGTH.size + len(head)
    for array in record.arrays:
        padding = -at % _ALIGNED
        out.write(bytes(padding))
        if array.nbytes:
            out.write(array.reshape(-1).view(np.uint8).data)
        at += padding + array.nbytes


def map_record(path: Path) -> Record:
    """What was written to a file; changes to its arrays are this process's own."""
    with path.open("rb") as file:
        expect(path.stat().st_size, "an empty file")
        return _read(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)))


def read_record(content: bytes) -> Record:
    """What was written, from its bytes."""
    return _read(memoryview(bytearray(content)))


def _read(content: memoryview) -> Record:
    start = len(_MAGIC) + _LENGTH.size
    expect(len(content) >= start and bytes(content[: len(_MAGIC)]) == _MAGIC, "not a saved state")
    (length,) = _LENGTH.unpack_from(content, len(_MAGIC))
    expect(0 <= length <= len(content) - start, "cut short")
    try:
        head = json.loads(bytes(content[start : start + length]))
        kinds, values = head["arrays"], head["values"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Corrupt("the description of its arrays") from None
    arrays: list[Array] = []
    at = start + length
    for kind in kinds:
        dtype, shape = _kind(kind)
        at += -at % _ALIGNED
        size = math.prod(shape) * dtype.itemsize
        expect(at + size <= len(content), "cut short")
        arrays.append(np.ndarray(shape, dtype, content, at) if size else np.empty(shape, dtype))
        at += size
    expect(at == len(content), "bytes after its end")
    return Record(values, arrays)


def _kind(kind: Any) -> tuple[np.dtype[Any], Sequence[int]]:
    expect(isinstance(kind, list) and len(kind) == 2, "the type of an array")
    name, shape = kind
    expect(isinstance(name, str) and name in _TYPES and isinstance(shape, list), "the type of an array")
    expect(all(type(n) is int and 0 <= n < 1 << 62 for n in shape) and len(shape) in (1, 2), "a shape")
    return np.dtype(name), shape
