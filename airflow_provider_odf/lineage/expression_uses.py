"""What an expression of SQL does with each of its parts.

Where several answers are possible, they are those of OpenLineage's listener for Spark: COALESCE chooses by its
arguments, and so uses them as conditions, too; numbers of rows and hashes mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from sqlglot import exp

from airflow_provider_odf.lineage.column_uses import Way

MASKS = frozenset((
    "crc32", "digest", "hash", "hll", "mask", "md5", "md5_digest", "murmur_hash", "sha", "sha1", "sha1_digest",
    "sha2", "sha2_digest", "sha224", "sha256", "sha384", "sha512", "xxhash64",
))  # fmt: skip
"""Functions whose result does not show their arguments, in the dialects."""

_COUNTS = frozenset(("approx_count_distinct", "approx_distinct", "count", "count_if", "regr_count"))

_ROWS = frozenset(
    ("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "unnest")
)
"""Functions that return rows."""

_AGGREGATES = frozenset((
    "any", "bit_and", "bit_or", "bit_xor", "bitmap_construct_agg", "bitmap_or_agg", "bool_and", "bool_or",
    "collect_list", "collect_set", "count_min_sketch", "every", "first", "grouping", "histogram_numeric",
    "hll_sketch_agg", "hll_union_agg", "last", "listagg", "max_by", "mean", "median", "min_by", "mode",
    "percentile", "percentile_approx", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope",
    "regr_sxx", "regr_sxy", "regr_syy", "skewness", "some", "std", "string_agg", "theta_sketch_agg",
    "theta_union_agg", "try_avg", "try_sum", "array_agg", "avg", "count", "max", "min", "sum", "stddev", "variance",
    "approx_median", "approx_percentile_cont", "corr", "covar_pop", "covar_samp", "first_value", "last_value",
    "nth_value", "var_pop", "var_samp", "stddev_pop", "stddev_samp",
))  # fmt: skip
"""Aggregate functions that a parser may leave without a class."""

_NO_AGGREGATES = (exp.Lag, exp.Lead, exp.Ntile)
"""Functions of windows that sqlglot has among its aggregates."""


class Part(NamedTuple):
    """A part of an expression, and how the expression uses it."""

    node: exp.Expr
    way: Way = "TRANSFORMATION"
    is_masking: bool = False


def name_of(node: exp.Expr) -> str:
    """Return the name of a function in lower case, or an empty text."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return str(node.name).lower()
    return str(node.sql_name()).lower() if isinstance(node, exp.Func) else ""


def makes_rows(node: exp.Expr) -> bool:
    """Whether an expression decides how many rows there are."""
    return isinstance(node, exp.UDTF) or name_of(node) in _ROWS


def parts(node: exp.Expr) -> Iterator[Part]:
    """Yield the parts of an expression that is no column and no query."""
    rule = next((_RULES[kind] for kind in type(node).__mro__ if kind in _RULES), None)
    if rule is None and isinstance(node, exp.Anonymous):
        rule = _NAMED.get(name_of(node))
    return iter(rule(node) if rule else _function(node))


def _function(node: exp.Expr) -> Iterator[Part]:
    name = name_of(node)
    counts = name in _COUNTS
    aggregates = counts or name in _AGGREGATES or isinstance(node, exp.AggFunc)
    way: Way = "AGGREGATION" if aggregates and not isinstance(node, _NO_AGGREGATES) else "TRANSFORMATION"
    for child in node.iter_expressions():
        # In ``count(*)``, the argument stands for rows and not for all columns.
        if not (isinstance(node, exp.Count) and isinstance(child, exp.Star) and not any(child.args.values())):
            yield Part(child, way, counts or name in MASKS)


def _each(nodes: Iterable[exp.Expr | None], way: Way) -> Iterator[Part]:
    return (Part(node, way) for node in nodes if isinstance(node, exp.Expr))


