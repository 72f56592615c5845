"""``engine: flink``: Flink SQL (names in backticks), queries without state only."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import Dialect, parser, tokens
from sqlglot.dialects.dialect import NormalizationStrategy

from airflow_provider_odf.dialect import streaming
from airflow_provider_odf.dialect.engine import Engine
from airflow_provider_odf.dialect.types import BIGINT

_SYNTAX = ("CAST", "EXTRACT", "SUBSTRING", "TRIM")


class Flink(Dialect):
    """The grammar; meanings are in ``ENGINE``."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    NULL_ORDERING = "nulls_are_small"

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar = ["`"]

    class Parser(parser.Parser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar = {name: parser.Parser.FUNCTION_PARSERS[name] for name in _SYNTAX}


ENGINE = Engine(
    name="flink",
    dialect=Flink,
    nodes=streaming.NODES,
    scalars=streaming.SCALARS,
    aggregates=streaming.AGGREGATES,
    windows={},
    integer=BIGINT,
    reasons={},
    is_streaming=True,
)
