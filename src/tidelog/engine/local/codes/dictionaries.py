"""Dictionaries of interned types in a record: the bytes of their values, and their lengths in bytes."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, assert_never

import numpy as np

from tidelog.data import types
from tidelog.engine.local.codes.codec import is_direct
from tidelog.engine.local.codes.interning import Dictionary
from tidelog.engine.local.codes.texts import Texts
from tidelog.engine.local.storage.record import Record, expect, expect_within

__all__ = ["put_dictionary", "take_dictionary"]


def put_dictionary(record: Record, item: types.Scalar, dictionary: Dictionary) -> list[Any]:
    if isinstance(dictionary, Texts):
        lengths, content = dictionary.contents()
    else:
        parts = [part.encode() for part in _texts(item, list(dictionary.values))]
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        content = np.frombuffer(b"".join(parts), np.uint8)
    return [_named(item), record.put(lengths), record.put(content)]


def take_dictionary(record: Record, saved: Any) -> tuple[types.Scalar, Dictionary]:
    """A type and its distinct values. Raises Corrupt or ValueError."""
    expect(isinstance(saved, list) and len(saved) == 3, "invalid dictionary")
    item = _type(saved[0])
    lengths = record.array(saved[1], np.int64, None)
    content = record.array(saved[2], np.uint8, None)
    expect_within(lengths, 0, len(content) + 1, "length of a value")
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    expect(int(ends[-1]) == len(content) and bool((np.diff(ends) >= 0).all()), "invalid lengths of values")
    if isinstance(item, types.String | types.Bytes):
        return item, Texts.of_contents(isinstance(item, types.String), lengths, content)
    whole = content.tobytes().decode()
    return item, Dictionary.of(_values(item, [whole[start:end] for start, end in pairwise(ends.tolist())]))


def _texts(item: types.Scalar, values: Sequence[Any]) -> Sequence[str]:
    match item:
        case types.Decimal():
            return list(map(str, values))
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Bit()
            | types.Signed()
            | types.Float()
            | types.Double()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
        ):
            return [f"{value:x}" for value in values]  # Python limits the length of decimal texts, not of hex
        case _:
            assert_never(item)


def _values(item: types.Scalar, parts: list[Any]) -> list[Any]:
    match item:
        case types.Decimal():
            return list(map(decimal.Decimal, parts))
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Bit()
            | types.Signed()
            | types.Float()
            | types.Double()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
        ):
            return [int(part, 16) for part in parts]
        case _:
            assert_never(item)


def _named(item: types.Scalar) -> list[Any]:
    match item:
        case types.Bit(width):
            return ["bit", width]
        case types.Signed(width):
            return ["signed", width]
        case types.Decimal(precision, scale):
            return ["decimal", precision, scale]
        case (
            types.Bool()
            | types.Int()
            | types.BigInt()
            | types.Float()
            | types.Double()
            | types.String()
            | types.Bytes()
            | types.Date()
            | types.Timestamp()
        ):
            return [str(item)]
        case _:
            assert_never(item)


def _type(name: Any) -> types.Scalar:
    item: types.Scalar | None = None
    match name:
        case ["bit", int(width)] if 1 <= width <= types.MAX_WIDTH:
            item = types.Bit(width)
        case ["signed", int(width)] if 1 <= width <= types.MAX_WIDTH:
            item = types.Signed(width)
        case ["decimal", int(precision), int(scale)] if 0 <= scale <= precision <= types.MAX_DIGITS:
            item = types.Decimal(precision, scale)
        case [str(text)]:
            item = {str(t): t for t in (types.STRING, types.BYTES, types.BIGINT)}.get(text)
        case _:
            pass
    expect(item is not None and not is_direct(item), "invalid type of a dictionary")
    assert item is not None
    return item
