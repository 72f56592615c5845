"""Facets of datasets, jobs and test runs in lineage: what is known of a dataset, of its columns' lineage, and of the
results of its contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.lineage.column_uses import DIRECT
from airflow_provider_odf.lineage.columns import INPUT, ColumnLineage, Origin, Reading, column_lineage
from airflow_provider_odf.lineage.dataset import About, ColumnFacts, Counts, Input, Subject
from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.protocol import CheckResult, Contract, ContractReport, Transform
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, JobFacet, OutputDatasetFacet
    from openlineage.client.facet_v2 import column_lineage_dataset as facet
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as assertions_dataset
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as metrics_dataset
    from openlineage.client.facet_v2 import test_run as test_run_facet

_STATUS = {"pass": "pass", "fail": "fail", "error": "fail"}
_NAMES = {"required": "not_null", "field_present": "column_exists", "field_type": "column_type"}
"""Names that other producers use for these kinds of tests."""


def of_subject(subject: Subject, version: str | None) -> dict[str, DatasetFacet]:
    """Return the facets of an ODF dataset; ``version`` is a block hash, None for no block in particular."""
    from openlineage.client.facet_v2 import dataset_type_dataset, dataset_version_dataset, documentation_dataset

    facets: dict[str, DatasetFacet] = {
        "datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(datasetType="TABLE", subType="ODF"),
        **data_source(subject.edition_names.primary, subject.store),
        **symlinks(subject.links),
        **_ownership(subject),
        **_tags(subject),
    }
    if version:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=version)
    if subject.columns:
        facets["schema"] = _schema(subject)
    if description := subject.description or subject.contract.description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(description=redact(description))
    if subject.about:
        facets["odf_dataset"] = _about(subject.about, subject)
    return facets


def data_source(name: Identifier, uri: str | None = None) -> dict[str, DatasetFacet]:
    """Return the place of a dataset: its namespace, and the URI of the store."""
    from openlineage.client.facet_v2 import datasource_dataset

    uri = uri or (name.namespace if ":" in name.namespace else f"{name.namespace}:")
    return {"dataSource": datasource_dataset.DatasourceDatasetFacet(name=name.namespace, uri=redact(uri))}


def symlinks(links: Sequence[tuple[Identifier, str]]) -> dict[str, DatasetFacet]:
    """Return other names of a dataset, each with its type."""
    from openlineage.client.facet_v2 import symlinks_dataset

    if not links:
        return {}
    identifiers = [symlinks_dataset.Identifier(i.namespace, i.name, kind) for i, kind in links]
    return {"symlinks": symlinks_dataset.SymlinksDatasetFacet(identifiers=identifiers)}


def lifecycle(*, is_first: bool) -> dict[str, DatasetFacet]:
    """Return the change of a dataset that gets a new head; ``is_first`` tells whether it had no data."""
    from openlineage.client.facet_v2 import lifecycle_state_change_dataset as facet

    change = facet.LifecycleStateChange.CREATE if is_first else facet.LifecycleStateChange.ALTER
    return {"lifecycleStateChange": facet.LifecycleStateChangeDatasetFacet(lifecycleStateChange=change)}


def output_statistics(counts: Counts) -> OutputDatasetFacet:
    """Return the size of what was written."""
    from openlineage.client.facet_v2 import output_statistics_output_dataset as facet

    return facet.OutputStatisticsOutputDatasetFacet(counts.records, counts.size, counts.files)


def input_statistics(counts: Counts) -> InputDatasetFacet:
    """Return the size of what was read."""
    from openlineage.client.facet_v2 import input_statistics_input_dataset as facet

    return facet.InputStatisticsInputDatasetFacet(counts.records, counts.size, counts.files)


def sql(query: Transform | None) -> dict[str, JobFacet]:
    """Return the queries of a transform, or no facet without one."""
    from openlineage.client.facet_v2 import sql_job

    if query is None or not query.queries:
        return {}
    text = ";\n\n".join(step.query.strip() for step in query.queries)
    return {"sql": sql_job.SQLJobFacet(query=redact(text), dialect=query.engine)}


def _ownership(subject: Subject) -> dict[str, DatasetFacet]:
    """Return the owners that the contract names, else those of the DAG."""
    from openlineage.client.facet_v2 import ownership_dataset

    owners = subject.contract.owners or tuple((name, None) for name in subject.owners)
    if not owners:
        return {}
    return {"ownership": ownership_dataset.OwnershipDatasetFacet([ownership_dataset.Owner(*owner) for owner in owners])}


def _tags(subject: Subject) -> dict[str, DatasetFacet]:
    """Return the keywords of the dataset, and the tags and classifications of its contract."""
    from openlineage.client.facet_v2 import tags_dataset

    def tag(key: str, value: str, source: str, field: str | None = None) -> tags_dataset.TagsDatasetFacetFields:
        return tags_dataset.TagsDatasetFacetFields(key, value, source, field)

    contract = subject.contract
    tags = [tag(key, "true", "ODF") for key in (subject.about.keywords if subject.about else ())]
    tags += [tag(key, "true", "CONTRACT") for key in contract.tags]
    for column in subject.columns:
        tags += [tag(key, value, "CONTRACT", column.name) for key, value in subject.tags(column.name)]
    return {"tags": tags_dataset.TagsDatasetFacet(tags=tags)} if tags else {}


def _about(about: About, subject: Subject) -> DatasetFacet:
    """Return the facet ``odf_dataset`` for properties without a standard facet."""
    attachments = [{"path": path, "size": size} for path, size in about.attachments]
    named = [(server, names.in_edition(subject.edition).primary) for server, names in subject.contract.servers]
    servers = [{"server": server, "namespace": name.namespace, "name": name.name} for server, name in named]
    facet: DatasetFacet = _odf_facet()(
        kind=about.kind, license=about.license, attachments=attachments, servers=servers or None
    )
    return facet


@cache
def _odf_facet() -> type[Any]:
    """Return the class of the facet ``odf_dataset``: kind, license, attachments, names on the contract's servers."""
    import attr
    from openlineage.client.facet_v2 import DatasetFacet

    @attr.define
    class OdfDatasetFacet(DatasetFacet):
        kind: str
        license: Mapping[str, str] | None = None
        attachments: list[dict[str, Any]] = attr.field(factory=list)
        servers: list[dict[str, str]] | None = None

    return OdfDatasetFacet


