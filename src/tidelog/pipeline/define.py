"""Pipelines defined in Python: one call for each source and each sink.

    outcome = (
        pipeline.define(program="access.dl", store="store")
        .source("MemberOf", spark.table("hr.members"), columns={"member": "user_id"})
        .output("CanReach", "results/CanReach", mode="merge")
        .run(spark=spark)
    )

A definition is a value: every call gives a new one, so parts can be shared. It says the same as a TOML file,
under the same names, and is read by the same code, so its mistakes are reported in the same words, each with
its key, when a spec is made of it: by `run`, `open`, `stream` or `spec`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tidelog.errors import PipelineError
from tidelog.pipeline.running import open_pipeline, run, stream
from tidelog.pipeline.spec import Spec, spec_from
from tidelog.syntax.written import Written

if TYPE_CHECKING:
    from tidelog.pipeline.report import Outcome
    from tidelog.pipeline.runner import Pipeline

__all__ = ["Definition", "define"]

Path: TypeAlias = str | os.PathLike[str]
Names: TypeAlias = str | Sequence[str]
Setting: TypeAlias = str | int | float | bool
BadRows: TypeAlias = Literal["fail", "quarantine"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A pipeline, as `define` and its methods describe it. Paths are relative to `folder`."""

    settings: Mapping[str, Any]
    folder: Path = "."
    name: str = "<pipeline>"
    parts: tuple[tuple[str, str, Mapping[str, Any]], ...] = field(default=())

    # -- what it consists of

    def source(
        self,
        relation: str,
        data: Path | Sequence[Path] | Any = None,
        *,
        table: str | None = None,
        format: str | None = None,  # noqa: A002
        options: Mapping[str, Setting] | None = None,
        columns: Mapping[str, str] | None = None,
        bad_rows: BadRows | None = None,
        watermark: str | None = None,
        key: Names | None = None,
        sequence: Names | Mapping[str, str] | None = None,
        envelope: Literal["debezium"] | None = None,
        value: Literal["json"] | None = None,
        sign: str | None = None,
        sign_map: Mapping[str, int] | None = None,
    ) -> Definition:
        """Add the source of all facts of an input relation.

        `data` is a path, a list of paths, a DataFrame of your session, or a table of Arrow, pandas or Polars.
        `envelope`, `sequence`, `sign` and `value` are for Kafka. The others are those of `[sources.R]`.
        """
        given = {
            **_data(data),
            "table": table,
            "format": format,
            "options": options,
            "columns": columns,
            "bad_rows": bad_rows,
            "watermark": watermark,
            "key": key,
            "sequence": sequence,
            "envelope": envelope,
            "value": value,
            "sign": sign,
            "sign_map": sign_map,
        }
        return self._with("sources", relation, given)

    def stream_source(
        self,
        relation: str,
        data: Path | Any = None,
        *,
        table: str | None = None,
        format: str | None = None,  # noqa: A002
        options: Mapping[str, Setting] | None = None,
        columns: Mapping[str, str] | None = None,
        bad_rows: BadRows | None = None,
        sign: str | None = None,
        sign_map: Mapping[str, int] | None = None,
        key: Names | None = None,
        sequence: Names | Mapping[str, str] | None = None,
        envelope: Literal["debezium"] | None = None,
        value: Literal["json"] | None = None,
    ) -> Definition:
        """Add a stream of changes to an input relation, for `stream`.

        `data` is a path, or a DataFrame made by `spark.readStream`. The others are those of `[streams.R]`.
        """
        given = {
            **_data(data),
            "table": table,
            "format": format,
            "options": options,
            "columns": columns,
            "bad_rows": bad_rows,
            "sign": sign,
            "sign_map": sign_map,
            "key": key,
            "sequence": sequence,
            "envelope": envelope,
            "value": value,
        }
        return self._with("streams", relation, given)

    def output(
        self,
        relation: str,
        path: Path | None = None,
        *,
        table: str | None = None,
        format: str | None = None,  # noqa: A002
        options: Mapping[str, Setting] | None = None,
        mode: Literal["merge"] | None = None,
        key: Names | None = None,
        partition_by: Names | None = None,
    ) -> Definition:
        """Add a sink for all rows of a relation, as `[outputs.R]`."""
        more = {"mode": mode, "key": key, "partition_by": partition_by}
        return self._with("outputs", relation, _sink(path, table, format, options, more))

    def changes(
        self,
        relation: str,
        path: Path | None = None,
        *,
        table: str | None = None,
        format: str | None = None,  # noqa: A002
        options: Mapping[str, Setting] | None = None,
        mode: Literal["append"] | None = None,
        partition_by: Names | None = None,
    ) -> Definition:
        """Add a sink for the rows of a relation that each commit adds and removes, as `[changes.R]`."""
        more = {"mode": mode, "partition_by": partition_by}
        return self._with("changes", relation, _sink(path, table, format, options, more))

    def _with(self, kind: str, relation: str, given: Mapping[str, Any]) -> Definition:
        kept = {key: value for key, value in given.items() if value is not None}
        return replace(self, parts=(*self.parts, (kind, relation, kept)))

    # -- what to do with it

    def spec(self) -> Spec:
        """The spec; raises PipelineError with all mistakes."""
        content = dict(self.settings)
        for kind, relation, given in self.parts:
            named = content.setdefault(kind, {})
            if relation in named:
                raise PipelineError(f"{self.name}: {kind}.{relation}: is given twice; remove one of them")
            named[relation] = given
        return spec_from(content, folder=self.folder, name=self.name)

    def run(
        self, *, spark: Any = None, progress: Callable[[Any], object] | None = None, reread: bool = False
    ) -> Outcome:
        """Apply the changes of the sources since the last run, as `pipeline.run`."""
        return run(self, spark=spark, progress=progress, reread=reread)

    def open(self, *, spark: Any = None, progress: Callable[[Any], object] | None = None) -> Pipeline:
        """Open the pipeline for several runs, as `pipeline.open`."""
        return open_pipeline(self, spark=spark, progress=progress)

    def stream(
        self,
        *,
        spark: Any = None,
        progress: Callable[[Any], object] | None = None,
        once: bool = False,
        interval: float = 0.0,
        with_sources: bool = False,
        report: Callable[[Outcome], object] | None = None,
    ) -> None:
        """Follow the streams, as `pipeline.stream`."""
        stream(
            self,
            spark=spark,
            progress=progress,
            once=once,
            interval=interval,
            with_sources=with_sources,
            report=report,
        )


