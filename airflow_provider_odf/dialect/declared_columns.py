"""Check queries of transforms over the columns that manifests declare: those of a root with a schema, and of a
derivative whose result has named columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_odf.dialect import derivative, spark_check
from airflow_provider_odf.dialect.place import QueryRefusal, Refusal, with_place
from airflow_provider_odf.dialect.translate import input_columns, spark_columns, translate
from airflow_provider_odf.dialect.types import EVERY_COLUMN, Columns, column_type
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.manifest import ddl
from airflow_provider_odf.manifest import model as e
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.names import DatasetAlias, parse_ref
from airflow_provider_odf.manifest.place_in_text import query_place
from airflow_provider_odf.protocol import Column, DatasetVocabulary

_FORMATS = ("Csv", "Json", "NdJson", "Parquet")
"""Kinds of readers that return the columns of their schema and no others."""
_SYSTEM_TYPES = ("BIGINT", "INT", "TIMESTAMP", "TIMESTAMP")
"""Types of the system columns, in the order of the vocabulary."""


def problems(manifests: Sequence[Manifest]) -> Iterator[Problem]:
    """Yield a problem for each query of a transform that does not fit the declared columns of its inputs."""
    declared = _Declared({manifest.snapshot.alias: manifest for manifest in manifests})
    for manifest in manifests:
        for index, event in enumerate(manifest.snapshot.metadata):
            if isinstance(event, e.SetTransform):
                try:
                    _check(event, declared)
                except QueryRefusal as refusal:
                    place = query_place(
                        manifest, (index, "transform"), event.transform, refusal.number, refusal.line, refusal.column
                    )
                    yield Problem(place, refusal.message, refusal.advice)


def _check(event: e.SetTransform, declared: _Declared) -> None:
    """:raises QueryRefusal: a column does not exist, or the engine refuses the query for the types of the columns."""
    inputs = declared.inputs(event)
    if inputs is None:
        return
    if event.transform.engine == "spark":
        _check_names(event, inputs)
    elif all(column_type(column.type).is_known for i in inputs.values() for column in i.columns):
        derivative.translate(event.transform, inputs)


def _check_names(event: e.SetTransform, inputs: Mapping[str, derivative.Input]) -> None:
    tables = {name.lower(): {column.name.lower() for column in i.columns} for name, i in inputs.items()}
    columns = set[str]().union(*tables.values())
    for number, step in enumerate(event.transform.steps, 1):
        try:
            spark_check.check_columns(step.query, tables, columns)
        except Refusal as refusal:
            raise with_place(refusal, step.query, number) from refusal
        alias, result = (step.alias or "").lower(), spark_columns(step.query)
        if result.others is None:
            own = {name.lower() for name, _ in result.items}
        elif not spark_check.has_names(step.query, (*tables, alias)):
            return
        else:
            own = columns | spark_check.given_names(step.query)
        tables[alias] = own
        columns |= own


@dataclass(frozen=True)
class _Declared:
    """Columns of datasets, by their manifests."""

    manifests: Mapping[DatasetAlias, Manifest]
    _known: dict[DatasetAlias, derivative.Input | None] = field(default_factory=dict)

    def inputs(self, event: e.SetTransform) -> dict[str, derivative.Input] | None:
        """Return the inputs of a transform by their names in queries, or None if the manifest of one does not say its
        columns."""
        inputs = {}
        for item in event.inputs:
            ref = parse_ref(item.dataset_ref)
            declared = self._dataset(ref) if isinstance(ref, DatasetAlias) else None
            if declared is None:
                return None
            inputs[item.alias or item.dataset_ref] = declared
        return inputs

    def _dataset(self, alias: DatasetAlias) -> derivative.Input | None:
        if alias not in self._known:
            self._known[alias] = None  # a dataset that reads itself
            manifest = self.manifests.get(alias)
            if manifest is not None:
                self._known[alias] = self._input(manifest)
        return self._known[alias]

    def _input(self, manifest: Manifest) -> derivative.Input | None:
        events = manifest.snapshot.metadata
        if any(isinstance(event, e.SetDataSchema) for event in events):
            return None
        vocabulary = ddl.vocabulary(manifest.snapshot.last(e.SetVocab))
        columns: list[Column] = []
        for event in events:
            own: Columns | None = Columns()
            if isinstance(event, e.SetPollingSource | e.AddPushSource):
                own = _of_source(event)
            elif isinstance(event, e.SetTransform):
                own = self._of_transform(event)
            if own is None or own.others is not None:
                return None
            columns += [Column(name, type_.ddl if type_.is_known else "") for name, type_ in own.items]
        is_derivative = any(isinstance(event, e.SetTransform) for event in events)
        return derivative.Input(_with_system_columns(columns, vocabulary), vocabulary, is_derivative)

    def _of_transform(self, event: e.SetTransform) -> Columns | None:
        if event.transform.engine == "spark":
            return spark_columns(event.transform.steps[-1].query)
        inputs = self.inputs(event)
        try:
            return derivative.translate(event.transform, inputs).columns if inputs is not None else None
        except QueryRefusal:
            return None


def _of_source(source: e.SetPollingSource | e.AddPushSource) -> Columns | None:
    if source.read.kind not in _FORMATS:
        return None
    read = input_columns(ddl.read_step(source.read))
    try:
        if source.preprocess is not None:
            return translate(source.preprocess, {"input": read}).columns
    except QueryRefusal:
        return None
    if read is None or any(column.name == EVERY_COLUMN for column in read):
        return None
    return Columns.declared(read)


def _with_system_columns(columns: Sequence[Column], vocabulary: DatasetVocabulary) -> tuple[Column, ...]:
    """Return the system columns, which a dataset has even if no source or query declares them, and the others."""
    system = [Column(name, type_) for name, type_ in zip(vocabulary.columns, _SYSTEM_TYPES, strict=True)]
    names = {name.lower() for name in vocabulary.columns}
    return (*system, *(column for column in columns if column.name.lower() not in names))
