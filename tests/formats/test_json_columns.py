"""JSON lines read as whole columns give the table that reading line by line gives, or none at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data.structured import COLOR, PAYLOAD, POINT, constructor, structured_types, typed_columns
from data.structured import named as named_type
from tables.facts import SCALARS, named, patiently
from tidelog.data import types
from tidelog.data.types import Type
from tidelog.data.values import Value
from tidelog.errors import DataError
from tidelog.formats.json_columns import read_columns
from tidelog.formats.json_lines import read_lines, read_patiently, write_lines
from tidelog.program.declared import Relation
from tidelog.tables.columns import values_of
from tidelog.tables.given import to_table

MIXED = named_type(
    "Mixed",
    constructor("Mixed", n=types.Option(types.INT), d=types.DOUBLE, s=types.STRING, day=types.DATE),
)
SHAPE = named_type(
    "Shape",
    constructor("Circle", r=types.DOUBLE),
    constructor("Box", sides=types.Vec(types.INT), color=types.Option(COLOR)),
)
FAST: tuple[types.Item, ...] = (
    *SCALARS,
    POINT,
    COLOR,
    PAYLOAD,
    SHAPE,
    MIXED,
    types.Vec(types.DOUBLE),
    types.Vec(types.Option(POINT)),
    types.Vec(SHAPE),
    types.Set(types.INT),
    types.Set(types.STRING),
)
# texts that may or may not be values of a type; readers differ about most of them
PIECES = (
    *(
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "-1",
        "1.0",
        "1e3",
        "1E-3",
        "-0.0",
        "01",
        "+1",
        "1.",
        ".5",
        "-",
    ),
    *("0.1", "16777217", "16777217.0", "9007199254740993", "9007199254740993.0", "1e23", "1e30", "1e-400"),
    *("1e400", "3.5e38", "123456789012345678901234567890.5", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "18446744073709551615", "18446744073709551616", "255", "256", "NaN", "-NaN"),
    *("Infinity", "-Infinity", "Inf", "-Inf", '"NaN"', '"Infinity"', '"1"', '"1.50"', '"x"', '""', '"none"'),
    *(
        '"true"',
        '"2024-02-29"',
        '"2023-02-29"',
        '"2024-1-1"',
        '"2024-02-29T01:02:03Z"',
        '"2024-02-29 01:02:03"',
    ),
    *(
        '"2024-02-29T01:02:03.123456789Z"',
        '"2024-02-29T01:02:03.5+02:00"',
        '"20240229"',
        '"ff"',
        '"FF"',
        '"f"',
    ),
    *(
        '"5400s"',
        '"90 minutes"',
        '"Red"',
        '"Purple"',
        '"Other"',
        '"\\ud800"',
        '"\\udc00"',
        '"\\ud83d\\ude00"',
    ),
    *('"\\u0000"', '"\t"', '"\\t"', '"é"', '"\u2028"', "'x'", "[]", "{}", "[1]", "[1, null]", "[1, 1.5]"),
    *(
        "[2, 1, 2]",
        '["b", "a", "b"]',
        '[{"x": 1}]',
        '[{"x": 1, "y": null}, null]',
        '{"x": 1}',
        '{"y": 2, "x": 1}',
    ),
    *('{"x": 1, "x": 2}', '{"\\u0078": 1}', '{"x": 1, "z": 2}', '{"x": null}', '"{\\"x\\": 1}"', "[1, 2]"),
    *(
        '{"IPv4": {"src": 1, "dst": 2}}',
        '{"ARP": {"op": 7}}',
        '{"ARP": {"op": 7}, "IPv4": null}',
        '{"ARP": null}',
    ),
    *('{"ARP": {"op": 7}, "IPv4": {"src": 1, "dst": 2}}', '{"tag": "ARP", "op": 7}', '{"Other": {}}'),
    *(
        '{"Circle": {"r": 1}}',
        '{"Box": {"sides": [1, 2]}}',
        '[{"Circle": {"r": 1.5}}]',
        "1 /* one */",
        "1}{",
        "1,",
    ),
)
LINES = (
    *('{"a": %s}', '{"a": %s}', '{"a": %s}', '{"a": %s, "b": %s}', '{"a": %s, "b": %s}', ' {"a": %s} ', "%s"),
    *(
        '{"a": %s}\r',
        '{"a": %s, "a": %s}',
        '{"a": %s, "c": %s}',
        "{}",
        "",
        " ",
        '{"\\u0061": %s}',
        '{"a"\t:%s}',
    ),
    *('{"a": %s} {"b": %s}', '{"a":\n%s}', '{"a": %s}\x00', "\ufeff%s", '{"a": %s', "null", '{"a": %s}\n\n'),
)


def outcome(read: Any, of: Relation, content: bytes) -> object:
    """The values that are read, in a form in which NaN equals itself, or the error."""
    try:
        table = read(of, content, "f.jsonl")
    except DataError as error:
        return str(error)
    return table.schema, [repr(values_of(c.type, table[c.name])) for c in of.columns]


def same(of: Relation, content: bytes) -> None:
    assert outcome(read_lines, of, content) == outcome(read_patiently, of, content)


@st.composite
def relations(draw: st.DrawFn) -> Relation:
    chosen: st.SearchStrategy[Any] = st.sampled_from(FAST) | structured_types()
    kinds: list[Type] = [draw(chosen | chosen.map(types.Option)) for _ in "ab"]
    return named(**dict(zip("ab", kinds, strict=True)))


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    chosen = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=4))
    pieces = st.sampled_from(PIECES)
    text = "\n".join(line % tuple(draw(pieces) for _ in range(line.count("%s"))) for line in chosen)
    return text.encode() + draw(st.sampled_from((b"", b"\n", b"\r\n", b"\n\n", b"\xff")))


@patiently
@given(of=relations(), content=lines())
def test_any_lines_give_the_same_table_or_the_same_error(of: Relation, content: bytes) -> None:
    same(of, content)


@pytest.mark.parametrize("item", FAST, ids=str)
def test_every_value_is_read_alike(item: types.Item) -> None:
    for type_ in (item, types.Option(item)):
        of = named(a=type_)
        for piece in PIECES:
            same(of, f'{{"a": {piece}}}\n'.encode())


@patiently
@given(typed=typed_columns(max_size=4), damage=st.tuples(st.integers(0, 400), st.binary(max_size=2)))
def test_written_lines_are_read_alike_and_so_are_damaged_ones(
    typed: tuple[types.Item, list[Value]], damage: tuple[int, bytes]
) -> None:
    type_, items = typed
    of = named(a=type_, b=types.Option(type_))
    table = to_table(of, [(v, None if i % 2 else v) for i, v in enumerate(items)])
    content = b"".join(write_lines(table, [c.type for c in of.columns]))
    same(of, content)
    place = damage[0] % (len(content) + 1)
    same(of, content[:place] + damage[1] + content[place + 1 :])


@pytest.mark.parametrize(
    "type_",
    [t for t in FAST if t != PAYLOAD],
    ids=str,
)
def test_common_types_are_read_as_columns(type_: types.Item) -> None:
    texts = {
        types.Bool: "true",
        types.String: '"x"',
        types.Bytes: '"ff"',
        types.Date: '"2024-02-29"',
        types.Timestamp: '"2024-02-29T01:02:03Z"',
        types.Duration: '"5s"',
        types.Decimal: '"0"',
        types.Vec: "[]",
        types.Set: "[]",
    }
    structs = {
        POINT: '{"x": 1}',
        COLOR: '"Red"',
        SHAPE: '{"Circle": {"r": 1}}',
        MIXED: '{"d": 1, "s": "", "day": "2024-02-29"}',
    }
    wide = types.is_integer(type_) and str(to_table(named(a=type_), [(0,)])["a"].type) == "string"
    text = structs.get(type_) if isinstance(type_, types.Named) else texts.get(type(type_), "0")
    content = f'{{"a": {json.dumps(text) if wide else text}}}\n'.encode()
    assert read_columns(named(a=type_), content) is not None


@example(size=1 << 23)
@given(size=st.integers(1, 100))
def test_lines_of_any_length_are_read(size: int) -> None:
    content = b'{"a": "' + b"x" * size + b'"}\n'
    assert read_lines(named(a=types.STRING), content * 3, "f.jsonl")["a"].to_pylist() == ["x" * size] * 3
