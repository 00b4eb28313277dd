"""A local engine between commits as a file, and back.

The arrays of tables and indexes lie in the file as they lie in memory, so that reading it back from a disk of
this machine is to map it: only what is looked at is read, and only what is changed is copied.

Files are for the same version of Tidelog, on the same kind of machine. Reading one makes nothing but arrays,
values and objects of classes of Tidelog's own, whatever is in it.
"""

from __future__ import annotations

import io
import mmap
import pickle
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from tidelog.engine.local.engine import LocalEngine

__all__ = ["map_file", "read_bytes", "restored", "saved", "write"]

_ALIGNED: Final = 64
_LENGTHS: Final = struct.Struct("<qq")
_FOREIGN: Final = frozenset(
    [
        ("decimal", "Decimal"),
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.numeric", "_frombuffer"),
    ]
)


def saved(engine: LocalEngine) -> Any:
    """What an engine holds at its last commit, in a form to be written; rules are not part of it."""
    dictionaries = dict(engine.codec.dictionaries)  # a reader may ask for another type
    return dictionaries, engine.tables, engine.bits, engine.types, engine.read


def restored(state: Any) -> LocalEngine:
    """An engine that holds what was saved; it has to be prepared for its program."""
    engine = LocalEngine()
    dictionaries, tables, bits, kinds, engine.read = state
    engine.codec.dictionaries.update(dictionaries)
    engine.tables.update(tables)
    engine.bits.update(bits)
    engine.types.update(kinds)
    return engine


# -- files: two lengths, the sizes of the arrays, what they belong to, and the arrays


def write(out: BinaryIO, state: Any) -> None:
    arrays: list[pickle.PickleBuffer] = []
    body = pickle.dumps(state, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    sizes = struct.pack(f"<{len(views)}q", *(view.nbytes for view in views))
    out.write(_LENGTHS.pack(len(views), len(body)) + sizes + body)
    at = _LENGTHS.size + len(sizes) + len(body)
    for view in views:
        padding = -at % _ALIGNED
        out.write(bytes(padding))
        out.write(view)
        at += padding + view.nbytes


def map_file(path: Path) -> Any:
    """What was written to a file; changes to its arrays are this process's own."""
    with path.open("rb") as file:
        return _read(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)))


def read_bytes(content: bytes) -> Any:
    """What was written, from its bytes."""
    return _read(memoryview(bytearray(content)))


def _read(content: memoryview) -> Any:
    count, length = _LENGTHS.unpack_from(content)
    sizes: Sequence[int] = struct.unpack_from(f"<{count}q", content, _LENGTHS.size)
    at = _LENGTHS.size + 8 * count
    body, at = content[at : at + length], at + length
    arrays = []
    for size in sizes:
        at += -at % _ALIGNED
        arrays.append(content[at : at + size])
        at += size
    return _Reader(io.BytesIO(body), buffers=arrays).load()


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _FOREIGN:
            return super().find_class(module, name)
        found = super().find_class(module, name) if module.startswith("tidelog.") else None
        if not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"a saved engine has no {module}.{name}")
        return found
