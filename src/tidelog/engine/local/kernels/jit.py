"""An on-disk cache of compiled kernels, with one folder for each version of their sources.

Numba caches a compiled function under a digest of its file and does not notice changes of constants or
functions imported from other files. Kernels read and write memory by address, so mixing versions would give
wrong results. Here the cache folder is named after a digest of all sources in this folder, so a kernel is
only loaded with the sources that it was compiled from.

Folders of other versions are deleted when a new one is made. Processes that still use them compile again.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from functools import cache as once
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["njit"]

_PREFIX: Final = "kernels-"


@once
def _version() -> str:
    """A digest of all kernel sources."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"{file.name}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


class _Cache(FunctionCache):
    """Numba's cache of one function, in the folder of this version."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._folder = Path(self._cache_path, f"{_PREFIX}{_version()}")
        self._cache_path = str(self._folder)
        base = self._impl.filename_base
        self._cache_file = IndexDataCacheFile(self._cache_path, base, _version())  # type: ignore[no-untyped-call]

    def _save_overload(self, signature: Any, data: Any) -> None:
        if not self._folder.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            for other in self._folder.parent.glob(f"{_PREFIX}*"):
                if other != self._folder:
                    shutil.rmtree(other, ignore_errors=True)
        super()._save_overload(signature, data)  # type: ignore[no-untyped-call]


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's `njit`, with a cache that notices all changes."""

    def decorate(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        if cache:
            made._cache = _Cache(function)
        return made

    return decorate
