"""Structured values: one canonical form, one order, one text that reads back, picklable classes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.structured import (
    COLOR,
    NUMBERS,
    PAYLOAD,
    PLAIN,
    POINT,
    TREE,
    constructor,
    list_of,
    named,
    raw_forms,
    structured_types,
    typed_columns,
    typed_values,
    values,
)
from tidelog.data import types
from tidelog.data.structs import FrozenMap, Struct, struct_class
from tidelog.data.types import Type
from tidelog.data.values import NAN, BadValue, Value, canonical, from_text, joins, order_key, to_text

# -- laws


@given(typed_values())
def test_a_canonical_value_is_its_own_canonical_form(typed: tuple[Type, Value]) -> None:
    type_, value = typed
    again = canonical(type_, value)
    assert joins(again, value)
    assert hash(again) == hash(value)
    assert type(again) is type(value)


@given(typed_values())
def test_the_text_of_a_value_reads_back_as_that_value(typed: tuple[Type, Value]) -> None:
    type_, value = typed
    text = to_text(type_, value)
    again = from_text(type_, text)
    assert joins(again, value)
    assert to_text(type_, again) == text


@given(typed_values().flatmap(lambda tv: st.tuples(st.just(tv), raw_forms(*tv))))
def test_every_form_of_a_value_means_the_same(case: tuple[tuple[Type, Value], object]) -> None:
    (type_, value), raw = case
    assert joins(canonical(type_, raw), value)


@given(typed_values())
def test_a_pickle_reads_back_as_the_value(typed: tuple[Type, Value]) -> None:
    type_, value = typed
    again = canonical(type_, pickle.loads(pickle.dumps(value)))
    assert joins(again, value)
    assert hash(again) == hash(value)


@given(typed_columns())
def test_the_order_is_total_and_agrees_with_sameness(typed: tuple[Type, list[Value]]) -> None:
    type_, items = typed
    ordered = sorted(items, key=lambda v: order_key(type_, v))
    for a, b in pairwise(ordered):
        below, above = order_key(type_, a) < order_key(type_, b), order_key(type_, b) < order_key(type_, a)
        assert not above
        assert below != joins(a, b)


def _tuple_of(type_: Type, value: Any) -> Any:
    """What Python's own order compares, for structs, tuples and vecs of plain scalars."""
    match type_:
        case types.Vec(item):
            return tuple(_tuple_of(item, v) for v in value)
        case types.Tuple(items):
            return tuple(_tuple_of(t, v) for t, v in zip(items, value, strict=True))
        case types.Named():
            fields = type_.constructors[0].fields
            return tuple(_tuple_of(f.type, v) for f, v in zip(fields, value._values, strict=True))
        case _:
            return value


def _plain_types() -> st.SearchStrategy[Any]:
    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        pairs = st.tuples(inner, inner)
        structs = pairs.map(lambda p: named("P", constructor("P", a=p[0], b=p[1])))
        return inner.map(types.Vec) | pairs.map(types.Tuple) | structs

    return st.recursive(st.sampled_from(PLAIN), larger, max_leaves=4)


@given(_plain_types().flatmap(lambda t: st.tuples(st.just(t), values(t), values(t))))
def test_structs_tuples_and_vecs_are_ordered_as_python_orders_tuples(
    case: tuple[Type, Value, Value],
) -> None:
    type_, x, y = case
    expected = _tuple_of(type_, x) < _tuple_of(type_, y)
    assert (order_key(type_, x) < order_key(type_, y)) == expected


@given(structured_types(), st.text() | st.sampled_from(['{"a":1}', "[]", "[[1,2]]", '"Red"', "null", "{}"]))
def test_a_text_is_read_or_refused_but_never_crashes(type_: Type, text: str) -> None:
    try:
        value = from_text(type_, text)
    except BadValue:
        return
    assert joins(canonical(type_, value), value)


@given(st.timedeltas())
def test_a_duration_reads_back(span: timedelta) -> None:
    try:
        value = canonical(types.DURATION, span)
    except BadValue:
        assert abs(span) > timedelta(microseconds=2**63 - 1)
        return
    assert from_text(types.DURATION, to_text(types.DURATION, value)) == span


