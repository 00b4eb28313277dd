"""Python values of users as canonical values, one at a time.

Users hold values of NumPy, pandas and Arrow among Python's own: `native` replaces them, at every depth of a
structured value. `check` is the slow path of `fitting`, which decides what is accepted.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.data import types
from tidelog.data.conversion import convert
from tidelog.data.scalars import ScalarValue, canonical_scalar
from tidelog.data.types import Scalar, Type, present
from tidelog.data.values import BadValue, Value, canonical, from_text, to_text
from tidelog.errors import shown
from tidelog.tables.arrow import is_text, is_wide

__all__ = ["check", "native", "number"]


def check(type_: Type, value: object) -> Value:
    """The canonical value. Raises BadValue."""
    plain = native(value)
    item = present(type_)
    if plain is None:
        return canonical(type_, plain)
    if isinstance(item, types.Tuple | types.Vec | types.Set | types.Map | types.Named):
        return _structured(item, plain)
    _expect_exact(item, plain)
    return canonical(type_, plain)


def _expect_exact(item: Scalar, plain: object) -> None:
    if (
        isinstance(item, types.Float | types.Double)
        and isinstance(plain, int)
        and canonical(item, plain) != plain
    ):
        raise BadValue(f"{shown(plain)} cannot be represented exactly as {item}")


def _structured(item: types.Structured, plain: object) -> Value:
    """A structured value; texts are JSON, and so are the bytes of a recursive type."""
    if isinstance(plain, bytes) and types.is_recursive(item):
        try:
            return from_text(item, plain.decode())
        except UnicodeDecodeError:
            raise BadValue(f"{shown(plain)} is not valid UTF-8 text") from None
    if isinstance(plain, str):
        return from_text(item, plain)
    converted: Value = convert(item, plain, _inner_scalar, native)
    return converted


def _inner_scalar(type_: Scalar, value: object) -> ScalarValue:
    """A scalar inside a structured value. Arrow holds wide numbers as digits, other systems as decimals."""
    if types.is_integer(type_) and isinstance(value, str):
        value = number(value) if is_wide(type_) else value
    elif (
        types.is_integer(type_) and isinstance(value, decimal.Decimal) and value == value.to_integral_value()
    ):
        value = int(value)
    _expect_exact(type_, value)
    return canonical_scalar(type_, value)


def native(value: object) -> object:
    """The Python value of a NumPy, pandas or Arrow scalar; their missing values become None."""
    if isinstance(value, np.datetime64):
        return _moment(value)
    if isinstance(value, np.timedelta64):
        return _span(value)
    if isinstance(value, np.ndarray):
        return list(value)
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return value.item()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, pa.Scalar):
        raise BadValue(_unrepresentable(value))
    if isinstance(value, datetime) and hasattr(value, "to_pydatetime"):
        return _whole_micros(value, getattr(value, "nanosecond", 0), value.to_pydatetime)
    if isinstance(value, timedelta) and hasattr(value, "to_pytimedelta"):
        return _whole_micros(value, getattr(value, "nanoseconds", 0), value.to_pytimedelta)
    return value


def _whole_micros(value: object, nanoseconds: int, plain: Callable[[], object]) -> object:
    if nanoseconds:
        raise BadValue(f"{value} is finer than a microsecond")
    return plain()


def _unrepresentable(value: Any) -> str:
    """The reason why Python cannot represent an Arrow scalar."""
    if is_text(value.type):
        return f"{shown(value.as_buffer().to_pybytes())} is not valid UTF-8 text"
    if pa.types.is_temporal(value.type):
        return f"{value.value} as {value.type} is outside the years 1 to 9999, or finer than a microsecond"
    return f"a value of the Arrow type {value.type} has no Python equivalent"


def _moment(value: np.datetime64) -> object:
    if np.isnat(value):
        return None
    if np.datetime_data(value.dtype)[0] == "D":
        return value.item()
    rounded = value.astype("datetime64[us]")
    if rounded != value:
        raise BadValue(f"{value} is finer than a microsecond")
    return rounded.item()


def _span(value: np.timedelta64) -> object:
    if np.isnat(value):
        return None
    if np.datetime_data(value.dtype)[0] in ("Y", "M", "generic"):
        raise BadValue(f"{value!r} has no fixed length in microseconds")
    micros = value.astype("timedelta64[us]")
    if micros != value:
        raise BadValue(f"{value} is finer than a microsecond, or too long")
    return timedelta(microseconds=int(micros.astype(np.int64)))


def number(text: object) -> object:
    """The number that a text in canonical form denotes; any other text unchanged."""
    try:
        value = from_text(types.BIGINT, str(text))
    except BadValue:
        return text
    return value if to_text(types.BIGINT, value) == text else text
