"""Aggregate and window functions that Flink, RisingWave and Spark mean alike."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule
from airflow_provider_odf.dialect.typed import Typed, call, cast
from airflow_provider_odf.dialect.types import BIGINT, DOUBLE, Type

_ORDERED = (
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "STRING",
    "DATE",
    "TIMESTAMP",
    "BOOLEAN",
)


def count(c: Call) -> Typed:
    if not c.arguments or any(isinstance(a.sql, exp.Star) for a in c.arguments):
        return Typed(call("count", exp.Star()), BIGINT)
    return Typed(call("count", *[a.sql for a in c.arguments]), BIGINT)


def extreme(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        value = c.argument(0)
        if value.type.is_known and value.type.name not in _ORDERED:
            raise c.refusal(f"is not translated for {value.type}")
        return Typed(call(name, value.sql), value.type)

    return rule


def ranking(name: str, type_: Type = BIGINT) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(0)
        return Typed(cast(call(name), BIGINT) if type_ == BIGINT else call(name), type_)

    return rule


def ntile(c: Call) -> Typed:
    c.expect(1)
    buckets = c.argument(0).integer
    if buckets is None or buckets < 1:
        raise c.refusal("needs a literal number of buckets")
    return Typed(cast(call("ntile", buckets), BIGINT), BIGINT)


def neighbour(name: str) -> FunctionRule:
    """lag and lead with an optional distance and value for the rows at the edge."""

    def rule(c: Call) -> Typed:
        c.expect(1, 3)
        value = c.argument(0)
        distance = c.argument(1).integer if len(c.arguments) > 1 else 1
        if distance is None or distance < 0:
            raise c.refusal("the distance must be a literal whole number, not negative")
        default = [c.argument(2)] if len(c.arguments) == 3 else []
        if default and default[0].type != value.type:
            raise c.refusal(f"the value at the edge must be {value.type}, not {default[0].type}", "cast it")
        return Typed(call(name, value.sql, distance, *[d.sql for d in default]), value.type)

    return rule


WINDOWS: dict[str, FunctionRule] = {
    "dense_rank": ranking("dense_rank"),
    "lag": neighbour("lag"),
    "lead": neighbour("lead"),
    "ntile": ntile,
    "percent_rank": ranking("percent_rank", DOUBLE),
    "rank": ranking("rank"),
    "row_number": ranking("row_number"),
}
