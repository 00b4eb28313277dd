"""A program whose recursions have relations for their seeds derives what it derived before."""

from __future__ import annotations

import pytest

from conformance.reasoners import LocalReasoner
from oracle.generator import Generator
from sizes import size
from tidelog.errors import EngineError
from tidelog.plan.flat import FlatProgram, Kind
from tidelog.plan.flatten import flatten
from tidelog.plan.seeds import is_inner, with_seeds
from tidelog.program.draft import load
from tidelog.program.model import Program


class Apart(LocalReasoner):
    def flatten(self, program: Program) -> FlatProgram:
        return with_seeds(flatten(program), lambda _: True)


@pytest.mark.parametrize("flavour", ["positive", "negated", "guarded", "full", "typed"])
def test_a_history_is_the_same_with_seeds(flavour: str) -> None:
    for seed in range(size(4, 60)):
        plain, apart = LocalReasoner(), Apart()
        for number, step in enumerate(Generator(seed, flavour).steps()):
            try:
                expected = plain.commit(step.program, step.facts)
            except EngineError:
                with pytest.raises(EngineError):
                    apart.commit(step.program, step.facts)
                break
            assert apart.commit(step.program, step.facts) == expected, f"{flavour} {seed}, step {number}"


def test_only_recursions_with_something_to_begin_with_have_seeds() -> None:
    program = flatten(
        load(
            """
            input relation E(a: int, b: int)
            output relation R(a: int, b: int)
            output relation S(a: int, b: int)
            output relation T(a: int, b: int)
            R(x, y) :- E(x, y), x < y.
            R(x, z) :- R(x, y), E(y, z).
            S(x, y) :- E(y, x).
            T(x, y) :- E(y, x).
            T(x, z) :- T(x, y), E(y, z).
            """
        )
    )
    made = with_seeds(program, lambda _: True)
    assert [name for name, stored in made.relations.items() if stored.kind is Kind.SEEDS] == ["R [seeds]"]
    own = next(stratum for stratum in made.strata if "R" in stratum.relations)
    assert sorted(is_inner(rule, own) for rule in own.rules) == [False, True]
    assert with_seeds(program, lambda _: False) == program
