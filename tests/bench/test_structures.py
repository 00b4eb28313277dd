"""The benchmark of structured values runs, and what it compares agrees."""

from __future__ import annotations

import json
from pathlib import Path

from bench.structures import closures, documents, nested_json, terms, unnested


def test_what_is_compared_agrees() -> None:
    assert min(closures(50, 80)) > 0
    assert min(terms(100)) > 0
    assert min(unnested(documents(10, 3))) > 0


def test_nested_json_lines_are_loaded(tmp_path: Path) -> None:
    person = {"id": 1, "name": "a", "address": {"city": "b", "zip": 2}, "tags": ["c"]}
    (tmp_path / "Person.jsonl").write_text(json.dumps(person) + "\n")
    assert min(nested_json(tmp_path / "Person.jsonl")) > 0
