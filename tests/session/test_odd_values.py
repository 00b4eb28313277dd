"""Odd values and names from Python are taken or refused by an error of ours, in few words."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tidelog

BIG = 10**6000
LEAST = -(2**63)


class Silent:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.fixture(scope="module")
def db() -> Any:
    return tidelog.open(
        text="input relation A(x: int, s: string, t: timestamp, b: bigint)\n"
        "input relation O(x: option<int>)\n"
        "input relation K(x: bigint, s: string) primary key (x)\n"
        "input relation N(x: bigint)\noutput relation D(d: int)\nD(x as int) :- N(x)."
    )


def insert(db: Any, relation: str, *rows: tuple[object, ...]) -> None:
    with db.transaction() as tx:
        tx.insert(relation, list(rows))


def insert_folder(db: Any, folder: object) -> None:
    with db.transaction() as tx:
        tx.insert_folder(folder)


ROW = (1, "a", datetime(2020, 1, 1, tzinfo=UTC), 1)
REFUSED: dict[str, Callable[[Any], object]] = {
    "a value without a repr": lambda db: insert(db, "A", (Silent(), *ROW[1:])),
    "a row without a repr": lambda db: insert(db, "A", Silent()),  # type: ignore[arg-type]
    "a number of 6,000 digits as int": lambda db: insert(db, "A", (BIG, *ROW[1:])),
    "a list with such a number": lambda db: insert(db, "A", ([BIG], *ROW[1:])),
    "a text of 100,000 characters as int": lambda db: db["A"].where(x="x" * 100_000),
    "the least number in an option": lambda db: insert(db, "O", (LEAST,)),
    "the least number of an option, looked up": lambda db: db["O"].where(x=LEAST),
    "a conversion of a number of 6,000 digits": lambda db: insert(db, "N", (BIG,)),
    "no date, looked up": lambda db: db["A"].where(t=pd.NaT),
    "two rows of a key of 6,000 digits": lambda db: insert(db, "K", (BIG, "a"), (BIG, "b")),
    "a name that is a number": lambda db: db[1],
    "a name that is a list": lambda db: insert(db, ["A"], ROW),  # type: ignore[arg-type]
    "a name in a snapshot": lambda db: db.snapshot()[None],
    "a column that is none": lambda db: db["A"].between(None, 1, 2),
    "a folder that is a number": lambda db: db.write_folder(3),
    "a folder with a NUL": lambda db: db.write_folder("a\0b"),
    "facts in a folder that is none": lambda db: insert_folder(db, None),
    "a program that is bytes": lambda db: tidelog.open(text=b"A(1)."),  # type: ignore[arg-type]
    "a text to check that is none": lambda db: tidelog.check(None),  # type: ignore[arg-type]
    "a text to load that is a list": lambda db: tidelog.load(["A"]),  # type: ignore[arg-type]
    "a path that is a number": lambda db: tidelog.open(1),  # type: ignore[arg-type]
    "functions that are none": lambda db: tidelog.open(functions=None),  # type: ignore[arg-type]
    "a strategy that is none": lambda db: tidelog.open(strategy=None),  # type: ignore[arg-type]
    "a constant that an option cannot hold": lambda db: tidelog.load(
        f"output relation B(x: option<int>)\nB({LEAST})."
    ),
    "such a constant, converted": lambda db: db.query(f"O(x), x == {LEAST} as option<int>"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_odd_is_refused_in_few_words(db: Any, what: str) -> None:
    with pytest.raises(tidelog.TidelogError) as caught:
        REFUSED[what](db)
    assert len(str(caught.value)) < 2_000
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_values_of_numpy_and_pandas_are_looked_up_as_they_are_inserted(db: Any) -> None:
    row = (np.int64(7), np.str_("s"), pd.Timestamp("2020-01-01", tz="UTC"), BIG)
    insert(db, "A", row)
    assert row in db["A"]
    assert len(db["A"].where(x=np.int64(7), t=row[2], b=BIG)) == 1
    assert len(db["A"].between("t", np.datetime64("2020-01-01T00:00:00"), row[2])) == 1


@pytest.mark.parametrize(
    "shown", [repr, list, lambda facts: facts.to_arrow(), lambda facts: facts._repr_html_()]
)
def test_a_number_of_6000_digits_is_shown(db: Any, shown: Callable[[Any], object]) -> None:
    insert(db, "K", (-BIG, "a"))
    shown(db["K"])


def test_a_number_of_6000_digits_is_computed_and_written() -> None:
    digits = "9" * 6000
    made = tidelog.open(
        text=f'output relation B(x: bigint, s: string)\nB(x, "${{x}}") :- C(x).\n'
        f'relation C(x: bigint)\nC("{digits}" as bigint).'
    )
    assert list(made["B"]) == [(10**6000 - 1, digits)]


def test_names_of_other_classes_are_no_names(db: Any) -> None:
    assert [1] not in db
    assert None not in db.snapshot()
