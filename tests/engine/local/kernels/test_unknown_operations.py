"""What a kernel does not know is an error, and never taken for something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidelog
from tidelog.engine.local.kernels import layout
from tidelog.engine.local.native.calls import apply_rows
from tidelog.engine.local.rules import compiler
from tidelog.engine.local.rules.bytecode import make_room
from tidelog.engine.local.storage.pending import Working
from tidelog.engine.local.storage.table import Table

UNKNOWN = 99


def nothing(ahead: int | None = None) -> None:
    """A check that never ends anything."""


def test_an_unknown_mode_is_an_error() -> None:
    table = Table(1)
    working = Working("R", table)
    rows = table.add(np.array([[7]]))
    done, status = apply_rows(table.at, UNKNOWN, 1, rows, 0)
    assert (done, status) == (0, layout.UNKNOWN)
    with pytest.raises(AssertionError, match="unknown operation"):
        make_room(int(status), working, nothing)


def test_an_unknown_comparison_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = dict(compiler._COMPARISONS)
    monkeypatch.setattr(compiler, "_COMPARISONS", {**known, "<": UNKNOWN})
    db = tidelog.open(
        text="input relation P(x: int, y: int) output relation Q(x: int) Q(x) :- P(x, y), x < y."
    )
    with pytest.raises(AssertionError, match="unknown operation"), db.transaction() as tx:
        tx.insert("P", [(1, 2), (2, 1)])
    assert list(db["Q"]) == []
