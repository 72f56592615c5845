"""Long and deep queries are translated in a time that grows with their length, or refused with the place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.dialect.parsing import MAX_DEPTH
from airflow_provider_odf.dialect.translate import spark_columns
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("flink", "risingwave")
LONG = {
    "or": (" or ".join(f"x = {n}" for n in range(300)), True),
    "and": (" and ".join(f"x <> {n}" for n in range(2, 302)), True),
    "plus": (" + ".join(["x"] * 200), 200),
    "minus and plus": (" - 1 + ".join(["x"] * 100), 1),
    "doubles": (" + ".join(["y"] * 25), 37.5),
    "replace": ("replace(" * 45 + "z" + ", 'a', 'b')" * 45, "b"),
    "case": ("case when x = 0 then 0 else " * 45 + "x" + " end" * 45, 1),
    "parentheses": ("(" * (MAX_DEPTH - 1) + "x" + ")" * (MAX_DEPTH - 1), 1),
}


def _over_values(expression: str) -> str:
    return f"select {expression} as v from input"


@pytest.fixture
def columns() -> tuple[object, ...]:
    from airflow_provider_odf.protocol import Column

    return (Column("x", "BIGINT"), Column("y", "DOUBLE"), Column("z", "STRING"))


@pytest.mark.no_cover
@pytest.mark.parametrize("engine", ENGINES)
def test_long_queries_take_no_long_time(
    translate: Callable[..., str], columns: tuple[object, ...], engine: str
) -> None:
    begun = perf_counter()
    for text, _ in LONG.values():
        translate(_over_values(text), engine, columns)
    query = translate(" union all ".join(["select x from input"] * 500), engine, columns)
    assert perf_counter() - begun < 20
    assert query == " UNION ALL ".join(["SELECT `x` FROM `input`"] * 500)


@pytest.mark.no_cover
@pytest.mark.spark
def test_long_expressions_run(spark: SparkSession, expression: Callable[..., str], columns: tuple[object, ...]) -> None:
    spark.sql("select 1L as x, 1.5D as y, 'a' as z").createOrReplaceTempView("long_input")
    forms = [f"{expression(text, 'flink', columns=columns)} as `{name}`" for name, (text, _) in LONG.items()]
    row = spark.sql(f"select {', '.join(forms)} from long_input").first()
    assert row is not None
    assert row.asDict() == {name: value for name, (_, value) in LONG.items()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("(" * 101 + "x" + ")" * 101, "1:108"),
        ("case when x = 0 then 0 else " * 101 + "x" + " end" * 101, "1:2808"),
        ("x > 0 and " + "not " * 101 + "x > 0", "1:418"),
        ("- " * 101 + "x", "1:208"),
        ("abs(" * 101 + "x" + ")" * 101, "1:411"),
    ],
)
def test_deeper_queries_are_refused_with_the_place(
    translate: Callable[..., str], columns: tuple[object, ...], engine: str, text: str, place: str
) -> None:
    with pytest.raises(InvalidInput) as e:
        translate(_over_values(text), engine, columns)
    assert str(e.value) == (
        f"preprocess query 1, {place}: the query is nested deeper than 100 levels (split it into several queries)"
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1" * 5000, f"1:8: {'1' * 37}... is out of range for BIGINT"),
        ("x + " + "1" * 5000, f"1:12: {'1' * 37}... is out of range for BIGINT"),
        ("0." + "1" * 5000, "1:8: the number has more than 38 digits (write fewer, or with an exponent)"),
        ("1e" + "1" * 5000, f"1:8: 1e{'1' * 35}"),
        (f"cast(x as decimal({'1' * 5000}))", f"a CAST to DECIMAL({'1' * 49}... is not supported"),
        ("cast(x as decimal(39, 2))", "1:13: a CAST to DECIMAL(39, 2) is not supported"),
        ("cast(x as decimal(5, 8))", "1:13: a CAST to DECIMAL(5, 8) is not supported"),
        (f"x + interval '{'1' * 5000}' day", f"1:21: INTERVAL '{'1' * 37}...' is not supported"),
        ("x + interval '3 hours 15'", "1:21: INTERVAL '3 hours 15' is not supported (write integers with units"),
        ("x + interval '- 1 day'", "1:21: INTERVAL '- 1 day' is not supported (write integers with units"),
        ("power(0, -1)", "1:8: "),
        ("greatest(" * 25 + "x" + ", 1)" * 25, "1:"),
    ],
)
def test_numbers_and_intervals_are_refused_with_the_place(
    translate: Callable[..., str], columns: tuple[object, ...], engine: str, text: str, message: str
) -> None:
    with pytest.raises(InvalidInput) as e:
        translate(_over_values(text), engine, columns)
    assert str(e.value).startswith("preprocess query 1, 1:")
    assert message in str(e.value)
    assert len(str(e.value)) < 250


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x + interval '3000000000' day", "1:21: the interval is too long"),
        ("1e5000", "1:8: 1e5000 is out of range for DOUBLE"),
        ("power(1e300, 2)", "1:8: power: the last bit may differ"),
        ("greatest(" * 25 + "x" + ", 1)" * 25, "its translation for Spark repeats nested expressions and has more"),
        ("floor(" * 25 + "y" + ")" * 25, "its translation for Spark repeats nested expressions and has more"),
    ],
)
def test_of_flink_too(translate: Callable[..., str], columns: tuple[object, ...], text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        translate(_over_values(text), "flink", columns)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_place_of_a_column_in_order_by(
    translate: Callable[..., str], columns: tuple[object, ...], engine: str
) -> None:
    with pytest.raises(
        InvalidInput, match=r"1:30: a number in ORDER BY or GROUP BY must be a column position, starting at 1"
    ):
        translate("select x from input order by " + "1" * 5000, engine, columns)


@pytest.mark.no_cover
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_too_long_for_the_generator_is_refused(
    translate: Callable[..., str], columns: tuple[object, ...], engine: str
) -> None:
    with pytest.raises(InvalidInput, match=r"query 1, 1:\d+: .* too long to be translated \(split it into several"):
        translate(_over_values(" + ".join(["x"] * 3_000)), engine, columns)


def test_spark_queries_of_any_depth_are_left_to_spark() -> None:
    before = sys.getrecursionlimit()
    assert [name for name, _ in spark_columns(_over_values(LONG["replace"][0])).items] == ["v"]
    for text in ("(" * 2000 + "x" + ")" * 2000, f"x + interval '{'1' * 5000}' day"):
        assert spark_columns(_over_values(text)).items == ()
    assert sys.getrecursionlimit() == before


def test_a_fault_of_a_rule_is_an_error_with_its_place(
    translate: Callable[..., str], columns: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_provider_odf.dialect import flink

    monkeypatch.setitem(flink.ENGINE.scalars, "abs", lambda call: call.arguments[7])  # type: ignore[index]
    with pytest.raises(InvalidInput, match=r"query 1, 2:5: ABS\(x\) cannot be translated: IndexError") as e:
        translate("select x + 1 as v,\n    abs(x) as w from input", "flink", columns)
    assert "engine: spark" in str(e.value)
