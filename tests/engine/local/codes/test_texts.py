"""Dictionaries of strings and bytes: any content, any form of Arrow array, any order of growth."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.engine.local.codes import texts
from tidelog.engine.local.codes.interning import Dictionary
from tidelog.engine.local.codes.texts import Texts
from tidelog.engine.local.kernels.layout import NONE

characters = st.characters(exclude_categories=["Cs"])
batches = st.lists(st.lists(st.text(characters, max_size=20), max_size=80), max_size=4)


@given(batches)
def test_codes_are_those_of_a_plain_dictionary(lists: list[list[str]]) -> None:
    plain, known = Dictionary(), Texts(True)
    for values in lists:
        expected = plain.intern_many(values).tolist()
        assert known.intern_array(pa.array(values, pa.string())).tolist() == expected
        assert known.intern_many(values).tolist() == expected
        assert [known.code(v) for v in values] == [known.find(v) for v in values] == expected
        assert len(known) == len(plain)
    assert known.decode(list(range(len(known)))) == known.values == plain.values
    assert known.ordered().tolist() == plain.ordered().tolist()
    assert known.ranks().tolist() == plain.ranks().tolist()


def _texts(rng: random.Random, count: int) -> list[bytes]:
    """Contents of every length around the width of a word, many of which differ only at one end."""
    lengths = [rng.choice([0, 1, 6, 7, 8, 9, 15, 16, 17, 31, 64, 300]) for _ in range(count)]
    made = [bytearray(b"\x00" * n) for n in lengths]
    for content in made:
        if content:
            content[rng.choice([0, -1, rng.randrange(len(content))])] = rng.randrange(256)
    return [bytes(content) for content in made]


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("is_whole", [True, False])
def test_bytes_with_nulls_in_any_part_of_an_array(type_: Any, is_whole: bool) -> None:
    rng = random.Random(f"{type_} {is_whole}")
    plain, known = Dictionary(), Texts(False)
    for size in (1, 31, 32, 33, 500, 3000):
        values = [None if rng.random() < 0.1 else content for content in _texts(rng, size)]
        array = pa.array([b"before", *values, b"after"], type_).slice(1, size)
        part = array if is_whole else array.slice(rng.randrange(size))
        there = values[size - len(part) :]
        expected = [NONE if value is None else plain.code(value) for value in there]
        assert known.intern_array(part).tolist() == expected
    assert known.values == plain.values
    assert [known.value(i) for i in range(len(known))] == plain.values


def test_empty_arrays_and_arrays_of_nothing_have_no_codes_but_none() -> None:
    known = Texts(True)
    assert known.intern_array(pa.array([], pa.string())).tolist() == []
    assert known.intern_array(pa.nulls(3, pa.string())).tolist() == [NONE] * 3
    assert known.take(pa.array([None, None], pa.int64()), pa.string()).to_pylist() == [None, None]
    assert len(known) == 0
    assert known.find("") is None
    assert known.code("") == 0
    assert known.find("") == 0


def test_a_part_has_the_values_of_its_codes_in_order() -> None:
    known = Texts(True)
    known.intern_many([f"é{i}" for i in range(200)])
    part = known.part(np.array([150, 3, 7]))
    assert part.values == ["é150", "é3", "é7"]
    assert part.find("é3") == 1
    assert part.find("é4") is None


def test_few_values_are_decoded_without_the_others() -> None:
    known = Texts(True)
    known.intern_array(pa.array([f"v{i}" for i in range(1000)]))
    assert known.decode([999, NONE, 3]) == ["v999", None, "v3"]
    assert not known._values
    assert known.decode(list(range(1000)))[5] == "v5"
    assert known.decode([3]) == ["v3"]


def test_long_results_come_in_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Texts(True)
    known.intern_many(["a" * 10, "b"])

    class Limited:
        """An array that cannot be cast if it is longer than two values."""

        def __init__(self, array: Any) -> None:
            self._array = array

        def take(self, places: Any) -> Any:
            return Limited(self._array.take(places))

        def cast(self, target: Any) -> Any:
            if len(self._array) > 2:
                raise pa.ArrowInvalid("too long")
            return self._array.cast(target)

    whole = known._array()
    monkeypatch.setattr(Texts, "_array", lambda self: Limited(whole))
    found = known.take(pa.array([0, 1, 1, 0, None]), pa.string())
    assert found.num_chunks > 1
    assert found.type == pa.string()
    assert found.to_pylist() == ["a" * 10, "b", "b", "a" * 10, None]


@pytest.mark.parametrize(
    ("lengths", "content"),
    [([1, 1], b"aa"), ([1, 1], "é".encode()), ([2], b"\xff\xfe"), ([3], b"\xed\xa0\x80")],
    ids=["repeated", "cut character", "no text", "lone surrogate"],
)
def test_damaged_contents_are_refused(lengths: list[int], content: bytes) -> None:
    with pytest.raises(ValueError, match=r"duplicate|UTF"):
        Texts.of_contents(True, np.array(lengths), np.frombuffer(content, np.uint8))


def test_contents_make_the_same_dictionary() -> None:
    known = Texts(True)
    known.intern_many(["", "a", "日本語", "x" * 1000])
    assert Texts.of_contents(True, *known.contents()).values == known.values


def test_memory_that_runs_out_leaves_the_dictionary_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Texts(True)
    known.intern_many([f"v{i}" for i in range(60)])

    def fail(*arguments: Any) -> Any:
        raise MemoryError

    values = [f"w{i}" for i in range(500)]
    for owner, name in ((texts, "longer"), (np, "zeros")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises(MemoryError):
                known.intern_many(values)
    assert known.intern_many(values).tolist() == list(range(60, 560))
    assert known.intern_many([f"v{i}" for i in range(60)]).tolist() == list(range(60))
