"""All of DataFusion's functions that are translated, and why well-known others are not."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from airflow_provider_odf.dialect.calls import filtered
from airflow_provider_odf.dialect.datafusion import aggregates, arrays, casts, conditions, numbers, text, times
from airflow_provider_odf.dialect.engine import FunctionRule, NodeRule
from airflow_provider_odf.dialect.parameters import CONDITIONS

_LAST_BIT = "its last bit depends on the mathematical library"
_ORDER = "its result depends on the order of the rows"
_APPROXIMATE = "it is approximate"
_DETAILS = "engines differ in details"

SCALARS: Mapping[str, FunctionRule] = {
    **CONDITIONS,
    **conditions.SCALARS,
    **text.SCALARS,
    **numbers.SCALARS,
    **times.SCALARS,
    **arrays.SCALARS,
    "arrow_cast": casts.arrow_cast,
}
AGGREGATES: Mapping[str, FunctionRule] = aggregates.AGGREGATES
WINDOWS: Mapping[str, FunctionRule] = aggregates.WINDOWS
NODES: Mapping[type[exp.Expr], NodeRule] = {
    **text.NODES,
    **times.NODES,
    **arrays.NODES,
    **aggregates.NODES,
    exp.Cast: casts.cast,
    exp.Filter: filtered,
    exp.TryCast: casts.try_cast,
}

REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        [
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atan2",
            "atanh",
            "cbrt",
            "cos",
            "cosh",
            "cot",
            "degrees",
            "exp",
            "ln",
            "log",
            "log10",
            "log2",
            "radians",
            "sin",
            "sinh",
            "tan",
            "tanh",
            "corr",
            "covar",
            "covar_pop",
            "covar_samp",
            "stddev",
            "stddev_pop",
            "stddev_samp",
            "var",
            "var_pop",
            "var_population",
            "var_samp",
            "var_sample",
            "regr_avgx",
            "regr_avgy",
            "regr_count",
            "regr_intercept",
            "regr_r2",
            "regr_slope",
            "regr_sxx",
            "regr_sxy",
            "regr_syy",
        ],
        _LAST_BIT,
    ),
    **dict.fromkeys(["array_agg", "string_agg", "any_value", "first_value", "last_value", "nth_value"], _ORDER),
    **dict.fromkeys(
        ["approx_distinct", "approx_median", "approx_percentile_cont", "approx_percentile_cont_with_weight"],
        _APPROXIMATE,
    ),
    **dict.fromkeys(["random", "rand", "uuid"], "it gives another result with every run"),
    **dict.fromkeys(
        ["initcap", "trunc", "median", "percentile_cont", "quantile_cont", "factorial", "gcd", "lcm", "regexp_match"],
        _DETAILS,
    ),
    **dict.fromkeys(["arrow_typeof", "arrow_metadata", "version"], "it tells about the engine, not the data"),
}
