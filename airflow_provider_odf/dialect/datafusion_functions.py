"""DataFusion's functions and what each is in Spark."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from airflow_provider_odf.dialect.calls import filtered
from airflow_provider_odf.dialect.datafusion_casts import convert
from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule
from airflow_provider_odf.dialect.expressions import common_type, one_of
from airflow_provider_odf.dialect.typed import Typed, call, cast
from airflow_provider_odf.dialect.types import BIGINT, DOUBLE, STRING, timestamp


def text(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        return Typed(call(name, c.string(0).sql), STRING)

    return rule


def coalesce(c: Call) -> Typed:
    values = list(c.arguments)
    type_ = common_type(c.node, values)
    return Typed(call("coalesce", *[one_of(v, type_) for v in values]), type_)


def seconds(c: Call) -> Typed:
    c.expect(1)
    return Typed(call("timestamp_seconds", convert(c.node, c.argument(0), BIGINT).sql), timestamp("s"))


def to_timestamp(c: Call) -> Typed:
    c.expect(1)
    return convert(c.node, c.argument(0), timestamp("ns"))


def row_number(c: Call) -> Typed:
    return Typed(cast(call("row_number"), BIGINT), BIGINT)


def pow_(c: Call) -> Typed:
    return Typed(
        call("power", convert(c.node, c.argument(0), DOUBLE).sql, convert(c.node, c.argument(1), DOUBLE).sql), DOUBLE
    )


def concat(c: Call) -> Typed:
    return Typed(call("concat_ws", "", *[c.string(i).sql for i in range(len(c.arguments))]), STRING)


SCALARS: Mapping[str, FunctionRule] = {
    "lower": text("lower"),
    "upper": text("upper"),
    "coalesce": coalesce,
    "to_timestamp_seconds": seconds,
    "to_timestamp": to_timestamp,
    "pow": pow_,
    "concat": concat,
}
AGGREGATES: Mapping[str, FunctionRule] = {}
WINDOWS: Mapping[str, FunctionRule] = {"row_number": row_number}
REASONS: Mapping[str, str] = {}
SYNTAX: Mapping[type[exp.Expr], NodeRule] = {exp.Filter: filtered}
