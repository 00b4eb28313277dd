"""Whatever is in a saved state, nothing is followed out of bounds: it is refused, or it is an engine."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from conformance.reasoners import DenseReasoner, LocalReasoner
from sizes import size
from tally import tally
from tidelog.data.zset import ZSet
from tidelog.engine.limits import Limits
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.kernels.layout import ENTRY_ROW, ENTRY_WIDTH, FOLLOWING, ITERATION, NOTED, QUEUED
from tidelog.engine.local.storage.record import Corrupt, Record, read_record, write_record
from tidelog.engine.local.storage.saved_state import Saved, restored
from tidelog.engine.scheduler import Scheduler
from tidelog.errors import EngineError
from tidelog.maintain.strategy import DIFFERENTIAL, ELASTIC
from tidelog.program.draft import load

PROGRAM = load("""input relation Edge(src: int, dst: int)
input relation Name(node: int, text: option<string>, number: bigint, price: decimal(30, 2), raw: bytes)
output relation Reach(src: int, dst: int)
output relation Close(src: int, dst: int)
output relation Called(text: option<string>, dst: int)
output relation Path(src: int, dst: int)
Path(x, y) :- Edge(x, y).
Path(x, z) :- Path(x, y), Edge(y, z).
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Close(x, y) :- Edge(x, _), Edge(y, _), x < y, y < x + 3.
Called(t, y) :- Name(x, t, _, _, _), Reach(x, y).
""")


def facts(seed: int) -> dict[str, ZSet[Any]]:
    dice = random.Random(seed)
    edges = {(dice.randrange(25), dice.randrange(25)): 1 for _ in range(30)}
    names = {
        (i, None if i % 3 == 0 else f"näme {i}", -(10**30) - i, Decimal(i).scaleb(-2), bytes([i])): 1
        for i in range(6)
    }
    return {"Edge": ZSet(edges), "Name": ZSet(names)}


KINDS = {
    "elastic": LocalReasoner,
    "differential": lambda: LocalReasoner(lambda engine: Scheduler(engine, DIFFERENTIAL)),
    "dense": DenseReasoner,
}


def worked(kind: str) -> LocalReasoner:
    made = KINDS[kind]()
    made.commit(PROGRAM, facts(1))
    more: dict[tuple[Any, ...], int] = {(1, 2): 1, (2, 30): 1, (30, 1): 1}
    made.commit(PROGRAM, {"Edge": ZSet(more)})
    return made


def bytes_of(engine: LocalEngine, *, compressed: bool = False) -> bytes:
    out = io.BytesIO()
    write_record(out, Saved(engine, {}).record(), compressed=compressed)
    return out.getvalue()


def go_on(reasoner: LocalReasoner, content: bytes, kind: str) -> None:
    """Use a state, if it is one, as a session would."""
    found = restored(read_record(content), reasoner.flat)
    if found is None:
        return
    other = KINDS[kind]()
    strategy = DIFFERENTIAL if kind == "differential" else ELASTIC
    other.work_with(found.engine, lambda engine: Scheduler(engine, strategy), reasoner.flat)
    other._types = reasoner._types
    with suppress(EngineError, OverflowError):
        for seed in (2, 3):
            other.commit(PROGRAM, facts(seed), Limits(max_iterations=500))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_state_with_any_flipped_bit_is_refused_or_used_without_harm(kind: str, compressed: bool) -> None:
    reasoner = worked(kind)
    whole = bytes_of(reasoner.engine, compressed=compressed)
    dice = random.Random(kind)
    refused = 0
    tries = size(40, 5000)
    for _ in range(tries):
        content = bytearray(whole)
        for _ in range(dice.choice((1, 1, 4))):
            content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        try:
            go_on(reasoner, bytes(content), kind)
        except Corrupt:
            refused += 1
    assert refused > tries // 20
    tally("states with flipped bits", tries)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_is_cut_short_or_longer_is_refused(kind: str, compressed: bool) -> None:
    reasoner = worked(kind)
    whole = bytes_of(reasoner.engine, compressed=compressed)
    for content in (b"", whole[:5], whole[:20], whole[: len(whole) // 2], whole[:-1], whole + b"\0"):
        with pytest.raises(Corrupt):
            restored(read_record(content), reasoner.flat)


# -- every kind of number that is followed


FOLLOWED = {"slots", "starts", "grouped", "heads", "following", "order", "first", "entries", "ids"}
FOLLOWED |= {"tags", "given"}


def followed(values: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """The arrays of row numbers, entries and tags, by name."""
    if isinstance(values, dict):
        if "slots" in values and not values["rows"]:
            return  # nothing of a table without rows is used
        for key, value in values.items():
            if key in FOLLOWED and isinstance(value, int):
                yield f"{path}.{key}", value
            else:
                yield from followed(value, f"{path}.{key}")
    elif isinstance(values, list):
        for value in values:
            yield from followed(value, path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_out_of_bounds_is_refused_wherever_it_is(kind: str) -> None:
    reasoner = worked(kind)
    whole = bytes_of(reasoner.engine)
    found = set()
    for path, number in followed(read_record(whole).values):
        name = path.rpartition(".")[2]
        length = read_record(whole).arrays[number].size
        for place in {0, length // 2 // ENTRY_WIDTH * ENTRY_WIDTH, length - 1} if length else ():
            for bad in (-2, 10**5 + 100, 2**30 + 100):
                record = read_record(whole)
                array = record.arrays[number]
                if name == "entries" and place % ENTRY_WIDTH not in (ENTRY_ROW, FOLLOWING, QUEUED, NOTED):
                    continue  # iterations and weights are not followed
                array.reshape(-1)[place] = np.array(bad).astype(array.dtype)
                with pytest.raises(Corrupt):
                    restored(record, reasoner.flat)
                found.add(name)
    wanted = {"slots", "heads", "following", "tags", "given"}
    wanted |= {"differential": {"first", "entries"}, "dense": {"ids"}}.get(kind, set())
    assert found >= wanted


def test_chains_and_entries_that_lead_back_are_refused() -> None:
    for kind, name in (("elastic", "following"), ("differential", "entries")):
        reasoner = worked(kind)
        whole = bytes_of(reasoner.engine)
        tried = 0
        for path, number in followed(read_record(whole).values):
            record = read_record(whole)
            array = record.arrays[number]
            if path.endswith(name) and len(array) > 2:
                if array.ndim == 2:
                    array[1, FOLLOWING] = 2  # an entry that follows itself
                else:
                    array[1] = 1
                tried += 1
                with pytest.raises(Corrupt, match="does not end"):
                    restored(record, reasoner.flat)
        assert tried


def test_an_iteration_that_no_derivation_can_have_is_refused() -> None:
    reasoner = worked("differential")
    whole = bytes_of(reasoner.engine)
    saved = read_record(whole).values["tables"]["Reach"]
    for number, column in ((saved["trace"]["entries"], ITERATION), (saved["cells"], 2)):
        record = read_record(whole)
        record.arrays[number][3, column] = 2**30
        with pytest.raises(Corrupt, match="iteration out of bounds"):
            restored(record, reasoner.flat)


def test_a_row_that_the_hash_table_has_twice_or_never_is_refused() -> None:
    reasoner = worked("elastic")
    record = Saved(reasoner.engine, {}).record()
    record = Record(record.values, [array.copy() for array in record.arrays])
    slots = record.arrays[record.values["tables"]["Edge"]["slots"]]
    places = np.flatnonzero(slots)
    slots[places[0]] = slots[places[1]]
    with pytest.raises(Corrupt, match="missing row number"):
        restored(record, reasoner.flat)


def test_codes_without_a_value_and_values_that_are_there_twice_are_refused() -> None:
    reasoner = worked("elastic")
    whole = bytes_of(reasoner.engine)
    record = read_record(whole)
    record.arrays[record.values["tables"]["Name"]["cells"]][:, 1] = 10**6
    with pytest.raises(Corrupt, match="code out of bounds"):
        restored(record, reasoner.flat)
    record = read_record(whole)
    for _, lengths, blob in record.values["dictionaries"]:
        record.arrays[blob][:] = ord("1")
        record.arrays[lengths][:] = len(record.arrays[blob]) // len(record.arrays[lengths])
    with pytest.raises(Corrupt):
        restored(record, reasoner.flat)


def test_values_of_interned_types_come_back() -> None:
    reasoner = worked("elastic")
    found = restored(read_record(bytes_of(reasoner.engine)), reasoner.flat)
    assert found is not None
    before = {t: d.values for t, d in reasoner.engine.codec.dictionaries.items() if len(d)}
    assert {t: d.values for t, d in found.engine.codec.dictionaries.items() if len(d)} == before
    assert len(before) == 4


def test_a_state_of_another_program_is_not_taken() -> None:
    reasoner = worked("elastic")
    other = LocalReasoner()
    other.commit(load("input relation Edge(src: int, dst: string)"), {})
    assert restored(read_record(bytes_of(reasoner.engine)), other.flat) is None
