"""Reads real data: graphs as CSV, the edits of a shared text and facts in general as numbers."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

__all__ = ["read_edits", "read_facts", "read_graph"]


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


def read_facts(folder: Path) -> dict[str, npt.NDArray[np.int64]]:
    """The relations of a folder, by the stems of its files: numbers with tabs (.facts) or commas (.csv)."""
    separators = {".facts": "\t", ".csv": ","}
    paths = sorted(path for path in folder.iterdir() if path.suffix in separators and path.stat().st_size)
    return {path.stem: _separated(path, separators[path.suffix]) for path in paths}


def _separated(path: Path, separator: str) -> npt.NDArray[np.int64]:
    table = csv.read_csv(
        path,
        csv.ReadOptions(autogenerate_column_names=True),
        csv.ParseOptions(delimiter=separator),
    )
    return np.stack([column.cast(pa.int64()).to_numpy() for column in table.columns], axis=1)


def _numbers(path: Path, columns: int) -> npt.NDArray[np.int64]:
    return np.array(_text(path).split(), np.int64).reshape(-1, columns)


def _text(path: Path) -> str:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8")