# -- structs


def _payload(tag: str, *fields: object) -> Struct:
    return struct_class(PAYLOAD, tag)(*fields)


def test_a_struct_shows_its_fields_by_name_position_and_pattern() -> None:
    packet: Any = _payload("IPv4", 1, 2)
    assert (packet.src, packet.dst) == (1, 2)
    assert repr(packet) == "IPv4(src=1, dst=2)"
    assert (packet._type, packet._tag, packet._fields) == ("Payload", "IPv4", ("src", "dst"))
    assert packet._asdict() == {"src": 1, "dst": 2}
    constructors: Any = SimpleNamespace(IPv4=struct_class(PAYLOAD, "IPv4"))
    match packet:
        case constructors.IPv4(src, dst=2):
            assert src == 1
        case _:
            pytest.fail("the pattern must match")


def test_a_struct_is_immutable_and_its_own_copy() -> None:
    packet: Any = _payload("IPv4", 1, 2)
    with pytest.raises(AttributeError):
        packet.src = 3
    with pytest.raises(AttributeError):
        packet.other = 3
    assert copy.copy(packet) is packet
    assert copy.deepcopy([packet])[0] is packet


def test_structs_are_equal_if_type_constructor_and_fields_are() -> None:
    assert _payload("ARP", 1) == struct_class(PAYLOAD, "ARP")(op=1)
    assert _payload("ARP", 1) != _payload("ARP", 2)
    other = named("Payload", constructor("ARP", op=types.Bit(16)))
    assert struct_class(other, "ARP")(1) != _payload("ARP", 1)
    assert _payload("ARP", 1) != (1,)
    assert len({_payload("Other"), _payload("Other")}) == 1


def test_the_class_of_a_constructor_is_one_for_all_type_arguments() -> None:
    assert struct_class(list_of(types.INT), "Cons") is struct_class(list_of(types.STRING), "Cons")


def test_a_struct_holds_immutable_values() -> None:
    node: Any = struct_class(TREE, "Tree")(value=["a"], children=[{"k": {1, 2}}, float("nan")])
    assert node.children == (FrozenMap({"k": frozenset({1, 2})}), NAN)
    assert hash(node) == hash(copy.deepcopy(node))


@pytest.mark.parametrize(
    ("args", "fields", "problem"),
    [
        ((1,), {}, "IPv4: missing dst"),
        ((1, 2, 3), {}, "IPv4 has src, dst; got 3 values"),
        ((1,), {"src": 1, "dst": 2}, "got src as well"),
        ((), {"src": 1, "dst": 2, "ttl": 3}, "got ttl as well"),
    ],
)
def test_a_struct_needs_each_field_once(args: Any, fields: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        struct_class(PAYLOAD, "IPv4")(*args, **fields)


def test_a_struct_can_be_unpickled_in_a_process_that_has_no_program() -> None:
    content = pickle.dumps([_payload("IPv4", 1, 2), FrozenMap({"a": NAN})])
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()))"
    run = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True, check=True)
    assert run.stdout.decode().strip() == "[IPv4(src=1, dst=2), FrozenMap({'a': nan})]"


def test_a_field_may_have_the_name_of_a_member() -> None:
    odd = named("Odd", constructor("Odd", _type=types.INT, _values=types.INT, ok=types.INT))
    value: Any = canonical(odd, {"_type": 1, "_values": 2, "ok": 3})
    assert value._asdict() == {"_type": 1, "_values": 2, "ok": 3}
    assert value._type == "Odd"
    assert value.ok == 3


# -- maps


def test_a_map_equals_every_equal_mapping_and_is_in_the_order_of_its_keys() -> None:
    type_ = types.Map(types.STRING, types.INT)
    value = canonical(type_, {"b": 1, "a": 2})
    assert value == {"a": 2, "b": 1}
    assert list(value) == ["a", "b"]  # type: ignore[arg-type]
    assert hash(value) == hash(FrozenMap({"b": 1, "a": 2}))
    assert canonical(type_, [("a", 2), ("b", 1), ("a", 2)]) == value


