"""What results offer: Arrow streams, slices, texts, pictures; and who hears of commits."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tidelog
from tidelog import Session, SessionError

PROGRAM = """input relation Edge(src: string, n: int)
output relation Big(src: string)
relation Any()
Big(x) :- Edge(x, n), n > 1.
Any() :- Edge(_, _).
"""


@pytest.fixture
def db() -> Session:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Edge", [("x", 1), ("y", 2), ("<z>", 3)])
    return db


def test_other_libraries_take_results_directly(db: Session) -> None:
    view = db["Edge"]
    expected = sorted(view)
    assert sorted(pl.DataFrame(view).rows()) == expected
    assert sorted(tuple(r.values()) for r in pa.table(view).to_pylist()) == expected
    answer = duckdb.sql("select * from view")
    assert answer is not None
    assert sorted(answer.fetchall()) == expected
    assert sorted(pl.DataFrame(db.query("Edge(a, b), b > 1")).rows()) == [("<z>", 3), ("y", 2)]


def test_a_stream_has_the_requested_types(db: Session) -> None:
    wanted = pa.schema([("src", pa.large_string()), ("n", pa.float64())])
    assert pa.table(db["Edge"], schema=wanted).schema == wanted


def test_changes_are_a_stream_with_signs(db: Session) -> None:
    with db.transaction() as tx:
        tx.delete("Edge", [("x", 1)])
    assert pl.DataFrame(tx.changes["Edge"]).rows() == [("x", 1, -1)]
    assert tx.changes["Edge"].to_dicts() == [{"src": "x", "n": 1, "sign": -1}]
    assert tx.changes["Edge"].to_csv() == "src,n,sign\nx,1,-1\n"


def test_a_result_can_be_inserted_elsewhere(db: Session) -> None:
    other = tidelog.open(text=PROGRAM, facts={"Edge": db["Edge"]})
    assert sorted(other["Big"]) == sorted(db["Big"])


def test_slices_are_those_of_a_list(db: Session) -> None:
    view, listed = db["Edge"], list(db["Edge"])
    choose = random.Random(7)
    for _ in range(500):
        start, stop = (choose.choice([None, *range(-5, 6)]) for _ in range(2))
        part = slice(start, stop, choose.choice([None, 1, 2, -1, -2]))
        assert list(view[part]) == listed[part]
    assert view[-1] == listed[-1]
    assert list(view.head(2)) == listed[:2]
    with pytest.raises(IndexError):
        view[3]
    with pytest.raises(SessionError, match="takes a number of rows"):
        view.head(-1)


def test_slices_of_changes_are_those_of_a_list(db: Session) -> None:
    with db.transaction() as tx:
        tx.delete("Edge", [("x", 1), ("y", 2)])
        tx.insert("Edge", [("v", i) for i in range(3)])
    change = tx.changes["Edge"]
    rows = list(change)
    bounds = [None, -7, -2, 0, 1, 3, 4, 9]
    for rows_of in (slice(a, b, c) for a in bounds for b in bounds for c in (None, 2, -1, -3)):
        assert change[rows_of] == rows[rows_of]
    assert [change[i] for i in range(-5, 5)] == [rows[i] for i in range(-5, 5)]
    assert change.head(2) == rows[:2]
    with pytest.raises(IndexError, match="row 5 of 5 rows"):
        change[5]
    with pytest.raises(SessionError, match="takes a number of rows"):
        change.head(-1)


def test_changes_of_weights_have_slices_too() -> None:
    bag = tidelog.open(text="input multiset Bag(x: string)")
    with bag.transaction() as tx:
        tx.insert("Bag", [("a",), ("a",), ("b",)])
    change = tx.changes["Bag"]
    assert change.head(1) == list(change)[:1]
    assert change[-1] == list(change)[-1]


def test_a_constructor_that_no_row_has_is_written_too(tmp_path: Path) -> None:
    text = """typedef inner = Inner{at: timestamp, list: vec<int>, ok: bool}
    typedef shape = Circle{r: double} | Square{a: double, name: string, rest: inner}
    input relation Shape(id: int, s: shape)
    """
    db = tidelog.open(text=text)
    with db.transaction() as tx:
        tx.insert("Shape", [(1, db.types.shape.Circle(1.5))])
    view = db["Shape"]
    assert view.to_csv() == 'id,s\n1,"{""Circle"":{""r"":1.5}}"\n'
    assert view.to_json() == '{"id": 1, "s": {"Circle":{"r":1.5}}}\n'
    view.to_parquet(tmp_path / "shape.parquet")
    assert parquet.read_table(tmp_path / "shape.parquet")["s"].to_pylist() == [
        {"tag": "Circle", "Circle": {"r": 1.5}, "Square": None}
    ]
    assert tx.changes["Shape"].to_json() == '{"id": 1, "s": {"Circle":{"r":1.5}}, "sign": 1}\n'


def test_results_are_written_as_files_and_texts(db: Session, tmp_path: Path) -> None:
    view = db["Edge"].where(src="y")
    assert view.to_csv() == "src,n\ny,2\n"
    assert view.to_json() == '{"src": "y", "n": 2}\n'
    view.to_csv(tmp_path / "any.name")
    assert (tmp_path / "any.name").read_text() == "src,n\ny,2\n"
    view.to_parquet(tmp_path / "rows")
    assert parquet.read_table(tmp_path / "rows").to_pylist() == [{"src": "y", "n": 2}]
    assert db["Any"].to_dicts() == [{"()": True}]
    with pytest.raises(SessionError, match="`to_csv` takes a path"):
        view.to_csv(7)  # type: ignore[arg-type]


def test_notebooks_show_sessions_with_a_picture_of_the_strata(db: Session) -> None:
    html = db._repr_html_()
    assert "<td>Edge</td>" in html
    picture = ElementTree.fromstring(html[html.index("<svg") :])
    titles = [t.text for t in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert set(titles) == {"Edge", "Big", "Any"}
    assert "&lt;z&gt;" in db["Edge"]._repr_html_()
    assert "<table " in db.explain()._repr_html_()
    assert "commit 1" in db.stats._repr_html_()
    assert tidelog.open()._repr_html_().count("<svg") == 0


def test_on_commit_hears_of_every_later_commit(db: Session) -> None:
    heard: list[tuple[int, dict[str, tuple[int, int]]]] = []
    subscription = db.on_commit(
        lambda changes, stats: heard.append((stats.commit, {n: c.counts for n, c in changes.items()}))
    )
    with db.transaction() as tx:
        tx.insert("Edge", [("w", 9)])
    with db.transaction():
        pass
    subscription.cancel()
    with db.transaction() as tx:
        tx.clear("Edge")
    assert heard == [(2, {"Edge": (1, 0), "Big": (1, 0)}), (3, {})]
    with pytest.raises(SessionError, match="`callback` is 3"):
        db.on_commit(3)  # type: ignore[arg-type]


def test_a_commit_is_a_record_with_numbers(db: Session, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tidelog"), db.transaction() as tx:
        tx.insert("Edge", [("w", 9)])
    (record,) = caplog.records
    assert record.getMessage().startswith("commit 2: 2 rows added, 0 removed")
    assert record.__dict__["tidelog_inserted"] == 2


def test_a_tracer_gets_a_span_for_each_commit(db: Session) -> None:
    class Tracer:
        def __init__(self) -> None:
            self.spans: list[dict[str, object]] = []

        def start_span(self, name: str, **about: object) -> Tracer:
            self.spans.append({"name": name, **about})
            return self

        def end(self, **about: object) -> None:
            self.spans[-1].update(about)

    tracer = Tracer()
    db.trace(tracer)
    with db.transaction() as tx:
        tx.insert("Edge", [("w", 9)])
    (span,) = tracer.spans
    assert span["name"] == "tidelog.commit"
    assert span["attributes"]["tidelog.inserted"] == 2  # type: ignore[index]
    assert span["start_time"] <= span["end_time"]  # type: ignore[operator]
    with pytest.raises(SessionError, match="give a tracer"):
        db.trace(None)
