"""Decodes codes into values, for readers in any thread.

Codes never change their meaning, and dictionaries have their own lock, so decoding needs no lock here. In a
session on Spark, tables can also be made DataFrames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from tidelog.data.types import Option, Type, is_structured, present
from tidelog.data.values import BadValue, Row, Value, canonical
from tidelog.engine.local.codes.arrow import decode_table
from tidelog.engine.local.codes.codec import NONE, Codec, Codes, is_direct
from tidelog.engine.local.storage.snapshot import Extent
from tidelog.errors import DataError, SessionError
from tidelog.program.declared import Relation
from tidelog.session.facts import Fact
from tidelog.tables.natives import check, native

__all__ = ["Decoder"]

_CHUNK: Final = 1 << 16


class Decoder:
    """`publish` makes a DataFrame of an Arrow table; a session that is not on Spark has none."""

    def __init__(self, codec: Codec, publish: Callable[[Any], Any] | None = None) -> None:
        self._codec = codec
        self._publish = publish

    def table(self, relation: Relation, codes: Codes) -> Any:
        """The Arrow table of rows of codes."""
        return decode_table(self._codec, relation, np.ascontiguousarray(codes.T))

    def rows(self, relation: Relation, codes: Codes) -> Iterator[Fact]:
        """The tuples of rows of codes, decoded in chunks."""
        if not relation.columns:
            yield from [()] * len(codes)
            return
        for start in range(0, len(codes), _CHUNK):
            listed = codes[start : start + _CHUNK].T.tolist()
            columns = map(self._codec.decode_listed, relation.types, listed)
            yield from zip(*columns, strict=True)

    def to_spark(self, table: Any) -> Any:
        """An Arrow table as a DataFrame."""
        if self._publish is None:
            raise SessionError(
                "the session is not on Spark; open it with tidelog.open(…, spark=session), or use to_arrow()"
            )
        return self._publish(table)

    def code(self, relation: Relation, place: int, value: object) -> int | None:
        """The code of a value in a column, None if no row can have it; DataError if its type is wrong."""
        column = relation.columns[place]
        try:
            return self._codec.find(column.type, _value(column.type, value))
        except BadValue as bad:
            raise DataError(relation.name, str(bad), column=column.name, value=value) from None

    def extent(self, relation: Relation, place: int, low: object, high: object) -> Extent:
        """The codes of a column that stand for values neither below `low` nor above `high`."""
        type_ = relation.columns[place].type
        if is_direct(type_):
            least, most = (None if v is None else self.code(relation, place, v) for v in (low, high))
            return Extent(NONE + 1 if isinstance(type_, Option) and least is None else least, most)
        dictionary = self._codec.dictionary(type_)
        first, last = (_canonical(relation, place, bound) for bound in (low, high))
        return Extent(among=dictionary.between(first, last))

    def row_codes(self, relation: Relation, row: object) -> Codes | None:
        """The codes of a row; None if the relation cannot have such a row."""
        if not isinstance(row, tuple | list) or len(row) != len(relation.columns):
            return None
        try:
            codes = [self.code(relation, i, value) for i, value in enumerate(row)]
        except DataError:
            return None
        return None if None in codes else np.array(codes, np.int64)

    def canonical_codes_of(self, relation: Relation, bound: Mapping[int, Value]) -> dict[int, int] | None:
        """The codes of canonical values in some columns; None if one of them has no code."""
        found: dict[int, int] = {}
        for place, value in bound.items():
            code = self._codec.find(relation.columns[place].type, value)
            if code is None:
                return None
            found[place] = code
        return found

    def canonical_codes(self, relation: Relation, row: Row) -> Codes | None:
        """The codes of a row of canonical values; None if one of them has no code."""
        codes = [self._codec.find(c.type, value) for c, value in zip(relation.columns, row, strict=True)]
        return None if None in codes else np.array(codes, np.int64)


def _canonical(relation: Relation, place: int, value: object) -> Value | None:
    """The canonical form of a value in a column; None for None."""
    column = relation.columns[place]
    if value is None:
        return None
    try:
        return _value(column.type, value)
    except BadValue as bad:
        raise DataError(relation.name, str(bad), column=column.name, value=value) from None


def _value(type_: Type, value: object) -> Value:
    """The canonical value that a user means. Raises BadValue."""
    return check(type_, value) if is_structured(present(type_)) else canonical(type_, native(value))
