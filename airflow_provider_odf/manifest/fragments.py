"""Fragments of the specification: read steps, transforms and merge strategies.

Members of the unions and fields have the order of the flatbuffers schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from airflow_provider_odf.manifest.base import Bool, Model, RefText, Spelled, Variant, refuse
from airflow_provider_odf.manifest.data_schema import DataSchema


def ddl_list_apart(value: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping with a DDL list under ``schema`` moved to ``ddlSchema``."""
    if not isinstance(value.get("schema"), list) or value.get("ddlSchema") is not None:
        return value
    return {("ddlSchema" if key == "schema" else key): v for key, v in value.items() if key != "ddlSchema"}


class Read(Variant):
    """Read step. ``schema`` is an ODF schema or (until specification 0.37) a DDL list, which is stored in
    ``ddl_schema``."""

    @model_validator(mode="before")
    @classmethod
    def _ddl_list(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value.get("schema") is not None and value.get("ddlSchema") is not None:
            raise refuse("`schema` and `ddlSchema` cannot be used together", "keep one", ("ddlSchema",))
        return ddl_list_apart(value)


class ReadStepCsv(Read):
    kind: Literal["Csv"] = "Csv"
    ddl_schema: tuple[str, ...] | None = None
    separator: str | None = None
    encoding: str | None = None
    quote: str | None = None
    escape: str | None = None
    header: Bool | None = None
    infer_schema: Bool | None = None
    null_value: str | None = None
    date_format: str | None = None
    timestamp_format: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepGeoJson(Read):
    kind: Literal["GeoJson"] = "GeoJson"
    ddl_schema: tuple[str, ...] | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepEsriShapefile(Read):
    kind: Literal["EsriShapefile"] = "EsriShapefile"
    ddl_schema: tuple[str, ...] | None = None
    sub_path: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepParquet(Read):
    kind: Literal["Parquet"] = "Parquet"
    ddl_schema: tuple[str, ...] | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepJson(Read):
    """An array of objects, at ``subPath`` (``a.b.c``) or at the root."""

    kind: Literal["Json"] = "Json"
    sub_path: str | None = None
    ddl_schema: tuple[str, ...] | None = None
    date_format: str | None = None
    encoding: str | None = None
    timestamp_format: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepNdJson(Read):
    kind: Literal["NdJson"] = "NdJson"
    ddl_schema: tuple[str, ...] | None = None
    date_format: str | None = None
    encoding: str | None = None
    timestamp_format: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepNdGeoJson(Read):
    kind: Literal["NdGeoJson"] = "NdGeoJson"
    ddl_schema: tuple[str, ...] | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


ReadStep: TypeAlias = Annotated[
    ReadStepCsv
    | ReadStepGeoJson
    | ReadStepEsriShapefile
    | ReadStepParquet
    | ReadStepJson
    | ReadStepNdJson
    | ReadStepNdGeoJson,
    Field(discriminator="kind"),
    Spelled("read step", "ReadStep"),
]


class SqlQueryStep(Model):
    alias: str | None = None
    query: str


class TemporalTable(Model):
    name: str
    primary_key: tuple[str, ...]


class TransformSql(Variant):
    """Queries in the SQL of ``engine``. ``query`` is the short form of one query; blocks store only ``queries``."""

    kind: Literal["Sql"] = "Sql"
    engine: str
    version: str | None = None
    query: str | None = None
    queries: tuple[SqlQueryStep, ...] | None = None
    temporal_tables: tuple[TemporalTable, ...] | None = None

    @property
    def steps(self) -> tuple[SqlQueryStep, ...]:
        """Return the queries in order; the last has no alias and is the output."""
        return (SqlQueryStep(query=self.query),) if self.query is not None else self.queries or ()

    def normalized(self) -> TransformSql:
        """Return the transform with ``queries`` only, as the chain stores it."""
        return self if self.query is None else self.model_copy(update={"query": None, "queries": self.steps})


Transform: TypeAlias = Annotated[TransformSql, Spelled("transform", "Transform")]


class TransformInput(Model):
    """Input of a transform. ``datasetRef`` is the alias, the id or the location of a dataset; chains have its id.
    ``alias`` is its name in queries."""

    dataset_ref: RefText
    alias: str | None = None


class MergeStrategyAppend(Variant):
    kind: Literal["Append"] = "Append"

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Records have no key."""
        return ()


class MergeStrategyLedger(Variant):
    kind: Literal["Ledger"] = "Ledger"
    primary_key: tuple[str, ...]


class MergeStrategySnapshot(Variant):
    kind: Literal["Snapshot"] = "Snapshot"
    primary_key: tuple[str, ...]
    compare_columns: tuple[str, ...] | None = None


class MergeStrategyChangelogStream(Variant):
    kind: Literal["ChangelogStream"] = "ChangelogStream"
    primary_key: tuple[str, ...]


class MergeStrategyUpsertStream(Variant):
    kind: Literal["UpsertStream"] = "UpsertStream"
    primary_key: tuple[str, ...]


MergeStrategy: TypeAlias = Annotated[
    MergeStrategyAppend
    | MergeStrategyLedger
    | MergeStrategySnapshot
    | MergeStrategyChangelogStream
    | MergeStrategyUpsertStream,
    Field(discriminator="kind"),
    Spelled("merge strategy", "MergeStrategy"),
]
