"""Definitions of types: what they mean, when two are the same, and that programs keep them."""

from __future__ import annotations

import pickle

import pytest

from tidelog.data import types
from tidelog.data.types import INT, STRING, Named
from tidelog.errors import ProgramError
from tidelog.program.describe import describe_program
from tidelog.program.draft import Draft, check, load

PROGRAM = """
typedef Payload = IPv4{src: u32, dst: u32} | ARP{op: u8} | Other
typedef Pair<A, B> = Pair{first: A, second: B}
typedef Table<K> = map<K, vec<Pair<K, int>>>
typedef Tree = Leaf | Node{left: Tree, value: int, right: Tree}
typedef Trees = vec<Tree>

input relation Packet(id: int, p: Payload)
input relation Wood(t: Trees, s: Table<string>)
output relation Seen(p: Pair<int, Payload>, r: result<int, string>)

Seen(Pair{i, p}, Ok{i}) :- Packet(i, p).
"""


def column(relation: str, place: int, text: str = PROGRAM) -> types.Type:
    return load(text).relations[relation].columns[place].type


def codes(text: str) -> list[str]:
    return [d.code for d in check(text) if d.code.startswith("E")]


def test_a_union_has_its_constructors_with_the_types_of_their_fields() -> None:
    payload = column("Packet", 1)
    assert isinstance(payload, Named)
    assert [c.name for c in payload.constructors] == ["IPv4", "ARP", "Other"]
    assert [f.type for f in payload.constructor("IPv4").fields] == [types.Bit(32), types.Bit(32)]


def test_a_generic_type_has_its_arguments_filled_in_at_any_depth() -> None:
    table = column("Wood", 1)
    assert isinstance(table, types.Map)
    assert table.key == STRING
    assert isinstance(table.value, types.Vec)
    pair = table.value.item
    assert isinstance(pair, Named)
    assert str(pair) == "Pair<string, int>"
    assert [f.type for f in pair.constructor("Pair").fields] == [STRING, INT]


def test_a_recursive_type_contains_itself() -> None:
    trees = column("Wood", 0)
    assert isinstance(trees, types.Vec)
    assert isinstance(trees.item, Named)
    assert trees.item.constructor("Node").fields[0].type == trees.item
    assert types.is_recursive(trees)


def test_types_with_one_name_and_different_definitions_are_different() -> None:
    other = column("Packet", 1, PROGRAM.replace("op: u8", "op: u16"))
    assert column("Packet", 1) == column("Packet", 1)
    assert column("Packet", 1) != other
    assert str(column("Packet", 1)) == str(other)


def test_a_described_program_is_the_same_program_again() -> None:
    program = load(PROGRAM)
    assert load(describe_program(program)) == program


def test_a_pickled_program_is_the_same_program_and_can_be_extended() -> None:
    program = load(PROGRAM)
    again = pickle.loads(pickle.dumps(program))
    assert again == program
    assert describe_program(again) == describe_program(program)
    draft = Draft(again)
    draft.load('Seen(Pair{i, Other}, Err{"no"}) :- Packet(i, ARP{..}).')
    assert len(draft.finish().rules) == 2


def test_an_equal_definition_changes_nothing_and_a_different_one_is_an_error() -> None:
    draft = Draft(load(PROGRAM))
    draft.load("typedef Pair<A, B> = Pair{first: A, second: B}")
    with pytest.raises(ProgramError) as caught:
        draft.load("typedef Pair<A, B> = Pair{one: A, two: B}")
    assert [d.code for d in caught.value.diagnostics] == ["E112"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("typedef A = A{a: A}", ["E117"]),
        ("typedef A = A{b: B}\ntypedef B = B{a: (int, A)}", ["E117", "E117"]),
        ("typedef A = A{a: option<A>, b: vec<A>}", []),
        ("typedef Box<X> = Box{x: X}\ntypedef A = A{a: Box<A>}", ["E117"]),
        ("typedef N<A> = E | N{n: N<(A, A)>}", ["E116"]),
        ("typedef A = X | X", ["E112"]),
        ("typedef A = X{x: int, x: int}", ["E111"]),
        ("typedef A<T, T> = X{x: T}", ["E111"]),
        ("typedef A = X{x: Nothing}\nrelation R(a: A)", ["E103"]),
        ("typedef O<T> = option<T>\nrelation R(a: O<option<int>>)", ["E104"]),
        ("typedef P<T> = P{x: option<T>}\nrelation R(a: P<option<int>>)", ["E104"]),
        ("relation R(f: |int|: int)", ["E104"]),
        ("typedef u8 = string\ntypedef vec = int\nrelation R(a: u8, b: vec)", []),
    ],
)
def test_a_definition_is_accepted_or_told_what_is_wrong(text: str, wanted: list[str]) -> None:
    assert codes(text) == wanted
