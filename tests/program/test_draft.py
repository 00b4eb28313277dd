"""Programs that change: what a transaction may add and remove, and Python functions."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from tidelog.data import types
from tidelog.data.types import INT, STRING, Type
from tidelog.errors import ProgramError
from tidelog.program.draft import Draft, load
from tidelog.program.model import difference

BASE = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
"""
STEP = "Reach(x, z) :- Reach(x, y), Edge(y, z)."


def codes(action: Callable[[], object]) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        action()
    return [d.code for d in caught.value.diagnostics]


# -- adding


def test_loading_a_text_twice_changes_nothing() -> None:
    draft = Draft()
    first = draft.load(BASE, "a.dl")
    once = draft.finish()
    assert draft.load(BASE, "b.dl") == first
    assert draft.finish() == once
    assert not difference(once, draft.finish())


def test_a_rule_under_other_names_is_the_same_rule() -> None:
    draft = Draft(load(BASE))
    draft.add_rule("Reach(from, to) :- Edge(.dst = to, .src = from).")
    assert draft.finish().rules == load(BASE).rules


def test_a_text_with_a_mistake_adds_nothing() -> None:
    draft = Draft(load(BASE))
    before = draft.finish()
    text = f"input relation New(x: int)\ntypedef T = int\n{STEP}\nReach(x, y) :- Nowhere(x, y)."
    assert codes(lambda: draft.load(text)) == ["E101"]
    assert draft.finish() == before


def test_add_rule_takes_one_rule_and_adds_nothing_otherwise() -> None:
    draft = Draft(load(BASE))
    before = draft.finish()
    assert codes(lambda: draft.add_rule(f"{STEP}\nReach(x, x) :- Edge(x, _).")) == ["E003"]
    assert codes(lambda: draft.add_rule("")) == ["E003"]
    assert draft.finish() == before


def test_a_later_text_may_use_what_earlier_ones_declared() -> None:
    draft = Draft(load("typedef Name = string\nfunction loud(s: string): string { upper(s) }" + BASE))
    draft.load("output relation Loud(n: Name)\nLoud(loud(x)) :- Reach(x, _).")
    assert "Loud" in draft.finish().relations


@pytest.mark.parametrize(
    "text",
    [
        "input relation Edge(src: string, dst: string)",
        "typedef Name = string",
        "function f(n: int): int { n }",
    ],
)
def test_the_same_declaration_may_be_loaded_again(text: str) -> None:
    before = load("typedef Name = string\nfunction f(n: int): int { n }" + BASE)
    draft = Draft(before)
    draft.load(text, "again.dl")
    assert draft.finish() == before


@pytest.mark.parametrize(
    "text",
    [
        "input relation Edge(src: string, dst: int)",
        "input relation Edge(src: string)",
        "output relation Edge(src: string, dst: string)",
        "input relation Edge(src: string, dst: string) primary key (src)",
        "typedef Name = int",
        "function f(n: int): int { n + 1 }",
        "function upper(s: string): string { s }",
        "typedef int = string",
    ],
)
def test_another_declaration_of_a_name_is_refused(text: str) -> None:
    draft = Draft(load("typedef Name = string\nfunction f(n: int): int { n }" + BASE))
    assert codes(lambda: draft.load(text, "again.dl")) == ["E112"]


# -- removing


@pytest.mark.parametrize(
    "text", ["Reach(x, y) :- Edge(x, y).", "Reach(b, a) :-\n  Edge(.src = b, .dst = a)."]
)
def test_a_rule_is_removed_by_what_it_says(text: str) -> None:
    draft = Draft(load(BASE + STEP))
    draft.remove_rule(text)
    assert draft.finish().rules.keys() == load(BASE + STEP).rules.keys() - load(BASE).rules.keys()


def test_a_rule_is_removed_by_itself_or_by_its_identity() -> None:
    draft = Draft(load(BASE))
    rule = draft.add_rule(STEP)
    assert draft.remove_rule(rule) == rule
    draft.add_rule(STEP)
    assert draft.remove_rule(rule.id) == rule
    assert draft.finish() == load(BASE)


def test_a_rule_that_is_not_there_cannot_be_removed() -> None:
    draft = Draft(load(BASE))
    assert codes(lambda: draft.remove_rule(STEP)) == ["E113"]
    assert codes(lambda: draft.remove_rule("Reach(x, y) :- Egde(x, y).")) == ["E101"]
    assert codes(lambda: draft.remove_rule("not a rule")) == ["E003"]
    assert codes(lambda: draft.remove_rule(load(BASE + STEP).rules.popitem()[1])) == ["E113"]  # type: ignore[attr-defined]


def test_a_relation_is_dropped_when_nothing_mentions_it() -> None:
    draft = Draft(load(BASE))
    assert codes(lambda: draft.drop("Edge")) == ["E114"]
    assert codes(lambda: draft.drop("Egde")) == ["E101"]
    draft.remove_rule("Reach(x, y) :- Edge(x, y).")
    draft.drop("Edge")
    assert draft.finish().relations.keys() == {"Reach"}
    draft.load("input relation Edge(id: int)")
    assert draft.finish().relations["Edge"].types == (INT,)


