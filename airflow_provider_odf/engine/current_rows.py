"""Current rows of a dataset with a key, as merges and contracts use them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.protocol import DatasetVocabulary

_AGE = "`odf:age`"


def newest_records(records: DataFrame, keys: Sequence[str], vocab: DatasetVocabulary) -> DataFrame:
    """Return the record with the greatest offset of each key, with all its columns."""
    key, offset = ", ".join(map(quoted, keys)), quoted(vocab.offset_column)
    ranked = records.selectExpr("*", f"row_number() OVER (PARTITION BY {key} ORDER BY {offset} DESC) AS {_AGE}")
    return ranked.where(f"{_AGE} = 1").drop(_AGE.strip("`"))


def current_rows(newest: DataFrame, vocab: DatasetVocabulary) -> DataFrame:
    """Return the newest records that are current rows."""
    return newest.where(f"{quoted(vocab.operation_type_column)} IN {PRESENT}")
