"""A file of plain values and arrays: JSON, followed by the arrays in their memory layout.

A local file is read by memory-mapping it: pages are read on first access and copied on first write. Reading
yields only numbers, texts, lists and arrays. An array must have the type and shape that the reader expects,
otherwise `Corrupt` is raised. The owners of the numbers check what they mean.
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

_MAGIC: Final = b"TIDELOG\x05"
_ALIGNED: Final = 64
_LENGTH: Final = struct.Struct("<q")
_TYPES: Final = frozenset(["|u1", "<i4", "<i8", "<u8"])

Array = npt.NDArray[Any]


class Corrupt(Exception):
    """The record is damaged."""


def expect(condition: object, what: str) -> None:
    if not condition:
        raise Corrupt(what)


def expect_within(array: Array, low: int, high: int, what: str) -> None:
    """Raise Corrupt unless all values are at least `low` and below `high`."""
    if array.size:
        expect(int(array.min()) >= low and int(array.max()) < high, f"{what} out of bounds")


def expect_each(rows: Array, count: int) -> None:
    """Raise Corrupt unless each row number below `count` occurs once. All must be in bounds."""
    found = np.zeros(count, np.bool_)
    found[rows] = True
    expect(len(rows) == count and found.all(), "missing row number")


@dataclass(slots=True)
class Record:
    """A record. `values` are JSON and refer to arrays by the numbers that `put` returned."""

    values: Any = None
    arrays: list[Array] = field(default_factory=list)

    def put(self, array: Array) -> int:
        self.arrays.append(np.ascontiguousarray(array))
        return len(self.arrays) - 1

    def array(self, number: Any, dtype: npt.DTypeLike | None, *shape: int | None) -> Array:
        """The array with this number. Raises Corrupt unless type and shape match; None matches any."""
        expect(type(number) is int and 0 <= number < len(self.arrays), "missing array")
        found: Array = self.arrays[number]
        fits = found.ndim == len(shape) and all(
            wanted is None or length == wanted for length, wanted in zip(found.shape, shape, strict=True)
        )
        fits = fits and (dtype is None or bool(found.dtype == dtype))
        expect(fits, f"unexpected array of {found.dtype} {found.shape}")
        return found


# -- files: a magic number, the length of the header, the header (array types, shapes, values), the arrays


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
    """Map a record from a file; changes to its arrays stay private to this process."""
    with path.open("rb") as file:
        expect(path.stat().st_size, "empty file")
        return _read(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)))


def read_record(content: bytes) -> Record:
    """Read a record from bytes."""
    return _read(memoryview(bytearray(content)))


def _read(content: memoryview) -> Record:
    start = len(_MAGIC) + _LENGTH.size
    expect(len(content) >= start and bytes(content[: len(_MAGIC)]) == _MAGIC, "not a saved state")
    (length,) = _LENGTH.unpack_from(content, len(_MAGIC))
    expect(0 <= length <= len(content) - start, "truncated")
    try:
        head = json.loads(bytes(content[start : start + length]))
        kinds, values = head["arrays"], head["values"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Corrupt("invalid header") from None
    arrays: list[Array] = []
    at = start + length
    for kind in kinds:
        dtype, shape = _kind(kind)
        at += -at % _ALIGNED
        size = math.prod(shape) * dtype.itemsize
        expect(at + size <= len(content), "truncated")
        arrays.append(np.ndarray(shape, dtype, content, at) if size else np.empty(shape, dtype))
        at += size
    expect(at == len(content), "extra bytes at the end")
    return Record(values, arrays)


def _kind(kind: Any) -> tuple[np.dtype[Any], Sequence[int]]:
    expect(isinstance(kind, list) and len(kind) == 2, "invalid array type")
    name, shape = kind
    expect(isinstance(name, str) and name in _TYPES and isinstance(shape, list), "invalid array type")
    expect(all(type(n) is int and 0 <= n < 1 << 62 for n in shape) and len(shape) in (1, 2), "invalid shape")
    return np.dtype(name), shape
