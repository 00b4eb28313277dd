"""Reads real data: graphs as CSV, the edits of a shared text as numbers."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

__all__ = ["read_edits", "read_graph"]


def read_graph(path: Path) -> npt.NDArray[np.int64]:
    """The edges of a CSV file with the header src,dst."""
    table = csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=["src", "dst"]))
    return np.stack([c.cast(pa.int64()).to_numpy() for c in table.columns], axis=1)


def read_edits(folder: Path) -> dict[str, npt.NDArray[np.int64]]:
    """The insertions (id, parent) and removals (id) of a shared text; an id is a counter and a replica."""
    return {
        "Insert": _numbers(folder / "insert.txt.gz", 4),
        "Remove": _numbers(folder / "remove.txt.gz", 2),
    }


def _numbers(path: Path, columns: int) -> npt.NDArray[np.int64]:
    return np.array(_text(path).split(), np.int64).reshape(-1, columns)


def _text(path: Path) -> str:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8")
