"""Check the queries of a transform as far as possible without the columns of its inputs, and without Spark.

A refusal here is certain. Spark, DataFusion and the translations find the other problems once the inputs have data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.dialect import datafusion, limits, spark_check
from airflow_provider_odf.dialect.derivative import ENGINES
from airflow_provider_odf.dialect.place import Refusal, with_place
from airflow_provider_odf.dialect.translate import of_name, parse, query_steps
from airflow_provider_odf.manifest.names import DatasetAlias, parse_ref

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.engine import Engine
    from airflow_provider_odf.manifest.model import SetTransform
    from airflow_provider_odf.protocol import SqlQueryStep

_DIALECTS = {"spark": "spark", DATAFUSION: "postgres"}
"""Engine that runs its own SQL -> the most similar dialect of the parser."""

_OF_THE_RUN = (
    "curdate", "current_date", "current_row_timestamp", "current_time", "current_timestamp", "localtime",
    "localtimestamp", "monotonically_increasing_id", "now", "proctime", "rand", "rand_integer", "randn", "random",
    "shuffle", "today", "uuid",
)  # fmt: skip
_KEYWORDS = (TokenType.CURRENT_DATE, TokenType.CURRENT_TIME, TokenType.CURRENT_TIMESTAMP)
"""Functions without parentheses."""


def check(event: SetTransform) -> None:
    """:raises QueryRefusal: a query is not valid, whatever columns the inputs have."""
    names = input_names(event)
    steps = query_steps(event.transform, names or ())
    tables = set(map(str.lower, names)) if names is not None else None
    for number, step in enumerate(steps, 1):
        _check_step(step, number, event.transform.engine, tables)
        if tables is not None:
            tables.add((step.alias or "").lower())
    if event.transform.engine == DATAFUSION and names is not None:
        datafusion.output(steps, dict.fromkeys(names))


def input_names(event: SetTransform) -> Sequence[str] | None:
    """Return the names of the inputs in queries, or None if not all are known without a store."""
    names = [
        item.alias or (item.dataset_ref if isinstance(parse_ref(item.dataset_ref), DatasetAlias) else None)
        for item in event.inputs
    ]
    known = [name for name in names if name is not None]
    return known if len(known) == len(names) else None


def _check_step(step: SqlQueryStep, number: int, engine: str, tables: set[str] | None) -> None:
    dialect = Dialect.get_or_raise(_DIALECTS.get(engine) or of_name(ENGINES, engine).dialect)
    try:
        if engine == "spark":
            spark_check.check(step.query)
        with limits.room():
            tree = _parsed(step.query, dialect, ENGINES.get(engine))
            for token in _of_the_run(dialect.tokenize(step.query)):
                advice = "take times and values from the data, or quote the name if it is a column"
                raise _at(token, f"{token.text} has another value in each run", advice)
            if tree is not None and tables is not None and engine != DATAFUSION:
                _check_tables(tree, tables)
    except (Refusal, SqlglotError, RecursionError) as e:
        if isinstance(e, Refusal) or engine in ENGINES:
            raise with_place(e, step.query, number) from e


def _parsed(query: str, dialect: Dialect, engine: Engine | None) -> exp.Expr | None:
    """Return the statement of a query; None if Spark or DataFusion may know SQL that this parser does not.

    :raises Refusal, SqlglotError: the query is not valid for a translated engine.
    """
    try:
        tree = parse(query, dialect)
    except (Refusal, SqlglotError, RecursionError):
        if engine is not None:
            raise
        return None
    return engine.query(tree) if engine is not None else tree


def _of_the_run(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the calls of functions whose value differs between runs."""
    before: Token | None = None
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        is_call = after is not None and after.token_type == TokenType.L_PAREN
        is_quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
        is_part = before is not None and before.token_type in (TokenType.DOT, TokenType.ALIAS)
        is_function = (is_call or token.token_type in _KEYWORDS) and not is_quoted and not is_part
        if is_function and token.text.lower() in _OF_THE_RUN:
            yield token
        before = token


def _check_tables(tree: exp.Expr, known: set[str]) -> None:
    """:raises Refusal: the query reads a table that is neither an input nor an earlier query."""
    named = known | {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        names = [part.name for part in table.parts if isinstance(part, exp.Identifier)]
        if len(names) != len(table.parts) or (len(names) == 1 and names[0].lower() in named):
            continue  # A function in FROM has other parts.
        is_dotted = len(names) > 1
        advice = (
            "quote a name with dots as a whole" if is_dotted else f"tables: {', '.join(sorted(filter(None, known)))}"
        )
        raise Refusal(table, f"table {'.'.join(names)} does not exist", advice)


def _at(token: Token, message: str, advice: str) -> Refusal:
    return Refusal(exp.Var(this=token.text).update_positions(token), message, advice)
