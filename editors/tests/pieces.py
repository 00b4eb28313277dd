"""The pieces that the lexer finds in programs, as JSON: what the grammar must find, too (`grammar.js`)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tidelog.editors.textmate import SCOPES
from tidelog.editors.tokens import Kind, pieces
from tidelog.errors import Source

ROOT = Path(__file__).parents[2]
PROGRAMS = [*ROOT.glob("examples/*/*.dl"), *ROOT.glob("tests/conformance/cases/**/program.dl")]


def main() -> None:
    blocks = [
        block
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for block in re.findall(r"```tidelog[^\n]*\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    texts = [*(path.read_text() for path in sorted(PROGRAMS)), *blocks]
    found = [
        {
            "text": text,
            "pieces": [(a, b, k.value) for a, b, k in pieces(Source("", text)) if k is not Kind.BLANK],
        }
        for text in texts
    ]
    print(json.dumps({"scopes": {scope: kind.value for scope, kind in SCOPES.items()}, "texts": found}))


if __name__ == "__main__":
    main()
