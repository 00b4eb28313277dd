"""Conversion between columns of text and columns of values, shared by all text formats.

A cell is parsed with `from_text`; floats may also be spelled as in C and Python (`nan`, `-inf`). A null is an
empty cell: `none` in an option column, the empty value in a string or bytes column, an error elsewhere. As in
`fitting`, kernels convert whole columns where they provably agree with `from_text`, and decline otherwise.
Then each distinct text is parsed once. Structured values are written as JSON.
"""

from __future__ import annotations

from typing import Any, Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.data import types
from tidelog.data.traits import traits
from tidelog.data.types import Type, present
from tidelog.data.values import BadValue, Value, canonical, from_text, to_text
from tidelog.tables.arrow import arrow_type, is_wide, type_of
from tidelog.tables.columns import values_of
from tidelog.tables.fitting import Misfit, distinct, fit_arrow, fit_values, within

__all__ = ["read_cells", "write_cells"]

_FRACTION: Final = r"^-?[0-9]{1,38}(\.[0-9]{1,38})?$"  # Arrow's widest decimal holds these digits exactly
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_SPELLINGS: Final = {
    **dict.fromkeys(("nan", "+nan", "-nan"), "NaN"),
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "Infinity"),
    **dict.fromkeys(("-inf", "-infinity"), "-Infinity"),
}
_NOTHING: Final = frozenset(["nan", "na", "n/a", "null", "none", "nil", "\\n", "?"])
_DAY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"


def read_cells(type_: Type, cells: Any) -> Any:
    """The column of a type, parsed from texts. Raises Misfit."""
    item = present(type_)
    option = isinstance(type_, types.Option)
    if isinstance(item, types.String | types.Bytes) and not option:
        cells = cells.fill_null("")
    if isinstance(item, types.String):
        return cells
    if not isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named) and (
        option or not cells.null_count
    ):
        try:
            read = _fast(item, cells)
        except pa.ArrowException:
            read = None
        if read is not None and within(type_, read):
            return read
    return _slow(type_, cells)


def _fast(item: types.Scalar, cells: Any) -> Any:
    """The column parsed by kernels; None if `from_text` might give another result."""
    target = arrow_type(item)
    match item:
        case types.Bool():
            known = pc.is_in(cells, pa.array(["true", "false"]), skip_nulls=True)
            known = pc.or_(known, cells.is_null())
            return pc.equal(cells, "true") if pc.all(known).as_py() in (True, None) else None
        case types.Int() | types.Bit() | types.Signed() if not is_wide(item):
            # Arrow accepts several spellings of a number; only the one that it writes itself is safe
            numbers = cells.cast(target)
            return (
                numbers if pc.all(pc.equal(numbers.cast(pa.string()), cells)).as_py() is not False else None
            )
        case types.Float() | types.Double():
            return _floats(item, cells)
        case types.Decimal():
            return cells.cast(pa.decimal256(76, 38)).cast(target) if _all_match(cells, _FRACTION) else None
        case types.Date():
            return cells.cast(target) if _all_match(cells, _DAY) else None
        case types.Timestamp():
            if _all_match(cells, _MOMENT + "Z$"):
                return cells.cast(target)
            return cells.cast(pa.timestamp("us")).cast(target) if _all_match(cells, _MOMENT + "$") else None
        case types.Int() | types.BigInt() | types.Bit() | types.Signed() | types.Bytes() | types.String():
            return None
        case types.Duration():
            return None
        case _:
            assert_never(item)


def _all_match(cells: Any, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(cells, pattern)).as_py() is not False


def _floats(item: types.Item, cells: Any) -> Any:
    if not _all_match(cells, _NUMBER):
        return None
    numbers = cells.cast(pa.float64())
    if pc.any(pc.is_inf(numbers)).as_py():
        return None
    try:
        return fit_arrow(types.Option(item), numbers)
    except Misfit:
        return None  # the slow path reports the text instead of the number


def _slow(type_: Type, cells: Any) -> Any:
    """The column with each distinct text parsed once, in order of first occurrence."""
    known = cells.unique()
    values: list[Value] = []
    for text in known.to_pylist():
        try:
            values.append(_value(type_, text))
        except BadValue as bad:
            row = cells.index(text).as_py() if text is not None else _first_null(cells)
            raise Misfit(row, text, str(bad)) from None
    column = fit_values(type_, values)
    return column.take(pc.index_in(cells, known)) if values else column


def _value(type_: Type, text: str | None) -> Value:
    if text is None and not isinstance(type_, types.Option):
        raise BadValue(
            f"an empty cell is not of type {type_}; fill it, or declare the column option<{type_}>"
        )
    if text is None:
        return None
    try:
        return from_text(
            type_, _SPELLINGS.get(text.lower(), text) if types.is_float(present(type_)) else text
        )
    except BadValue as bad:
        if bad.path:
            raise
        hint = "; remove the surrounding whitespace" if text.strip() != text else _missing(type_, text)
        raise BadValue(f"{bad}{hint or _example(present(type_))}") from None


def _missing(type_: Type, text: str) -> str:
    """The remedy for a text that other tools write for a missing value."""
    if text.lower() not in _NOTHING:
        return ""
    column = "" if isinstance(type_, types.Option) else f", and declare the column option<{type_}>"
    return f"; leave the cell empty if the value is missing{column}"


def _example(item: types.Item) -> str:
    example = traits(item).example
    return (
        f"; write it as {example}"
        if example
        else "; correct the cell, or declare the column with another type"
    )


def _first_null(cells: Any) -> int:
    found: int = cells.is_null().index(True).as_py()
    return found


# -- writing


def write_cells(column: Any, type_: Type | None = None) -> Any:
    """The texts of a column as `to_text` writes them, null where the value is missing.

    The type of a column of structs must be given.
    """
    item = type_of(column.type) if type_ is None else present(type_)
    assert item is not None, f"no relation has a column of {column.type}"
    match item:
        case types.Bool() | types.Int() | types.Bit() | types.String() | types.Date() if not is_wide(item):
            return column.cast(pa.string())
        case types.Timestamp():
            return _moments(column)
        case types.Decimal():
            texts = column.cast(pa.string())
            if not pc.any(pc.match_substring(texts, "E")).as_py():
                return texts
        case types.Tuple() | types.Vec() | types.Set() | types.Map() | types.Named():
            return _json_texts(item, column)
        case types.BigInt() | types.Bit() | types.Signed() if is_wide(item):
            return column.cast(pa.string())
        case types.Float() | types.Double() | types.Signed() | types.Bytes() | types.Duration():
            pass
        case types.Bool() | types.Int() | types.BigInt() | types.Bit() | types.String() | types.Date():
            raise AssertionError("handled above")
        case _:
            assert_never(item)
    return distinct(column, lambda value: to_text(item, canonical(item, value)), pa.string())


def _json_texts(item: types.Structured, column: Any) -> Any:
    values = values_of(item, column.cast(arrow_type(item)))
    texts = [None if v is None else to_text(item, v) for v in values]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _moments(column: Any) -> Any:
    naive = column.cast(pa.timestamp("us")).cast(pa.string())
    short = pc.replace_substring_regex(naive, r"\.000000$", "")
    return pc.binary_join_element_wise(pc.replace_substring(short, " ", "T"), "Z", "")
