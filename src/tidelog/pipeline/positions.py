"""The position of a stream: what Spark keeps in its checkpoint folder, as one file of the store.

Spark writes which rows a batch has before it passes them on, and that the batch is done afterwards. In a
local store it does so beside the manifests. For a store elsewhere, the folder is a temporary one, and each
commit of a batch saves what it has at that moment; the next process goes on with a folder restored from the
last commit. Spark then repeats the batch of that commit, which is recognised by its number, and plans all
later ones again. So the position is never ahead of the store, nor behind it.

Only the streams of sources are here: the batches have no state of their own.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["packed", "unpack"]

_LOGS: Final = ("offsets", "commits")  # a file for each batch, of which Spark reads the last two
_LAST: Final = 2
_ENCODING: Final = "latin-1"  # any bytes


def packed(checkpoint: Path) -> bytes:
    """The content of a checkpoint folder."""
    files = {
        file.relative_to(checkpoint).as_posix(): file.read_bytes().decode(_ENCODING)
        for file in _files(checkpoint)
    }
    return zlib.compress(json.dumps(files, sort_keys=True).encode())


def unpack(content: bytes, checkpoint: Path) -> None:
    """Restore a checkpoint folder."""
    for name, text in json.loads(zlib.decompress(content)).items():
        file = checkpoint / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode(_ENCODING))


def _files(checkpoint: Path) -> Iterator[Path]:
    """The files that a restart needs: no checksums, unfinished files and old batches."""
    for file in sorted(checkpoint.rglob("*")):
        if file.is_dir() or file.name.startswith("."):
            continue
        log = file.parent if file.parent.name in _LOGS and file.parent.parent == checkpoint else None
        if log is None or file.name in _newest(log):
            yield file


def _newest(log: Path) -> set[str]:
    numbers = sorted(int(file.name) for file in log.iterdir() if file.name.isdigit())
    return {str(number) for number in numbers[-_LAST:]}
