"""Check queries of Spark over the columns that manifests declare: those of a root with a schema, and of a derivative
whose result has named columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_odf.dialect import spark_check
from airflow_provider_odf.dialect.place import QueryRefusal, Refusal, with_place
from airflow_provider_odf.dialect.translate import input_columns, spark_columns, translate
from airflow_provider_odf.dialect.types import EVERY_COLUMN, Columns
from airflow_provider_odf.errors import Problem
from airflow_provider_odf.manifest import ddl
from airflow_provider_odf.manifest import events as e
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.names import DatasetAlias, parse_ref
from airflow_provider_odf.manifest.place_in_text import query_place

_FORMATS = ("Csv", "Json", "NdJson", "Parquet")
"""Kinds of readers that return the columns of their schema and no others."""


def problems(manifests: Sequence[Manifest]) -> Iterator[Problem]:
    """Yield a problem for each query of a transform that reads a column which no manifest declares."""
    declared = _Declared({manifest.snapshot.alias: manifest for manifest in manifests})
    for manifest in manifests:
        for index, event in enumerate(manifest.snapshot.metadata):
            if isinstance(event, e.SetTransform) and event.transform.engine == "spark":
                try:
                    _check(event, declared)
                except QueryRefusal as refusal:
                    place = query_place(
                        manifest, (index, "transform"), event.transform, refusal.number, refusal.line, refusal.column
                    )
                    yield Problem(place, refusal.message, refusal.advice)


def _check(event: e.SetTransform, declared: _Declared) -> None:
    """:raises QueryRefusal: a column does not exist."""
    tables, columns = set[str](), set[str]()
    for item in event.inputs:
        ref = parse_ref(item.dataset_ref)
        names = declared.columns(ref) if isinstance(ref, DatasetAlias) else None
        if names is None:
            return
        tables.add((item.alias or item.dataset_ref).lower())
        columns |= names
    for number, step in enumerate(event.transform.steps, 1):
        try:
            spark_check.check_columns(step.query, tables, columns)
        except Refusal as refusal:
            raise with_place(refusal, step.query, number) from refusal
        tables.add((step.alias or "").lower())
        result = _names(spark_columns(step.query))
        if result is None and step.alias is not None and spark_check.parsed(step.query) is None:
            return
        columns |= result or spark_check.given_names(step.query)


@dataclass(frozen=True)
class _Declared:
    """Columns of datasets, by their manifests."""

    manifests: Mapping[DatasetAlias, Manifest]
    _known: dict[DatasetAlias, frozenset[str] | None] = field(default_factory=dict)

    def columns(self, alias: DatasetAlias) -> frozenset[str] | None:
        """Return the names of the columns of a dataset in lower case, with those of the system, or None if its manifest
        does not say them."""
        if alias not in self._known:
            self._known[alias] = None  # a dataset that reads itself
            manifest = self.manifests.get(alias)
            if manifest is not None:
                self._known[alias] = _columns(manifest)
        return self._known[alias]


def _columns(manifest: Manifest) -> frozenset[str] | None:
    events = manifest.snapshot.metadata
    if any(isinstance(event, e.SetDataSchema) for event in events):
        return None
    vocabulary = ddl.vocabulary(manifest.snapshot.last(e.SetVocab))
    names = set(map(str.lower, vocabulary.columns))
    for event in events:
        own: frozenset[str] | None = frozenset()
        if isinstance(event, e.SetPollingSource | e.AddPushSource):
            own = _of_source(event)
        elif isinstance(event, e.SetTransform):
            own = _names(spark_columns(event.transform.steps[-1].query)) if event.transform.engine == "spark" else None
        if own is None:
            return None
        names |= own
    return frozenset(names)


def _of_source(source: e.SetPollingSource | e.AddPushSource) -> frozenset[str] | None:
    if source.read.kind not in _FORMATS:
        return None
    read = input_columns(ddl.read_step(source.read))
    try:
        if source.preprocess is not None:
            return _names(translate(source.preprocess, {"input": read}).columns)
    except QueryRefusal:
        return None
    if read is None or any(column.name == EVERY_COLUMN for column in read):
        return None
    return frozenset(column.name.lower() for column in read)


def _names(columns: Columns) -> frozenset[str] | None:
    return frozenset(name.lower() for name, _ in columns.items) if columns.others is None else None
