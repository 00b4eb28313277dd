"""The fenced blocks of a page: kind, title and text, and what comes before them.

A title is the name of a file, or says why the tests do not run a block, as in
`title="not run: it needs a cluster"`.
Blocks in comments are not shown to readers; they prepare what a page takes for granted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Final

__all__ = ["DOCS", "KINDS", "PAGES", "ROOT", "Block", "blocks_of"]

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
PAGES: Final = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted(ROOT.glob("examples/**/*.md")),
    *sorted(ROOT.glob("editors/**/*.md")),
    ROOT / "bench" / "README.md",
]
KINDS: Final = {
    "console": "commands with what they print",
    "tidelog-error": "a program with an error, on the page of error codes",
    "ipython": "a cell of a notebook",
    "mermaid": "a diagram",
    "python": "code",
    "sh": "commands that install or build something",
    "sql": "a query, for DuckDB",
    "text": "what the block before it prints, or a file",
    "text-error": "what is printed for the error code of its section",
    "tidelog": "a program",
    "toml": "a pipeline, or a part of one",
}
_FENCE: Final = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)(?P=ticks) *$",
    re.MULTILINE | re.DOTALL,
)
_TITLE: Final = re.compile(r'\s*title="([^"]*)"')
_NOT_RUN: Final = "not run: "


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    title: str | None
    text: str
    line: int
    section: str
    """The heading above it."""
    follows: bool
    """Whether nothing but blank lines is between this block and the one before."""

    @property
    def reason(self) -> str | None:
        """Why it is not run."""
        is_not_run = self.title is not None and self.title.startswith(_NOT_RUN)
        return self.title.removeprefix(_NOT_RUN) if self.title and is_not_run else None

    @property
    def file(self) -> str | None:
        """The file that it is."""
        return None if self.reason else self.title


def blocks_of(page: Path) -> Iterator[Block]:
    text, end = page.read_text(), 0
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        title = _TITLE.search(match["info"])
        yield Block(
            _TITLE.sub("", match["info"]).strip(),
            title[1] if title else None,
            dedent(match["text"]),
            before.count("\n") + 1,
            (re.findall(r"^#+ (.+)$", before, re.MULTILINE) or [""])[-1],
            not text[end : match.start()].strip(),
        )
        end = match.end()
