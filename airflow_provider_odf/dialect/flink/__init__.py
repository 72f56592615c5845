"""``engine: flink``: Flink SQL (names in backticks) over a batch, which is what a source gives to preprocess.

The rules were found by running Flink, and are compared with it by the tests marked ``flink``.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import Dialect, exp, parser, tokens
from sqlglot.dialects.dialect import NormalizationStrategy

from airflow_provider_odf.dialect import intervals, numerals
from airflow_provider_odf.dialect.calls import filtered, windowed
from airflow_provider_odf.dialect.engine import Engine
from airflow_provider_odf.dialect.expressions import SHARED
from airflow_provider_odf.dialect.flink import aggregates, arrays, casts, numbers, text, times
from airflow_provider_odf.dialect.typed import Typed
from airflow_provider_odf.dialect.types import BIGINT

_SYNTAX = ("CAST", "CEIL", "EXTRACT", "FLOOR", "POSITION", "SUBSTRING", "TRIM", "TRY_CAST")


class Flink(Dialect):
    """The grammar; meanings are in ``ENGINE``."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    NULL_ORDERING = "nulls_are_small"
    INDEX_OFFSET = 0

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar = ["`"]

    class Parser(parser.Parser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: parser.Parser.FUNCTION_PARSERS[name] for name in _SYNTAX}


_REASONS = {
    "time windows come with transforms: use one in a derivative dataset": (
        "cumulate hop hop_end hop_start session session_end session_start tumble tumble_end tumble_rowtime tumble_start"
    ),
    "it gives another result with every run": "current_row_timestamp now rand rand_integer unix_timestamp uuid",
    "its last bit depends on the mathematical library": (
        "cos exp ln log log10 log2 sin sqrt stddev stddev_pop stddev_samp tan var_pop var_samp"
    ),
    "its result depends on the order of the rows": "array_agg collect json_arrayagg listagg",
    "engines differ in details": "ascii cume_dist initcap json_query json_value parse_url regexp_extract_all truncate",
}
REASONS = {name: reason for reason, names in _REASONS.items() for name in names.split()}

ENGINE = Engine(
    name="flink",
    dialect=Flink,
    nodes={
        **SHARED,
        **arrays.NODES,
        **casts.NODES,
        **numbers.NODES,
        **text.NODES,
        **times.NODES,
        exp.Anonymous: times.anonymous,
        exp.Filter: filtered,
        exp.Interval: intervals.interval,
        exp.Literal: numerals.literal,
        exp.Star: lambda t, node: Typed(exp.Star(), BIGINT),
        exp.Window: windowed,
    },
    scalars={**arrays.SCALARS, **numbers.SCALARS, **text.SCALARS, **times.SCALARS},
    aggregates=aggregates.AGGREGATES,
    windows=aggregates.WINDOWS,
    reasons=REASONS,
    common=numbers.common,
    compared=numbers.compared,
    is_member=numbers.is_member,
)