def _case(node: exp.Expr) -> Iterator[Part]:
    """Yield the parts of CASE: what it compares decides, and what it returns is direct."""
    yield from _each([node.this or None], "CONDITIONAL")
    for branch in node.args["ifs"]:
        yield from _if(branch)
    yield from _each([node.args.get("default")], "TRANSFORMATION")


def _if(node: exp.Expr) -> Iterator[Part]:
    yield Part(node.this, "CONDITIONAL")
    yield from _each([node.args.get("true"), node.args.get("false")], "TRANSFORMATION")


def _if_named(node: exp.Expr) -> Iterator[Part]:
    condition, *values = node.expressions
    yield Part(condition, "CONDITIONAL")
    yield from _each(values, "TRANSFORMATION")


def _choice(node: exp.Expr) -> Iterator[Part]:
    """Yield the arguments of COALESCE: each may be the result, and decides whether the next one is."""
    for child in node.iter_expressions():
        yield from (Part(child), Part(child, "CONDITIONAL"))


def _unless_equal(node: exp.Expr) -> Iterator[Part]:
    """Yield the arguments of NULLIF: the first one is the result, and both decide."""
    value, *others = node.iter_expressions()
    yield from (Part(value), Part(value, "CONDITIONAL"))
    yield from _each(others, "CONDITIONAL")


def _decode(node: exp.Expr) -> Iterator[Part]:
    """Yield the arguments of DECODE: a value, then pairs of what it may be and a result, then another result."""
    value, *rest = node.expressions
    yield Part(value, "CONDITIONAL")
    for number, child in enumerate(rest):
        yield Part(child, "CONDITIONAL" if number % 2 == 0 and number + 1 < len(rest) else "TRANSFORMATION")


def _window(node: exp.Expr) -> Iterator[Part]:
    if not isinstance(node.this, exp.Identifier):
        yield from _each([node.this], "IDENTITY")
    yield from _each([*node.args.get("partition_by", ()), node.args.get("order")], "WINDOW")


def _order(node: exp.Expr) -> Iterator[Part]:
    """Yield the parts of an ORDER BY inside of an aggregate, which has the aggregated value in front of it."""
    yield from _each([node.this], "IDENTITY")
    yield from _each(node.expressions, "SORT" if node.this else "IDENTITY")


def _within_group(node: exp.Expr) -> Iterator[Part]:
    """Yield the parts of WITHIN GROUP: percentiles are of the sorted values, lists have their own."""
    yield Part(node.this, "IDENTITY")
    has_values = node.this.find(exp.Column) is not None
    yield Part(node.expression, "SORT" if has_values else "AGGREGATION")


_Rule = Callable[[exp.Expr], Iterator[Part]]

_RULES: Mapping[type, _Rule] = {
    # What follows the value are names.
    **dict.fromkeys((exp.Alias, exp.Aliases, exp.Ordered), lambda node: _each([node.this], "IDENTITY")),
    **dict.fromkeys(
        (exp.Paren, exp.Distinct, exp.IgnoreNulls, exp.RespectNulls, exp.Where),
        lambda node: _each(node.iter_expressions(), "IDENTITY"),
    ),
    exp.Case: _case,
    exp.If: _if,
    exp.Nvl2: _if,
    exp.Coalesce: _choice,
    exp.Nullif: _unless_equal,
    exp.DecodeCase: _decode,
    exp.Filter: lambda node: iter((Part(node.this, "IDENTITY"), Part(node.expression, "CONDITIONAL"))),
    exp.Window: _window,
    exp.Order: _order,
    exp.WithinGroup: _within_group,
}

_NAMED: Mapping[str, _Rule] = {
    "if": _if_named,
    "nvl2": _if_named,
    "decode": _decode,
    "nullif": _unless_equal,
    **dict.fromkeys(("coalesce", "ifnull", "nvl"), _choice),
}
"""Functions of grammars that parse no function of their own."""