def _description(facts: ColumnFacts | None) -> str | None:
    return redact(facts.description) if facts is not None and facts.description else None


def _schema(subject: Subject) -> DatasetFacet:
    from openlineage.client.facet_v2 import schema_dataset

    facts = subject.contract.columns
    fields = [
        schema_dataset.SchemaDatasetFacetFields(
            name=column.name,
            type=column.type,
            description=_description(facts.get(column.name.lower())),
            ordinal_position=position,
        )
        for position, column in enumerate(subject.columns, 1)
    ]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


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
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    origins = {name: lineage.of(name) for name in made}
    fields = {name: facet.Fields(_input_fields(made_of, datasets)) for name, made_of in origins.items() if made_of}
    for column in subject.columns:
        facts = subject.contract.columns.get(column.name.lower())
        if facts and (stated := _stated_in_contract(facts.lineage)):
            own = fields.get(column.name, facet.Fields([]))
            stated.inputFields = [*own.inputFields, *(i for i in stated.inputFields if i not in own.inputFields)]
            fields[column.name] = stated
    rows = _input_fields(lineage.rows, datasets)
    return {"columnLineage": facet.ColumnLineageDatasetFacet(fields, dataset=rows)} if fields or rows else {}


def _input_fields(origins: Iterable[Origin], datasets: Mapping[str, Sequence[Identifier]]) -> list[facet.InputField]:
    """Return columns of inputs, each with all its transformations."""
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    ways: dict[tuple[Identifier, str], list[facet.Transformation]] = {}
    for origin in origins:
        kind = "DIRECT" if origin.way in DIRECT else "INDIRECT"
        for name in datasets[origin.table]:
            way = facet.Transformation(type=kind, subtype=origin.way, masking=origin.is_masking)
            ways.setdefault((name, origin.column), []).append(way)
    return [facet.InputField(name.namespace, name.name, column, how) for (name, column), how in ways.items()]


