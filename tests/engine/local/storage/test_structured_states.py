"""Structured values outlive garbage collection and saved states: what rows use is kept, at any depth."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import pytest

from data.structured import COLOR, NUMBERS, constructor, named
from engine.local.recount import check_state
from engine.local.rules.hand_made import HandMade, flat, rule, var
from sizes import size
from tidelog.data import types
from tidelog.data.types import INT, STRING, Item, Map, Set, Vec
from tidelog.data.values import Value, canonical
from tidelog.engine.local.codes import garbage as collecting
from tidelog.engine.local.codes.codec import containing
from tidelog.engine.local.codes.structures import Structures
from tidelog.engine.local.codes.terms import Terms
from tidelog.engine.local.storage.record import Corrupt, read_record, write_record
from tidelog.engine.local.storage.saved_state import Saved, restored
from tidelog.engine.scheduler import Scheduler
from tidelog.program.typed import Each, Match

BOX = named("Box", constructor("Box", name=STRING, tags=Set(STRING)), types.Constructor("Empty", ()))
LINES = Map(STRING, Vec(BOX))
K, B, X = var("k"), var("b", BOX), var("x", Vec(BOX))
PROGRAM = flat(
    {
        "Held": (INT, BOX),
        "Lines": (INT, LINES),
        "Listed": (NUMBERS,),
        "Boxes": (INT, Vec(BOX)),
        "One": (BOX,),
    },
    [rule("One", [B], Match("Boxes", (K, X)), Each(B, X), Match("Held", (K, B)))],
)


def _box(i: int) -> Any:
    return {"Box": {"name": f"n{i}", "tags": [f"t{i}", f"t{i % 3}"]}} if i % 5 else "Empty"


def _list(items: list[int]) -> Any:
    found: Any = "Nil"
    for item in reversed(items):
        found = {"Cons": {"head": item, "tail": found}}
    return found


def _facts(numbers: range) -> dict[str, list[tuple[Any, ...]]]:
    return {
        "Held": [(i, _box(i)) for i in numbers],
        "Lines": [(i, {f"l{i}": [_box(i), _box(i + 1)]}) for i in numbers],
        "Listed": [(_list([i, i + 1, i + 2]),) for i in numbers],
        "Boxes": [(i, [_box(i), _box(i), _box(i + 1)]) for i in numbers],
    }


def _inside(type_: types.Type, value: Any, found: dict[Item, set[Value]]) -> None:
    """Collect a value, and all values inside it, by their types."""
    item = types.present(type_)
    if value is None:
        return
    found.setdefault(item, set()).add(value)
    match item:
        case types.Vec(inner) | types.Set(inner):
            for part in value:
                _inside(inner, part, found)
        case types.Map(key, inner):
            for k, v in value.items():
                _inside(key, k, found)
                _inside(inner, v, found)
        case types.Named():
            fields = item.constructor(value._tag).fields
            for field, part in zip(fields, value._values, strict=True):
                _inside(field.type, part, found)
        case _:
            pass


def _used(reasoner: HandMade) -> dict[Item, set[Value]]:
    found: dict[Item, set[Value]] = {}
    for name, rows in reasoner.contents.items():
        for row in rows:
            for type_, value in zip(PROGRAM.relations[name].types, row, strict=True):
                _inside(type_, value, found)
    return found


def test_exactly_what_rows_use_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "SMALLEST", 8)
    reasoner = HandMade(PROGRAM)
    reasoner.change(_facts(range(60)), {})
    before, old = dict(reasoner.contents), reasoner.engine.codec
    rows = {name: reasoner.engine.rows(name).copy() for name in PROGRAM.relations}
    reasoner.change({}, _facts(range(10, 60)))
    engine = reasoner.engine
    engine.tidy(reasoner.flat, reasoner.flat)
    unused = engine.unused_values()
    assert {STRING, BOX, LINES, Vec(BOX), NUMBERS} <= unused.keys()
    engine.forget_values(unused)
    used = _used(reasoner)
    for item in unused:
        assert set(engine.codec.dictionary(item).values) == used.get(item, set()), item
    assert dict(reasoner.contents) == reasoner.expected()
    check_state(reasoner)
    for name, codes in rows.items():  # holders of old codes decode them with the old codec
        kinds = PROGRAM.relations[name].types
        columns = [old.decode_column(t, codes[:, i].copy()) for i, t in enumerate(kinds)]
        assert frozenset(zip(*columns, strict=True)) == before.get(name, frozenset())
    reasoner.change(_facts(range(30, 40)), _facts(range(3)))
    assert dict(reasoner.contents) == reasoner.expected()
    check_state(reasoner)


def test_types_that_contain_collected_values_are_collected_with_them() -> None:
    reasoner = HandMade(PROGRAM)
    reasoner.change(_facts(range(20)), {})
    reasoner.change({}, _facts(range(5, 20)))
    engine = reasoner.engine
    marks = engine._collector.in_use(engine.codec)
    holders = containing(engine.codec.dictionaries, [STRING])
    assert holders == {Set(STRING), BOX, Vec(BOX), LINES}
    engine.forget_values({item: np.flatnonzero(marks[item]) for item in [STRING, *holders]})
    assert dict(reasoner.contents) == reasoner.expected()
    reasoner.change(_facts(range(4, 8)), {})
    assert dict(reasoner.contents) == reasoner.expected()
    check_state(reasoner)


def _saved(reasoner: HandMade) -> bytes:
    out = io.BytesIO()
    write_record(out, Saved(reasoner.engine, {}).record())
    return out.getvalue()


def _renew(reasoner: HandMade, content: bytes) -> None:
    found = restored(read_record(content), reasoner.flat)
    assert found is not None
    reasoner.work_with(found.engine, Scheduler, reasoner.flat)


def test_a_restored_state_goes_on_with_the_same_values() -> None:
    reasoner = HandMade(PROGRAM)
    reasoner.change(_facts(range(12)), {})
    for first in (3, 6, 9):
        codes = {name: reasoner.engine.rows(name).tolist() for name in PROGRAM.relations}
        _renew(reasoner, _saved(reasoner))
        assert {name: reasoner.engine.rows(name).tolist() for name in PROGRAM.relations} == codes
        assert dict(reasoner.contents) == reasoner.expected()
        reasoner.change(_facts(range(first + 10, first + 13)), _facts(range(first, first + 2)))
        assert dict(reasoner.contents) == reasoner.expected()
        check_state(reasoner)


def test_a_state_of_types_with_another_definition_is_not_used() -> None:
    reasoner = HandMade(PROGRAM)
    reasoner.change(_facts(range(3)), {})
    other = named("Box", constructor("Box", name=STRING, tags=Vec(STRING)), types.Constructor("Empty", ()))
    kinds = {name: stored.types for name, stored in PROGRAM.relations.items()}
    changed = flat({**kinds, "Held": (INT, other)}, PROGRAM.strata[-1].rules)
    assert restored(read_record(_saved(reasoner)), changed) is None


@pytest.mark.parametrize("item", [BOX, LINES, NUMBERS, Set(STRING), Vec(BOX)], ids=str)
def test_damaged_values_are_refused_or_decoded_without_harm(item: Item) -> None:
    reasoner = HandMade(PROGRAM)
    reasoner.change(_facts(range(6)), {})
    dice, refused = random.Random(str(item)), 0
    for _ in range(size(20, 500)):
        record = Saved(reasoner.engine, {}).record()
        record.arrays = [array.copy() for array in record.arrays]
        dictionary = reasoner.engine.codec.dictionary(item)
        assert isinstance(dictionary, Structures)
        content = dictionary.contents().content
        number = next(
            i for i, a in enumerate(record.arrays) if a.shape == content.shape and (a == content).all()
        )
        record.arrays[number][dice.randrange(len(content))] = dice.choice([-1, 0, 1, 2, 10**6, -(2**63)])
        try:
            found = restored(record, reasoner.flat)
        except Corrupt:
            refused += 1
            continue
        assert found is not None
        for name, kinds in found.engine.types.items():
            rows = found.engine.rows(name)
            for i, type_ in enumerate(kinds):
                found.engine.codec.decode_column(type_, rows[:, i].copy())
    assert refused


def test_a_value_that_contains_itself_is_refused() -> None:
    reasoner = HandMade(PROGRAM)
    reasoner.change({"Listed": [(_list([1, 2]),)]}, {})
    record = Saved(reasoner.engine, {}).record()
    terms = reasoner.engine.codec.terms(NUMBERS)
    assert isinstance(terms, Terms)
    content = terms.contents().content.copy().reshape(-1, terms.each)
    number = next(i for i, a in enumerate(record.arrays) if np.array_equal(a, content.reshape(-1)))
    content[:, 2] = np.where(content[:, 0] == 1, len(content) - 1, 0)
    record.arrays[number] = content.reshape(-1)
    with pytest.raises(Corrupt, match="contains itself"):
        restored(record, reasoner.flat)


def test_packed_values_are_saved_and_damaged_ones_refused() -> None:
    pair = types.Tuple((types.Bit(8), types.Option(COLOR)))
    p = var("p", types.Option(pair))
    relations = {"Coded": (INT, types.Option(pair)), "Inside": (Vec(pair),), "Seen": (types.Option(pair),)}
    program = flat(relations, [rule("Seen", [p], Match("Coded", (K, p)))])
    reasoner = HandMade(program)
    rows = [(1, None), (2, [255, None]), (3, [0, "Blue"])]
    reasoner.change({"Coded": rows, "Inside": [([[1, "Red"], [2, "Green"]],)]}, {})
    found = restored(read_record(_saved(reasoner)), reasoner.flat)
    assert found is not None
    for name in program.relations:
        kinds, codes = found.engine.types[name], found.engine.rows(name)
        columns = [found.engine.codec.decode_column(t, codes[:, i].copy()) for i, t in enumerate(kinds)]
        assert set(zip(*columns, strict=True)) == reasoner.contents[name]
    green = found.engine.codec.encode(pair, canonical(pair, [2, "Green"]))
    record = Saved(reasoner.engine, {}).record()
    for i, array in enumerate(record.arrays):
        if array.dtype == np.int64 and (array == green).any():
            record.arrays[i] = np.where(array == green, 1 << 40, array)
    with pytest.raises(Corrupt):
        restored(record, reasoner.flat)
