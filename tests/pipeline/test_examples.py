"""Every example gives what its folder `expected` says, as a pipeline and in process."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelog
from tidelog import pipeline, rdf
from tidelog.program.declared import Role

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/*.toml"))


def _rows(lines: Iterable[str]) -> list[list[str]]:
    header, *rows = csv.reader(lines)
    return [header, *sorted(rows)]


def _expect(folder: Path, session: tidelog.Session) -> None:
    expected = {path.stem: path.read_text() for path in (folder / "expected").glob("*.csv")}
    assert expected.keys() == {r.name for r in session.program.relations.values() if r.role is Role.OUTPUT}
    for name, text in expected.items():
        found = session[name].to_csv()
        assert found is not None
        assert _rows(StringIO(found)) == _rows(StringIO(text)), name


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_in_process(folder: Path) -> None:
    [program] = set(folder.glob("*.dl")) - {folder / "rule.dl"}
    graphs = {path.stem: rdf.triples(rdf.read(path)) for path in (folder / "facts").glob("*.nt")}
    _expect(folder, tidelog.open(program, facts=graphs or folder / "facts"))


@pytest.mark.spark
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_as_a_pipeline(folder: Path, spark: SparkSession, tmp_path: Path) -> None:
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    [spec] = copy.glob("*.toml")
    pipeline.run(spec, spark=spark)
    _expect(folder, pipeline.stored_session(pipeline.read_spec(spec)))
