"""Facets of datasets, jobs and test runs in lineage: what is known of a dataset, of its columns' lineage, and of the
results of its contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attr
from openlineage.client import facet_v2 as ol
from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, JobFacet, OutputDatasetFacet
from openlineage.client.facet_v2 import column_lineage_dataset as column_facet

from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.lineage.column_uses import DIRECT
from airflow_provider_odf.lineage.columns import INPUT, ColumnLineage, Origin, Reading, column_lineage
from airflow_provider_odf.lineage.dataset import About, ColumnFacts, Counts, Input, Subject
from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.protocol import CheckResult, Contract, ContractReport, Transform
from airflow_provider_odf.redaction import redact

_STATUS = {"pass": "pass", "fail": "fail", "error": "fail"}
_NAMES = {"required": "not_null", "field_present": "column_exists", "field_type": "column_type"}
"""Names that other producers use for these kinds of tests."""


@attr.define
class OdfDatasetFacet(DatasetFacet):
    """The facet ``odf_dataset``: kind, license, attachments, names on the contract's servers."""

    kind: str
    license: Mapping[str, str] | None = None
    attachments: list[dict[str, Any]] = attr.field(factory=list)
    servers: list[dict[str, str]] | None = None


def of_subject(subject: Subject, version: str | None) -> dict[str, DatasetFacet]:
    """Return the facets of an ODF dataset; ``version`` is a block hash, None for no block in particular."""
    facets: dict[str, DatasetFacet] = {
        "datasetType": ol.dataset_type_dataset.DatasetTypeDatasetFacet(datasetType="TABLE", subType="ODF"),
        **data_source(subject.edition_names.primary, subject.store),
        **symlinks(subject.links),
        **_ownership(subject),
        **_tags(subject),
    }
    if version:
        facets["version"] = ol.dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=version)
    if subject.columns:
        facets["schema"] = _schema(subject)
    if description := subject.description or subject.contract.description:
        facets["documentation"] = ol.documentation_dataset.DocumentationDatasetFacet(description=redact(description))
    if subject.about:
        facets["odf_dataset"] = _about(subject.about, subject)
    return facets


def data_source(name: Identifier, uri: str | None = None) -> dict[str, DatasetFacet]:
    """Return the place of a dataset: its namespace, and the URI of the store."""
    uri = uri or (name.namespace if ":" in name.namespace else f"{name.namespace}:")
    return {"dataSource": ol.datasource_dataset.DatasourceDatasetFacet(name=name.namespace, uri=redact(uri))}


def symlinks(links: Sequence[tuple[Identifier, str]]) -> dict[str, DatasetFacet]:
    """Return other names of a dataset, each with its type."""
    if not links:
        return {}
    identifiers = [ol.symlinks_dataset.Identifier(i.namespace, i.name, kind) for i, kind in links]
    return {"symlinks": ol.symlinks_dataset.SymlinksDatasetFacet(identifiers=identifiers)}


def lifecycle(*, is_first: bool) -> dict[str, DatasetFacet]:
    """Return the change of a dataset that gets a new head; ``is_first`` tells whether it had no data."""
    facet = ol.lifecycle_state_change_dataset
    change = facet.LifecycleStateChange.CREATE if is_first else facet.LifecycleStateChange.ALTER
    return {"lifecycleStateChange": facet.LifecycleStateChangeDatasetFacet(lifecycleStateChange=change)}


def output_statistics(counts: Counts | None) -> dict[str, OutputDatasetFacet]:
    """Return the size of what was written, if it is known."""
    facet = ol.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
    return {"outputStatistics": facet(counts.records, counts.size, counts.files)} if counts else {}


def input_statistics(counts: Counts | None) -> dict[str, InputDatasetFacet]:
    """Return the size of what was read, if it is known."""
    facet = ol.input_statistics_input_dataset.InputStatisticsInputDatasetFacet
    return {"inputStatistics": facet(counts.records, counts.size, counts.files)} if counts else {}


def sql(query: Transform | None) -> dict[str, JobFacet]:
    """Return the queries of a transform, or no facet without one."""
    if query is None or not query.queries:
        return {}
    text = ";\n\n".join(step.query.strip() for step in query.queries)
    return {"sql": ol.sql_job.SQLJobFacet(query=redact(text), dialect=query.engine)}


