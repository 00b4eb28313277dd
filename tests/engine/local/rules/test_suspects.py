"""Suspects looked for by one variable: the same ones come back as with the whole head bound."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.reasoners import LocalReasoner
from oracle.generator import FLAVOURS, Generator
from tidelog.data.types import INT, Option
from tidelog.engine.local.rules import suspects as filtering
from tidelog.engine.local.rules.suspects import worth_filtering
from tidelog.errors import EngineError
from tidelog.program.typed import Match, Var
from tidelog.reference.chibi import Chibi

HEAD = Match("R", (Var("x", INT), Var("y", INT)))


def test_the_variable_with_the_fewest_values_is_taken() -> None:
    data = np.array([[i % 3, i] for i in range(600)], np.int64)
    chosen = worth_filtering(HEAD, data, np.arange(600))
    assert chosen is not None
    assert (chosen[0], chosen[1].tolist()) == ("x", [0, 1, 2])


def test_few_suspects_or_many_values_are_not_worth_it() -> None:
    data = np.array([[i, i] for i in range(600)], np.int64)
    assert worth_filtering(HEAD, data, np.arange(600)) is None
    assert worth_filtering(HEAD, np.zeros((600, 2), np.int64), np.arange(20)) is None


def test_suspects_that_are_few_beside_their_likes_are_not_worth_it() -> None:
    data = np.array([[i % 3, i] for i in range(60_000)], np.int64)
    assert worth_filtering(HEAD, data, np.arange(600)) is None
    assert worth_filtering(HEAD, data, np.arange(10_000)) is not None


def test_a_variable_that_may_be_none_is_never_taken() -> None:
    head = Match("R", (Var("x", Option(INT)), Var("y", Option(INT))))
    assert worth_filtering(head, np.zeros((600, 2), np.int64), np.arange(600)) is None


@pytest.mark.parametrize("flavour", FLAVOURS[:4])
def test_random_programs_give_the_same_either_way(flavour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "FEW", 0)
    monkeypatch.setattr(filtering, "_REPEATED", 0)
    monkeypatch.setattr(filtering, "_OTHER", 10**6)
    for seed in range(25):
        reference, local = Chibi(), LocalReasoner()
        for step in Generator(seed, flavour).steps():
            try:
                wanted = reference.commit(step.program, step.facts)
            except EngineError:
                break
            assert local.commit(step.program, step.facts) == wanted, (flavour, seed)
