"""Programs and plans that are made by difference are those that are made from nothing."""

from __future__ import annotations

import pickle
from random import Random

import pytest

from sizes import size
from tidelog.errors import ProgramError
from tidelog.plan.flat import FlatProgram, Totals, _indexed
from tidelog.plan.flatten import flatten
from tidelog.program.draft import Draft
from tidelog.program.model import EMPTY, Program

RELATIONS = [f"relation {name}(a: int, b: int)" for name in ("A", "B", "C", "D", "E", "F")]
INPUTS = "input relation In(a: int, b: int)\ninput relation Also(a: int, b: int)"
BODIES = (
    "{0}(x, y) :- {1}(x, y).",
    "{0}(x, z) :- {1}(x, y), {2}(y, z).",
    "{0}(x, y) :- {1}(x, y), not {2}(x, y).",
    "{0}(x, y) :- {1}(x, y), not {2}(x, _).",
    "{0}(x, y) :- {1}(x, y), not {2}(_, _).",
    "{0}(x, n) :- {1}(x, y), var n = count().group_by(x).",
    "{0}(x, n) :- {1}(x, y), var n = y.group_by(x).min().",
    "{0}(x, n) :- {1}(x, y), var n = (y + 1).group_by(x).min().",
    "{0}(x, n) :- {1}(x, y), var n = y.group_by(x).sum().",
    "{0}(x, n) :- {1}(x, y), not {2}(x, _), var n = (y + 1).group_by(x).sum().",
    "{0}(x, x) :- {1}(x, y), y > 3, In(x, _).",
    "{0}(x, y), {1}(y, x) :- {2}(x, y).",
    "{0}(x, y) :- ({1}(x, y); {2}(y, x)).",
    "{0}(x, n) :- {1}(x, y), var n = count {{ Also(x, z), z < y }}.",
    "{0}(x, y) :- {1}(x, y), {2}(y, z), not (Also(w, _), w > z), not (In(w, _), w > y).",
)


def random_rule(random: Random) -> str:
    names = ["A", "B", "C", "D", "E", "F"]
    body = random.choice(BODIES)
    head = random.choice(names)
    second = (
        random.choice(names) if body.startswith("{0}(x, y), {1}") else random.choice([*names, "In", "Also"])
    )
    return body.format(head, second, random.choice([*names, "In", "Also"]))


def edited(random: Random, program: Program) -> Program:
    """A program with some rules more and less, and perhaps another relation."""
    draft = Draft(program)
    for _ in range(random.randrange(1, 4)):
        rules = sorted(draft._rules())
        if rules and random.random() < 0.4:
            draft.remove_rule(random.choice(rules))
        else:
            draft.add_rule(random_rule(random))
    if random.random() < 0.3:
        name = f"Extra{random.randrange(3)}"
        if name not in draft.relations:
            draft.load(f"relation {name}(a: int, b: int) {name}(x, y) :- {random.choice('ABC')}(x, y).")
        elif not any(name in rule for rule in draft._rules()):
            draft.drop(name)
    return draft.finish()


def from_nothing(program: Program) -> Program:
    return Draft(Program(program.relations, program.aliases, program.functions, program.rules)).finish()


def check_same(made: FlatProgram, fresh: FlatProgram) -> None:
    assert (made.relations, made.rules, made.groupings) == (fresh.relations, fresh.rules, fresh.groupings)
    assert {s.relations for s in made.strata} == {s.relations for s in fresh.strata}
    for stratum in fresh.strata:
        other = made.stratum_of(next(iter(stratum.relations)))
        assert other is not None
        assert set(other.rules) == set(stratum.rules)
        assert (other.recursive, other.grouping) == (stratum.recursive, stratum.grouping)
        assert other.best == stratum.best
        check_same_totals(other.totals, stratum.totals)
    number = made.index.order.number
    for rule in made.rules.values():
        assert all(number[name] <= number[rule.head] for name in rule.reads)
    again = _indexed(made)
    assert made.index.order == again.order
    assert {n: set(ids) for n, ids in made.index.deriving.items()} == {
        n: set(ids) for n, ids in again.deriving.items()
    }
    assert dict(made.index.readers) == dict(again.readers)


def check_same_totals(made: Totals | None, fresh: Totals | None) -> None:
    assert made == fresh
    if made is not None and fresh is not None:
        assert (made.groupings, made.dependencies) == (fresh.groupings, fresh.dependencies)
        parts = [{s.relations: set(s.rules) for s in totals.on_demand} for totals in (made, fresh)]
        assert parts[0] == parts[1]


@pytest.mark.parametrize("seed", range(size(40, 1500)))
def test_a_history_of_programs(seed: int) -> None:
    random = Random(seed)
    start = Draft(EMPTY)
    start.load(INPUTS + "\n" + "\n".join(RELATIONS))
    program = start.finish()
    flat = flatten(program)
    for _ in range(20):
        try:
            new = edited(random, program)
        except ProgramError:
            continue
        fresh = from_nothing(new)
        assert _alike(new, fresh)
        made = flatten(new, program, flat)
        check_same(made, flatten(fresh))
        change = made.since(flat)
        assert set(change.added) == made.rules.keys() - flat.rules.keys()
        assert set(change.removed) == flat.rules.keys() - made.rules.keys()
        assert set(change.dropped) == flat.relations.keys() - made.relations.keys()
        kept = set(map(id, flat.strata))
        assert set(change.strata) == {i for i, s in enumerate(made.strata) if id(s) not in kept}
        program, flat = new, made


def _alike(made: Program, fresh: Program) -> bool:
    """Whether strata are the same but for the order of their rules."""
    wanted = {s.relations: s for s in fresh.strata}
    return len(made.strata) == len(wanted) and all(
        set(s.rules) == set(wanted[s.relations].rules)
        and (s.recursive, s.best) == (wanted[s.relations].recursive, wanted[s.relations].best)
        and (s.totals, s.per_binding) == (wanted[s.relations].totals, wanted[s.relations].per_binding)
        for s in made.strata
    )


def test_what_a_change_does_not_reach_stays_the_same_object() -> None:
    draft = Draft(EMPTY)
    draft.load(INPUTS + "\n" + "\n".join(RELATIONS) + " A(x, y) :- In(x, y). B(x, y) :- Also(x, y).")
    program = draft.finish()
    flat = flatten(program)
    more = Draft(program)
    more.add_rule("B(x, y) :- In(y, x).")
    new = more.finish()
    made = flatten(new, program, flat)
    different = [s for s in made.strata if all(s is not old for old in flat.strata)]
    assert [sorted(s.relations) for s in different] == [["B"]]
    assert list(made.since(flat).strata) == [made.index.order.number["B"]]


def test_programs_and_plans_can_be_pickled() -> None:
    draft = Draft(EMPTY)
    draft.load(INPUTS + "\n" + "\n".join(RELATIONS) + " A(x, y) :- In(x, y), not Also(x, _).")
    program = draft.finish()
    again = pickle.loads(pickle.dumps(program))
    assert (again, again.index) == (program, None)
    assert pickle.loads(pickle.dumps(flatten(program))) == flatten(program) == flatten(again)
