"""The types of a program as Python classes, and values as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given

from data.structured import COLOR, NUMBERS, PAYLOAD, POINT, list_of, typed_values
from tidelog.data import types
from tidelog.data.display import display
from tidelog.data.structs import struct_class
from tidelog.data.types import Type
from tidelog.data.values import Value, canonical
from tidelog.errors import SessionError
from tidelog.program.declared import Column, Relation, Role
from tidelog.session.rendering import cells
from tidelog.session.types import TypeDescription, Types


@pytest.fixture
def named() -> Any:
    return Types({t.name: TypeDescription.of(t) for t in (PAYLOAD, POINT, COLOR, NUMBERS)})


def test_a_constructor_is_a_class_whose_instances_are_values(named: Any) -> None:
    packet = named.Payload.IPv4(src=1, dst=2)
    assert packet == canonical(PAYLOAD, {"IPv4": {"src": 1, "dst": 2}})
    assert isinstance(packet, named.Payload.IPv4)
    assert not isinstance(packet, named.Payload.ARP)
    match packet:
        case named.Payload.IPv4(src, dst):
            assert (src, dst) == (1, 2)
        case _:
            pytest.fail("the pattern must match")


def test_a_struct_can_be_called_itself_and_generic_types_share_their_classes(named: Any) -> None:
    assert named.Point(1, 2) == canonical(POINT, (1, 2))
    assert named["List"].Cons is struct_class(list_of(types.STRING), "Cons")


def test_types_are_a_mapping_that_can_be_explored(named: Any) -> None:
    assert issubclass(Types, Mapping)
    assert list(named) == ["Payload", "Point", "Color", "List"]
    assert len(named) == 4
    assert {"IPv4", "ARP", "Other"} <= set(dir(named.Payload))
    assert "Payload" in dir(named)
    assert repr(named.Payload) == "<type Payload: IPv4(src, dst) | ARP(op) | Other()>"
    assert repr(named) == "<types: Payload, Point, Color, List>"


def test_unknown_names_are_errors_with_a_hint(named: Any) -> None:
    with pytest.raises(SessionError, match="unknown type `Paylod`; did you mean `Payload`"):
        named.Paylod  # noqa: B018
    with pytest.raises(SessionError, match="the type Payload has no constructor `IPv6`; did you mean `IPv4`"):
        named.Payload.IPv6  # noqa: B018
    with pytest.raises(SessionError, match="several constructors: IPv4, ARP, Other; call one"):
        named.Payload(1)
    assert not hasattr(named, "__wrapped__")
    with pytest.raises(SessionError, match="the program defines none"):
        Types({}).Payload  # noqa: B018


# -- shown


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (PAYLOAD, {"IPv4": (1, 2)}, "IPv4{src: 1, dst: 2}"),
        (PAYLOAD, "Other", "Other"),
        (POINT, (1, None), "Point{x: 1, y: none}"),
        (types.Tuple((types.INT, types.STRING)), (1, "a b"), '(1, "a b")'),
        (types.Vec(types.DOUBLE), [1, float("nan")], "[1.0, NaN]"),
        (types.Set(types.INT), {2, 1}, "{1, 2}"),
        (types.Map(types.STRING, types.INT), {"b": 1, "a": 2}, '["a" -> 2, "b" -> 1]'),
        (types.Option(COLOR), None, "none"),
        (types.STRING, "plain", "plain"),
    ],
)
def test_values_are_shown_as_the_language_writes_them(type_: Type, value: object, text: str) -> None:
    assert display(type_, canonical(type_, value)) == text


@given(typed_values())
def test_every_value_can_be_shown_in_a_cell(typed: tuple[Type, Value]) -> None:
    type_, value = typed
    of = Relation("R", (Column("p", type_),), Role.INPUT)
    (cell,) = cells(of, (value,))
    assert len(cell) <= 40


def test_long_and_deep_values_are_cut() -> None:
    assert len(display(types.Vec(types.INT), tuple(range(100_000)))) < 300
    cons = struct_class(NUMBERS, "Cons")
    deep = struct_class(NUMBERS, "Nil")()
    for i in range(5000):
        deep = cons._make((i, deep))
    assert display(NUMBERS, deep).endswith("…")
