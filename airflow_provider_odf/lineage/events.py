"""Lineage events of a dataset's tasks: datasets with facets for Airflow's ``OperatorLineage``.

Poll reads the source. Merge reads the source and writes the dataset with the candidate's block hash as version.
Transform reads the inputs of a derivative, each with the hash of the newest block that it reads, and writes the
derivative as merge does.
Contract_test reads that version and reports the contract's results. Publish writes the dataset with its head as
version, so a rejected run publishes no version. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_provider_odf.lineage import columns, quality
from airflow_provider_odf.lineage.naming import DatasetNames, Edition, EditionNames, Identifier
from airflow_provider_odf.protocol import Column, Contract, ContractReport, Transform

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import DatasetFacet, JobFacet, RunFacet


class TaskLineage(NamedTuple):
    """Lineage of one task, in the order of the arguments of ``OperatorLineage``."""

    inputs: tuple[InputDataset, ...] = ()
    outputs: tuple[OutputDataset, ...] = ()
    run_facets: Mapping[str, RunFacet] = {}
    job_facets: Mapping[str, JobFacet] = {}


@dataclass(frozen=True)
class About:
    """Descriptive facts of a dataset. ``license`` has the names of the specification's SetLicense; ``attachments`` are
    paths and sizes in bytes."""

    kind: str
    keywords: tuple[str, ...] = ()
    license: Mapping[str, str] | None = None
    attachments: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Subject:
    """ODF dataset in lineage. ``names`` are the names of its directory; ``store`` is the URI of the store that knows
    its alias; ``columns`` are those of a slice, system columns first."""

    names: DatasetNames
    store: str
    alias: str
    id: str | None = None
    columns: tuple[Column, ...] = ()
    description: str | None = None
    about: About | None = None
    edition: Edition = "current"

    @property
    def edition_names(self) -> EditionNames:
        return self.names.in_edition(self.edition)

    @property
    def links(self) -> tuple[tuple[Identifier, str], ...]:
        """Other names of the dataset with their types: its other locations, its alias in the store, its
        id."""
        links = [(identifier, "LOCATION") for identifier in self.edition_names.symlinks]
        links.append((Identifier(f"odf+{self.store.rstrip('/')}", self.alias), "ALIAS"))
        if self.id:
            links.append((Identifier("did:odf", self.id.removeprefix("did:odf:")), "ID"))
        return tuple(links)


@dataclass(frozen=True)
class Input:
    """Input of a derivative: its name in queries, and the newest block of it that was read."""

    query_alias: str
    subject: Subject
    version: str


@dataclass(frozen=True)
class OutputCounts:
    """Output of a task: numbers of records, bytes and files."""

    records: int
    size: int | None = None
    files: int | None = None


def poll(source: EditionNames) -> TaskLineage:
    """Return the lineage of a task that polls a source."""
    return TaskLineage(inputs=(source_dataset(source),))


def merge(source: EditionNames | None, subject: Subject, candidate: str, counts: OutputCounts) -> TaskLineage:
    """Return the lineage of a task that merges a source's data into a candidate (None: the source is unknown)."""
    inputs = (source_dataset(source),) if source else ()
    return TaskLineage(inputs, (odf_output(subject, candidate, counts),))


def transform(
    inputs: Sequence[Input], query: Transform, subject: Subject, candidate: str, counts: OutputCounts
) -> TaskLineage:
    """Return the lineage of a task that computes new records of a derivative into a candidate."""
    from openlineage.client.facet_v2 import sql_job

    output = odf_output(subject, candidate, counts)
    columns = _column_lineage(inputs, query, subject)
    text = ";\n\n".join(step.query.strip() for step in query.queries)
    return TaskLineage(
        inputs=tuple(odf_input(i.subject, i.version) for i in inputs),
        outputs=(_with_facets(output, {**(output.facets or {}), **columns}),),
        job_facets={"sql": sql_job.SQLJobFacet(query=text, dialect=query.engine)},
    )


def contract_test(subject: Subject, candidate: str, contract: Contract, report: ContractReport) -> TaskLineage:
    """Return the lineage of a task that tests a candidate against its contract."""
    from openlineage.client.event_v2 import InputDataset

    name = subject.edition_names.primary
    tested = InputDataset(
        name.namespace,
        name.name,
        facets=_facets(subject, candidate),
        inputFacets={
            "dataQualityAssertions": quality.assertions(report, contract),
            "dataQualityMetrics": quality.metrics(report),
        },
    )
    return TaskLineage(inputs=(tested,), run_facets={"test": quality.test_run(report, contract)})


