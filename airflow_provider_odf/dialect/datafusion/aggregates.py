"""DataFusion's aggregate and window functions.

The sum of floating-point numbers depends on their order in any engine; everything else is the same to the last bit.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule, NodeRule
from airflow_provider_odf.dialect.parameters import boolean
from airflow_provider_odf.dialect.typed import Typed, call, cast, converted, number
from airflow_provider_odf.dialect.types import BIGINT, BOOLEAN, DOUBLE, MAX_PRECISION, Type, decimal

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


def sum_(c: Call) -> Typed:
    c.expect(1)
    value = c.argument(0)
    if value.type.is_integer:
        return Typed(call("sum", value.sql), BIGINT)
    if value.type.is_float:
        return Typed(call("sum", value.sql), DOUBLE)
    if value.type.name == "DECIMAL":
        precision = min(value.type.precision + 10, MAX_PRECISION)
        return Typed(call("sum", value.sql), decimal(precision, value.type.scale))
    raise c.refusal(f"needs a number of known type, not {value.type}", "cast it to a number")


def avg(c: Call) -> Typed:
    c.expect(1)
    value = c.argument(0)
    if not (value.type.is_integer or value.type == DOUBLE):
        raise c.refusal(f"is translated for whole numbers and DOUBLE, not {value.type}", "cast it to DOUBLE")
    return Typed(call("avg", converted(value, DOUBLE)), DOUBLE)


def extreme(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        value = c.argument(0)
        if value.type.is_known and value.type.name not in _ORDERED:
            raise c.refusal(f"is not translated for {value.type}")
        return Typed(call(name, value.sql), value.type)

    return rule


def of_booleans(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        return Typed(call(name, boolean(c, 0)), BOOLEAN)

    return rule


def of_bits(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        if not c.argument(0).type.is_integer:
            raise c.refusal(f"needs a whole number, not {c.argument(0).type}")
        return Typed(call(name, c.argument(0).sql), c.argument(0).type)

    return rule


def ranking(name: str, type_: Type = BIGINT) -> FunctionRule:
    """Ranks are unsigned in DataFusion; BIGINT holds them."""

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


def edge(name: str) -> FunctionRule:
    def rule(c: Call) -> Typed:
        c.expect(1)
        return Typed(call(name, c.argument(0).sql), c.argument(0).type)

    return rule


def nth_value(c: Call) -> Typed:
    c.expect(2)
    position = c.argument(1).integer
    if position is None or position < 1:
        raise c.refusal("the position must be a literal from 1 on")
    return Typed(call("nth_value", c.argument(0).sql, number(position)), c.argument(0).type)


AGGREGATES: dict[str, FunctionRule] = {
    "avg": avg,
    "bit_and": of_bits("bit_and"),
    "bit_or": of_bits("bit_or"),
    "bit_xor": of_bits("bit_xor"),
    "bool_and": of_booleans("bool_and"),
    "bool_or": of_booleans("bool_or"),
    "count": count,
    "max": extreme("max"),
    "mean": avg,
    "min": extreme("min"),
    "sum": sum_,
}

WINDOWS: dict[str, FunctionRule] = {
    "cume_dist": ranking("cume_dist", DOUBLE),
    "dense_rank": ranking("dense_rank"),
    "first_value": edge("first_value"),
    "lag": neighbour("lag"),
    "last_value": edge("last_value"),
    "lead": neighbour("lead"),
    "nth_value": nth_value,
    "ntile": ntile,
    "percent_rank": ranking("percent_rank", DOUBLE),
    "rank": ranking("rank"),
    "row_number": ranking("row_number"),
}

NODES: dict[type[exp.Expr], NodeRule] = {exp.Star: lambda t, node: Typed(exp.Star(), BIGINT)}
