"""Sends events of OpenLineage: each run, and each batch of a stream, is a run of one job.

START names the datasets, COMPLETE has also the rows that were read and written, FAIL the error. The client
and its transport are OpenLineage's own; what goes wrong with an event is a warning in the log (`observing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.generated.column_lineage_dataset import (
    ColumnLineageDatasetFacet,
    Fields,
    InputField,
)
from openlineage.client.generated.error_message_run import ErrorMessageRunFacet
from openlineage.client.generated.input_statistics_input_dataset import InputStatisticsInputDatasetFacet
from openlineage.client.generated.job_type_job import JobTypeJobFacet
from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet
from openlineage.client.generated.processing_engine_run import ProcessingEngineRunFacet
from openlineage.client.generated.schema_dataset import SchemaDatasetFacet, SchemaDatasetFacetFields
from openlineage.client.uuid import generate_new_uuid

from tidelog.errors import PipelineError
from tidelog.pipeline.lineage.columns import column_origins
from tidelog.pipeline.lineage.datasets import datasets_of, sink_dataset
from tidelog.pipeline.lineage.spec import Lineage
from tidelog.pipeline.report import Outcome
from tidelog.pipeline.sink_modes import Sink
from tidelog.pipeline.spec import Spec
from tidelog.program.model import Program

__all__ = ["LineageEvents", "lineage_events"]

PRODUCER: Final = "https://pypi.org/project/tidelog/"


def lineage_events(spec: Spec, lineage: Lineage, program: Program, spark_version: str) -> LineageEvents:
    """The observer that sends events. Raises PipelineError if there can be no client."""
    try:
        config = {"transport": {**lineage.transport}} if lineage.transport else None
        client = OpenLineageClient(config=config)
    except Exception as error:  # of any transport
        raise PipelineError(f"{spec.name}: lineage.transport: {type(error).__name__}: {error}") from None
    return LineageEvents(client, spec, lineage, program, spark_version)


class LineageEvents:
    """An observer that sends events by a client; the paths of the spec are qualified."""

    def __init__(
        self, client: OpenLineageClient, spec: Spec, lineage: Lineage, program: Program, spark_version: str
    ) -> None:
        self._client = client
        self._spec = spec
        self._program = program
        self._namespace = lineage.namespace
        self._job = lineage.job or Path(spec.name).stem.strip("<>")
        self._version = spark_version
        self._run_id = ""
        self._sources = {**spec.sources, **spec.streams}
        self._datasets = {
            name: [*datasets_of(source, self._namespace, self._job)] for name, source in self._sources.items()
        }
        self._columns = column_origins(program, {sink.relation for sink in spec.sinks})

    def began(self) -> None:
        self._run_id = str(generate_new_uuid())
        self._send(RunState.START, {}, Outcome(-1, is_new=False))

    def ended(self, outcome: Outcome) -> None:
        self._send(RunState.COMPLETE, {}, outcome)

    def failed(self, error: BaseException) -> None:
        said = ErrorMessageRunFacet(message=f"{type(error).__name__}: {error}", programmingLanguage="PYTHON")
        self._send(RunState.FAIL, {"errorMessage": said}, Outcome(-1, is_new=False))

    def _send(self, state: RunState, facets: Mapping[str, Any], outcome: Outcome) -> None:
        engine = ProcessingEngineRunFacet(version=self._version, name="spark")
        kind = JobTypeJobFacet(processingType="BATCH", integration="TIDELOG", jobType="PIPELINE")
        self._client.emit(
            RunEvent(
                eventTime=datetime.now(UTC).isoformat(),
                producer=PRODUCER,
                eventType=state,
                run=Run(self._run_id, {"processing_engine": engine, **facets}),
                job=Job(self._namespace, self._job, {"jobType": kind}),
                inputs=[d for name in self._sources for d in self._inputs(name, outcome)],
                outputs=[self._output(sink, outcome) for sink in self._spec.sinks],
            )
        )

    def _schema(self, relation: str) -> SchemaDatasetFacet:
        columns = self._program.relations[relation].columns
        return SchemaDatasetFacet(
            fields=[
                SchemaDatasetFacetFields(
                    name=self._outside(relation, c.name), type=str(c.type), ordinal_position=number
                )
                for number, c in enumerate(columns, 1)
            ]
        )

    def _outside(self, relation: str, column: str) -> str:
        """The name of a column in its source."""
        source = self._sources.get(relation)
        return column if source is None else source.columns.get(column, column)

    def _inputs(self, relation: str, outcome: Outcome) -> list[InputDataset]:
        report, datasets = outcome.sources.get(relation), self._datasets[relation]
        known: dict[str, Any] = {}
        if report is not None and report.rows is not None and len(datasets) == 1:
            known = {"inputStatistics": InputStatisticsInputDatasetFacet(rowCount=report.rows)}
        facets: dict[str, Any] = {"schema": self._schema(relation)}
        return [
            InputDataset(namespace=d.namespace, name=d.name, facets=facets, inputFacets=known)
            for d in datasets
        ]

    def _output(self, sink: Sink, outcome: Outcome) -> OutputDataset:
        named = sink_dataset(sink, self._namespace, self._job)
        facets = {"schema": self._schema(sink.relation), "columnLineage": self._lineage(sink.relation)}
        rows, known = _written(sink, outcome), dict[str, Any]()
        if rows is not None:
            known["outputStatistics"] = OutputStatisticsOutputDatasetFacet(rowCount=rows)
        return OutputDataset(namespace=named.namespace, name=named.name, facets=facets, outputFacets=known)

    def _lineage(self, relation: str) -> ColumnLineageDatasetFacet:
        return ColumnLineageDatasetFacet(
            fields={
                column: Fields(
                    inputFields=[
                        InputField(
                            namespace=dataset.namespace, name=dataset.name, field=self._outside(origin, field)
                        )
                        for origin, field in origins
                        for dataset in self._datasets.get(origin, ())
                    ]
                )
                for column, origins in self._columns[relation].items()
            }
        )


def _written(sink: Sink, outcome: Outcome) -> int | None:
    """The number of rows that a run wrote to a sink, as far as its report has it."""
    change = outcome.changes.get(sink.relation)
    if change is None:
        return None
    if sink.kind == "outputs" and sink.mode is None and change:
        return outcome.sizes[sink.relation]
    return change.inserted + change.deleted
