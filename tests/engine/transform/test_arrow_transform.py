"""New records of derivatives without Spark: each slice has the bytes of Spark's."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Check, Contract, MergeStrategy, SqlQueryStep, Transform, TransformRequest
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived
from tests.engine.transform.test_transform import day, person, reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def by_arrow(request: TransformRequest) -> Path | None:
    """Return the slice of the answer without Spark, None if there is nothing new.

    :raises NeedsSpark: Spark has to answer.
    """
    from airflow_provider_odf.engine.transform import arrow_transform

    success = arrow_transform.execute(request, lambda _: None)
    assert success.evaluation is None
    return Path(success.slice.path) if success.slice is not None else None


def step_by_both(derived: Derived) -> bool:
    """Compute what is new by Arrow and by Spark, which must make the same file. Return whether Arrow could."""
    from pyspark.errors import PySparkException

    from airflow_provider_odf.engine.optional_spark import NeedsSpark

    try:
        own, could = by_arrow(derived.request()), True
    except NeedsSpark:
        own, could = None, False
    content = own.read_bytes() if own is not None else None
    try:
        success = derived.step()
    except (InvalidQuery, PySparkException):  # such as an overflow
        if could:
            pytest.fail(f"without Spark: {derived.queries}, {shown(own)}")
        raise
    if could:
        path = success.slice.path if success.slice is not None else None
        assert (str(own) if own else None) == path, (derived.queries, shown(own), shown(path))
        assert path is None or Path(path).read_bytes() == content
    return could


def shown(path: Path | str | None) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist() if path is not None else []


def test_rows_of_a_snapshot_are_added_corrected_and_retracted(
    spark: SparkSession, tmp_path: Path, people: Polled
) -> None:
    query = "SELECT event_time, id, concat(name, '!') AS name FROM people WHERE name <> 'x'"
    named = Derived.of(spark, tmp_path / "d", query, people=people)
    people.poll([person(1, "ann"), person(2, "bob"), person(3, "cy"), person(4, "x")])
    assert not step_by_both(named)  # Spark analyzes a query first
    people.poll([person(1, "ann"), person(2, "bill"), person(3, "x"), person(4, "dan"), person(5, "eve")])
    assert step_by_both(named)
    people.poll([person(1, "ann"), person(2, "bill"), person(4, "dan")])
    assert step_by_both(named)
    assert named.records == [
        ("+A", (day(1), 1, "ann!")),
        ("+A", (day(1), 2, "bob!")),
        ("+A", (day(1), 3, "cy!")),
        ("-C", (day(1), 2, "bob!")),
        ("+C", (day(2), 2, "bill!")),
        ("-R", (day(1), 3, "cy!")),
        ("+A", (day(2), 4, "dan!")),
        ("+A", (day(2), 5, "eve!")),
        ("-R", (day(2), 5, "eve!")),
    ]


def test_totals_are_corrected(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    query = (
        "SELECT max(event_time) AS event_time, sensor, count(*) AS n, sum(v) AS total, min(v) AS least FROM readings "
        "WHERE v > 0 GROUP BY sensor"
    )
    totals = Derived.of(spark, tmp_path / "d", query, readings=readings)
    readings.poll([reading(1, "a", 5), reading(2, "b", 7), reading(2, "b", -1)])
    step_by_both(totals)
    readings.poll([reading(3, "a", 3), reading(3, "c", 1), reading(4, "c", 2), reading(4, "b", -9)])
    assert step_by_both(totals)
    assert totals.records[2:] == [
        ("-C", (day(1), "a", 1, 5, 5)),
        ("+C", (day(3), "a", 2, 8, 3)),
        ("+A", (day(4), "c", 2, 3, 1)),
    ]
    readings.poll([reading(5, "b", 0)])
    assert step_by_both(totals)
    assert len(totals.records) == 5, "nothing that is chosen is new"


LEAST = Check("/least", "minimum", ">= 2", "least", arguments={"limit": 2}, model="totals")
UNIQUE = Check("/sensor", "unique", "unique", "sensor", ("sensor",), model="totals")
BY_SPARK = Check("/sql", "quality_sql", "one", arguments={"query": "SELECT 1", "must_be": 1}, model="names")


def test_a_contract_is_tested_without_spark(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    """It sees the current rows of the derivative: b has 1 no more."""
    from airflow_provider_odf.engine.transform import arrow_transform, transform

    query = "SELECT max(event_time) AS event_time, sensor, count(*) AS n, min(v) AS least FROM readings GROUP BY sensor"
    totals = Derived.of(spark, tmp_path / "d", query, readings=readings)
    readings.poll([reading(1, "a", 5), reading(2, "b", 2)])
    totals.step()
    readings.poll([reading(3, "a", 1), reading(3, "c", 9)])
    totals.step()
    readings.poll([reading(4, "b", 3)])
    request = replace(totals.request(), contract=Contract("urn:totals", "totals", "", (LEAST, UNIQUE)))
    report = arrow_transform.execute(request, lambda _: None).report
    assert report is not None
    assert report.tested_rows == 3
    assert [(r.path, r.outcome, r.failed_rows) for r in report.results] == [
        ("/least", "fail", 1),
        ("/sensor", "pass", 0),
    ]
    assert report == transform.execute(spark.newSession(), request, lambda _: None).report


def test_spark_answers_where_the_kept_query_may_not(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    """It counts for one query, over one schema and history."""
    from airflow_provider_odf.engine.optional_spark import NeedsSpark

    named = Derived.of(spark, tmp_path / "d", "SELECT event_time, id, name FROM people", people=people)
    people.poll([person(1, "ann")])
    named.step()
    people.poll([person(2, "bob")])
    request = named.request()
    (source,) = request.query_inputs
    other = Derived.of(spark, tmp_path / "o", "SELECT event_time, id FROM people", people=people)
    other.step()
    for changed in (
        replace(request, arrow_query=None),
        replace(request, arrow_query=other.arrow_query),
        replace(
            request, transform=Transform("spark", (SqlQueryStep("SELECT event_time, id, 'z' AS name FROM people"),))
        ),
        replace(request, query_inputs=(replace(source, merge=MergeStrategy("Append")),)),
        replace(request, schema=other.schema),
        replace(request, is_query_new=True),
        replace(request, spark="always"),
        replace(request, contract=Contract("urn:names", "names", "", (BY_SPARK,))),
        replace(request, history=()),  # ann is taken back, who is not there
    ):
        with pytest.raises(NeedsSpark):
            by_arrow(changed)
    assert step_by_both(named)


def of_one_row(spark: SparkSession, work: Path, query: str) -> tuple[Polled, Derived]:
    """Return an input ``rows`` with one row, and its derivative after the first step."""
    columns = "event_time TIMESTAMP; v BIGINT; f DOUBLE; s STRING"
    rows = Polled(spark, work / "rows", columns, MergeStrategy("Append"))
    derived = Derived.of(spark, work / "derived", query, rows=rows)
    rows.poll([{"event_time": "2024-04-01T00:00:00Z", "v": 0, "f": 1.5, "s": "a"}])
    derived.step()
    return rows, derived


@pytest.mark.parametrize(
    "expression",
    [
        "v + 9223372036854775807",
        "0 - v - 9223372036854775807",
        "1D / (v - 2)",
        "s LIKE 'b_'",
        "s LIKE 'b!%' ESCAPE '!'",
        "like(s, 'b!%', '!')",
        "`li\u212ae`(s, 'b!%', '!')",
        "date_trunc('wee\u212a', event_time)",
        "CAST(1.00000005960464477539062500001 AS FLOAT)",
        "upper(s)",
        "CAST(f AS BIGINT)",
        "f IN (SELECT f FROM rows)",
        "row_number() OVER (PARTITION BY v ORDER BY event_time)",
    ],
)
def test_what_arrow_does_not_compute_is_spark_s(spark: SparkSession, tmp_path: Path, expression: str) -> None:
    from airflow_provider_odf.engine.optional_spark import NeedsSpark

    query = f"SELECT event_time, v, IF(v > 0, {expression}, NULL) AS x FROM rows"
    rows, derived = of_one_row(spark, tmp_path, query)
    rows.poll([{"event_time": "2024-04-02T00:00:00Z", "v": 2, "f": 1e300, "s": "b%"}])
    with pytest.raises(NeedsSpark):
        by_arrow(derived.request())


def test_a_query_that_uses_columns_again_and_again_is_spark_s(spark: SparkSession, tmp_path: Path) -> None:
    rows = Polled(spark, tmp_path / "r", "event_time TIMESTAMP; v BIGINT", MergeStrategy("Append"))
    query = "SELECT event_time, v AS x FROM rows"
    for _ in range(30):
        query = f"SELECT event_time, IF(x > 100, x - 100, x) AS x FROM ({query})"
    derived = Derived.of(spark, tmp_path / "d", query, rows=rows)
    rows.poll([{"event_time": "2024-04-01T00:00:00Z", "v": 750}])
    derived.step()
    assert derived.arrow_query is None
    assert derived.records == [("+A", (day(1), 50))]


def test_a_sum_that_overflows_in_some_order_is_spark_s(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    from airflow_provider_odf.engine.optional_spark import NeedsSpark

    query = "SELECT max(event_time) AS event_time, sensor, sum(v) AS total FROM readings GROUP BY sensor"
    totals = Derived.of(spark, tmp_path / "d", query, readings=readings)
    readings.poll([reading(1, "a", 0)])
    totals.step()
    readings.poll([reading(2, "a", 2**63 - 1), reading(3, "a", 1), reading(4, "a", -1)])
    with pytest.raises(NeedsSpark):
        by_arrow(totals.request())


@pytest.mark.parametrize("function", ["avg(f)", "sum(f)", "count(DISTINCT v)", "max(f)", "max_by(s, struct(v, f, s))"])
def test_totals_that_do_not_add_up_are_spark_s(spark: SparkSession, tmp_path: Path, function: str) -> None:
    query = f"SELECT max(event_time) AS event_time, s, {function} AS x FROM rows GROUP BY s"
    _, derived = of_one_row(spark, tmp_path, query)
    assert derived.arrow_query is None


# --- generated queries and rows ---

COLUMNS = (
    "event_time TIMESTAMP; k BIGINT; i INT; b SMALLINT; f DOUBLE; g FLOAT; d DECIMAL(9, 2); e DECIMAL(30, 4); "
    "s STRING; t TIMESTAMP; y DATE; z BOOLEAN"
)
ARROW = pa.schema(
    [
        ("event_time", pa.timestamp("ms", "UTC")), ("k", pa.int64()), ("i", pa.int32()), ("b", pa.int16()),
        ("f", pa.float64()), ("g", pa.float32()), ("d", pa.decimal128(9, 2)), ("e", pa.decimal128(30, 4)),
        ("s", pa.string()), ("t", pa.timestamp("us", "UTC")), ("y", pa.date32()), ("z", pa.bool_()),
    ]
)  # fmt: skip


def random_rows(r: Random, count: int, first: int) -> pa.Table:
    """Return rows with odd values of all types, and an increasing event time."""

    def value(kind: pa.DataType) -> Any:
        if r.random() < 0.15:
            return None
        if pa.types.is_integer(kind):
            most = 2 ** (kind.bit_width - 1) - 1
            return r.choice(
                [0, 1, 2, 3, -1, -7, r.randint(-9, 9), most, -most - 1] if r.random() < 0.01 else [0, 1, 2, 5]
            )
        if pa.types.is_floating(kind):
            return r.choice(
                [0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), 0.1, 1e300 if kind == "double" else 1e30]
            )
        if pa.types.is_decimal(kind):
            text = r.choice(["0", "1.50", "-2.25", "7", "9999999.99", f"{r.randint(-99, 99)}.{r.randint(10, 99)}"])
            return pa.scalar(text).cast(kind).as_py()
        if pa.types.is_string(kind):
            return r.choice(["", "a", "ab", "A", "b%", "Größe", "日本", "x_y", "a\nb", "z" * 40])
        if pa.types.is_timestamp(kind):
            return dt.datetime(r.choice([1950, 1969, 1970, 2024]), r.randint(1, 12), r.randint(1, 28), r.randint(0, 23),
                               r.randint(0, 59), r.randint(0, 59), r.choice([0, 1, 999_999]), dt.UTC)  # fmt: skip
        if pa.types.is_date(kind):
            return dt.date(r.choice([1950, 1969, 2024]), r.randint(1, 12), r.randint(1, 28))
        return r.random() < 0.5

    columns: dict[str, list[Any]] = {field.name: [value(field.type) for _ in range(count)] for field in ARROW}
    columns["event_time"] = [day(1) + dt.timedelta(hours=first + n) for n in range(count)]
    return pa.table(columns, ARROW)


KINDS = {
    "number": ["k", "i", "b"],
    "float": ["f", "g"],
    "decimal": ["d", "e"],
    "text": ["s"],
    "time": ["t", "event_time"],
    "day": ["y"],
    "truth": ["z"],
}
"""Kind of values -> its columns."""

OF_ALL = (
    "coalesce(@, @)",
    "nullif(@, @)",
    "IF({truth}, @, @)",
    "CASE WHEN {truth} THEN @ WHEN {truth} THEN @ END",
    "CASE {number} WHEN 1 THEN @ ELSE @ END",
    "CASE WHEN {truth} THEN NULL ELSE @ END",
)
"""Expressions of any kind, of which ``@`` is a value."""

OF_KIND = {
    "number": (
        "1", "-3", "{number} + {number}", "{number} - 1", "{number} * {number}", "-{number}", "try_add({number}, 1)",
        "CAST({number} AS BIGINT)", "year({time})", "month({day})", "hour({time})", "day({time})", "minute({time})",
    ),
    "float": (
        "0.1D", "-0.0D", "double('NaN')", "{float} + {float}", "{float} * 2", "{float} / {float}", "-{float}",
        "CAST({number} AS DOUBLE)", "{decimal} * 1.5D", "CAST(0.1 AS FLOAT)", "float('1e-3')", "{float} - {number}",
    ),
    "decimal": (
        "1.50", "{decimal} + {decimal}", "{decimal} - 1", "{decimal} * 2.5", "-{decimal}", "{decimal} * {decimal}",
        "CAST({number} AS DECIMAL(20, 3))", "{decimal} / 3",
    ),
    "text": ("'a'", "''", "'Größe'", "concat({text}, '-', {text})", "{text} || {text}", "concat({text})"),
    "time": (
        "TIMESTAMP '2024-02-29 12:30:00.123Z'", "CAST({day} AS TIMESTAMP)",
        *(f"date_trunc('{unit}', {{time}})" for unit in ("year", "quarter", "MONTH", "week", "dd", "hour", "second")),
    ),
    "day": ("DATE '1969-12-31'", "CAST({time} AS DATE)", "to_date({time})"),
    "truth": (
        "true", "NOT {truth}", "{truth} AND {truth}", "{truth} OR {truth}", "{any} IS NULL", "{any} IS NOT NULL",
        *(f"{{any}} {sign} {{any}}" for sign in ("=", "<", "<=", ">", ">=", "<>", "<=>")),
        "{any} BETWEEN {any} AND {any}", "{any} IN ({any}, {any}, NULL)", "{any} NOT IN ({any})",
        *(f"s LIKE '{pattern}'" for pattern in ("a%", "%a", "%a%", "a", "a_", "%", "b\\\\%")),
        "s LIKE 'b!%' ESCAPE '!'", "s NOT LIKE '%b'",
        "like(s, 'b!%', '!')", "startswith(s, 'a')", "endswith(s, '')", "contains(s, 'b')", "contains(s, s)",
    ),
}  # fmt: skip
"""Expressions of a kind, with values of kinds in braces; ``any`` is one kind in all places."""


def value(r: Random, kind: str, depth: int) -> str:
    """Return a random expression of a kind, in SQL."""
    if depth == 0 or r.random() < 0.25:
        return r.choice(KINDS[kind])
    template = r.choice(OF_KIND[kind] if r.random() < 0.7 else OF_ALL).replace("@", f"{{{kind}}}")
    template = template.replace("{any}", f"{{{r.choice([*KINDS])}}}")
    return re.sub(r"\{(\w+)\}", lambda match: value(r, match[1], depth - 1), template)


def row_wise(r: Random, depth: int) -> str:
    shown = ", ".join(f"{value(r, r.choice([*KINDS]), depth)} AS c{n}" for n in range(3))
    if r.random() < 0.3:
        where = value(r, "truth", depth)
        return f"SELECT * FROM (SELECT event_time, k, {shown} FROM rows WHERE {where}) WHERE c0 IS NOT NULL"
    where = f" WHERE {value(r, 'truth', depth)}" if r.random() < 0.7 else ""
    return f"SELECT event_time, {shown} FROM rows{where}"


def totals(r: Random, depth: int) -> str:
    kinds = [kind for kind in KINDS if kind != "float"]
    groups = [value(r, r.choice(kinds), depth - 1) for _ in range(r.randint(1, 2))]
    functions = (
        "count(*)", f"count({value(r, r.choice([*KINDS]), 1)})", f"sum({value(r, 'number', 1)})", "count_if(z)",
        f"sum({value(r, 'decimal', 1)})", *(f"{f}({value(r, r.choice(kinds), 1)})" for f in ("min", "max")),
        "count(DISTINCT k)", "sum(k) FILTER (WHERE z)",
    )  # fmt: skip
    columns = ", ".join(f"{e} AS c{n}" for n, e in enumerate([*groups, *r.choices(functions, k=3)]))
    where = f" WHERE {value(r, 'truth', 1)}" if r.random() < 0.5 else ""
    having = " HAVING count(*) > 1" if r.random() < 0.1 else ""
    return f"SELECT max(event_time) AS event_time, {columns} FROM rows{where} GROUP BY {', '.join(groups)}{having}"


STEPS = 3


def compare(spark: SparkSession, work: Path, seed: int, queries: int) -> tuple[int, int]:
    """Compute random queries over the same random rows in both forms. Return the number of steps, and that of those
    that Arrow computed."""
    from pyspark.errors import PySparkException

    r = Random(seed)
    strategy = r.choice([MergeStrategy("Append"), MergeStrategy("Ledger", ("k",)), MergeStrategy("Snapshot", ("k",))])
    rows = Polled(spark, work / "rows", COLUMNS, strategy)
    derived = [
        Derived.of(spark, work / f"{n}", r.choice([row_wise, totals])(r, r.choice([1, 1, 2])), rows=rows)
        for n in range(queries)
    ]
    steps = could = 0
    for step in range(STEPS):
        count = r.choice([1, 12, 40])
        table = random_rows(r, count, 50 * step)
        if strategy.kind != "Append":
            table = table.set_column(1, "k", pa.array(r.sample(range(40), count)))
        pq.write_table(table, file := work / f"rows-{step}.parquet")
        rows.poll(file, kind="Parquet")
        for one in list(derived):
            try:
                done = step_by_both(one)
            except (
                InvalidQuery,
                PySparkException,
            ):  # such as an overflow, on which `step_by_both` has no answer either
                derived.remove(one)
                continue
            if step and one.history:
                steps, could = steps + 1, could + done
    return steps, could


def test_random_queries_have_spark_s_bytes(spark: SparkSession, tmp_path: Path) -> None:
    results = [compare(spark, tmp_path / str(seed), seed, 6) for seed in range(2)]
    assert sum(could for _, could in results) >= sum(steps for steps, _ in results) / 5


@pytest.mark.torture
def test_many_random_queries_have_spark_s_bytes(spark: SparkSession, tmp_path: Path) -> None:
    for seed in range(100, 140):
        steps, could = compare(spark, tmp_path / str(seed), seed, 40)
        print(f"seed {seed}: {steps} steps, {could} without Spark")
