"""Logical types of the physical types of databases and of Spark."""

from __future__ import annotations

import re

_TYPES = {
    **dict.fromkeys(("char", "character", "nchar", "nvarchar", "varchar", "varchar2", "nvarchar2"), "string"),
    **dict.fromkeys(("string", "text", "clob", "character varying", "uuid"), "string"),
    **dict.fromkeys(("tinyint", "smallint", "int", "integer", "int2", "int4", "mediumint"), "int"),
    **dict.fromkeys(("bigint", "long", "int8", "int64"), "long"),
    **dict.fromkeys(("decimal", "numeric", "number", "bignumeric", "money"), "decimal"),
    **dict.fromkeys(("float", "real", "double", "double precision", "float4", "float8", "float64"), "double"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("timestamp", "timestamptz", "timestamp_tz", "timestamp_ltz"), "timestamp"),
    **dict.fromkeys(("datetime", "datetime2", "datetimeoffset"), "timestamp"),
    **dict.fromkeys(("timestamp with time zone", "timestamp without time zone"), "timestamp"),
    "timestamp_ntz": "timestamp_ntz",
    "date": "date",
    "time": "time",
    **dict.fromkeys(("binary", "varbinary", "bytes", "bytea", "blob"), "bytes"),
    **dict.fromkeys(("array", "list"), "array"),
    **dict.fromkeys(("struct", "record", "object", "row"), "object"),
    "map": "map",
    "variant": "variant",
}


def logical_type(physical: str | None) -> str | None:
    """Return the logical type of a physical type, None if it is unknown.

    >>> logical_type("VARCHAR(18)")
    'string'
    """
    name = re.sub(r"\s*[(<].*", "", physical or "").strip().lower()
    return _TYPES.get(name)
