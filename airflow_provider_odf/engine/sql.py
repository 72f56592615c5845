"""Expressions as SQL text: each call of a function of pyspark is several messages to the JVM, a text is one for all."""

from __future__ import annotations

from typing import TypeAlias

from pyspark.sql import types as st

from airflow_provider_odf.engine.schema import quoted

Sql: TypeAlias = str


def text(value: str) -> Sql:
    """A literal. Sessions of the engine replace no ``${…}`` in it (`session.BOUNDARY`)."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def matches(value: Sql, pattern: str) -> Sql:
    """Whether a text has what a regular expression describes."""
    return f"{value} RLIKE {text(pattern)}"


def extracted(value: Sql, pattern: str) -> Sql:
    """The first group of a regular expression in a text, empty where there is none."""
    return f"regexp_extract({value}, {text(pattern)}, 1)"


def when(condition: Sql, value: Sql) -> Sql:
    """A value where the condition holds, else null."""
    return f"CASE WHEN {condition} THEN {value} END"


def ddl(kind: st.DataType) -> Sql:
    """A type; names in it may be anything."""
    if isinstance(kind, st.ArrayType):
        return f"ARRAY<{ddl(kind.elementType)}>"
    if isinstance(kind, st.MapType):
        return f"MAP<{ddl(kind.keyType)}, {ddl(kind.valueType)}>"
    if isinstance(kind, st.StructType):
        return f"STRUCT<{', '.join(f'{quoted(f.name)}: {ddl(f.dataType)}' for f in kind)}>"
    return kind.simpleString().upper()
