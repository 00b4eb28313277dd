"""People who come from other languages are told what to write, and never the wrong thing."""

from __future__ import annotations

import pytest

from tidelog import load
from tidelog.errors import ProgramError

BASE = "input relation Edge(src: string, n: int, o: option<int>)\noutput relation R(x: string)\n"


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("varchar", "write `string`"),
        ("varchar(20)", "write `string`"),
        ("text", "write `string`"),
        ("VARCHAR", "write `string`"),
        ("float64", "write `double`"),
        ("datetime", "write `timestamp`"),
        ("interval", "write `duration`"),
        ("integer", "write `int`"),
        ("boolean", "write `bool`"),
        ("list<int>", "write `vec<int>`, for example"),
        ("dict<string, int>", "write `map<string, int>`, for example"),
        ("nullable<int>", "write `option<int>`, for example"),
        ("struct", "define a type"),
        ("tinyint", "write `int`"),
        ("i128", "write `s128`"),
        ("json", "read them with `json_get`"),
        ("uuid", "write `string`"),
        ("time", "write `duration`"),
        ("strng", "did you mean `string`"),
    ],
)
def test_types_of_other_languages_are_translated(written: str, instead: str) -> None:
    with pytest.raises(ProgramError, match="unknown type") as raised:
        load(f"input relation A(x: {written})")
    assert instead in str(raised.value)


@pytest.mark.parametrize("name", ["u8", "u64", "s32", "usize", "duration", "vec<int>", "result<int, string>"])
def test_names_of_types_that_exist_are_accepted(name: str) -> None:
    load(f"input relation A(x: {name})")


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("Edge(x, _, o), o is not null", "`is_none(x)` and `is_some(x)`"),
        ("Edge(x, _, o), o == null", "`is_none(x)` and `is_some(x)`"),
        ('Edge(x, _, _), x like "a%"', "`starts_with(x, …)`"),
        ("Edge(x, n, _), n in (1, 2)", "`x in [1, 2]`"),
        ("Edge(x, n, _), n between 1 and 3", "`low <= x and x <= high`"),
        ("Edge(x, n, _), n <> 1", "write `!=`"),
        ("Edge(x, n, _), n = 1", "`==` to compare"),
        ("Edge(x, n, _), var y = case when n > 1 then 2 else 3 end", "`if (condition) a else b`"),
        ("edge(x, _, _)", "`Edge(…)`"),
        ("Edge(x, _, o), o IS NOT NULL", "`is_none(x)` and `is_some(x)`"),
        ("Edge(x, y, o), y is 3", "`==` to compare"),
        ("Edge(x, _, o), o == None", "a missing value is `none`"),
        ("Edge(x, n, _), (n > 1) == True", "write `true`"),
        ('Edge(x, _, _), x not like "a%"', "`not starts_with(x, …)`"),
        ('Edge(x, _, _), x in ("a")', "`x in [1, 2]`"),
        ("Edge(x, n, _), n not in [1, 2]", "`not (x in [1, 2])`"),
        ("Edge(x, n, _), n IN (1, 2)", "`x in [1, 2]`"),
        ("Edge(x, n, _), n > 1 && n < 3", "write `and`"),
        ("Edge(x, n, _), n > 1 || n < 3", "write `or`"),
        ("Edge(x, n, _), var y = n > 1 ? 1 : 2", "`if (condition) a else b`"),
        ("Edge(x, n, _), var y = if n > 1 then 1 else 2", "`if (condition) a else b`"),
        ("Edge(x, n, _), n ** 2 > 1", "`pow(x, y)`"),
        ("Edge(x, n, _), n mod 2 == 1", "write `%`"),
        ("Edge(x, n, _), let y = n", "`var x = …`"),
        ("Edge(x, n, _), var y = x::int", "`… as int`"),
        ("Edge(x, n, _), var y = cast(x)", "convert with `as`"),
        ("Edge(x, n, _), strlen(x) > 1", "`length(s)`"),
        ("Edge(x, n, _), var y = concat(x, x)", "`a ++ b`"),
        ("Edge(x, n, o), var y = coalesce(o, n)", "`unwrap_or(x, y)`"),
        ("Edge(x, n, _), var y = FlatMap(x)", "`var x in collection`"),
        ("Edge(x, n, _), var y = count : { Edge(x, n, _) }", "`var n = count { … }`"),
        ("Edge(X, _, _), var x = X", "variables start with a lowercase letter: `x`"),
        ("Edge(x, n, _), !Edge(x, 1, _)", "`not` to negate"),
        ("Edge(x, n, _), x == 'a'", 'double quotes: `"…"`'),
    ],
)
def test_conditions_of_other_languages_are_translated(body: str, hint: str) -> None:
    with pytest.raises(ProgramError) as raised:
        load(f"{BASE}R(x) :- {body}.")
    assert hint in str(raised.value)


def test_a_relation_in_lower_case_causes_one_error() -> None:
    with pytest.raises(ProgramError) as raised:
        load(f"{BASE}R(x) :- edge(x, n, _), n > 1.")
    assert len(raised.value.diagnostics) == 1


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        (".decl edge(x: number)", "`input relation Edge"),
        (".output edge", "`output relation Reach"),
        (".type A = number", "`typedef Shape"),
        ("input relation A(x int)", "write `x: int`"),
        ("input relation A(x: int[])", "`vec<int>`"),
        ("input relation A(x: string?)", "`option<string>`"),
        ('edge("a", "b").', "write `Edge`"),
        ("R(x) := Edge(x, _, _).", "write `:-`"),
        ("R(x) :- Edge(x, _, _)\nR(y) :- Edge(y, _, _).", "with a full stop"),
        ("for x in Edge: R(x).", "write `for (Relation(x)"),
    ],
)
def test_items_of_other_languages_are_translated_in_their_place(item: str, hint: str) -> None:
    text = f"{BASE}{item}"
    with pytest.raises(ProgramError) as raised:
        load(text)
    first = raised.value.diagnostics[0]
    assert hint in str(first.hint)
    assert first.span.start >= len(BASE)
