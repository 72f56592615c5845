from __future__ import annotations

import pytest
from sqlglot import exp

from airflow_provider_odf.dialect.spark import sql

_SUM = exp.Add(this=exp.column("x"), expression=exp.column("y"))


@pytest.mark.parametrize(
    ("template", "arguments", "spark"),
    [
        ("upper(a)", (exp.column("x"),), "upper(x)"),
        ("sha2(a, 256)", ("it's",), "sha2('it\\'s', 256)"),
        ("left(a, b)", (_SUM.copy(), -1), "left(x + y, -1)"),
        ("a * b", (_SUM.copy(), _SUM.copy()), "(x + y) * (x + y)"),
        ("CASE WHEN a IS NULL THEN b ELSE a END", (_SUM.copy(), 0), "CASE WHEN (x + y) IS NULL THEN 0 ELSE x + y END"),
        ("a", (exp.column("x"),), "x"),
    ],
)
def test_arguments_stand_in_a_template(template: str, arguments: tuple[exp.Expr | str | int, ...], spark: str) -> None:
    assert sql(template, *arguments).sql("spark", normalize_functions=False) == spark
