"""Every diagnostic as users see it: one golden folder a code, and a program with ten mistakes at once.

A folder is named by its code, and what it shows where there are several of a code. It holds `program.dl` and
`expected.txt`, the diagnostics of `check` with blank lines between them.
Codes that no text alone can cause are caused by the functions of `CAUSES`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tidelog.errors import CODES, ProgramError, Severity, render, sort
from tidelog.program.draft import Draft, check, load

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "diagnostics"
EXPLANATIONS = (ROOT / "docs" / "error-codes.md").read_text(encoding="utf-8")
FOLDERS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())

PROGRAM = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)

Reach(x, y) :- Edge(x, y).
"""


def measure(text, unit: str) -> int:  # type: ignore[no-untyped-def]
    """A function without the annotation that would make it usable."""
    return len(text) if unit == "chars" else 0


def remove_a_rule_that_is_not_there() -> None:
    draft = Draft()
    draft.load(PROGRAM, "program.dl")
    draft.remove_rule("Reach(x, y) :- Edge(y, x).")


def drop_a_relation_in_use() -> None:
    draft = Draft()
    draft.load(PROGRAM, "program.dl")
    draft.drop("Edge")


def register_a_function_without_types() -> None:
    Draft().register(measure)


def load_a_file(folder: str) -> Callable[[], None]:
    """Load the program of a golden folder as a file, whose modules are beside it."""

    def cause() -> None:
        with contextlib.chdir(GOLDEN / folder):
            load(Path("program.dl").read_text(encoding="utf-8"), "program.dl")

    return cause


CAUSES: dict[str, Callable[[], None]] = {
    "E113": remove_a_rule_that_is_not_there,
    "E114": drop_a_relation_in_use,
    "E115": register_a_function_without_types,
    "E123": load_a_file("E123"),
    "E124": load_a_file("E124"),
}


def text_of(folder: str, file: str) -> str:
    return (GOLDEN / folder / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f not in CAUSES])
def test_a_program_is_told_what_its_golden_file_says(folder: str) -> None:
    found = check(text_of(folder, "program.dl"), "program.dl")
    assert "\n\n".join(map(render, found)) + "\n" == text_of(folder, "expected.txt")


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f not in CAUSES and f != "ten_mistakes"])
def test_a_golden_program_shows_its_code_and_no_other(folder: str) -> None:
    found = check(text_of(folder, "program.dl"), "program.dl")
    assert {d.code for d in found} == {folder.partition("_")[0]}


@pytest.mark.parametrize("code", CAUSES)
def test_a_call_is_told_what_its_golden_file_says(code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        CAUSES[code]()
    assert {d.code for d in caught.value.diagnostics} == {code}
    assert f"{caught.value}\n" == text_of(code, "expected.txt")


def test_ten_different_mistakes_are_all_reported_each_with_a_caret() -> None:
    found = check(text_of("ten_mistakes", "program.dl"), "program.dl")
    assert len({d.code for d in found}) == len(found) == 10
    assert all(d.severity is Severity.ERROR for d in found)
    assert all("^" in render(d) for d in found)
    assert found == sort(found)


def test_every_code_has_a_golden_folder_and_an_explanation_under_its_title() -> None:
    headings = dict(re.findall(r"^## ([EW]\d+): (.+)$", EXPLANATIONS, re.MULTILINE))
    assert headings == CODES
    assert list(headings) == sorted(headings)
    assert {f.partition("_")[0] for f in FOLDERS if f != "ten_mistakes"} == set(CODES)
    assert set(CODES) <= set(FOLDERS)


def test_the_codes_in_the_source_are_the_codes_of_the_table() -> None:
    sources = [p for p in (ROOT / "src").rglob("*.py") if p.name != "errors.py"]
    used = {code for p in sources for code in re.findall(r'"([EW]\d{3})"', p.read_text(encoding="utf-8"))}
    assert used == set(CODES)


def example_of(code: str) -> str:
    section = EXPLANATIONS.split(f"## {code}: ")[1].split("\n## ")[0]
    fence = re.search(r"```tidelog-error\n(.*?)```", section, re.DOTALL)
    assert fence is not None, f"{code} has no example"
    return fence[1]


@pytest.mark.parametrize("code", [c for c in CODES if c not in CAUSES])
def test_the_example_of_an_explanation_is_taken_from_its_golden_program(code: str) -> None:
    assert example_of(code) in text_of(code, "program.dl")
