"""Flink's aggregate and window functions: SUM and AVG keep the type of their argument."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import calls
from airflow_provider_odf.dialect.engine import Call, FunctionRule
from airflow_provider_odf.dialect.typed import Typed, call, cast, number, paren
from airflow_provider_odf.dialect.types import BIGINT, DOUBLE, MAX_PRECISION, decimal

_ORDERED = (
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "DATE", "TIMESTAMP", "BOOLEAN",
    "UNKNOWN",
)  # fmt: skip


def total(c: Call) -> Typed:
    """SUM. One that its type does not hold stops the query, where Flink wraps around."""
    value = c.only()
    form = call("sum", value.sql)
    if value.type in (BIGINT, DOUBLE):
        return Typed(form, value.type)
    if value.type.is_integer:
        return Typed(cast(form, value.type), value.type)
    if value.type.is_decimal:
        type_ = decimal(MAX_PRECISION, value.type.scale)
        return Typed(cast(form, type_), type_)
    raise c.refusal(f"is translated for whole numbers, DECIMAL and DOUBLE, not {value.type}", "cast it to DOUBLE")


def average(c: Call) -> Typed:
    """AVG; of whole numbers a whole number."""
    value = c.only()
    if value.type == DOUBLE:
        return Typed(call("avg", value.sql), DOUBLE)
    if not value.type.is_integer:
        raise c.refusal(f"is translated for whole numbers and DOUBLE, not {value.type}", "cast it to DOUBLE")
    count = call("nullif", call("count", value.sql.copy()), number(0))
    return Typed(cast(paren(exp.IntDiv, call("sum", value.sql), count), value.type), value.type)


def edge(name: str) -> FunctionRule:
    """FIRST_VALUE and LAST_VALUE, which ignore nulls in Flink."""

    def rule(c: Call) -> Typed:
        value = c.only()
        return Typed(call(name, value.sql, exp.true()), value.type)

    return rule


AGGREGATES: dict[str, FunctionRule] = {
    "avg": average,
    "count": calls.count,
    "max": calls.extreme("max", _ORDERED),
    "min": calls.extreme("min", _ORDERED),
    "sum": total,
}
WINDOWS: dict[str, FunctionRule] = {
    **calls.WINDOWS,
    "first_value": edge("first_value"),
    "last_value": edge("last_value"),
}
