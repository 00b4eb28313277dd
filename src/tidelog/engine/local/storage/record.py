"""A file of plain values and arrays: JSON, followed by the arrays in their memory layout.

A local file is read by memory-mapping it: pages are read on first access and copied on first write. In a file
that is kept for long, or elsewhere, each array is compressed. Reading yields only numbers, texts, lists and
arrays. An array must have the type and shape that the reader expects, otherwise `Corrupt` is raised. The
owners of the numbers check what they mean.
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
import pyarrow as pa

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
_CODEC: Final = pa.Codec("zstd", 1)
_MOST: Final = 1 << 40  # bytes of an array
_WORTH: Final = 1 << 10  # bytes from which on an array is compressed
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


# -- files: a magic number, the length of the header, the header (array types, shapes, values), the arrays.
# For a compressed array, the header also has the number of its bytes in the file.


def write_record(out: Any, record: Record, *, compressed: bool = False) -> None:
    kinds: list[list[Any]] = []
    contents: list[Any] = []
    for array in record.arrays:
        content: Any = array.reshape(-1).view(np.uint8).data if array.nbytes else b""
        packed = _packed(content) if compressed else content
        is_smaller = len(packed) < len(content)
        kinds.append([array.dtype.str, list(array.shape), *([len(packed)] if is_smaller else [])])
        contents.append(packed if is_smaller else content)
    head = json.dumps({"arrays": kinds, "values": record.values}).encode()
    out.write(_MAGIC + _LENGTH.pack(len(head)) + head)
    at = len(_MAGIC) + _LENGTH.size + len(head)
    for content in contents:
        padding = -at % _ALIGNED
        out.write(bytes(padding))
        if len(content):
            out.write(content)
        at += padding + len(content)


def _packed(content: Any) -> Any:
    return content if len(content) < _WORTH else _CODEC.compress(content, asbytes=True)


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
        dtype, shape, packed = _kind(kind)
        at += -at % _ALIGNED
        size = math.prod(shape) * dtype.itemsize
        stored = size if packed is None else packed
        expect(at + stored <= len(content), "truncated")
        part = content[at : at + stored] if packed is None else _unpacked(content[at : at + stored], size)
        arrays.append(np.ndarray(shape, dtype, part) if size else np.empty(shape, dtype))
        at += stored
    expect(at == len(content), "extra bytes at the end")
    return Record(values, arrays)


def _unpacked(content: memoryview, size: int) -> Any:
    """The bytes of a compressed array, which may be modified."""
    expect(size <= _MOST, "invalid shape")
    try:
        found = _CODEC.decompress(content, decompressed_size=size)
    except (OSError, ValueError, MemoryError):
        raise Corrupt("invalid compressed array") from None
    expect(len(found) == size, "truncated")
    return found


def _kind(kind: Any) -> tuple[np.dtype[Any], Sequence[int], int | None]:
    """The type and shape of an array, and its compressed size, if it is compressed."""
    expect(isinstance(kind, list) and len(kind) in (2, 3), "invalid array type")
    name, shape, packed = kind if len(kind) == 3 else (*kind, None)
    expect(packed is None or (type(packed) is int and packed > 0), "invalid size")
    expect(isinstance(name, str) and name in _TYPES and isinstance(shape, list), "invalid array type")
    expect(all(type(n) is int and 0 <= n < 1 << 62 for n in shape) and len(shape) in (1, 2), "invalid shape")
    return np.dtype(name), shape, packed
