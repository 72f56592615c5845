"""URNs and schemas of datasets, as DataHub's own sources of table formats write them.

URNs are the same in every run and on every machine. The URN of a dataset is what DataHub's own code makes of its
OpenLineage name, so assertions and lineage are on one page. A plain column has its name as path. Fields inside of
structs, arrays and maps have paths of DataHub's version 2, which name the types on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from datahub.emitter import mce_builder as builder
from datahub.emitter.mce_builder import make_tag_urn
from datahub.metadata import schema_classes as dh
from datahub.utilities.hive_schema_to_avro import get_schema_fields_for_hive_column

from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.protocol import Column

PLATFORM = "odf"
"""Platform of assertions: the tool that tests them."""

_PLATFORMS = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "wasb", "wasbs"), "abs"),
    "dbfs": "dbfs",
    "file": "file",
}
"""Scheme of files and objects -> platform. Their names include the bucket, container or host."""

_RENAMED = {"sqlserver": "mssql", "awsathena": "athena"}


def dataset_urn(dataset: Identifier, env: str) -> str:
    """Return the URN of a dataset with an OpenLineage name; ``env`` is DataHub's environment, such as ``PROD``."""
    scheme, separator, location = dataset.namespace.partition("://")
    parts = [part for part in dataset.name.split(".") if part not in ("", "None")]
    name = ".".join(parts) or dataset.name
    if separator and (platform := _PLATFORMS.get(scheme.lower())):
        name = f"{location.rstrip('/')}/{name.lstrip('/')}".rstrip("/")
        name = (name or "/") if platform == "file" else name.lstrip("/")
        return str(builder.make_dataset_urn(platform, name, env))
    return str(builder.make_dataset_urn(_RENAMED.get(scheme, scheme), name, env))


def platform_of(dataset: str) -> str:
    """Return the URN of the platform of a dataset's URN."""
    return dataset.removeprefix("urn:li:dataset:(").partition(",")[0]


def assertion_urn(contract: str, dataset: str, path: str) -> str:
    """Return the URN of a clause: of a contract's id, the URN of a dataset, and the clause's JSON pointer."""
    guid = builder.datahub_guid({"platform": PLATFORM, "contract": contract, "dataset": dataset, "clause": path})
    return str(builder.make_assertion_urn(guid))


def field_urn(dataset: str, path: str) -> str:
    """Return the URN of a field; ``path`` is that in the dataset's `schemaMetadata`."""
    return str(builder.make_schema_field_urn(dataset, path))


_CLASSES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"), dh.NumberTypeClass),
    **dict.fromkeys(("INTEGER", "LONG", "NUMBER", "NUMERIC"), dh.NumberTypeClass),
    **dict.fromkeys(("STRING", "TEXT", "VARCHAR", "VARIANT", "JSON"), dh.StringTypeClass),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_TZ", "TIME"), dh.TimeTypeClass),
    **dict.fromkeys(("OBJECT", "RECORD", "STRUCT"), dh.RecordTypeClass),
    **dict.fromkeys(("BINARY", "BYTES"), dh.BytesTypeClass),
    "BOOLEAN": dh.BooleanTypeClass,
    "DATE": dh.DateTypeClass,
    "ARRAY": dh.ArrayTypeClass,
    "MAP": dh.MapTypeClass,
    "NULL": dh.NullTypeClass,
}
"""Spark's type or a contract's -> DataHub's class."""

_NESTED = ("STRUCT", "ARRAY", "MAP")


def schema_metadata(name: str, platform: str, fields: Iterable[dh.SchemaFieldClass]) -> dh.SchemaMetadataClass:
    """Return the schema of a dataset on a platform, given by its URN."""
    return dh.SchemaMetadataClass(
        schemaName=name, platform=platform, version=0, hash="", platformSchema=dh.OtherSchemaClass(""), fields=[*fields]
    )


def schema_fields(
    columns: Iterable[Column], tags: Mapping[str, Iterable[str]] | None = None
) -> Iterator[dh.SchemaFieldClass]:
    """Yield the fields of columns, with the fields inside of them.

    :param tags: names of tags by column; fields inside of a column have them, too.
    """
    for column in columns:
        if _word(column.type) in _NESTED:
            fields = [*get_schema_fields_for_hive_column(column.name, _hive(column.type), default_nullable=True)]
        else:
            fields = [schema_field(column.name, column.type, is_nullable=column.is_nullable)]
        own = [dh.TagAssociationClass(make_tag_urn(name)) for name in (tags or {}).get(column.name, ())]
        for field in fields:
            field.globalTags = dh.GlobalTagsClass(own) if own else None
            yield field


def schema_field(path: str, native_type: str, *, is_nullable: bool = True) -> dh.SchemaFieldClass:
    """Return one field; ``native_type`` is a type of Spark or of a contract."""
    kind: Any = _CLASSES.get(_word(native_type), dh.NullTypeClass)
    return dh.SchemaFieldClass(path, dh.SchemaFieldDataTypeClass(kind()), native_type, nullable=is_nullable)


def field_paths(columns: Iterable[Column]) -> dict[str, str]:
    """Return the path of each field in DataHub's schema, by its dotted path in lower case."""
    return {plain_path(field.fieldPath): field.fieldPath for field in schema_fields(columns)}


def plain_path(path: str) -> str:
    """Return a path of a contract or of DataHub's version 2 as names with dots, in lower case.

    >>> plain_path("[version=2.0].[type=struct].[type=array].[type=struct].Lines.[type=string].sku")
    'lines.sku'
    >>> plain_path("lines[].sku"), plain_path("names{value}")
    ('lines.sku', 'names')
    """
    plain = re.sub(r"\[(version|type)=\w[\w.]*\]\.?|\[\]|\{(key|value)\}", "", path)
    return plain.strip(".").lower()


def _word(native_type: str) -> str:
    match = re.match(r"\w+", native_type.strip())
    return match[0].upper() if match else ""


def _hive(spark_type: str) -> str:
    """Return a type in Hive's notation: types in lower case, no NOT NULL, no spaces."""
    text = re.sub(r"\s+NOT NULL\b", "", spark_type)
    lower = re.sub(r"(?<![\w`])[A-Z][A-Z_]*(?=[<(,>\s]|$)", lambda word: word[0].lower(), text)
    return re.sub(r"(?<=[,:<])\s+", "", lower)
