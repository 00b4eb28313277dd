"""Descriptions of pipelines: what they say, and what is said about their mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidelog.errors import PipelineError
from tidelog.pipeline import Spec, read_spec, spec_from
from tidelog.pipeline.expecting import expect_relations
from tidelog.pipeline.sources.fingerprints import Look, look
from tidelog.pipeline.sources.paths import qualified, qualified_spec
from tidelog.pipeline.spec import Source, describe_source
from tidelog.program.declared import Relation
from tidelog.program.draft import load

PROGRAM = """input relation Edge(src: string, km: int)
input relation Line(text: string)
relation Hidden(x: string)
output relation Reach(src: string)
Hidden(x) :- Edge(x, _).
Reach(x) :- Hidden(x), not Line(x).
"""

GOOD = """
program = "reach.dl"
store = "state"
quarantine = "bad"
program_changes = "refuse"
functions = "helpers"
placement = "tasks"

[spark]
"spark.driver.memory" = "1g"
"spark.ui.enabled" = true
"spark.cores.max" = 2

[sources.Edge]
path = ["a/Edge.tsv.gz", "s3a://bucket/Edge.tsv"]
columns = { src = "from" }
options = { password = "${SECRET} word" }
bad_rows = "fail"

[streams.Line]
format = "text"
path = "lines"

[outputs.Reach]
path = "out/Reach"