def test_a_key_has_one_value() -> None:
    with pytest.raises(BadValue, match="the key 'a' has two values"):
        canonical(types.Map(types.STRING, types.INT), [("a", 1), ("a", 2)])


# -- deep values


def test_values_may_be_deeper_than_the_stack() -> None:
    cons, nil = struct_class(NUMBERS, "Cons"), struct_class(NUMBERS, "Nil")()
    deep, same = nil, nil
    for i in range(5000):
        deep, same = cons._make((i, deep)), cons._make((i, same))
    assert deep == same
    assert canonical(NUMBERS, deep) == deep
    assert order_key(NUMBERS, nil) < order_key(NUMBERS, deep)
    assert from_text(NUMBERS, to_text(NUMBERS, deep)) == deep
    assert repr(deep).startswith("Cons(head=4999, tail=Cons(")


def test_deep_texts_that_are_not_json_are_refused() -> None:
    nested = types.Vec(TREE)
    for middle in ("", "[", "]", "1 2", ",", '"a" "b"', "{1:2}", '{"a"}', '{"a":1,}', "[1,]", "x"):
        with pytest.raises(BadValue):
            from_text(nested, "[" * 3000 + middle + "]" * 3000)
    with pytest.raises(BadValue, match="the text ends early"):
        from_text(nested, "[" * 3000)


# -- what is accepted


class Shade(Enum):
    Red = 0


@dataclass
class IPv4:
    dst: int
    src: int


@dataclass
class Place:
    x: int
    y: int | None


XY = namedtuple("XY", "y x")


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (COLOR, "Green", '"Green"'),
        (COLOR, Shade.Red, '"Red"'),
        (COLOR, {"Blue": {}}, '"Blue"'),
        (COLOR, {"tag": "Blue"}, '"Blue"'),
        (PAYLOAD, IPv4(2, 1), '{"IPv4":{"src":1,"dst":2}}'),
        (PAYLOAD, {"IPv4": [1, 2]}, '{"IPv4":{"src":1,"dst":2}}'),
        (PAYLOAD, {"tag": "IPv4", "IPv4": {"src": 1, "dst": 2}, "ARP": None}, '{"IPv4":{"src":1,"dst":2}}'),
        (PAYLOAD, {"tag": "Other", "IPv4": None, "ARP": None}, '"Other"'),
        (PAYLOAD, {"IPv4": None, "ARP": {"op": 1}}, '{"ARP":{"op":1}}'),
        (POINT, (1, None), '{"x":1,"y":null}'),
        (POINT, {"x": 1}, '{"x":1,"y":null}'),
        (POINT, Place(1, 2), '{"x":1,"y":2}'),
        (POINT, XY(2, 1), '{"x":1,"y":2}'),
        (types.Vec(types.INT), range(3), "[0,1,2]"),
        (types.Set(types.INT), [3, 1, 3], "[1,3]"),
        (types.Set(types.Option(types.DOUBLE)), [1, None, float("nan")], '[null,1.0,"NaN"]'),
        (types.Map(types.INT, types.STRING), {2: "b", 1: "a"}, '[[1,"a"],[2,"b"]]'),
        (types.Map(types.STRING, types.BYTES), {"ü": b"\x01"}, '{"ü":"01"}'),
        (types.Tuple((types.BIGINT, types.Decimal(5, 2))), [2**90, 1], f'[{2**90},"1.00"]'),
        (types.Vec(types.DURATION), [timedelta(hours=1.5), timedelta(0)], '["5400s","0s"]'),
        (named("E", constructor("E")), {}, "{}"),
    ],
)
def test_values_are_accepted_in_many_forms_and_written_in_one(type_: Type, value: object, text: str) -> None:
    assert to_text(type_, canonical(type_, value)) == text


