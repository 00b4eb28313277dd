"""The pictures of the figures show what the tables say."""

from __future__ import annotations

import pytest
from bench.picture import DOCS, PICTURES, drawn


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_its_table(name: str) -> None:
    page = (DOCS / "figures.md").read_text()
    assert (DOCS / "pictures" / name).read_text() == drawn(page, PICTURES[name])
