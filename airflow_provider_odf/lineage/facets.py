"""Facets of datasets and jobs in lineage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.lineage.dataset import About, Counts, Subject
from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, JobFacet, OutputDatasetFacet

    from airflow_provider_odf.lineage.contract_facts import ColumnFacts
    from airflow_provider_odf.protocol import Transform


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
