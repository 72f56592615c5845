"""Transform::Sql of any engine as Spark SQL.

``engine: spark`` is passed on as it is. SQL of another engine is translated by a dialect of our own, exactly or not at
all: what is not known to give the same rows on Spark is refused with its place in the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import sqlglot
from sqlglot.errors import ErrorLevel, ParseError, TokenError, UnsupportedError

from airflow_provider_odf import protocol
from airflow_provider_odf.dialect import datafusion, flink, risingwave
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.query import Queries
from airflow_provider_odf.dialect.scope import EVERY_COLUMN, Columns
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.engine import Engine
    from airflow_provider_odf.manifest.model import TransformSql

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (datafusion.ENGINE, flink.ENGINE, risingwave.ENGINE)}

Tables = Mapping[str, "tuple[protocol.Column, ...] | None"]

_TEMPORAL = (
    "temporalTables are not translated: the versions of a table are state that is kept between runs "
    "(leave them out, and join on engine: spark)"
)


def to_spark(transform: TransformSql, tables: Tables, *, label: str = "preprocess") -> protocol.Transform:
    """The transform with its queries in Spark SQL, one per step; the last one has no alias and is the output.

    ``tables`` are the inputs by name with their declared columns, None where only the data will tell. A column named
    ``*`` stands for all that are not listed. ``label`` begins the messages: ``preprocess query 2, 3:9: …``.

    :raises InvalidInput: if a query cannot be translated exactly, naming its number, line and column."""
    steps = _steps(transform, tables, label)
    if transform.temporal_tables:
        raise InvalidInput(f"{label}: {_TEMPORAL}")
    if transform.engine != "spark":
        steps = _translated(_engine(transform.engine, label), steps, tables, label)
    return protocol.Transform(transform.engine, steps, version=transform.version)


def input_columns(step: protocol.ReadStep) -> tuple[protocol.Column, ...] | None:
    """What is known of the columns before they are read: those declared; all of a CSV without types are strings."""
    if step.columns is None and step.kind == "Csv" and not step.infer_schema:
        return (protocol.Column(EVERY_COLUMN, "STRING"),)
    return step.columns


def _engine(name: str, label: str) -> Engine:
    if name not in ENGINES:
        raise InvalidInput(f"{label}: engine {name} is not known (one of spark, {', '.join(ENGINES)})")
    return ENGINES[name]


def _steps(transform: TransformSql, tables: Tables, label: str) -> tuple[protocol.SqlQueryStep, ...]:
    """The transform's steps, ``query`` being a single one."""
    if bool(transform.query) == bool(transform.queries):
        raise InvalidInput(f"{label}: give either query or queries")
    if transform.query:
        return (protocol.SqlQueryStep(transform.query),)
    steps = tuple(protocol.SqlQueryStep(step.query, step.alias) for step in transform.queries or ())
    taken = {name.lower() for name in tables}
    for number, step in enumerate(steps, 1):
        is_last = number == len(steps)
        if (step.alias is None) != is_last:
            fix = "the last query must have none" if is_last else "every query but the last one needs one"
            raise InvalidInput(
                f"{label} query {number}: {'an' if is_last else 'no'} alias: {fix}, since that is the output"
            )
        if step.alias is not None and step.alias.lower() in taken:
            raise InvalidInput(
                f"{label} query {number}: alias {step.alias} is taken already (choose another; case does not count)"
            )
        taken.add((step.alias or "").lower())
    return steps


def _translated(
    engine: Engine, steps: tuple[protocol.SqlQueryStep, ...], tables: Tables, label: str
) -> tuple[protocol.SqlQueryStep, ...]:
    known = {name: Columns.declared(columns) for name, columns in tables.items()}
    translated = []
    for number, step in enumerate(steps, 1):
        try:
            query, columns = _translate(engine, step.query, known)
        except Refused as refused:
            raise InvalidInput(f"{label} query {number}, {refused.told(step.query)}") from None
        except ParseError as error:
            raise InvalidInput(f"{label} query {number}, {_syntax(error)}") from None
        except (TokenError, UnsupportedError) as error:
            raise InvalidInput(f"{label} query {number}: {error.__cause__ or error}") from None
        translated.append(protocol.SqlQueryStep(query, step.alias))
        known[step.alias or ""] = columns
    return tuple(translated)


def _translate(engine: Engine, query: str, tables: Mapping[str, Columns]) -> tuple[str, Columns]:
    statements = sqlglot.parse(query, dialect=engine.dialect)
    if len(statements) != 1 or statements[0] is None:
        raise Refused(None, f"one query is expected, not {len(statements)}", "split it into queries with aliases")
    tree, columns = Queries.over(engine, tables).query(engine.query(statements[0]))
    text = tree.sql(
        "spark", identify=True, normalize_functions=False, unsupported_level=ErrorLevel.RAISE, comments=False
    )
    # Spark replaces ${…} in the text of a query by settings, inside string literals too.
    return text.replace("${", "\\u0024{"), columns


def _syntax(error: ParseError) -> str:
    """sqlglot's place is that of the last character of the offending word."""
    details = error.errors[0] if error.errors else {}
    word = str(details.get("highlight") or "")
    column = int(details.get("col") or 1) - max(len(word) - 1, 0)
    message = str(details.get("description") or error)
    if message.startswith("Required keyword"):
        message = "something is missing"
    return f"{details.get('line') or 1}:{max(column, 1)}: {message}" + (f" at '{word}'" if word else "")
