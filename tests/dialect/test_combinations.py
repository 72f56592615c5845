"""Generated expressions: each is translated or refused with its place, and answers of the engines themselves are kept.

``ANSWERS`` are a sample of what Flink and PostgreSQL answered; all are asked by ``make test-slow``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.dialect import combinations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MESSAGE = re.compile(r"preprocess query 1, 1:\d+: (?!.*cannot be translated)")
"""With a place in the query; "cannot be translated" is said where a rule failed."""

ANSWERS = {
    "flink": {
        "1 + f": "float: 2.5, -1.25, 1.100000023841858, None",
        "1 in (k, k)": "bool: False, False, False, None",
        "1.5 * d": "double: 2.25, -3.75, 0.15000000000000002, None",
        "2e0 = j": "bool: True, False, False, None",
        "2e0 is distinct from j": "bool: False, True, True, True",
        "3000000000 - j": "int64: 2999999998, 3000000003, 2999999995, None",
        "3000000000 < k": "bool: False, False, False, None",
        "3000000000 is distinct from d": "bool: True, True, True, True",
        "case when b then d else 1.5 end": "double: 1.5, 1.5, 0.1, 1.5",
        "cast(1 as float)": "float: 1.0, 1.0, 1.0, 1.0",
        "cast(1 as varchar)": "string: 1, 1, 1, 1",
        "cast(2e0 as bigint)": "int64: 2, 2, 2, 2",
        "cast(b as boolean)": "bool: True, False, True, None",
        "cast(b as varchar(2))": "string: TR, FA, TR, None",
        "cast(b as varchar)": "string: TRUE, FALSE, TRUE, None",
        "cast(f as varchar(2))": "string: 1., -2, 0., None",
        "cast(k as decimal(20,4))": "decimal128(20, 4): 3.0000, -2.0000, 7.0000, None",
        "cast(true as varchar)": "string: TRUE, TRUE, TRUE, TRUE",
        "coalesce(1, i)": "int64: 1, 1, 1, 1",
        "coalesce(k, 1)": "int32: 3, -2, 7, 1",
        "coalesce(s, '12')": "string: 12, -3, 007, 12",
        "d = i": "bool: False, False, False, None",
        "f * f": "float: 2.25, 5.0625, 0.010000000707805157, None",
        "f * j": "float: 3.0, 6.75, 0.5, None",
        "f + k": "float: 4.5, -4.25, 7.099999904632568, None",
        "f - m": "double: 0.0, 0.2999999999999998, -99.88999999850988, None",
        "f = k": "bool: False, False, False, None",
        "i * f": "float: 1.5, 15.75, 3.0, None",
        "i in (i, i)": "bool: True, True, True, None",
        "j * m": "decimal128(23, 2): 3.00, 7.65, 499.95, None",
        "k < i": "bool: False, False, True, None",
        "k = 2e0": "bool: False, False, False, None",
        "m + k": "decimal128(13, 2): 4.50, -4.55, 106.99, None",
        "m is distinct from 2e0": "bool: True, True, True, True",
        "nullif(3000000000, k)": "int64: 3000000000, 3000000000, 3000000000, 3000000000",
        "nullif(s, '12')": "string: None, -3, 007, None",
    },
    "risingwave": {
        "1 * d": "double: 1.5, -2.5, 0.1, None",
        "1 < i": "bool: False, False, True, None",
        "3000000000 * j": "int64: 6000000000, -9000000000, 15000000000, None",
        "3000000000 < d": "bool: False, False, False, None",
        "3000000000 = d": "bool: False, False, False, None",
        "b is distinct from true": "bool: False, True, False, True",
        "case when b then f else i end": "float: 1.5, -7.0, 0.10000000149011612, None",
        "case when b then i else f end": "float: 1.0, -2.25, 30.0, None",
        "case when b then j else i end": "int64: 2, -7, 5, None",
        "case when b then j else j end": "int32: 2, -3, 5, None",
        "case when b then j else k end": "int32: 2, -2, 5, None",
        "case when b then m else 3000000000 end": "decimal128(22, 2): 1.50, 3000000000.00, 99.99, 3000000000.00",
        "cast('12' as double precision)": "double: 12.0, 12.0, 12.0, 12.0",
        "cast(f as double precision)": "double: 1.5, -2.25, 0.10000000149011612, None",
        "coalesce(1, i)": "int64: 1, 1, 1, 1",
        "coalesce(f, d)": "double: 1.5, -2.25, 0.10000000149011612, None",
        "coalesce(j, k)": "int32: 2, -3, 5, None",
        "coalesce(j, m)": "decimal128(12, 2): 2.00, -3.00, 5.00, None",
        "d < m": "bool: False, False, True, None",
        "d in (k, k)": "bool: False, False, False, None",
        "i - 1": "int64: 0, -8, 29, None",
        "i - i": "int64: 0, 0, 0, None",
        "i in (3000000000, 3000000000)": "bool: False, False, False, None",
        "j + i": "int64: 3, -10, 35, None",
        "j - k": "int32: -1, -1, -2, None",
        "j = k": "bool: False, False, False, None",
        "k + 1": "int32: 4, -1, 8, None",
        "k is distinct from 1.5": "bool: True, True, True, True",
        "m in (3000000000, 3000000000)": "bool: False, False, False, None",
        "nullif(d, 3000000000)": "double: 1.5, -2.5, 0.1, None",
        "nullif(i, 1)": "int64: None, -7, 30, None",
        "nullif(m, k)": "decimal128(12, 2): 1.50, -2.55, 99.99, None",
        "s in ('12', '12')": "bool: True, False, False, None",
        "ts = ts": "bool: True, True, True, None",
        "ts in (dt, dt)": "bool: False, True, False, None",
    },
}


@pytest.mark.no_cover
@pytest.mark.parametrize("engine", ANSWERS)
def test_each_is_translated_or_refused_with_its_place(engine: str) -> None:
    accepted, refused = combinations.translated(engine)
    assert len(accepted) > 600
    assert [message for message in refused.values() if not _MESSAGE.match(message)] == []


@pytest.mark.no_cover
@pytest.mark.spark
def test_spark_answers_as_the_engines_did(spark: SparkSession) -> None:
    forms = {
        (engine, text): combinations.translator(engine)(text) for engine, texts in ANSWERS.items() for text in texts
    }
    columns = combinations.on_spark(spark, forms.values()).columns
    answers: dict[str, dict[str, str]] = {engine: {} for engine in ANSWERS}
    for (engine, text), column in zip(forms, columns, strict=True):
        answers[engine][text] = f"{column.type}: {', '.join(map(str, column.to_pylist()))}"
    assert answers == ANSWERS