def test_only_the_final_program_has_to_be_stratifiable() -> None:
    draft = Draft(load(BASE + "output relation Apart(a: string, b: string)"))
    draft.add_rule("Apart(x, y) :- Edge(x, _), Edge(_, y), not Reach(x, y).")
    draft.add_rule("Reach(x, y) :- Apart(x, y).")
    assert codes(draft.finish) == ["E501"]
    draft.remove_rule("Reach(x, y) :- Apart(x, y).")
    assert [s.relations for s in draft.finish().strata][-1] == {"Apart"}


# -- difference


def test_the_difference_is_what_makes_the_old_program_the_new_one() -> None:
    old = load(BASE + "input relation Old(x: int)")
    new = load(BASE + STEP + "input relation New(x: int)")
    found = difference(old, new)
    assert [r.name for r in found.declared] == ["New"]
    assert [r.name for r in found.dropped] == ["Old"]
    assert [r.id for r in found.added] == ["Reach(v0, v1) :- Reach(v0, v2), Edge(v2, v1)."]
    assert found.removed == ()
    assert {frozenset(s.relations) for s in found.strata} == {frozenset(["New"]), frozenset(["Reach"])}
    assert not difference(new, new)


# -- functions of Python


def shout(text: str) -> str:
    return text.upper()


def port(text: Annotated[str, "string"]) -> Annotated[int, "bit<16>"]:
    return int(text)


def price(text: str) -> Annotated[decimal.Decimal, "decimal(10, 2)"] | None:
    return decimal.Decimal(text) if text else None


def everything(
    a: bool,
    b: float,
    c: bytes,
    d: datetime.date,
    e: datetime.datetime,
    f: int | None,
    g: "str | None",  # noqa: UP037
) -> bool:
    return a


def untyped(text: str, stratum) -> str:  # type: ignore[no-untyped-def]
    return f"{text}{stratum}"


def no_result(text: str):  # type: ignore[no-untyped-def]
    return text


def listed(text: list[str]) -> int:
    return len(text)


def several(*texts: str) -> int:
    return len(texts)


def misspelt(n: Annotated[int, "bit<0>"]) -> int:
    return n


def unhashable(n: Annotated[int, []]) -> int:
    return n


def unreadable(n: "no such type") -> int:  # type: ignore[valid-type]  # noqa: F722
    return 0


def key(n: int) -> int:
    return n


def Capital(n: int) -> int:  # noqa: N802
    return n


def upper(text: str) -> str:
    return text


def nested() -> Callable[[int], int]:
    def inner(n: int) -> int:
        return n

    return inner


@pytest.mark.parametrize(
    ("function", "parameters", "result"),
    [
        (shout, [STRING], STRING),
        (port, [STRING], types.Bit(16)),
        (price, [STRING], types.Option(types.Decimal(10, 2))),
        (
            everything,
            [
                types.BOOL,
                types.DOUBLE,
                types.BYTES,
                types.DATE,
                types.TIMESTAMP,
                types.Option(INT),
                types.Option(STRING),
            ],
            types.BOOL,
        ),
    ],
)
def test_a_python_function_has_the_types_of_its_annotations(
    function: Callable[..., object], parameters: list[Type], result: Type
) -> None:
    made = Draft().register(function)
    assert [p.type for p in made.parameters] == parameters
    assert made.result == result
    assert (made.module, made.qualname) == (function.__module__, function.__qualname__)


@pytest.mark.parametrize(
    "function",
    [
        untyped,
        no_result,
        listed,
        several,
        misspelt,
        unhashable,
        unreadable,
        key,
        Capital,
        upper,
        nested(),
        lambda n: n,
        len,
        int,
        "shout",
    ],
)
def test_a_python_function_that_cannot_be_used_is_refused(function: Any) -> None:
    assert codes(lambda: Draft().register(function)) == ["E115"]


def test_rules_call_python_functions_under_the_name_they_were_given() -> None:
    draft = Draft(load(BASE))
    draft.register(shout)
    draft.register(port, "port_of")
    draft.load("Reach(shout(x), y) :- Edge(x, y), port_of(y) < 1024.")
    assert codes(lambda: draft.load("Reach(x, y) :- Edge(x, y), shout(1) == x.")) == ["E201"]
    assert codes(lambda: draft.load("Reach(x, y) :- Edge(x, y), shout() == x.")) == ["E105"]
    assert set(draft.finish().functions) == {"shout", "port_of"}


def test_a_name_stands_for_one_function() -> None:
    draft = Draft(load("function loud(s: string): string { s }"))
    draft.register(shout)
    assert draft.register(shout).name == "shout"
    assert codes(lambda: draft.register(port, "shout")) == ["E112"]
    assert codes(lambda: draft.register(shout, "loud")) == ["E112"]
    assert codes(lambda: draft.load("function shout(s: string): string { s }")) == ["E112"]
