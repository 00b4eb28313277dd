"""Random programs under random edits of facts and rules: after every commit the circuit, with and without
index, has the contents that the naive evaluation has, and has said exactly what changed.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from reference.circuit import circuit_naive as naive
from reference.circuit.circuit_programs import Edit, Flavour, histories, rule
from sizes import size
from tidelog.data.values import Row
from tidelog.data.zset import ZSet
from tidelog.errors import EngineError
from tidelog.program.typed import Rule
from tidelog.reference.circuit import Circuit

Facts = dict[str, frozenset[Row]]
History = tuple[list[Rule], list[Edit]]

thorough = settings(max_examples=size(50, 400))


def toggle(asserted: Facts, edit: Edit) -> tuple[Facts, dict[str, ZSet[Row]]]:
    """The asserted facts after the edit, and the change that makes them so."""
    after = dict(asserted)
    changes: dict[str, ZSet[Row]] = {}
    for relation, row in edit.toggled:
        rows = after.get(relation, frozenset())
        weight = -1 if row in rows else 1
        after[relation] = rows ^ {row}
        changes[relation] = changes.get(relation, ZSet()) + ZSet({row: weight})
    return after, changes


def difference(before: Facts, after: Facts) -> dict[str, ZSet[Row]]:
    changes = {
        relation: ZSet.of(after.get(relation, ())) - ZSet.of(before.get(relation, ()))
        for relation in {*before, *after}
    }
    return {relation: change for relation, change in changes.items() if change}


def check(history: History, *, indexed: bool) -> None:
    """Follows the history; an edit that cannot be is refused and, as the next one shows, leaves no trace."""
    pool, edits = history
    circuit = Circuit(indexed=indexed)
    asserted: Facts = {}
    before: Facts = {}
    for edit in edits:
        rules = {pool[n].id: pool[n] for n in edit.rules}
        wanted, changes = toggle(asserted, edit)
        try:
            after = naive.contents(rules.values(), wanted)
        except (naive.Unstratifiable, naive.Failed):
            with pytest.raises(EngineError):
                circuit.commit(rules, changes)
        else:
            assert circuit.commit(rules, changes) == difference(before, after)
            asserted, before = wanted, after
        assert circuit.contents == before


def edit(rules: set[int], *facts: tuple[str, Row]) -> Edit:
    return Edit(frozenset(rules), frozenset(facts))


CLOSURE = [rule("0", "R x y", "E x y"), rule("1", "R x z", "R x y", "E y z")]
CYCLE = [("E", (0, 1)), ("E", (1, 2)), ("E", (2, 0))]


@pytest.mark.parametrize("indexed", [True, False])
@given(history=histories(Flavour()))
@example(history=(CLOSURE, [edit({0, 1}, *CYCLE), edit({0, 1}, CYCLE[0]), edit({1}, CYCLE[0])]))
@thorough
def test_positive_programs(history: History, indexed: bool) -> None:
    check(history, indexed=indexed)


@pytest.mark.parametrize("indexed", [True, False])
@given(history=histories(Flavour(values=(0, 1, None))))
@thorough
def test_none_joins_nothing_but_is_a_value_like_any_other(history: History, indexed: bool) -> None:
    check(history, indexed=indexed)


@pytest.mark.parametrize("indexed", [True, False])
@given(history=histories(Flavour(values=(0, 1, None), negation=True)))
@thorough
def test_programs_with_negation_are_restratified_as_rules_come_and_go(
    history: History, indexed: bool
) -> None:
    check(history, indexed=indexed)


@pytest.mark.parametrize("indexed", [True, False])
@given(history=histories(Flavour(negation=True, expressions=True)))
@thorough
def test_programs_with_conditions_and_assignments(history: History, indexed: bool) -> None:
    check(history, indexed=indexed)


@pytest.mark.parametrize("indexed", [True, False])
@given(history=histories(Flavour(negation=True, expressions=True, partial=True)))
@thorough
def test_a_failed_expression_counts_only_if_the_rest_of_the_body_holds(
    history: History, indexed: bool
) -> None:
    check(history, indexed=indexed)