def _ownership(subject: Subject) -> dict[str, DatasetFacet]:
    """Return the owners that the contract names, else those of the DAG."""
    owners = subject.contract.owners or tuple((name, None) for name in subject.owners)
    if not owners:
        return {}
    return {
        "ownership": ol.ownership_dataset.OwnershipDatasetFacet(
            [ol.ownership_dataset.Owner(*owner) for owner in owners]
        )
    }


def _tags(subject: Subject) -> dict[str, DatasetFacet]:
    """Return the keywords of the dataset, and the tags and classifications of its contract."""
    tag = ol.tags_dataset.TagsDatasetFacetFields
    tags = [tag(key, "true", "ODF") for key in (subject.about.keywords if subject.about else ())]
    tags += [tag(key, "true", "CONTRACT") for key in subject.contract.tags]
    for column in subject.columns:
        tags += [tag(key, value, "CONTRACT", column.name) for key, value in subject.tags(column.name)]
    return {"tags": ol.tags_dataset.TagsDatasetFacet(tags=tags)} if tags else {}


def _about(about: About, subject: Subject) -> DatasetFacet:
    """Return the facet ``odf_dataset`` for properties without a standard facet."""
    attachments = [{"path": path, "size": size} for path, size in about.attachments]
    named = [(server, names.in_edition(subject.edition).primary) for server, names in subject.contract.servers]
    servers = [{"server": server, "namespace": name.namespace, "name": name.name} for server, name in named]
    return OdfDatasetFacet(kind=about.kind, license=about.license, attachments=attachments, servers=servers or None)


def _schema(subject: Subject) -> DatasetFacet:
    field, nothing = ol.schema_dataset.SchemaDatasetFacetFields, ColumnFacts()
    texts = [subject.contract.columns.get(column.name.lower(), nothing).description for column in subject.columns]
    fields = [
        field(column.name, column.type, redact(text) if text else None, ordinal_position=position)
        for position, (column, text) in enumerate(zip(subject.columns, texts, strict=True), 1)
    ]
    return ol.schema_dataset.SchemaDatasetFacet(fields=fields)


# --- lineage of columns ---------------------------------------------------------------------------------------------


def columns_of_transform(inputs: Sequence[Input], query: Transform, subject: Subject) -> dict[str, DatasetFacet]:
    """Return the lineage of a derivative's columns, from its queries."""
    subjects = {i.query_alias: i.subject for i in inputs}
    tables = {alias: [column.name for column in s.columns] for alias, s in subjects.items()}
    lineage = column_lineage(query.engine, query.queries, tables)
    made = [column.name for column in subject.columns if column.name not in subject.added]
    return _column_lineage(subject, lineage, made, {alias: [s.edition_names.primary] for alias, s in subjects.items()})


def columns_of_merge(sources: Sequence[Identifier], reading: Reading, subject: Subject) -> dict[str, DatasetFacet]:
    """Return the lineage of a dataset's columns from its source: by preprocess, else each from its namesake."""
    if not sources:
        return _column_lineage(subject, ColumnLineage(), (), {})
    read = [column.name for column in subject.columns if column.name not in reading.added]
    return _column_lineage(subject, reading.lineage(read), read, {INPUT: sources})


def _column_lineage(
    subject: Subject, lineage: ColumnLineage, made: Iterable[str], datasets: Mapping[str, Sequence[Identifier]]
) -> dict[str, DatasetFacet]:
    origins = {name: lineage.of(name) for name in made}
    fields = {name: column_facet.Fields(_input_fields(some, datasets)) for name, some in origins.items() if some}
    for column in subject.columns:
        facts = subject.contract.columns.get(column.name.lower())
        if facts and (stated := _stated_in_contract(facts.lineage)):
            own = fields.get(column.name, column_facet.Fields([]))
            stated.inputFields = [*own.inputFields, *(i for i in stated.inputFields if i not in own.inputFields)]
            fields[column.name] = stated
    rows = _input_fields(lineage.rows, datasets)
    facet = column_facet.ColumnLineageDatasetFacet(fields, dataset=rows)
    return {"columnLineage": facet} if fields or rows else {}


