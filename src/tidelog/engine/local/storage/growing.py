"""Arrays that grow in place.

A large array is placed at the beginning of a much larger range of addresses. The system gives memory to the
part that is used, so the array grows without a copy, and readers of a shorter version are not affected.
"""

from __future__ import annotations

import math
import mmap
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["IN_PLACE", "extended", "longer", "zeros"]

IN_PLACE: Final = 2**23  # bytes from which on ranges are reserved; malloc reuses smaller ones
_RESERVED: Final = 16  # times the length


class _Room(mmap.mmap):
    """A range of addresses."""


def longer(array: npt.NDArray[Any], length: int) -> Any:
    """The array extended with zeros to this length; the array itself if it is longer.

    The values that both have in common may be shared with the given array.
    """
    if len(array) > length:  # memory ran out for other arrays after this one had grown
        return array
    shape = (length, *array.shape[1:])
    size = array.dtype.itemsize * math.prod(shape)
    room: Any = array.base
    if isinstance(room, _Room) and size <= len(room):
        return np.ndarray(shape, array.dtype, room)
    made = _reserved(shape, array.dtype, size) if size >= IN_PLACE else None
    if made is None:
        made = np.zeros(shape, array.dtype)
    made[: len(array)] = array
    return made


def zeros(length: int, dtype: npt.DTypeLike) -> Any:
    """An array of zeros, with room to grow if it is large."""
    kind = np.dtype(dtype)
    made = _reserved((length,), kind, kind.itemsize * length) if kind.itemsize * length >= IN_PLACE else None
    return np.zeros(length, kind) if made is None else made


def extended(array: npt.NDArray[Any], length: int) -> Any:
    """A longer array at the same place, followed by zeros if they were never used; None if it has no room."""
    room: Any = array.base
    if isinstance(room, _Room) and array.dtype.itemsize * length <= len(room):
        return np.ndarray(length, array.dtype, room)
    return None


def _is_counted() -> bool:
    """Whether the system counts addresses that are only reserved, against a limit or as memory in use."""
    import resource  # not on Windows

    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return True
    strict = Path("/proc/sys/vm/overcommit_memory")
    with suppress(OSError):
        return strict.read_text().strip() == "2"
    return False


def _reserved(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> npt.NDArray[Any] | None:
    """An array of zeros with room to grow; None if the system gives no room."""
    if sys.platform == "win32" or _is_counted():
        return None
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        room = _Room(-1, size * _RESERVED, flags=flags)
    except (OSError, ValueError, OverflowError):
        return None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without large pages
            room.madvise(mmap.MADV_HUGEPAGE)
    return np.ndarray(shape, dtype, room)
