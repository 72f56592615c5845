"""Current rows of a dataset, as contracts, transforms and users of Spark read them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import Sql, select
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.protocol import DatasetVocabulary

_AGE = "`odf:age`"
_ALIVE = "`odf:alive`"


def current_rows(
    records: DataFrame, keys: Sequence[str], columns: Sequence[str], vocab: DatasetVocabulary
) -> DataFrame:
    """Return the records that are current rows: the newest one of each key, if it is not taken back. Without ``keys``,
    rows are equal if all ``columns`` are."""
    if not keys:
        counts, is_alive = _counts_of_rows(columns, vocab)
        alive = records.selectExpr("*", *counts).where(is_alive)
        return alive.drop(_AGE.strip("`"), _ALIVE.strip("`"))
    key, offset = ", ".join(map(quoted, keys)), quoted(vocab.offset_column)
    ranked = records.selectExpr("*", f"row_number() OVER (PARTITION BY {key} ORDER BY {offset} DESC) AS {_AGE}")
    newest = ranked.where(f"{_AGE} = 1").drop(_AGE.strip("`"))
    return newest.where(f"{quoted(vocab.operation_type_column)} IN {PRESENT}")


def current_rows_by_key(records: Sql, keys: Sequence[str], vocab: DatasetVocabulary) -> Sql:
    """Return the query for the current rows of a dataset with a key, from a query for its records. As aggregates, which
    DataFusion computes faster than windows."""
    offset, key = quoted(vocab.offset_column), ", ".join(map(quoted, keys))
    newest = select([f"max({offset})"], records, f"GROUP BY {key}")
    present = f"{quoted(vocab.operation_type_column)} IN {PRESENT}"
    return select("*", records, f"WHERE {present} AND {offset} IN ({newest})")


def rows_not_undone(records: Sql, columns: Sequence[str], vocab: DatasetVocabulary) -> Sql:
    """Return the query for the current rows of a dataset without a key, from a query for its records."""
    counts, is_alive = _counts_of_rows(columns, vocab)
    return select("*", select(["*", *counts], records), f"WHERE {is_alive}")


def _counts_of_rows(columns: Sequence[str], vocab: DatasetVocabulary) -> tuple[list[Sql], Sql]:
    """Return SQL for columns that count equal rows, and the condition on them of rows that no later record takes back.

    Rows are equal if all ``columns`` are. Of several equal rows, the newest ones stay.
    """
    row = ", ".join(map(quoted, columns))
    op, offset = quoted(vocab.operation_type_column), quoted(vocab.offset_column)
    present = f"CASE WHEN {op} IN {PRESENT} THEN 1 ELSE 0 END"
    alive = f"sum(2 * {present} - 1) OVER (PARTITION BY {row}) AS {_ALIVE}"
    age = f"sum({present}) OVER (PARTITION BY {row} ORDER BY {offset} DESC ROWS UNBOUNDED PRECEDING) AS {_AGE}"
    return [alive, age], f"{op} IN {PRESENT} AND {_AGE} <= {_ALIVE}"
