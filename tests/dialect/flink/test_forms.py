"""What generated combinations of operators, types and literals showed to be wrong, as Flink 2.3 has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_odf.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ("i % 3000000000", "(`i` % 3000000000L)"),
        ("j / 3000000000", "(`j` DIV 3000000000L)"),
        ("cast(d as varchar(2))", "left(CAST(`d` AS STRING), 2)"),
        ("m in (1, 2)", "`m` IN (1, 2)"),
        ("s || u || 'x'", "concat(`s`, `u`, 'x')"),
    ],
)
def test_translated(expression: Callable[..., str], text: str, spark: str) -> None:
    assert expression(text, "flink") == spark


@pytest.mark.parametrize(
    "text",
    [
        "i in (1.5, 2)",
        "i in (d, d)",
        "k in (m)",
        "m in (d)",
        "cast(s as timestamp(0))",
        "dt = ts",
        "ts < dt",
        "1.5 in (i)",
        "m in (1, i)",
        "cast(timestamp '2020-02-29 23:59:59.5' as varchar)",
        "cast(coalesce(ts, cast(ts as timestamp)) as varchar)",
    ],
)
def test_refused(expression: Callable[..., str], text: str) -> None:
    with pytest.raises(InvalidInput):
        expression(text, "flink")
