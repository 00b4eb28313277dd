"""What everything with columns and rows offers: relations, answers to queries, and changes.

A class says what its Arrow table is (`to_arrow`); the rest follows from that. With the Arrow PyCapsule
interface, Polars, PyArrow, DuckDB and pandas take the rows without a conversion by hand.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tidelog.errors import SessionError
from tidelog.program.declared import Relation
from tidelog.session.names import as_path

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Tabular"]

_NULLABLE: Final = {f"{u}int{n}": f"{u.upper()}Int{n}Dtype" for u in ("", "u") for n in (8, 16, 32, 64)}


class Tabular(ABC):
    relation: Relation

    @abstractmethod
    def to_arrow(self) -> pyarrow.Table:
        """A PyArrow table."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as a stream of the Arrow PyCapsule interface, cast to the requested types if possible."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame of the exact values: an integer column with missing ones is nullable (`Int64`, …)."""
        library = _expect_installed("pandas")
        table = self.to_arrow()
        frame: pandas.DataFrame = table.to_pandas(integer_object_nulls=True)  # not as floats, which round
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count and (nullable := _NULLABLE.get(str(column.type))):
                frame[name] = column.to_pandas(types_mapper=lambda _, to=nullable: getattr(library, to)())
        return frame

    def to_polars(self) -> polars.DataFrame:
        frame: polars.DataFrame = _expect_installed("polars").from_arrow(self.to_arrow())
        return frame

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict for each row, by column, with the values that iteration gives."""
        names = self._names()
        return [dict(zip(names, row, strict=True)) for row in self._tuples()]

    @abstractmethod
    def _names(self) -> Sequence[str]:
        """The names of the columns of `to_arrow`."""

    @abstractmethod
    def _tuples(self) -> Iterable[tuple[Any, ...]]:
        """The rows as tuples, in the order and with the columns of `to_arrow`."""

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, atomically replacing an earlier one."""
        self._write(as_path("to_parquet", path), ".parquet")

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write a CSV file with a header; without a path, return its text."""
        return self._text("to_csv", path, ".csv")

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write JSON lines, an object for each row; without a path, return the text."""
        return self._text("to_json", path, ".jsonl")

    def _text(self, call: str, path: str | os.PathLike[str] | None, form: str) -> str | None:
        if path is not None:
            self._write(as_path(call, path), form)
            return None
        from tidelog.formats.files import encode_facts  # imports the libraries of all formats

        return b"".join(encode_facts(self.to_arrow(), form, self.relation)).decode()

    def _write(self, path: Path, form: str) -> None:
        from tidelog.formats.files import write_facts  # imports the libraries of all formats

        write_facts(self.to_arrow(), path, self.relation, form=form)


def _expect_installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise SessionError(f"{package} is not installed; `pip install {package}`") from None
