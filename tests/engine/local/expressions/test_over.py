"""Aggregates over instances, on columns: the same rows in portions, and the rules about failures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.data.types import BOOL, INT, Tuple, Vec
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions import over
from tidelog.engine.local.expressions.evaluator import Evaluator
from tidelog.program import typed
from tidelog.program.library.catalog import NONE_OF
from tidelog.program.typed import Binary, Bind, Constant, Each, Expr, Over, Source, Var

ITEM = Tuple((INT, INT))
ROWS, K, J, M, U = Var("rows", Vec(ITEM)), Var("k", INT), Var("j", INT), Var("m", INT), Var("u", INT)
ZERO, TWELVE = Constant(0, INT), Constant(12, INT)
SHARE = Binary("/", TWELVE, K, INT)  # fails if k is 0
BELOW = typed.Test(Binary("<", K, M, BOOL))


def source(*body: typed.Test | Bind | Each, args: tuple[Expr, ...] = ()) -> Source:
    return Source(ROWS, (K, J), body, args)


def sums(*body: typed.Test | Bind | Each) -> Over:
    return Over("sum", False, (M,), (source(*body, args=(SHARE,)),), ZERO, INT)


def least(*body: typed.Test | Bind | Each) -> Over:
    return Over("min", False, (M,), (source(*body, args=(J,)),), None, Vec(INT))


def none(*body: typed.Test | Bind | Each) -> Over:
    return Over(NONE_OF, False, (M,), (source(*body),), None, BOOL)


def evaluated(expr: Over, given_: list[tuple[list[tuple[int, int]], int]]) -> list[object]:
    """The values of an aggregate, or "failed", for rows and a parameter."""
    codec = Codec()
    columns = {
        "rows": codec.encode_column(ROWS.type, [tuple(rows) for rows, _ in given_]),
        "m": np.array([m for _, m in given_], np.int64),
    }
    found = Evaluator(codec, {}).evaluate(expr, columns, len(given_))
    values = codec.decode_column(expr.type, found.codes)
    failed = [False] * len(values) if found.failures is None else (found.failures != 0).tolist()
    return ["failed" if bad else value for value, bad in zip(values, failed, strict=True)]


def of_row(expr: Over, rows: list[tuple[int, int]], m: int, *, bounded: bool) -> object:
    """The same, item by item."""
    chosen = [(k, j) for k, j in rows if not bounded or k < m]
    if expr.function == "sum":
        return "failed" if any(k == 0 for k, _ in chosen) else sum(int(12 / k) for k, _ in chosen)
    if expr.function == "min":
        return (min(j for _, j in chosen),) if chosen else ()
    return not chosen


NUMBER = st.integers(-3, 4)
GIVEN = st.lists(
    st.tuples(st.lists(st.tuples(NUMBER, NUMBER), max_size=5).map(sorted), NUMBER), min_size=1, max_size=8
)


@pytest.mark.parametrize("portion", [1, 4, 1 << 20])
@given(GIVEN)
def test_each_row_has_the_aggregate_of_its_items(
    portion: int, given_: list[tuple[list[tuple[int, int]], int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(over, "_PORTION", portion)
        for make in (sums, least, none):
            for body in ((), (BELOW,)):
                expr = make(*body)
                wanted = [of_row(expr, rows, m, bounded=bool(body)) for rows, m in given_]
                assert evaluated(expr, given_) == wanted


def test_an_instance_that_fails_matters_only_if_its_other_literals_hold() -> None:
    body = (Bind(U, SHARE), typed.Test(Binary(">", U, ZERO, BOOL)), BELOW)
    given_ = [([(0, 1), (3, 1)], 0), ([(0, 1), (3, 1)], 1), ([(0, 1), (3, 1)], 4)]
    assert evaluated(none(*body), given_) == [True, "failed", False]
    assert evaluated(least(*body), given_) == [(), "failed", "failed"]


def test_a_parameter_that_fails_leaves_no_instance_and_no_aggregate() -> None:
    broken = Binary("/", TWELVE, M, INT)
    codec = Codec()
    columns = {"rows": codec.encode_column(ROWS.type, [((1, 1),), ()]), "m": np.zeros(2, np.int64)}
    evaluator = Evaluator(codec, {})
    failed = evaluator.evaluate(broken, {"m": columns["m"]}, 2)
    for expr, fails in ((none(BELOW), False), (sums(BELOW), True)):
        found = evaluator.evaluate(expr, {**columns, "m": failed.codes}, 2, {"m": failed.failures})
        assert (found.failures is not None and bool(found.failures.all())) == fails
    assert evaluator.evaluate(none(), {**columns, "m": failed.codes}, 2, {"m": failed.failures}).codes.all()


def test_a_generator_makes_an_instance_of_each_item() -> None:
    inner = Var("inner", ITEM)
    body = (Each(inner, ROWS), BELOW)
    counts = Over("count", False, (M,), (source(*body),), ZERO, INT)
    assert evaluated(counts, [([(1, 1), (1, 1), (5, 1)], 2), ([], 2)]) == [6, 0]