@pytest.mark.parametrize(
    ("type_", "value", "problem"),
    [
        (PAYLOAD, {"IPv4": {"src": 1, "dst": "x"}}, "IPv4.dst: 'x' is not of type bit<32>"),
        (PAYLOAD, {"IPv4": {"src": 1}}, "IPv4.dst: missing field of type bit<32>"),
        (PAYLOAD, {"IPv4": {"src": 1, "dst": 2, "ttl": 3}}, "IPv4: extra field ttl; IPv4 has src, dst"),
        (PAYLOAD, {"tag": "ARP", "IPv4": {"src": 1, "dst": 2}}, "ARP: extra field IPv4; ARP has op"),
        (PAYLOAD, {"IPv4": {}, "ARP": {}}, "is not of type Payload"),
        (PAYLOAD, "IPv4", "'IPv4' is not of type Payload, which is IPv4 or ARP or Other"),
        (PAYLOAD, (1, 2), "does not say which constructor of Payload"),
        (PAYLOAD, {"IPv4": 7}, "IPv4: 7 does not have the fields of IPv4"),
        (POINT, (1,), "has 1 values; Point has 2: x, y"),
        (POINT, {"x": None}, "x: a missing value is not of type int; declare it option<int> to allow it"),
        (types.Vec(POINT), [(1, 2), (1, "x")], r"\[1\].y: 'x' is not of type int"),
        (TREE, {"value": "a", "children": [{"value": 1, "children": []}]}, r"children\[0\].value: 1 is not"),
        (types.Map(types.STRING, types.INT), {"a": "b"}, r"\['a'\]: 'b' is not of type int"),
        (types.Map(types.STRING, types.INT), {1: 2}, "key 1: 1 is not a string"),
        (types.Map(types.STRING, types.INT), [1], "1 is not a key and a value"),
        (types.Tuple((types.INT, types.INT)), (1, 2, 3), "has 3 values"),
        (types.Tuple((types.INT, types.INT)), (1, "2"), "1: '2' is not of type int"),
        (types.Vec(types.INT), "12", "'12' is not of type vec<int>"),
        (types.Set(types.INT), {1: 2}, "is not of type set<int>"),
        (types.DURATION, 5, "5 is not of type duration"),
        (types.DURATION, timedelta.max, "does not fit duration"),
    ],
)
def test_a_bad_value_is_reported_by_its_path(type_: Type, value: object, problem: str) -> None:
    with pytest.raises(BadValue, match=problem):
        canonical(type_, value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5400s", 5400),
        ("-0.5s", -0.5),
        ("90 minutes", 5400),
        ("1 day", 86400),
        ("3 weeks", 1814400),
        ("5 ms", 0.005),
        ("1us", 0.000001),
        ("1 hour 30 minutes", 5400),
        ("1h30min", 5400),
        ("1.5 h", 5400),
    ],
)
def test_a_duration_is_numbers_with_units(text: str, seconds: float) -> None:
    assert from_text(types.DURATION, text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "s", "5 months", "1 s 2", "0.5us", "1 2 s", "９s", "1e3s", "9" * 30 + "s"]
)
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(BadValue):
        from_text(types.DURATION, text)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (types.Vec(types.INT), "[1.0]"),
        (types.Vec(types.INT), "[1"),
        (types.Vec(types.INT), "[NaN]"),
        (types.Vec(types.DOUBLE), "[1e999]"),
        (types.Vec(types.STRING), "[1.5]"),
        (types.Vec(types.BYTES), "[1.5]"),
        (types.Vec(types.Decimal(3, 1)), "[0.05]"),
        (POINT, '{"x":1,"x":2}'),
        (POINT, ""),
        (PAYLOAD, '"IPv4"'),
        (types.Vec(types.DATE), '["2024-02-30"]'),
    ],
)
def test_a_text_that_is_not_of_the_type_is_refused(type_: Type, text: str) -> None:
    with pytest.raises(BadValue):
        from_text(type_, text)


def test_json_keeps_every_digit() -> None:
    assert from_text(types.Vec(types.Decimal(38, 2)), "[123456789012345678901234567890.25]") == canonical(
        types.Vec(types.Decimal(38, 2)),
        from_text(types.Vec(types.Decimal(38, 2)), '["123456789012345678901234567890.25"]'),
    )
    huge = 7**9000
    assert from_text(types.Vec(types.BIGINT), to_text(types.Vec(types.BIGINT), (huge,))) == (huge,)


def test_a_constructor_without_fields_is_read_without_quotes() -> None:
    assert from_text(COLOR, "Green") == from_text(COLOR, '"Green"')
    assert from_text(types.Option(COLOR), "none") is None
