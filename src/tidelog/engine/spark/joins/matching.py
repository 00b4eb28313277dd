"""Joins of frames on equal tuples.

Two tuples are equal if all their columns are. Here `none` equals `none`, unlike in the joins of a rule's
body, so optional columns are compared with Spark's null-safe equality.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.data.types import Option, Type
from tidelog.engine.spark.frames.layout import columns

__all__ = ["same", "with_same", "without"]


def without(left: DataFrame, right: DataFrame, types: Sequence[Type]) -> DataFrame:
    """The rows on the left that are not on the right."""
    return with_same(left, right, types, (), "left_anti")


def same(left: DataFrame, right: DataFrame, types: Sequence[Type]) -> DataFrame:
    """The rows on the left that are on the right too."""
    return with_same(left, right, types, (), "left_semi")


def with_same(
    left: DataFrame, right: DataFrame, types: Sequence[Type], more: Sequence[str], how: str
) -> DataFrame:
    """Rows on the left, with further columns of the equal rows on the right."""
    names = columns(len(types))
    if not any(isinstance(t, Option) for t in types):
        # with other column names, a union of frames would lose its partitioning
        return left.join(right.selectExpr(*names, *more), names, how)
    other = right.selectExpr(*(f"{name} as o{i}" for i, name in enumerate(names)), *more)
    signs = ("<=>" if isinstance(t, Option) else "=" for t in types)
    equal = (f"{name} {sign} o{i}" for i, (name, sign) in enumerate(zip(names, signs, strict=True)))
    return left.join(other, F.expr(" and ".join(equal)), how)
