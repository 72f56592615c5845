"""Parts of a manifest in the engine's terms: columns as Spark DDL types, read steps, merge strategies and
vocabularies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pydantic.alias_generators import to_camel

from airflow_provider_odf import protocol
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import data_schema as d
from airflow_provider_odf.manifest import ddl_parser
from airflow_provider_odf.manifest.fragments import MergeStrategy, ReadStep
from airflow_provider_odf.manifest.model import SetVocab
from airflow_provider_odf.manifest.time_format import java_pattern
from airflow_provider_odf.protocol import Column
from airflow_provider_odf.read_steps import python_encoding

_SPARK_TYPES = {
    "Binary": "BINARY",
    "Bool": "BOOLEAN",
    "Date": "DATE",
    "Float16": "FLOAT",
    "Float32": "FLOAT",
    "Float64": "DOUBLE",
    "Int8": "TINYINT",
    "Int16": "SMALLINT",
    "Int32": "INT",
    "Int64": "BIGINT",
    "UInt8": ddl_parser.unsigned("TINYINT"),
    "UInt16": ddl_parser.unsigned("SMALLINT"),
    "UInt32": ddl_parser.unsigned("INT"),
    "UInt64": ddl_parser.unsigned("BIGINT"),
    "Time": "TIME(6)",
    "Timestamp": "TIMESTAMP",
    "String": "STRING",
}
_SPARK_PRECISION = 38


def columns(read: ReadStep) -> tuple[Column, ...] | None:
    """Return the declared columns, or None if the read step declares none.

    :raises InvalidInput: a definition cannot be parsed; loaded manifests have no such definitions.
    """
    if read.schema_ is not None:
        return odf_columns(read.schema_)
    if read.ddl_schema is None:
        return None
    try:
        return tuple(definition.column for text in read.ddl_schema for definition in ddl_parser.parse(text))
    except ddl_parser.DdlError as e:
        raise InvalidInput(f"schema {list(read.ddl_schema)}: {e}") from e


def odf_columns(schema: d.DataSchema) -> tuple[Column, ...]:
    """Return the columns of an ODF schema with Spark DDL types.

    :raises InvalidInput: Spark has no type for a column.
    """
    return tuple(Column(f.name, spark_type(f.type), isinstance(f.type, d.DataTypeOption)) for f in schema.fields)


def spark_type(data_type: d.DataType) -> str:
    """Return the Spark DDL type that holds every value of an ODF type.

    :raises InvalidInput: Spark has no such type.
    """
    nested: dict[type[Any], Callable[[Any], str]] = {
        d.DataTypeOption: lambda t: spark_type(t.inner),
        d.DataTypeList: lambda t: f"ARRAY<{spark_type(t.item_type)}>",
        d.DataTypeMap: lambda t: f"MAP<{spark_type(t.key_type)}, {spark_type(t.value_type)}>",
        d.DataTypeStruct: lambda t: f"STRUCT<{', '.join(map(_struct_field, t.fields))}>",
        d.DataTypeDecimal: _decimal,
    }
    if type(data_type) in nested:
        return nested[type(data_type)](data_type)
    if data_type.kind not in _SPARK_TYPES:
        raise InvalidInput(f"the type {data_type.kind} has no counterpart in Spark")
    return _SPARK_TYPES[data_type.kind]


def _struct_field(field: d.DataField) -> str:
    not_null = "" if isinstance(field.type, d.DataTypeOption) else " NOT NULL"
    return f"{ddl_parser.quoted(field.name)}: {spark_type(field.type)}{not_null}"


def _decimal(data_type: d.DataTypeDecimal) -> str:
    if data_type.precision > _SPARK_PRECISION or not 0 <= data_type.scale <= data_type.precision:
        raise InvalidInput(
            f"Decimal of precision {data_type.precision} and scale {data_type.scale} exceeds Spark's limits: "
            f"precision up to {_SPARK_PRECISION}, scale from 0 to the precision"
        )
    return f"DECIMAL({data_type.precision},{data_type.scale})"


def read_step(read: ReadStep) -> protocol.ReadStep:
    """Return the read step with its defaults filled in, its patterns in Java's notation and its encoding by Python's
    name.

    :raises InvalidInput: a schema or pattern cannot be parsed; loaded manifests have none of these.
    """
    options = {
        field.name: value
        for field in dataclasses.fields(protocol.ReadStep)
        if (value := getattr(read, field.name, None)) is not None
    }
    if "encoding" in options:
        options["encoding"] = _read_as("encoding", options["encoding"], python_encoding)
    for name in ("date_format", "timestamp_format"):
        if (pattern := getattr(read, name, None)) is not None:
            options[name] = _read_as(to_camel(name), pattern, java_pattern)
    return protocol.ReadStep(columns=columns(read), **options)


def _read_as(name: str, value: str, read: Callable[[str], str]) -> str:
    try:
        return read(value)
    except ValueError as e:
        raise InvalidInput(f"read.{name}: {e}") from e


def merge_strategy(merge: MergeStrategy) -> protocol.MergeStrategy:
    return protocol.MergeStrategy(
        kind=merge.kind,
        primary_key=merge.primary_key,
        compare_columns=getattr(merge, "compare_columns", None),
    )


def vocabulary(vocab: SetVocab | None) -> protocol.DatasetVocabulary:
    """Return the names of the system columns: those of the last SetVocab, with defaults for absent ones."""
    if vocab is None:
        return protocol.DatasetVocabulary()
    names = {name: value for name, value in vocab if name != "kind" and value is not None}
    return protocol.DatasetVocabulary(**names)
