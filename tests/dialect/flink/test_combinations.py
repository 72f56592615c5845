"""Generated expressions on real Flink and, translated, on Spark: values, types and names of columns must be equal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.dialect import combinations
from tests.dialect.flink import comparison

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP = 60
"""Expressions that Flink evaluates in one query: each query takes a second."""

_WRAPPED = ("cast(3000000000 as smallint)", "cast(3000000000 as int)", "cast(3000000000 as decimal(5,1))")
"""Where Flink wraps around or gives a null, Spark stops."""


@pytest.mark.flink
@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_generated_expressions_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    forms, refused = combinations.translated("flink")
    texts = list(forms)
    queries = [{"table": "input", "expressions": texts[i : i + _GROUP]} for i in range(0, len(texts), _GROUP)]
    tables = {"input": combinations.ROWS}
    answers = dict(zip(texts, comparison.on_flink(queries, tables, combinations.COLUMNS, tmp_path), strict=True))
    compared = [text for text in texts if "error" not in answers[text] and text not in _WRAPPED]
    stopped = [text for text in texts if text not in compared]
    print(f"{len(compared)} compared, {len(stopped)} stop Flink or Spark, {len(refused)} refused")
    ours = combinations.on_spark(spark, [forms[text] for text in compared])
    theirs = {
        "names": ours.schema.names,
        "types": [answers[text]["types"][0] for text in compared],
        "rows": list(zip(*[[row[0] for row in answers[text]["rows"]] for text in compared], strict=True)),
    }
    comparison.compare(compared, theirs, ours)
    assert combinations.not_stopping(spark, [forms[text] for text in stopped]) == []