def define(
    *,
    program: Path | None = None,
    text: str | Written | None = None,
    store: Path,
    folder: Path = ".",
    name: str = "<pipeline>",
    store_options: Mapping[str, Setting] | None = None,
    quarantine: Path | None = None,
    bad_rows: BadRows | None = None,
    program_changes: Literal["apply", "refuse"] | None = None,
    functions: Names | None = None,
    history: int | None = None,
    placement: Literal["driver", "tasks", "shuffled"] | None = None,
    spark_settings: Mapping[str, Setting] | None = None,
    metrics: Path | None = None,
    lineage: Mapping[str, Any] | None = None,
    migrations: Mapping[str, Mapping[str, Any]] | None = None,
) -> Definition:
    """Begin to define a pipeline: its program, as a file, a text, or from `tidelog.build`, and its store.

    The arguments are the keys of a TOML file; `spark_settings` is its table `[spark]`. `folder` is what paths
    are relative to, and `name` what messages call the pipeline.
    """
    given = {
        "program": _text(program),
        "text": str(text) if isinstance(text, Written) else text,
        "store": _text(store),
        "store_options": store_options,
        "quarantine": _text(quarantine),
        "bad_rows": bad_rows,
        "program_changes": program_changes,
        "functions": functions,
        "history": history,
        "placement": placement,
        "spark": spark_settings,
        "metrics": _text(metrics),
        "lineage": lineage,
        "migrations": migrations,
    }
    return Definition({key: value for key, value in given.items() if value is not None}, folder, name)


def _data(data: Any) -> dict[str, Any]:
    """A path, a list of paths, or rows."""
    if data is None:
        return {}
    if isinstance(data, str | os.PathLike):
        return {"path": _text(data)}
    if isinstance(data, list | tuple):
        return {"path": [*map(_text, data)]}
    return {"frame": data}


def _text(path: Any) -> Any:
    """A path as text; anything else is reported when the spec is read."""
    return os.fspath(path) if isinstance(path, os.PathLike) else path


def _sink(
    path: Path | None,
    table: str | None,
    form: str | None,
    options: Mapping[str, Setting] | None,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    return {"path": _text(path), "table": table, "format": form, "options": options, **more}
