"""Checking a text again after an edit. The law: what is found is what checking the whole text finds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sizes import size
from tidelog.editors.names.document import Document
from tidelog.editors.server.examining import Examination
from tidelog.errors import Diagnostic
from tidelog.program.draft import examined

CASES = sorted((Path(__file__).parents[1] / "conformance" / "cases").rglob("program.dl"))
GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "diagnostics").glob("*/program.dl"))
NAME = "untitled:program"
PIECES = [
    "x",
    "y",
    " ",
    "\n",
    ",",
    ".",
    "(",
    ")",
    "not ",
    "// ",
    '"',
    "A",
    "int",
    "B(x) :- A(x).\n",
    ":-",
    "1",
]
FAILED_ONCE = (1018, 7000, 8034, 9014, 11019)
RULES = """// a program with much that can go wrong
prefix : <http://e/>
input relation Edge(a: int, b: int)
input relation Name(a: int, s: string)
typedef Shape = Circle{r: int} | Square{side: int}
relation Reach(a: int, b: int)
relation Unused(a: int)
output relation Long(a: int, s: Shape)
function twice(x: int): int { x * 2 }
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Reach(x, twice(y)) :- Edge(x, y), x < 3.
Long(x, Circle{y}) :- Reach(x, y), Name(x, s), s != :Person.
Long(x, Square{n}) :- Reach(x, y), not Edge(y, x), var n = y.group_by(x).count().
for (Edge(x, y) if x == y) Unused(x).
Long(x, s) :- row in Reach(_, _), var x = row.a, Long(x, s).
"""


def shown(found: tuple[Diagnostic, ...]) -> list[tuple[object, ...]]:
    return sorted(
        (d.span.start, d.span.end, d.code, d.message, d.note or "", d.hint or "", d.span.text) for d in found
    )


class Editor:
    """A document that is checked as the server does."""

    def __init__(self, text: str) -> None:
        self.document = Document(NAME, text)
        self.examination = Examination((), lambda: None)
        self.by_difference = 0

    def expect_the_same(self) -> None:
        document = self.document
        blocks = document.blocks
        unread: tuple[Diagnostic, ...] = ()
        if not document.is_settled or document.has_errors:
            parsed = Document(NAME, document.text, known=blocks)
            blocks, unread = parsed.blocks, tuple(parsed.problems)
            document.adopt(parsed)
        found = self.examination.examine(blocks, document.source, unread)
        if found is None:
            return
        program, whole = examined(document.text, NAME)
        self.by_difference += 1
        assert shown(found[1]) == shown(whole), document.text
        assert found[0].rules.keys() == program.rules.keys(), document.text
        assert found[0].relations == program.relations, document.text


def edit(document: Document, rng: random.Random) -> None:
    text = document.text
    start = rng.randrange(len(text) + 1)
    match rng.randrange(4):
        case 0:
            document.edit(start, start, rng.choice(PIECES))
        case 1:
            document.edit(start, min(len(text), start + rng.randrange(1, 6)), "")
        case 2:  # a line goes somewhere else
            first = text.rfind("\n", 0, start) + 1
            end = text.find("\n", start) + 1 or len(text)
            line = text[first:end]
            document.edit(first, end, "")
            place = document.text.rfind("\n", 0, rng.randrange(len(document.text) + 1)) + 1
            document.edit(place, place, line)
        case _:  # a word becomes another one of the text
            words = text.split()
            if words:
                word = rng.choice(words)
                place = text.index(word)
                document.edit(place, place + len(word), rng.choice(words))


@pytest.mark.parametrize("seed", [*range(size(10, 400)), *FAILED_ONCE])
def test_every_edit_finds_what_a_check_of_the_whole_text_finds(seed: int) -> None:
    rng = random.Random(seed)
    text = RULES if seed % 3 == 0 else rng.choice([*CASES, *GOLDEN]).read_text()
    editor = Editor(text)
    editor.expect_the_same()
    for _ in range(15):
        before = editor.document.text
        edit(editor.document, rng)
        editor.expect_the_same()
        if rng.random() < 0.5:  # most mistakes are mended at once
            editor.document.replace(before)
            editor.expect_the_same()


def test_an_edit_of_a_rule_elaborates_only_that_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def proceed() -> None:
        nonlocal count
        count += 1

    rules = "".join(f"B(x) :- A(x), x > {i}.\n" for i in range(50))
    document = Document(NAME, f"input relation A(x: int)\noutput relation B(x: int)\n{rules}")
    examination = Examination((), proceed)
    examination.examine(document.blocks, document.source, ())
    assert count == 51  # the declarations, and each rule
    for old, new in [("x > 7.", "x > 70."), ("x > 30.", "y > 30."), ("y > 30.", "x > 31.")]:
        count, place = 0, document.text.index(old)
        document.edit(place, place + len(old), new)
        examination.examine(document.blocks, document.source, ())
        assert 1 <= count <= 4  # and its neighbours
