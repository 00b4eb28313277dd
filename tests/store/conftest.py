"""Places for stores: on a disk, and in an object store, for which moto stands in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from store.places import bucket
from tidelog.store.files import Files
from tidelog.store.local import LocalFiles
from tidelog.store.objects import ObjectFiles


@pytest.fixture(scope="session")
def objects() -> Iterator[Callable[[str], ObjectFiles]]:
    with bucket() as made:
        yield made


@pytest.fixture(params=["disk", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path, objects: Callable[[str], ObjectFiles]) -> Files:
    return LocalFiles(tmp_path / "store") if request.param == "disk" else objects(tmp_path.name)
