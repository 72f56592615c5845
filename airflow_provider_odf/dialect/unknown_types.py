"""Values of unknown type. Where one type is expected, Spark checks the type in the data before it reads rows."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, sql
from airflow_provider_odf.dialect.types import DOUBLE, NULL, STRING, UNKNOWN, Type

_ADVICE = types.advice([UNKNOWN], "")
_NUMBER = "CASE WHEN typeof(a) IN ('int', 'bigint', 'double') THEN a ELSE raise_error(b) END"


def strictly(value: Value, type_: Type, what: str) -> Value:
    """Return a value of unknown type as ``type_``; the query fails if the data have another type.

    A value of known type is returned unchanged."""
    if value.type.is_known or not type_.is_known:
        return value
    # Through STRING, because Spark checks the types of all branches, even of unused ones.
    branch = "CAST(a AS STRING)" if type_ == STRING else f"CAST(CAST(a AS STRING) AS {type_.ddl})"
    check = f"CASE WHEN typeof(a) IN (b) THEN {branch} ELSE CAST(raise_error(c) AS {type_.ddl}) END"
    message = f"{what} must be {type_.ddl}, but the data has another type: {_ADVICE}"
    return Value(sql(check, value.sql, type_.ddl.lower(), message), type_)


def beside(node: exp.Expr, value: Value, other: Value) -> Value:
    """Return a side of a comparison in the type of the other side, or as any number beside a number.

    :raises Refusal: the types of both are unknown."""
    if value.type.is_known or other.type == NULL:
        return value
    if not other.type.is_known:
        raise Refusal(node, "the types of both sides are unknown", _ADVICE)
    if not (other.type.is_integer or other.type == DOUBLE):
        return strictly(value, other.type, "a column")
    message = f"a column must be a number, but the data has another type: {_ADVICE}"
    return Value(sql(_NUMBER, value.sql, message), UNKNOWN)
