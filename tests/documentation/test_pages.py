"""Pages do what they say: every block of every page is run, checked, or says why not.

A block with a title is a file. A `text` block right after code is what that prints, and the lines after a
command in a `console` block are what the command prints (`commands`). The blocks of a page share a folder,
and on pages that tell a story also their names.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import sparks
from documentation.blocks import DOCS, KINDS, PAGES, ROOT, Block, blocks_of
from documentation.running import Reading

STORIES = [
    ROOT / "README.md",
    DOCS / "tutorial.md",
    DOCS / "exercises.md",
    *(DOCS / "how-to").glob("*.md"),
    *(DOCS / "coming-from").glob("*.md"),
]
MOST_NOT_RUN = 12
SPARK = ("local_session", "pipeline.open", "pipeline.run(", "tidelog pipeline")


def _blocks(page: Path) -> list[Block]:
    return list(blocks_of(page))


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _needs_spark(block: Block) -> bool:
    return block.kind in ("python", "console") and not block.reason and any(w in block.text for w in SPARK)


def _parameter(page: Path) -> object:
    marks = [pytest.mark.spark] if any(map(_needs_spark, _blocks(page))) else []
    return pytest.param(page, id=_name(page), marks=marks)


@pytest.fixture(scope="module")
def spark_of_pages() -> object:
    """One Spark for all pages: what they open joins it."""
    yield from sparks.session()


@pytest.mark.parametrize("page", [_parameter(page) for page in PAGES if _blocks(page)])
def test_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if any(map(_needs_spark, _blocks(page))):
        request.getfixturevalue("spark_of_pages")

    def new_module() -> types.ModuleType:
        module = types.ModuleType("documentation_page")
        monkeypatch.setitem(sys.modules, module.__name__, module)  # functions are known by their module
        return module

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    reading = Reading(new_module, is_story=page in STORIES)
    for block in _blocks(page):
        try:
            reading.read(block)
        except BaseException as error:
            error.add_note(f"{_name(page)}, line {block.line}: a block of the kind `{block.kind}`")
            raise
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_is_of_a_kind_that_is_run_or_checked(page: Path) -> None:
    unknown = [(b.line, b.kind) for b in _blocks(page) if b.kind not in KINDS and not b.reason]
    assert unknown == []
    fences = [line for line in page.read_text().splitlines() if line.lstrip().startswith(("```", "~~~"))]
    assert len(fences) == 2 * len(_blocks(page)), "a fence is not closed, or not understood"


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    found = [(_name(page), b.line, b.reason) for page in PAGES for b in _blocks(page) if b.reason is not None]
    assert all(reason for *_, reason in found)
    assert len(found) <= MOST_NOT_RUN, found


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_pipeline_that_is_a_file_is_run_on_its_page(page: Path) -> None:
    found = _blocks(page)
    for number, block in enumerate(found):
        if block.kind == "toml" and block.file is not None:
            later = [b.text for b in found[number:] if b.kind in ("python", "console") and not b.reason]
            assert any(block.file in text for text in later), f"line {block.line}: {block.file} is never run"
