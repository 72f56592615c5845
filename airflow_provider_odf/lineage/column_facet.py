"""The facet ``columnLineage``: from queries, from merges that keep columns, and from the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.lineage.column_uses import DIRECT
from airflow_provider_odf.lineage.columns import ColumnLineage, column_lineage
from airflow_provider_odf.lineage.reading import INPUT, Reading
from airflow_provider_odf.redaction import redact

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import DatasetFacet
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    from airflow_provider_odf.lineage.columns import Origin
    from airflow_provider_odf.lineage.dataset import Input, Subject
    from airflow_provider_odf.lineage.naming import Identifier
    from airflow_provider_odf.protocol import Transform


def of_transform(inputs: Sequence[Input], query: Transform, subject: Subject) -> dict[str, DatasetFacet]:
    """Return the lineage of a derivative's columns, from its queries."""
    subjects = {i.query_alias: i.subject for i in inputs}
    tables = {alias: [column.name for column in s.columns] for alias, s in subjects.items()}
    lineage = column_lineage(query.engine, query.queries, tables)
    made = [column.name for column in subject.columns if column.name not in subject.added]
    return _facet(subject, lineage, made, {alias: [s.edition_names.primary] for alias, s in subjects.items()})


def of_merge(sources: Sequence[Identifier], reading: Reading, subject: Subject) -> dict[str, DatasetFacet]:
    """Return the lineage of a dataset's columns from its source: by preprocess, else each from its namesake."""
    if not sources:
        return _facet(subject, ColumnLineage(), (), {})
    read = [column.name for column in subject.columns if column.name not in reading.added]
    return _facet(subject, reading.lineage(read), read, {INPUT: sources})


def _facet(
    subject: Subject, lineage: ColumnLineage, made: Iterable[str], datasets: Mapping[str, Sequence[Identifier]]
) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    origins = {name: lineage.of(name) for name in made}
    fields = {name: facet.Fields(_input_fields(of, datasets)) for name, of in origins.items() if of}
    for column in subject.columns:
        facts = subject.contract.columns.get(column.name.lower())
        if facts and (stated := _of_contract(facts.lineage)):
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
    return [facet.InputField(name.namespace, name.name, column, of) for (name, column), of in ways.items()]


def _of_contract(lineage: Mapping[str, Any]) -> facet.Fields | None:
    """Return the inputs in a contract's ``lineage`` object; it has the form of OpenLineage's."""
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    listed = lineage.get("inputFields")
    found = []
    for item in listed if isinstance(listed, list) else ():
        match item:
            case {"namespace": str(namespace), "name": str(name), "field": str(field)}:
                ways = list(_transformations(item.get("transformations")))
                found.append(facet.InputField(redact(namespace), redact(name), field, ways))
    if not found:
        return None
    texts = [lineage.get(key) for key in ("transformationDescription", "transformationType")]
    return facet.Fields(found, *(redact(text) if isinstance(text, str) else None for text in texts))


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
