"""Flink's aggregate and window functions: SUM and AVG keep the type of what they are of."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import aggregates as same
from airflow_provider_odf.dialect.engine import Call, FunctionRule
from airflow_provider_odf.dialect.typed import Typed, call, cast
from airflow_provider_odf.dialect.types import BIGINT, DOUBLE, MAX_PRECISION, decimal


def sum_(c: Call) -> Typed:
    """A sum that its type does not hold stops the query, where Flink wraps around."""
    c.expect(1)
    value = c.argument(0)
    total = call("sum", value.sql)
    if value.type in (BIGINT, DOUBLE):
        return Typed(total, value.type)
    if value.type.is_integer:
        return Typed(cast(total, value.type), value.type)
    if value.type.name == "DECIMAL":
        type_ = decimal(MAX_PRECISION, value.type.scale)
        return Typed(cast(total, type_), type_)
    raise c.refusal(f"is translated for whole numbers, DECIMAL and DOUBLE, not {value.type}", "cast it to DOUBLE")


def avg(c: Call) -> Typed:
    """Of whole numbers a whole number."""
    c.expect(1)
    value = c.argument(0)
    if value.type == DOUBLE:
        return Typed(call("avg", value.sql), DOUBLE)
    if not value.type.is_integer:
        raise c.refusal(f"is translated for whole numbers and DOUBLE, not {value.type}", "cast it to DOUBLE")
    total, count = call("sum", value.sql), call("count", value.sql.copy())
    is_none = exp.EQ(this=count.copy(), expression=exp.Literal.number(0))
    count = exp.Anonymous(this="if", expressions=[is_none, exp.Null(), count])
    return Typed(cast(exp.Paren(this=exp.IntDiv(this=total, expression=count)), value.type), value.type)


AGGREGATES: dict[str, FunctionRule] = {
    "avg": avg,
    "count": same.count,
    "max": same.extreme("max"),
    "min": same.extreme("min"),
    "sum": sum_,
}


def neighbour(name: str) -> FunctionRule:
    """LAG and LEAD without a value for the edge: with one Flink gives arbitrary values for nulls."""
    of_any = same.neighbour(name)

    def rule(c: Call) -> Typed:
        c.expect(1, 2)
        return of_any(c)

    return rule


def edge(name: str) -> FunctionRule:
    """FIRST_VALUE and LAST_VALUE pass over nulls in Flink."""

    def rule(c: Call) -> Typed:
        c.expect(1)
        return Typed(call(name, c.argument(0).sql, exp.true()), c.argument(0).type)

    return rule


WINDOWS: dict[str, FunctionRule] = {
    **{name: same.WINDOWS[name] for name in ("dense_rank", "ntile", "percent_rank", "rank", "row_number")},
    "first_value": edge("first_value"),
    "lag": neighbour("lag"),
    "last_value": edge("last_value"),
    "lead": neighbour("lead"),
}