def publish(subject: Subject, head: str, counts: OutputCounts, *, is_first: bool) -> TaskLineage:
    """Return the lineage of a task that publishes a candidate; ``is_first`` tells whether the dataset is new."""
    from openlineage.client.facet_v2 import lifecycle_state_change_dataset as lifecycle

    change = lifecycle.LifecycleStateChange.CREATE if is_first else lifecycle.LifecycleStateChange.ALTER
    output = odf_output(subject, head, counts)
    facets = {
        **(output.facets or {}),
        "lifecycleStateChange": lifecycle.LifecycleStateChangeDatasetFacet(lifecycleStateChange=change),
    }
    return TaskLineage(outputs=(_with_facets(output, facets),))


def verify(subject: Subject, head: str) -> TaskLineage:
    """Return the lineage of a task that verifies a dataset."""
    return TaskLineage(inputs=(odf_input(subject, head),))


def source_dataset(source: EditionNames) -> InputDataset:
    """Return a source as the input of a task."""
    from openlineage.client.event_v2 import InputDataset

    links = _symlinks([(identifier, "LOCATION") for identifier in source.symlinks])
    return InputDataset(source.primary.namespace, source.primary.name, facets=links)


def odf_input(subject: Subject, version: str) -> InputDataset:
    """Return an ODF dataset as an input of a task; ``version`` is a block hash."""
    from openlineage.client.event_v2 import InputDataset

    name = subject.edition_names.primary
    return InputDataset(name.namespace, name.name, facets=_facets(subject, version))


def odf_output(subject: Subject, version: str, counts: OutputCounts) -> OutputDataset:
    """Return an ODF dataset as the output of a task; ``version`` is a block hash."""
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    name = subject.edition_names.primary
    facet = statistics.OutputStatisticsOutputDatasetFacet(counts.records, counts.size, counts.files)
    return OutputDataset(
        namespace=name.namespace,
        name=name.name,
        facets=_facets(subject, version),
        outputFacets={"outputStatistics": facet},
    )


def _column_lineage(inputs: Sequence[Input], query: Transform, subject: Subject) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    subjects = {i.query_alias: i.subject for i in inputs}
    tables = {alias: [column.name for column in s.columns] for alias, s in subjects.items()}
    found = columns.origins(query.engine, query.queries, tables, [column.name for column in subject.columns])

    def field(origin: columns.Origin) -> facet.InputField:
        name = subjects[origin.table].edition_names.primary
        way = facet.Transformation(type="DIRECT", subtype=origin.way, masking=False)
        return facet.InputField(name.namespace, name.name, origin.column, [way])

    fields = {name: facet.Fields(list(map(field, origins))) for name, origins in found.items()}
    return {"columnLineage": facet.ColumnLineageDatasetFacet(fields)} if fields else {}


def _with_facets(output: OutputDataset, facets: dict[str, DatasetFacet]) -> OutputDataset:
    import attr

    return attr.evolve(output, facets=facets)


def _facets(subject: Subject, version: str) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import dataset_type_dataset, dataset_version_dataset, documentation_dataset

    facets: dict[str, DatasetFacet] = {
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=version),
        "datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(datasetType="TABLE", subType="ODF"),
        **_symlinks(subject.links),
    }
    if subject.columns:
        facets["schema"] = _schema(subject.columns)
    if subject.description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(description=subject.description)
    if subject.about:
        facets.update(_about(subject.about))
    return facets


def _about(about: About) -> dict[str, DatasetFacet]:
    """Return keywords as tags, and the facet ``odf_dataset`` for properties without a standard facet."""
    from openlineage.client.facet_v2 import tags_dataset

    attachments = [{"path": path, "size": size} for path, size in about.attachments]
    facets: dict[str, DatasetFacet] = {
        "odf_dataset": _odf_facet()(kind=about.kind, license=about.license, attachments=attachments)
    }
    if about.keywords:
        tags = [tags_dataset.TagsDatasetFacetFields(key, "true", "ODF") for key in about.keywords]
        facets["tags"] = tags_dataset.TagsDatasetFacet(tags=tags)
    return facets


@cache
def _odf_facet() -> type[Any]:
    """Return the class of the facet ``odf_dataset``: kind, license and attachments."""
    import attr
    from openlineage.client.facet_v2 import DatasetFacet

    @attr.define
    class OdfDatasetFacet(DatasetFacet):
        kind: str
        license: Mapping[str, str] | None = None
        attachments: list[dict[str, Any]] = attr.field(factory=list)

    return OdfDatasetFacet


def _schema(columns: Sequence[Column]) -> DatasetFacet:
    from openlineage.client.facet_v2 import schema_dataset

    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=column.name, type=column.type, ordinal_position=position)
        for position, column in enumerate(columns, 1)
    ]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


def _symlinks(links: Sequence[tuple[Identifier, str]]) -> dict[str, Any]:
    from openlineage.client.facet_v2 import symlinks_dataset

    if not links:
        return {}
    identifiers = [symlinks_dataset.Identifier(i.namespace, i.name, kind) for i, kind in links]
    return {"symlinks": symlinks_dataset.SymlinksDatasetFacet(identifiers=identifiers)}