def _input_fields(
    origins: Iterable[Origin], datasets: Mapping[str, Sequence[Identifier]]
) -> list[column_facet.InputField]:
    ways: dict[tuple[Identifier, str], list[column_facet.Transformation]] = {}
    for origin in origins:
        kind = "DIRECT" if origin.way in DIRECT else "INDIRECT"
        for name in datasets[origin.table]:
            way = column_facet.Transformation(type=kind, subtype=origin.way, masking=origin.is_masking)
            ways.setdefault((name, origin.column), []).append(way)
    field = column_facet.InputField
    return [field(name.namespace, name.name, column, how) for (name, column), how in ways.items()]


def _stated_in_contract(lineage: Mapping[str, Any]) -> column_facet.Fields | None:
    """Return the inputs in a contract's ``lineage`` object; it has the form of OpenLineage's."""
    listed = lineage.get("inputFields")
    inputs = []
    for item in listed if isinstance(listed, list) else ():
        match item:
            case {"namespace": str(namespace), "name": str(name), "field": str(field)}:
                ways = list(_transformations(item.get("transformations")))
                inputs.append(column_facet.InputField(redact(namespace), redact(name), field, ways))
    if not inputs:
        return None
    texts = [lineage.get(key) for key in ("transformationDescription", "transformationType")]
    return column_facet.Fields(inputs, *(redact(text) if isinstance(text, str) else None for text in texts))


def _transformations(listed: object) -> Iterable[column_facet.Transformation]:
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(item.get("type"), str):
            subtype, text = (item.get(key) for key in ("subtype", "description"))
            yield column_facet.Transformation(
                type=item["type"],
                subtype=subtype if isinstance(subtype, str) else None,
                description=redact(text) if isinstance(text, str) else None,
                masking=bool(item.get("masking")),
            )


# --- results of contracts -------------------------------------------------------------------------------------------


def assertions(
    report: ContractReport, contract: Contract
) -> ol.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet:
    """Return the enforced clauses, with expected and actual values."""
    facet, tests = ol.data_quality_assertions_dataset, _tests(report, contract)
    return facet.DataQualityAssertionsDatasetFacet(
        assertions=[
            facet.Assertion(kind, success=result.outcome == "pass", column=result.field, **properties)
            for result, kind, properties in tests
            if result.is_enforced
        ]
    )


def metrics(report: ContractReport) -> ol.data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet:
    """Return the number of tested rows, and the nulls of columns that must not have any."""
    facet = ol.data_quality_metrics_input_dataset
    nulls = {
        r.field: facet.ColumnMetrics(nullCount=r.failed_rows)
        for r in report.results
        if r.field and r.failed_rows is not None and r.kind == "required"
    }
    return facet.DataQualityMetricsInputDatasetFacet(columnMetrics=nulls, rowCount=report.tested_rows)


def test_run(report: ContractReport, contract: Contract) -> ol.test_run.TestRunFacet:
    """Return every clause; ``params`` has the outcome in the contract's terms."""
    return ol.test_run.TestRunFacet(
        tests=[
            ol.test_run.TestExecution(status=_STATUS.get(result.outcome, "skip"), type=kind, **properties)
            for result, kind, properties in _tests(report, contract)
        ]
    )


def _tests(report: ContractReport, contract: Contract) -> Iterator[tuple[CheckResult, str, dict[str, Any]]]:
    """Yield each result, its kind by the name of other producers if there is one, and the properties that an assertion
    shares with a test."""
    queries = {check.path: query_of(check) for check in contract.checks}
    for result in report.results:
        query = queries.get(result.path)
        params = {
            "outcome": result.outcome,
            "reason": result.reason or None,
            "contract": report.contract,
            "contractDigest": report.digest,
            "model": result.model or report.model or None,
            "field": result.field,
            "line": result.line or None,
            "rows": result.rows,
            "failedRows": result.failed_rows,
        }
        properties = {
            "name": result.path,
            "severity": "error" if result.severity == "error" else "warn",
            "description": result.description,
            "expected": result.expected or None,
            "actual": result.observed or result.reason or None,
            "content": query,
            "contentType": "sql" if query is not None else None,
            "params": {name: value for name, value in params.items() if value is not None},
        }
        yield result, _NAMES.get(result.kind, result.kind), properties
