"""Expressions as SQL text. A call of a pyspark function takes several messages to the JVM, a text only one.

Those of contracts also run in DataFusion (`contract.datafusion_scan`), where they mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from pyspark.sql import types as st

from airflow_provider_odf.engine.schema import quoted

Sql: TypeAlias = str


def text(value: str) -> Sql:
    """Return a string literal. Sessions of the engine do not replace ``${…}`` in it (`session.BOUNDARY`)."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def matches(value: Sql, pattern: str) -> Sql:
    """Return SQL that tests whether a text matches a regular expression."""
    return f"regexp_like({value}, {text(pattern)})"


def select(columns: Iterable[Sql], rows: Sql, rest: Sql = "") -> Sql:
    """Return a query for columns of other rows: a query, or what follows its FROM; ``rest`` are its further clauses."""
    source = f"({rows}) AS r" if rows.startswith("SELECT ") else rows
    return f"SELECT {', '.join(columns)} FROM {source} {rest}".rstrip()  # noqa: S608 - of names and conditions


def count_if(condition: Sql) -> Sql:
    """Return SQL for the number of rows for which a condition is true."""
    return f"count({when(condition, '1')})"


def first_group(value: Sql, pattern: str) -> Sql:
    """Return SQL for the first group of a regular expression in a text, empty without a match."""
    return f"regexp_extract({value}, {text(pattern)}, 1)"


def when(condition: Sql, value: Sql) -> Sql:
    """Return SQL for a value if the condition is true, else null."""
    return f"CASE WHEN {condition} THEN {value} END"


def ddl(kind: st.DataType) -> Sql:
    """Return the DDL of a type. Field names may contain any character."""
    if isinstance(kind, st.ArrayType):
        return f"ARRAY<{ddl(kind.elementType)}>"
    if isinstance(kind, st.MapType):
        return f"MAP<{ddl(kind.keyType)}, {ddl(kind.valueType)}>"
    if isinstance(kind, st.StructType):
        return f"STRUCT<{', '.join(f'{quoted(f.name)}: {ddl(f.dataType)}' for f in kind)}>"
    return kind.simpleString().upper()
