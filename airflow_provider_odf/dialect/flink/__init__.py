"""``engine: flink``: Flink SQL (names in backticks) over a batch, which is what a source gives to preprocess.

The rules follow what a real Flink does, and the tests marked ``flink`` compare them with it.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import Dialect, parser, tokens
from sqlglot.dialects.dialect import NormalizationStrategy

from airflow_provider_odf.dialect import calls, expressions
from airflow_provider_odf.dialect.engine import Engine
from airflow_provider_odf.dialect.flink import aggregates, casts, numbers, text, times

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


ENGINE = Engine(
    name="flink",
    dialect=Flink,
    nodes={**expressions.NODES, **calls.NODES, **casts.NODES, **numbers.NODES, **text.NODES, **times.NODES},
    scalars={**numbers.SCALARS, **text.SCALARS, **times.SCALARS},
    aggregates=aggregates.AGGREGATES,
    windows=aggregates.WINDOWS,
    common=numbers.common,
    compared=numbers.compared,
    is_member=numbers.is_member,
)
