"""Takes the rows of a source that is given as a table of Arrow, pandas or Polars.

They are checked as the rows that are inserted in a session are, and compared with those of the store.
"""

from __future__ import annotations

import pyarrow as pa

from tidelog.errors import DataError, PipelineError
from tidelog.pipeline.source_spec import Source
from tidelog.pipeline.sources.reading import expect_columns
from tidelog.pipeline.sources.taking import Taking
from tidelog.program.declared import Relation
from tidelog.tables.given import to_table

__all__ = ["ByRows", "is_given"]


def is_given(source: Source) -> bool:
    """Whether the rows are in this process, not in a DataFrame of Spark."""
    return source.frame is not None and not hasattr(source.frame, "sparkSession")


class ByRows:
    def __init__(self, taking: Taking) -> None:
        self._taking = taking

    def take(self, source: Source, relation: Relation) -> None:
        """Take the differences of all rows."""
        place = f"sources.{relation.name}"
        given = pa.table(source.frame)
        names = {c.name: source.columns.get(c.name, c.name) for c in relation.columns}
        expect_columns(place, [*names.values()], given.column_names)
        try:
            rows = to_table(relation, given.select([*names.values()]).rename_columns([*names]))
        except DataError as error:
            where = f", row {error.row + 1}" if error.row is not None else ""
            column = f", column {error.column}" if error.column is not None else ""
            raise PipelineError(f"{place}{where}{column}: {error.problem}; no changes applied") from None
        self._taking.set_aside(source, place, None, given.num_rows)
        self._taking.found.sidecars[relation.name] = {}
        self._taking.found.prints[relation.name] = ""
        self._taking.report(relation, *self._taking.difference(relation, rows))
