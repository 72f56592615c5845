"""SQL of the expressions that can be keys: deterministic functions of columns that Spark prints and reads alike.

Only what is listed here is used. An expression that is not listed is no key, which costs time but is never wrong. Casts
and arithmetic give null where the query would fail: the query may have filtered out such rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.engine.transform.collations import is_collated
from airflow_provider_odf.engine.transform.plan_tree import Expression

_FUNCTIONS = {
    "Upper": "upper", "Lower": "lower", "Year": "year", "Quarter": "quarter", "Month": "month", "DayOfMonth": "day",
    "WeekOfYear": "weekofyear", "Hour": "hour", "Minute": "minute", "Second": "second", "Length": "length",
    "Coalesce": "coalesce", "Concat": "concat", "Substring": "substring", "TruncTimestamp": "date_trunc", "TruncDate":
    "trunc", "Floor": "floor", "Ceil": "ceil", "DateAdd": "date_add", "DateSub": "date_sub",
}  # fmt: skip
"""Class of an expression -> the function with the same arguments. None of them can fail, as abs can by an overflow."""

_ARITHMETIC = {"Add": "try_add", "Subtract": "try_subtract", "Multiply": "try_multiply"}
_EXACT = ("long", "integer", "short", "byte")
_LITERALS = (*_EXACT, "string", "boolean", "date", "timestamp", "timestamp_ntz")
_NO_KEY = ("float", "double", "variant", "map", "struct", "array", "interval")


def key_sql(expression: Expression, columns: Mapping[int, str]) -> str | None:
    """Return an expression in SQL, with the SQL of the columns that it reads, or None if it cannot be a key."""
    kind = class_name(expression)
    if kind == "AttributeReference":
        if not _is_comparable(expression["dataType"]):
            return None
        return columns.get(expression["exprId"]["id"], quoted(expression["name"]) if not columns else None)
    if kind == "Literal":
        return _literal(expression)
    below = [key_sql(part, columns) for part in expression["below"]]
    if not all(below):
        return None
    inner = [part for part in below if part is not None]
    if kind == "Cast" and _is_comparable(expression["dataType"]) and not _is_time(expression["dataType"]):
        return f"TRY_CAST({inner[0]} AS {expression['dataType']})"
    if kind in _ARITHMETIC:
        return f"{_ARITHMETIC[kind]}({', '.join(inner)})"
    return f"{_FUNCTIONS[kind]}({', '.join(inner)})" if kind in _FUNCTIONS else None


def _literal(expression: Expression) -> str | None:
    kind, value = expression["dataType"], expression["value"]
    if kind not in _LITERALS or value is None:
        return None
    return text(value) if kind == "string" else f"CAST({text(str(value))} AS {kind})"


def _is_comparable(kind: Any) -> bool:
    return isinstance(kind, str) and not kind.startswith(_NO_KEY) and not is_collated(kind)


def _is_time(kind: str) -> bool:
    """Whether a value of a type can have microseconds, which the result does not keep: a time from text."""
    return kind.startswith("timestamp")
