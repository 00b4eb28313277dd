"""Notebooks: the commands in a real shell, the example notebooks, and pictures that are bounded and
escaped."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

import tidelog
from tidelog.notebooks.graphs import MOST, Edge, Graph, Node, Picture, text_picture
from tidelog.notebooks.pictures import dependencies, explanation, plan, relation, strata

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))
PROGRAM = """
input relation Edge(src: string, dst: string, km: int)
output relation Reach(src: string, dst: string)
output relation Alone(place: string)
Reach(x, y) :- Edge(x, y, _).
Reach(x, z) :- Reach(x, y), Edge(y, z, _).
Alone(x) :- Edge(x, _, _), not Reach(x, x).
"""


class Shell:
    def __init__(self) -> None:
        self.shell: Any = InteractiveShell.instance(history_manager=None)

    def run(self, text: str) -> Any:
        """The value of a cell; its error is raised."""
        done = self.shell.run_cell(text, store_history=False)
        done.raise_error()
        return done.result


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    yield Shell()
    InteractiveShell.clear_instance()


def parsed(picture: Picture) -> ElementTree.Element:
    """The picture as XML, which it must be."""
    return ElementTree.fromstring(picture._repr_svg_())


def texts(picture: Picture) -> list[str]:
    return [e.text or "" for e in parsed(picture).iter() if e.tag.endswith(("}text", "}title"))]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_an_example_runs_and_every_picture_is_one(notebook: Path, shell: Shell) -> None:
    cells = [c for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == "code"]
    assert not any(c["outputs"] for c in cells)
    pictures = 0
    for cell in cells:
        value = shell.run("".join(cell["source"]))
        if isinstance(value, Picture):
            parsed(value)
            pictures += 1
        shell.shell.user_ns["_"] = value
    assert pictures


def test_a_cell_that_runs_again_replaces_its_rules(shell: Shell) -> None:
    shell.run("%load_ext tidelog")
    head = "input relation A(x: int)\noutput relation B(x: int)\n"
    shell.run(f"%%tidelog --cell one\n{head}A(1). A(2).\nB(x) :- A(x).")
    assert set(shell.run("db['B']")) == {(1,), (2,)}
    shell.run("%%tidelog --cell one\nA(1). A(2).\nB(x) :- A(x), x > 1.")
    assert set(shell.run("db['B']")) == {(2,)}
    shell.run("%%tidelog --cell two\nB(x) :- A(x), x < 2.")
    assert set(shell.run("db['B']")) == {(1,), (2,)}


def test_sessions_have_names(shell: Shell) -> None:
    shell.run("%load_ext tidelog")
    shell.run("%%tidelog --db first\nrelation A(x: int)\nA(1).")
    shell.run("%%tidelog --db second\nrelation A(x: int)\nA(2).")
    assert set(shell.run("%tidelog --db first A(x)")) == {(1,)}
    assert set(shell.run("%tidelog --db second A(x)")) == {(2,)}
    shell.run('%%tidelog --db first --new\nrelation A(x: string)\nA("new").')
    assert set(shell.run("%tidelog --db first A(x)")) == {("new",)}


def test_mistakes_are_reported_and_change_nothing(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run("%load_ext tidelog")
    shell.run("%%tidelog\nrelation A(x: int)\nA(1).")
    assert shell.run("%%tidelog\nA(2).\nB(x) :- A(x).") is None
    assert "unknown relation `B`" in capsys.readouterr().err
    assert shell.run("%tidelog Nothing(x)") is None
    assert "unknown relation `Nothing`" in capsys.readouterr().err
    assert set(shell.run("%tidelog A(x)")) == {(1,)}
    shell.run("%tidelog")
    assert ":dependencies" in capsys.readouterr().out
    for wrong in ("%tidelog :nothing", "%tidelog --db other A(x)", "%%tidelog --what\nA(3)."):
        shell.shell.run_cell(wrong)
        assert "UsageError" in capsys.readouterr().err
    shell.run("other = 3")
    shell.shell.run_cell("%%tidelog --db other\nA(3).")
    assert "is not a session" in capsys.readouterr().err


@pytest.fixture(scope="module")
def db() -> tidelog.Session:
    db = tidelog.open(text=PROGRAM)
    with db.transaction() as tx:
        tx.insert("Edge", [("a", "b", 1), ("b", "c", 2), ("c", "<d>&", 3), ("b", "a", 4)])
    return db


def test_pictures_show_what_there_is(db: tidelog.Session) -> None:
    assert {"Edge", "Reach", "Alone", "not"} <= set(texts(dependencies(db)))
    assert {"Edge", "Reach ↻", "Alone"} <= set(texts(strata(db)))
    assert any("Reach" in text for text in texts(plan(db)))
    assert {"a", "b", "c", "<d>&", "4"} <= set(texts(relation(db["Edge"])))
    proof = texts(explanation(db.why("Reach", ("a", "c"))))
    assert any(text.startswith('Reach("a", "c")') for text in proof)
    assert any(text.startswith('Edge("b", "c", 2)') for text in proof)
    assert texts(explanation(db.why_not("Reach", ("c", "a"))))


def test_pictures_are_bounded() -> None:
    db = tidelog.open(text="input relation E(a: int, b: int)\ninput relation L(t: string)")
    with db.transaction() as tx:
        tx.insert("E", [(i, j) for i in range(300) for j in range(30)])
        tx.insert("L", [("x" * 100_000,)])
    picture = relation(db["E"])
    assert len(picture.svg) < 150_000
    assert len([e for e in parsed(picture).iter() if e.tag.endswith("}rect")]) <= MOST
    assert any("more rows not shown" in text for text in texts(picture))
    assert len(relation(db["L"]).svg) < 10_000
    many = Graph([Node("n")] * 1000, [Edge(i, j) for i in range(50) for j in range(50)], "many").picture()
    assert len(many.svg) < 150_000
    assert len(text_picture("line\n" * 10_000, "text").svg) < 20_000


@settings(max_examples=40)
@given(
    st.lists(st.text(max_size=6), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.text(max_size=3)), max_size=20),
)
def test_any_graph_is_drawn_as_xml_with_all_its_nodes(
    labels: list[str], pairs: list[tuple[int, int, str]]
) -> None:
    edges = [Edge(a, b, label) for a, b, label in pairs if a < len(labels) and b < len(labels)]
    root = parsed(Graph([Node(label) for label in labels], edges, "any").picture())
    assert len([e for e in root.iter() if e.tag.endswith("}rect")]) == len(labels)
    assert len([e for e in root.iter() if e.get("marker-end")]) == len(edges)


def test_importing_tidelog_imports_no_notebook() -> None:
    code = "import sys, tidelog.cli; print({'IPython', 'pygls', 'pygments', 'rdflib'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
