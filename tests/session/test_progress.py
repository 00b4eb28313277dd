"""What people hear while a session works."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import tidelog
from tidelog.engine import limits as watch
from tidelog.progress import Line, Progress
from tidelog.session.session import Session

PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
output relation Fan(src: int, n: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Fan(x, n) :- Reach(x, y), var n = y.group_by(x).count().
"""


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report at every look, not ten a second."""
    monkeypatch.setattr(watch, "REPORT_EVERY", 0.0)


def insert(db: Session) -> None:
    with db.transaction() as tx:
        tx.insert("Edge", [(i, i + 1) for i in range(5)])


@pytest.mark.usefixtures("_always")
def test_a_function_hears_how_far_a_commit_is() -> None:
    heard: list[Progress] = []
    db = tidelog.open(text=PROGRAM, progress=heard.append)
    heard.clear()
    insert(db)
    assert {p.task for p in heard} == {"derive"}
    assert "Reach" in {p.name for p in heard}
    assert [p.number for p in heard] == sorted(p.number for p in heard)
    assert all(1 <= p.number <= p.total for p in heard)
    reach = [p for p in heard if p.name == "Reach"]
    assert max(p.rows for p in reach) == len(db["Reach"])
    assert max(p.round for p in reach) > 1
    assert {p.rule for p in reach} <= {str(rule) for rule in db.rules}


@pytest.mark.usefixtures("_always")
def test_what_the_function_raises_ends_the_commit_and_undoes_it() -> None:
    class Enough(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.rows > 5:
            raise Enough

    db = tidelog.open(text=PROGRAM, progress=stop)
    with pytest.raises(Enough):
        insert(db)
    assert (len(db["Edge"]), db.commit) == (0, 0)
    with pytest.raises(Enough):
        insert(db)


def test_short_commits_are_not_reported() -> None:
    heard: list[Progress] = []
    insert(tidelog.open(text="input relation Edge(src: int, dst: int)", progress=heard.append))
    assert heard == []


def test_files_are_reported_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "A.csv").write_text("x\n1\n")
    (tmp_path / "B.csv").write_text("x\n2\n")
    heard: list[Progress] = []
    text = "input relation A(x: int)\ninput relation B(x: int)\noutput relation C(x: int)\nC(x) :- A(x).\n"
    db = tidelog.open(text=text, progress=heard.append)
    with db.transaction() as tx:
        tx.insert_folder(tmp_path)
    db.write_folder(tmp_path / "out")
    files = [p for p in heard if p.task != "derive"]
    assert list(map(str, files)) == [
        "reading A.csv (1 of 2)",
        "reading B.csv (2 of 2)",
        "writing C.csv (1 of 1)",
    ]


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    insert(tidelog.open(text=PROGRAM, progress=True))
    assert capsys.readouterr() == ("", "")


def test_progress_that_is_no_function_is_refused() -> None:
    with pytest.raises(tidelog.SessionError, match="`progress` is 3; give True, or a function"):
        tidelog.open(progress=3)  # type: ignore[arg-type]


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("fails", [False, True])
def test_a_line_is_gone_when_the_work_is_done(fails: bool) -> None:
    stream = io.StringIO()
    db = tidelog.open(text=PROGRAM, progress=Line(stream), max_rows=6 if fails else None)
    try:
        insert(db)
    except tidelog.EngineError:
        assert fails
    text = stream.getvalue()
    assert "Reach (2 of 5), round 6, delta 15, 15 rows, 0.0 s" in text
    assert text.endswith("\x1b[2K")


def test_a_line_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    line = Line(stream)
    line(Progress("read", "a_file_with_a_long_name.csv", 1, 1))
    assert stream.getvalue() == "\r\x1b[2K░░░░░░░░░░ reading…"
    line.clear()
    line.clear()
    assert stream.getvalue().count("\x1b[2K") == 2


def test_progress_reads_as_a_sentence() -> None:
    shown = str(Progress("derive", "Reach", 2, 5, 7, 12_345, "Reach(x, y) :- Edge(x, y).", 3.21, 89))
    assert shown == "Reach (2 of 5), round 7, delta 89, 12,345 rows, 3.2 s: Reach(x, y) :- Edge(x, y)."
