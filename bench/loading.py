"""Loading strings: `python -m bench.loading [--quick]`.

Facts like those of a program analysis, two columns of long names, go from an Arrow table into a relation and
back. Polars makes the same columns categorical, and strings again. Both take turns; the best of each counts.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, Final

import numpy as np
import polars
import pyarrow as pa

import tidelog

__all__ = ["loaded", "made_categorical", "main", "names"]

_REPEAT: Final = 5
_TEXT: Final = "input relation Fact(a: string, b: string)"


def names(rows: int, different: int) -> Any:
    """A table of two columns of names; some names are frequent in the second one."""
    rng = np.random.default_rng(0)
    known = pa.array(
        f"<org.example.package{i % 97}.Class{i % 5003}: void method{i}(java.lang.Object)>/local{i % 13}"
        for i in range(different)
    )
    second = (different * rng.random(rows) ** 2).astype(np.int64)
    return pa.table(
        {"a": known.take(pa.array(rng.integers(0, different, rows))), "b": known.take(pa.array(second))}
    )


def loaded(table: Any) -> tuple[float, float, float]:
    """Seconds to stage a table, to commit it as well, and to read it again."""
    db = tidelog.open(text=_TEXT)
    start = time.perf_counter()
    tx = db.transaction()
    tx.insert("Fact", table)
    staged = time.perf_counter() - start
    tx.commit()
    committed = time.perf_counter() - start
    start = time.perf_counter()
    db["Fact"].to_arrow()
    return staged, committed, time.perf_counter() - start


def made_categorical(table: Any) -> tuple[float, float]:
    """Seconds that Polars takes to make columns of strings categorical, and to make them strings again."""
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    start = time.perf_counter()
    found = frame.with_columns(polars.all().cast(polars.Categorical))
    there = time.perf_counter() - start
    start = time.perf_counter()
    found.with_columns(polars.all().cast(polars.String)).to_arrow()
    return there, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.loading")
    parser.add_argument("--quick", action="store_true")
    rows = 26_000 if parser.parse_args().quick else 2_600_000
    table = names(rows, rows // 4)
    turns = [(loaded(table), made_categorical(table)) for _ in range(_REPEAT)]
    staged, committed, read = (min(times) for times in zip(*(ours for ours, _ in turns), strict=True))
    there, back = (min(times) for times in zip(*(theirs for _, theirs in turns), strict=True))
    print(f"{rows:,} facts of strings, {table.nbytes / 1e6:.0f} MB")
    print(f"staged:    {staged:.2f} s, {staged / there:.2f} times as long as Polars ({there:.2f} s)")
    print(f"committed: {committed:.2f} s, {committed / there:.2f} times")
    print(f"read:      {read:.2f} s, {read / back:.2f} times as long as Polars ({back:.2f} s)")


if __name__ == "__main__":
    main()
