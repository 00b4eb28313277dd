"""An expression on columns, row by row: what the evaluator gives, and whether the reference agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tidelog.data.values import Value
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.evaluator import Evaluator, Functions
from tidelog.program.traversal import variables
from tidelog.program.typed import Expr
from tidelog.reference.evaluate import Failure, evaluate
from tidelog.reference.json_paths import PROBLEM

NO_CODE = "its code stands for none"


def over(
    expr: Expr, columns: Mapping[str, Sequence[Value]], functions: Functions, size: int
) -> list[Value | Failure]:
    """The expression's outcome in each row, as values and failures."""
    codec = Codec()
    types = {v.name: v.type for v in variables(expr)}
    codes = {name: codec.encode_column(type_, columns[name]) for name, type_ in types.items()}
    evaluator = Evaluator(codec, functions)
    outcome = evaluator.evaluate(expr, codes, size)
    assert len(outcome.codes) == size
    assert outcome.codes.dtype == np.int64
    failures = [0] * size if outcome.failures is None else outcome.failures.tolist()
    assert outcome.failures is None or any(failures)
    return [
        Failure(evaluator.reason(f)) if f else codec.decode(expr.type, c)
        for c, f in zip(outcome.codes.tolist(), failures, strict=True)
    ]


def agrees(found: Value | Failure, wanted: Value | Failure) -> bool:
    if isinstance(found, Failure) and NO_CODE in found.reason:
        return True  # the one value that a column cannot hold
    if isinstance(found, Failure) and wanted == Failure(PROBLEM):
        return True
    return found is wanted or (found == wanted and type(found) is type(wanted))


def assert_same(expr: Expr, columns: Mapping[str, Sequence[Value]], functions: Functions, size: int) -> None:
    found = over(expr, columns, functions, size)
    for row in range(size):
        env = {name: column[row] for name, column in columns.items()}
        wanted = evaluate(expr, env, functions)
        assert agrees(found[row], wanted), (row, env, found[row], wanted)
