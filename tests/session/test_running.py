"""One call from a program and its facts to its results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import tidelog
from tidelog import ProgramError, SessionError

REACH = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
relation Between(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Between(x, y) :- Reach(x, y).
"""


def test_a_run_answers_with_the_output_relations() -> None:
    results = tidelog.run(REACH, Edge=[("a", "b"), ("b", "c")])
    assert list(results) == ["Reach"]
    assert sorted(results["Reach"]) == [("a", "b"), ("a", "c"), ("b", "c")]


def test_facts_may_be_frames_and_mappings() -> None:
    frame = pd.DataFrame({"dst": ["b"], "src": ["a"]})
    assert list(tidelog.run(REACH, Edge=frame)["Reach"]) == [("a", "b")]
    assert list(tidelog.run(REACH, facts={"Edge": frame})["Reach"]) == [("a", "b")]
    assert len(tidelog.run(REACH)["Reach"]) == 0


def test_the_program_may_be_a_file_and_the_facts_a_folder(tmp_path: Path) -> None:
    (tmp_path / "reach.dl").write_text(REACH)
    (tmp_path / "Edge.csv").write_text("src,dst\na,b\n")
    for program in (tmp_path / "reach.dl", str(tmp_path / "reach.dl")):
        assert list(tidelog.run(program, facts=tmp_path)["Reach"]) == [("a", "b")]


def test_namespaced_relations_are_given_by_name() -> None:
    text = "input relation g::Edge(x: int)\noutput relation Seen(x: int)\nSeen(x) :- g::Edge(x)."
    assert list(tidelog.run(text, facts={"g::Edge": [(1,)]})["Seen"]) == [(1,)]


def test_mistakes_are_reported() -> None:
    with pytest.raises(SessionError, match="unknown argument `edge`"):
        tidelog.run(REACH, edge=[("a", "b")])
    with pytest.raises(ProgramError, match="did you mean `Edge`"):
        tidelog.run(REACH, Egde=[("a", "b")])
    with pytest.raises(SessionError, match="given twice"):
        tidelog.run(REACH, facts={"Edge": []}, Edge=[])
    with pytest.raises(SessionError, match="not both"):
        tidelog.run(REACH, facts="folder", Edge=[])
    with pytest.raises(SessionError, match="cannot be read"):
        tidelog.run("no-such-file.dl")
    with pytest.raises(SessionError, match="`program` is 3"):
        tidelog.run(3)  # type: ignore[arg-type]


def test_alternatives_may_call_generic_functions_unevenly() -> None:
    found = tidelog.run(
        """
        function pick<T>(a: T, b: T, first: bool): T { if (first) a else b }
        input relation A(x: int)
        output relation Large(x: int)
        output relation Total(x: int, n: int)
        Large(pick(x, 0, x > 1)) :- A(x), (x > 1; pick(x, 1, true) < 0).
        Total(x, n) :- A(x), (x > 1; pick(x, 1, true) < 0), var n = (pick(x, 7, x > 1)).group_by(x).sum().
        """,
        A=[(-1,), (0,), (1,), (2,)],
    )
    assert sorted(found["Large"]) == [(0,), (2,)]
    assert sorted(found["Total"]) == [(-1, 7), (2, 2)]
