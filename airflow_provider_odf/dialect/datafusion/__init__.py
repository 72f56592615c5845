"""``engine: datafusion``: DataFusion's SQL as the reference implementation runs it (names keep case, times are UTC).

sqlglot has no such dialect; PostgreSQL's is the nearest: quoting, the place of nulls, ``~`` and ``::`` are the same.
Functions are taken as they are written (none has PostgreSQL's meaning) and translated by our own tables.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import NormalizationStrategy
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

from airflow_provider_odf.dialect.arithmetic import arithmetic
from airflow_provider_odf.dialect.calls import anonymous, windowed
from airflow_provider_odf.dialect.datafusion import decimals, functions
from airflow_provider_odf.dialect.engine import Engine
from airflow_provider_odf.dialect.expressions import SHARED
from airflow_provider_odf.dialect.types import BIGINT

_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "TRIM", "SUBSTRING")


class DataFusion(Postgres):
    """The grammar; meanings are in ``ENGINE``."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    INDEX_OFFSET = 0

    class Tokenizer(Postgres.Tokenizer):
        # PostgreSQL's FLOAT has 64 bits, DataFusion's 32.
        KEYWORDS: ClassVar = {**Postgres.Tokenizer.KEYWORDS, "FLOAT": TokenType.FLOAT}

    class Parser(PostgresParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: PostgresParser.FUNCTION_PARSERS[name] for name in _SYNTAX}


ENGINE = Engine(
    name="datafusion",
    dialect=DataFusion,
    nodes={
        **SHARED,
        exp.Add: arithmetic,
        exp.Sub: arithmetic,
        exp.Mul: arithmetic,
        exp.Div: arithmetic,
        exp.Mod: arithmetic,
        exp.Anonymous: anonymous,
        exp.Window: windowed,
        **functions.NODES,
    },
    scalars=functions.SCALARS,
    aggregates=functions.AGGREGATES,
    windows=functions.WINDOWS,
    integer=BIGINT,
    reasons=functions.REASONS,
    common=decimals.common,
    compared=decimals.common,
    beside=decimals.beside,
    among=decimals.among,
)