[changes.Reach]
format = "jdbc"
options = { url = "jdbc:x", dbtable = "t" }
"""


def written(folder: Path, text: str) -> Spec:
    (folder / "p.toml").write_text(text)
    return read_spec(folder / "p.toml")


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(PipelineError) as error:
        written(folder, text)
    return [line.removeprefix(f"{folder / 'p.toml'}: ") for line in str(error.value).splitlines()]


def test_a_description_says_all_there_is_to_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "pass")
    spec = written(tmp_path, GOOD)
    edge, line = spec.sources["Edge"], spec.streams["Line"]
    assert (spec.program, spec.store) == (tmp_path / "reach.dl", tmp_path / "state")
    assert spec.spark == {"spark.driver.memory": "1g", "spark.ui.enabled": "true", "spark.cores.max": "2"}
    assert edge.paths == (str(tmp_path / "a/Edge.tsv.gz"), "s3a://bucket/Edge.tsv")
    assert (edge.format, edge.columns, edge.bad_rows) == ("tsv", {"src": "from"}, "fail")
    assert edge.options == {"password": "pass word"}
    assert (line.format, line.sign, line.bad_rows) == ("text", None, "quarantine")
    assert [s.name for s in spec.sinks] == ["outputs.Reach", "changes.Reach"]
    assert spec.outputs["Reach"].format == "parquet"
    assert (spec.program_changes, spec.functions, spec.placement) == ("refuse", ("helpers",), "tasks")
    expect_relations(spec, load(PROGRAM))


def test_tables_of_python_say_the_same(tmp_path: Path) -> None:
    text = 'program = "p.dl"\nstore = "s"\n[sources.E]\npath = "e.csv"\n'
    given = {"program": "p.dl", "store": "s", "sources": {"E": {"path": "e.csv"}}}
    spec = spec_from(given, folder=tmp_path, name=str(tmp_path / "p.toml"))
    assert spec == written(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'program: is missing; write program = "FILE.dl"'),
        ("store = 3", "store: is 3; write a string in quotes"),
        ("stor = 's'", "stor: unknown key; did you mean `store`?"),
        ("sources = 1", "sources: is not a table of tables; write [sources.NAME], where NAME is a relation"),
        ("[sources.E]\nfomat = 'csv'", "sources.E.fomat: unknown key; did you mean `format`?"),
        ("[sources.E]\npath = 'x'", "sources.E.format: is missing; write one, such as csv"),
        (
            "[sources.E]\npath = [1]\nformat = 'csv'",
            "sources.E.path: is [1]; write a string in quotes, or a list",
        ),
        (
            "[sources.E]\npath = 'e.csv'\noptions = { encoding = 'latin1' }",
            "sources.E.options.encoding: is not supported: Tidelog reads CSV by its own rules, as UTF-8",
        ),
        (
            "[sources.E]\npath = 'e.csv'\noptions = { nullValue = 'NA' }",
            "sources.E.options.nullValue: is not supported: Tidelog reads CSV",
        ),
        (
            "[sources.E]\npath = 'e.csv'\noptions = { sep = '||' }",
            "sources.E.options.sep: is '||'; write one",
        ),
        (
            "[sources.E]\ntable = 't'\nformat = 'csv'",
            "sources.E.table: cannot be combined with path or format",
        ),
        (
            "[sources.E]\ntable = 't'\ncolumns = 'a'",
            "sources.E.columns: is 'a'; write a table, as in columns =",
        ),
        ("[sources.E]\ntable = 't'\ncolumns = {a = 1}", "sources.E.columns.a: is 1; write the column's name"),
        (
            "[sources.E]\ntable = 't'\noptions = {a = []}",
            "sources.E.options.a: is []; write a string, a number",
        ),
        (
            "[sources.E]\ntable = 't'\noptions = {a = '${NO_SUCH}'}",
            "environment variable not set: NO_SUCH; set it",
        ),
        (
            "[sources.E]\ntable = 't'\nbad_rows = 'x'",
            "sources.E.bad_rows: is 'x'; write one of fail, quarantine",
        ),
        ("bad_rows = 'quarantine'\n[sources.E]\ntable = 't'", "quarantine: is missing; write quarantine ="),
        ("[sources.E]\ntable='t'\n[streams.E]\ntable='t'", "streams.E: also has a source"),
        ("[streams.E]\npath = ['a.csv', 'b.csv']", "streams.E.path: is a list; a stream reads one folder"),
        (
            "[streams.E]\npath = 'a.txt'\nsign = 's'",
            "streams.E.sign: names a column, and text has no columns",
        ),
        ("[outputs.R]", "outputs.R.path: is missing; write path ="),
        ("[outputs.R]\npath = 'a'\ntable = 'b'", "outputs.R.table: cannot be combined with path; remove one"),
        ("placement = 'x'", "placement: is 'x'; write one of driver, tasks, shuffled"),
        ("program_changes = 'x'", "program_changes: is 'x'; write one of apply, refuse"),
    ],
)
def test_a_mistake_is_told_with_its_key_and_the_way_out(tmp_path: Path, text: str, said: str) -> None:
    found = problems(tmp_path, text)
    assert any(said in line for line in found), found


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    assert len(problems(tmp_path, "[outputs.R]\n[sources.E]\npath = 'x'")) == 4


def test_a_file_that_is_not_toml_is_told_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"p\.toml is not TOML: .*line 2"):
        written(tmp_path, "a = 1\nb = \nc = 1\n")
    with pytest.raises(PipelineError, match=r"none\.toml cannot be read: No such file"):
        read_spec(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[sources.Egde]\ntable = 't'",
            "sources.Egde: the program has no input relation `Egde`; did you mean",
        ),
        ("[sources.Reach]\ntable = 't'", "sources.Reach: the program has no input relation `Reach`"),
        (
            "[outputs.Raech]\npath = 'x'",
            "outputs.Raech: the program has no relation `Raech`; did you mean `Reach`",
        ),
        (
            "[sources.Edge]\ntable = 't'\ncolumns = {scr = 'x'}",
            "sources.Edge.columns.scr: unknown column of Edge",
        ),
        ("[sources.Edge]\nformat = 'text'\npath = 'x'", "sources.Edge.format: text gives 1 column of text"),
        ("[sources.Line]\nformat = 'ntriples'\npath = 'x'", "ntriples gives 3 columns of text"),
        ("", "sources.Edge: is missing;"),
    ],
)
def test_what_does_not_fit_the_program_is_told(tmp_path: Path, text: str, said: str) -> None:
    spec = written(tmp_path, f"program = 'p.dl'\nstore = 's'\n{text}")
    with pytest.raises(PipelineError) as error:
        expect_relations(spec, load(PROGRAM))
    assert said in str(error.value)


def test_an_input_that_rules_derive_cannot_have_a_source(tmp_path: Path) -> None:
    spec = written(tmp_path, "program = 'p.dl'\nstore = 's'\n[sources.E]\ntable = 't'")
    with pytest.raises(PipelineError, match=r"sources\.E: rules also derive `E`"):
        expect_relations(spec, load("input relation E(x: int)\nE(1)."))


def seen(source: Source, relation: Relation) -> Look:
    found = look(replace(source, paths=tuple(qualified(p, "file:") for p in source.paths)), relation)
    assert found is not None
    return found


def test_a_fingerprint_follows_files_and_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = load(PROGRAM).relations["Line"]
    text = "program = 'p.dl'\nstore = 's'\n[sources.Line]\nformat = 'text'\npath = 'lines/*'\n"
    (tmp_path / "lines" / "deep").mkdir(parents=True)
    (tmp_path / "lines" / "a").write_text("1")
    (tmp_path / "lines" / "deep" / "b").write_text("23")
    source = written(tmp_path, text).sources["Line"]
    first = seen(source, relation).fingerprint
    assert first == seen(source, relation).fingerprint
    assert seen(source, relation).size == 3
    other = written(tmp_path, text + "options = { wholetext = true }").sources["Line"]
    assert seen(other, relation).fingerprint != first
    (tmp_path / "lines" / "deep" / "b").write_text("24 ")
    assert seen(source, relation).fingerprint != first
    monkeypatch.chdir(tmp_path)
    here = read_spec("p.toml").sources["Line"]
    assert describe_source(here) == describe_source(read_spec(tmp_path / "p.toml").sources["Line"])


@pytest.mark.parametrize(
    ("path", "default", "wanted"),
    [
        ("/a/b", "file:", "file:///a/b"),
        ("file:/a/b", "hdfs://n:8020", "file:///a/b"),
        ("file:///a/b", "file:", "file:///a/b"),
        ("file://localhost/a/b", "file:", "file:///a/b"),
        ("/a/b", "hdfs://n:8020", "hdfs://n:8020/a/b"),
        ("hdfs:/a/b", "hdfs://n:8020", "hdfs://n:8020/a/b"),
        ("hdfs://m/a/b", "hdfs://n:8020", "hdfs://m/a/b"),
        ("s3a://bucket/x", "file:", "s3a://bucket/x"),
    ],
)
def test_a_path_is_on_one_file_system(path: str, default: str, wanted: str) -> None:
    assert qualified(path, default) == wanted
    assert qualified(wanted, default) == wanted


def test_nothing_is_known_beforehand_of_what_is_no_local_file(tmp_path: Path) -> None:
    relation = load(PROGRAM).relations["Line"]
    for described in (
        "table = 't'",
        "format = 'text'\npath = 's3a://b/x'",
        "format = 'text'\npath = 'lines/{a,b}'",
        "format = 'text'\npath = 'nothing'",
    ):
        spec = written(tmp_path, f"program = 'p.dl'\nstore = 's'\n[sources.Line]\n{described}\n")
        spec = qualified_spec(spec, "file:")
        assert look(spec.sources["Line"], relation) is None


def lines(folder: Path, more: str = "") -> Look:
    """What is seen of the files in a folder of lines."""
    text = f"program = 'p.dl'\nstore = 's'\n[sources.Line]\nformat = 'text'\npath = 'lines'\n{more}"
    return seen(written(folder, text).sources["Line"], load(PROGRAM).relations["Line"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lines").mkdir()
    for name in ("a", "b"):
        (tmp_path / "lines" / name).write_text(name)
    return tmp_path


def test_files_that_changed_are_known(folder: Path) -> None:
    before = lines(folder)
    (folder / "lines" / "c").write_text("c")
    (folder / "lines" / "a").write_text("another")
    (folder / "lines" / "_SUCCESS").write_text("")
    (folder / "lines" / "b").unlink()
    changed = lines(folder).since(before.fingerprint)
    assert changed is not None
    assert sorted(Path(file.path).name for file in changed.added.values()) == ["a", "c"]
    assert sorted(Path(before.files[p].path).name for p in changed.removed) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "options"),
    [("deeper/c", ""), (".c", ""), ("_c/d", ""), ("c._COPYING_", ""), (".c/d", "recursiveFileLookup = true")],
)
def test_files_that_spark_does_not_read_are_no_change(folder: Path, name: str, options: str) -> None:
    more = f"options = {{ {options} }}"
    before = lines(folder, more).fingerprint
    file = folder / "lines" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("c")
    assert lines(folder, more).fingerprint == before


def test_files_in_folders_need_one_form(folder: Path) -> None:
    (folder / "lines" / "day=1").mkdir()
    (folder / "lines" / "day=1" / "c").write_text("c")
    with pytest.raises(PipelineError, match=r"sources\.Line: .* put all files into folders .* day=…"):
        lines(folder)
    assert len(lines(folder, "options = { recursiveFileLookup = true }").files) == 3
    for name in ("a", "b"):
        (folder / "lines" / name).unlink()
    assert lines(folder).folders == ("day",)


def test_a_source_that_is_described_otherwise_is_read_whole(folder: Path) -> None:
    before = lines(folder).fingerprint
    assert lines(folder, "options = { wholetext = true }").since(before) is None
    assert lines(folder, "options = { mergeSchema = true }").since(lines(folder).fingerprint) is None


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("hdfs:/store", "a store is a folder on a local disk .* or in an object store .* not supported"),
        ("dbfs:/mnt/store", "not supported"),
        ("file:relative", "not supported"),
        ("S3:x", "write a bucket and a folder, as in S3://BUCKET/FOLDER"),
        ("s3://bucket", "write a bucket and a folder"),
    ],
)
def test_a_store_that_is_neither_local_nor_in_an_object_store_is_refused(
    tmp_path: Path, store: str, said: str
) -> None:
    with pytest.raises(PipelineError, match=rf"store: is '.*'; .*{said}"):
        spec_from({"program": "p.dl", "store": store}, folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("store", ["file:///data/a%20b", "file:/data/a%20b", "file://localhost/data/a%20b"])
def test_a_store_may_be_named_by_a_file_address(store: str) -> None:
    assert spec_from({"program": "p.dl", "store": store}).store == Path("/data/a b")