def _stated_in_contract(lineage: Mapping[str, Any]) -> facet.Fields | None:
    """Return the inputs in a contract's ``lineage`` object; it has the form of OpenLineage's."""
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    listed = lineage.get("inputFields")
    inputs = []
    for item in listed if isinstance(listed, list) else ():
        match item:
            case {"namespace": str(namespace), "name": str(name), "field": str(field)}:
                ways = list(_transformations(item.get("transformations")))
                inputs.append(facet.InputField(redact(namespace), redact(name), field, ways))
    if not inputs:
        return None
    texts = [lineage.get(key) for key in ("transformationDescription", "transformationType")]
    return facet.Fields(inputs, *(redact(text) if isinstance(text, str) else None for text in texts))


def _transformations(listed: object) -> Iterable[facet.Transformation]:
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(item.get("type"), str):
            subtype, text = (item.get(key) for key in ("subtype", "description"))
            yield facet.Transformation(
                type=item["type"],
                subtype=subtype if isinstance(subtype, str) else None,
                description=redact(text) if isinstance(text, str) else None,
                masking=bool(item.get("masking")),
            )


# --- results of contracts -------------------------------------------------------------------------------------------


def assertions(report: ContractReport, contract: Contract) -> assertions_dataset.DataQualityAssertionsDatasetFacet:
    """Return the enforced clauses, with expected and actual values."""
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as facet

    queries = _queries(contract)
    return facet.DataQualityAssertionsDatasetFacet(
        assertions=[
            facet.Assertion(
                assertion=_kind(result),
                success=result.outcome == "pass",
                column=result.field,
                name=result.path,
                **_common(result, report, queries),
            )
            for result in report.results
            if result.is_enforced
        ]
    )


def metrics(report: ContractReport) -> metrics_dataset.DataQualityMetricsInputDatasetFacet:
    """Return the number of tested rows, and the nulls of columns that must not have any."""
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as facet

    nulls = {
        r.field: facet.ColumnMetrics(nullCount=r.failed_rows)
        for r in report.results
        if r.field and r.failed_rows is not None and r.kind == "required"
    }
    return facet.DataQualityMetricsInputDatasetFacet(columnMetrics=nulls, rowCount=report.tested_rows)


def test_run(report: ContractReport, contract: Contract) -> test_run_facet.TestRunFacet:
    """Return every clause; ``params`` has the outcome in the contract's terms."""
    from openlineage.client.facet_v2 import test_run as facet

    queries = _queries(contract)
    return facet.TestRunFacet(
        tests=[
            facet.TestExecution(
                name=result.path,
                status=_STATUS.get(result.outcome, "skip"),
                type=_kind(result),
                **_common(result, report, queries),
            )
            for result in report.results
        ]
    )


def _queries(contract: Contract) -> dict[str, str]:
    return {check.path: query for check in contract.checks if (query := query_of(check)) is not None}


def _common(result: CheckResult, report: ContractReport, queries: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties that an assertion shares with a test."""
    query = queries.get(result.path)
    return {
        "severity": "error" if result.severity == "error" else "warn",
        "description": result.description,
        "expected": result.expected or None,
        "actual": result.observed or result.reason or None,
        "content": query,
        "contentType": "sql" if query else None,
        "params": _params(result, report),
    }


def _params(result: CheckResult, report: ContractReport) -> dict[str, Any]:
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
    return {name: value for name, value in params.items() if value is not None}


def _kind(result: CheckResult) -> str:
    """Return the kind of clause, by the name of other producers if there is one."""
    return _NAMES.get(result.kind, result.kind)
