"""``engine: risingwave``: RisingWave's SQL (PostgreSQL's grammar), queries without state only."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.risingwave import RisingWave as Stock
from sqlglot.parsers.risingwave import RisingWaveParser

from airflow_provider_odf.dialect import streaming
from airflow_provider_odf.dialect.engine import Engine
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.types import BIGINT

_SYNTAX = ("CAST", "EXTRACT", "SUBSTRING", "TRIM")


class RisingWave(Stock):
    """The grammar; meanings are in ``ENGINE``."""

    class Parser(RisingWaveParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: RisingWaveParser.FUNCTION_PARSERS[name] for name in _SYNTAX}


def query(statement: exp.Expr) -> exp.Expr:
    """The query of a statement with the names folded: CREATE MATERIALIZED VIEW is how RisingWave writes a step."""
    if isinstance(statement, exp.Create):
        if statement.kind != "VIEW" or statement.expression is None:
            raise Refused(statement, "only CREATE MATERIALIZED VIEW … AS query is translated")
        statement = statement.expression
    for name in statement.find_all(exp.Identifier):
        if not name.args.get("quoted"):
            name.set("this", name.this.lower())
    return statement


ENGINE = Engine(
    name="risingwave",
    dialect=RisingWave,
    nodes=streaming.NODES,
    scalars=streaming.SCALARS,
    aggregates=streaming.AGGREGATES,
    windows={},
    integer=BIGINT,
    reasons={},
    is_streaming=True,
    query=query,
)
