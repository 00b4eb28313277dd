"""The types of rows, in programs that are kept and continued."""

from __future__ import annotations

import io
import pickle

from tidelog.engine.local.storage.record import read_record
from tidelog.program.draft import Draft, load
from tidelog.session.backends.resume import save
from tidelog.session.session import Session

DECLARATIONS = """
    typedef Id = int
    typedef Pair<A> = Pair{a: A, b: Id}
    typedef Flow = Flow{src: Id, dst: u8}
    input relation E(x: Id, p: Pair<Id>, y: u8)
    input relation Seen[Flow]
    input relation Links[Pair<Id>]
    output relation N(i: Id)
"""
RULES = (
    "N(p.x) :- p in E(), q in E(), p != q.",
    "N(f.src) :- Seen[f], f == Flow{1, 2}.",
    "N(p.a) :- p in Links[Pair{.b = 2}], q in Links(), q == p.",
)


def test_a_pickled_program_goes_on_with_the_same_types_of_rows() -> None:
    draft = Draft()
    draft.load(DECLARATIONS)
    program = draft.finish()
    again = pickle.loads(pickle.dumps(program))
    warm, cold = Draft(program), Draft(again)
    for rule in RULES:
        assert warm.add_rule(rule) == cold.add_rule(rule)
    assert warm.finish() == cold.finish()


def test_a_session_that_is_saved_goes_on_with_rows_after_its_rules_change() -> None:
    text = DECLARATIONS + RULES[0]
    first = Session(Draft(load(text)))
    with first.transaction() as tx:
        tx.insert("E", [(1, {"a": 1, "b": 2}, 3), (5, {"a": 1, "b": 2}, 4)])
        tx.insert("Links", [(7, 2), (8, 3)])
    written = io.BytesIO()
    save(first, written)
    other = Session(Draft())
    assert other._state.resume(load(text), read_record(written.getvalue()))
    with other.transaction() as tx:
        tx.load(RULES[2])
        tx.delete("E", [(1, {"a": 1, "b": 2}, 3)])
    assert sorted(other["N"]) == [(7,)]
    with other.transaction() as tx:
        tx.replace_program(DECLARATIONS.replace("x: Id", "x: int") + RULES[0])
        tx.insert("E", [(9, {"a": 1, "b": 2}, 3)])
    assert sorted(other["N"]) == [(5,), (9,)]
