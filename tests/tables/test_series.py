"""A single column is no table: told as such, whoever made it."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from tables.facts import named
from tidelog.data import types
from tidelog.errors import DataError
from tidelog.tables.given import to_table


@pytest.mark.parametrize("column", [pd.Series([1]), pl.Series([1])], ids=["pandas", "polars"])
def test_a_series_is_refused_with_a_remedy(column: object) -> None:
    with pytest.raises(DataError, match="relation R"):
        to_table(named(x=types.INT), column)
