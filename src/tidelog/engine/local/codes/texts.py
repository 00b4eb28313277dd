"""The dictionary of strings or of bytes: their contents one after another, with a hash table over them.

Kernels intern Arrow's buffers as they are. A value becomes an object of Python only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.engine.local.codes.interning import ADDING, Codes, Dictionary
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.kernels.layout import NONE
from tidelog.engine.local.native.calls import address, enlarge, intern_texts
from tidelog.engine.local.storage.growing import longer

__all__ = ["Texts"]

_START: Final = 64  # texts, and bytes
_FEW: Final = 64  # values that are interned one by one
_DECODED_PER_LOOKUP: Final = 16  # values decoded together in about the time that a single one takes


class Texts(Dictionary):
    """The dictionary of strings, or of bytes unless `is_text`.

    `_codes` and `_values` only cache what was asked for: the codes of some values, and the first values.
    `_content`, `_starts` and `_view` are for reading `_bytes`, `_begins` and `_words` one by one.
    """

    __slots__ = (
        "_at", "_begins", "_bytes", "_content", "_slots", "_starts", "_type", "_view", "_words", "is_text",
    )  # fmt: skip

    def __init__(self, is_text: bool) -> None:
        super().__init__()
        self.is_text = is_text
        self._type = pa.large_string() if is_text else pa.large_binary()
        self._bytes = np.zeros(_START, np.uint8)
        self._begins = np.zeros(_START, np.int64)
        self._slots = np.zeros(2 * _START, np.int64)
        self._words = np.zeros(layout.TEXTS_WIDTH, np.int64)
        self._view = self._words.data
        self._at = address(self._words)
        self._describe()

    def _describe(self) -> None:
        words = self._words
        words[layout.BYTES_AT], words[layout.BYTES_CAP] = address(self._bytes), len(self._bytes)
        words[layout.BEGINS_AT], words[layout.BEGINS_CAP] = address(self._begins), len(self._begins)
        words[layout.TEXT_SLOTS_AT], words[layout.TEXT_SLOTS] = address(self._slots), len(self._slots)
        self._content, self._starts = self._bytes.data, self._begins.data

    def __len__(self) -> int:
        count: int = self._view[layout.TEXTS]
        return count

    # -- values to codes

    def _add(self, value: Any) -> int:
        with ADDING:
            code = self._codes[value] = self._intern_one(value, adds=True)
            return code

    def find(self, value: Any) -> int | None:
        found = self._codes.get(value)
        if found is not None:
            return found
        with ADDING:
            code = self._intern_one(value, adds=False)
        return None if code < 0 else code

    def _intern_one(self, value: Any, *, adds: bool) -> int:
        content = self._encoded(value)
        held = np.frombuffer(content or b"-", np.uint8)
        offsets, codes = np.array([0, len(content)], np.int64), np.empty(1, np.int64)
        self._intern((address(offsets), True, address(held), 0), offsets, codes, adds=adds)
        return int(codes[0])

    def intern_many(self, values: Sequence[Any]) -> Codes:
        if len(values) <= _FEW:
            return np.array([self.code(value) for value in values], np.int64)
        return self.intern_array(pa.array(values, self._type))

    def intern_array(self, array: Any) -> Codes:
        """The codes of an Arrow array of strings or binary; NONE where it is null."""
        codes = np.empty(len(array), np.int64)
        _, offsets, content = array.buffers()
        if not len(array) or offsets is None:
            codes[:] = NONE
            return codes
        is_long = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
        width = np.int64 if is_long else np.int32
        bounds = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1]
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        at = (
            address(bounds),
            is_long,
            content.address if content is not None else 0,
            0 if missing is None else address(missing),
        )
        with ADDING:
            self._intern(at, bounds, codes, adds=True)
        return codes

    def _intern(
        self, at: tuple[int, bool, int, int], bounds: npt.NDArray[Any], codes: Codes, *, adds: bool
    ) -> None:
        """Write the codes of texts between these bounds. The caller holds the lock."""
        done = intern_texts(self._at, at, 0, adds, codes)
        while done < len(codes):
            self._make_room(int(bounds[done + 1] - bounds[done]))
            done = intern_texts(self._at, at, done, adds, codes)

    def _make_room(self, size: int) -> None:
        """Make room for one more text of this size at least."""
        words = self._words
        try:
            if words[layout.TEXTS] + 2 > len(self._begins):
                self._begins = longer(self._begins, 2 * len(self._begins))
            needed = int(words[layout.BYTES]) + size
            if needed > len(self._bytes):
                self._bytes = longer(self._bytes, max(needed, 2 * len(self._bytes)))
        finally:  # also if memory runs out halfway
            self._describe()
        if 4 * (words[layout.TEXTS] + 1) > 3 * len(self._slots):
            smaller, self._slots = self._slots, np.zeros(2 * len(self._slots), np.int64)
            self._describe()
            enlarge(self._slots, smaller)

    # -- codes to values

    @property
    def values(self) -> list[Any]:
        with ADDING:
            if len(self._values) < len(self):
                self._values.extend(self._array()[len(self._values) :].to_pylist())
            return self._values

    def value(self, code: int) -> Any:
        if code < len(self._values):
            return self._values[code]
        starts = self._starts
        content = self._content[starts[code] : starts[code + 1]]
        return str(content, "utf-8", "surrogatepass") if self.is_text else bytes(content)

    def decode(self, codes: Sequence[int]) -> list[Any]:
        if len(codes) * _DECODED_PER_LOOKUP < len(self) - len(self._values):
            return [None if code == NONE else self.value(code) for code in codes]
        known = self.values
        return [None if code == NONE else known[code] for code in codes]

    def part(self, codes: Codes) -> Dictionary:
        made = Texts(self.is_text)
        made.intern_array(self._array().take(pa.array(codes)))
        return made

    def _array(self) -> Any:
        """All texts as an Arrow array, which shares their memory."""
        count, size = len(self), int(self._words[layout.BYTES])
        begins, content = pa.py_buffer(self._begins[: count + 1]), pa.py_buffer(self._bytes[:size])
        return pa.Array.from_buffers(self._type, count, [None, begins, content])

    def take(self, places: Any, target: Any) -> Any:
        """The texts of an Arrow array of codes, in an array of this type, or in several if they are long."""
        if not len(self):
            return pa.nulls(len(places), target)
        with ADDING:  # the array must have all texts
            array = self._array()
        found = array.take(places)
        try:
            return found.cast(target)
        except pa.ArrowInvalid:  # more than 2 GiB
            if len(places) < 2:
                raise
            half = len(places) // 2
            parts = (self.take(part, target) for part in (places[:half], places[half:]))
            chunks = [c for p in parts for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])]
            return pa.chunked_array(chunks, target)

    def _sort(self) -> Codes:
        from pyarrow import compute

        order: Codes = compute.array_sort_indices(self._array()).to_numpy().astype(np.int64)
        return order

    # -- contents

    def contents(self) -> tuple[Codes, npt.NDArray[np.uint8]]:
        """The lengths of all texts, and their bytes."""
        with ADDING:
            count, size = len(self), int(self._words[layout.BYTES])
            return np.diff(self._begins[: count + 1]), self._bytes[:size]

    @classmethod
    def of_contents(cls, is_text: bool, lengths: Codes, content: npt.NDArray[np.uint8]) -> Texts:
        """The dictionary of texts with these lengths and bytes; ValueError if one is invalid or repeated."""
        made = cls(is_text)
        begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        buffers = [None, pa.py_buffer(begins), pa.py_buffer(content)]
        array = pa.Array.from_buffers(made._type, len(lengths), buffers)
        array.validate(full=True)
        made.intern_array(array)
        if len(made) != len(lengths):
            raise ValueError("duplicate value")
        return made

    # -- bytes

    def _encoded(self, value: Any) -> bytes:
        return value.encode("utf-8", "surrogatepass") if self.is_text else bytes(value)
