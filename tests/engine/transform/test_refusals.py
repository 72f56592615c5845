"""Queries that a transform refuses before anything is written, with their place, and those that it does not."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.engine.transform import result, transform
from airflow_provider_odf.errors import InvalidQuery
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SINCE_4_2 = pytest.mark.skipif(not version("pyspark").startswith("4.2"), reason="this SQL is new in Spark 4.2")

READING = {"event_time": "2024-04-01T00:00:00Z", "sensor": "a", "v": 1}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT event_time, sensor, rand() AS x FROM readings",
            "transform, query 1, line 1: rand has another value in each run: take times and values from the data",
        ),
        (
            "SELECT current_date AS event_time, sensor FROM readings",
            "transform, query 1, line 1: current_date has another value in each run: take times and values from "
            "the data",
        ),
        (
            "SELECT event_time, v FROM readings\nWHERE event_time < now()",
            "transform, query 1, line 2: now has another value in each run: take times and values from the data",
        ),
        (
            "SELECT event_time, v FROM readings ORDER BY v\nLIMIT 3",
            "transform, query 1, line 2: the ORDER BY before LIMIT has ties: rows with equal values in it can have any "
            "order: add columns to ORDER BY until no two rows are equal in it",
        ),
        (
            "SELECT event_time, v FROM readings LIMIT 3",
            "transform, query 1, line 1: LIMIT without ORDER BY takes any rows: add ORDER BY with a unique order",
        ),
        (
            "SELECT event_time, sensor, row_number() OVER (PARTITION BY sensor ORDER BY v) AS n FROM readings",
            "transform, query 1, line 1: the order of row_number has ties: rows with equal values in it can have any "
            "order: add columns to its ORDER BY until no two rows are equal in it",
        ),
        (
            "SELECT max(event_time) AS event_time, first(v) AS v FROM readings GROUP BY sensor",
            "transform, query 1, line 1: first depends on the order of the rows, which is not defined: use min_by or "
            "max_by",
        ),
        (
            "SELECT max(event_time) AS event_time, collect_list(v) AS v FROM readings GROUP BY sensor",
            "transform, query 1, line 1: collect_list depends on the order of the rows, which is not defined: sort it: "
            "sort_array(collect_list(…))",
        ),
        (
            "SELECT event_time, v FROM readings\nWHERE event_time < '10:30'",
            "transform, query 1, line 2: 10:30 has another value in each run: take times and values from the data",
        ),
        (
            "SELECT event_time, TIMESTAMP 'T10:30' AS t FROM readings",
            "transform, query 1, line 1: t10:30 has another value in each run: take times and values from the data",
        ),
        (
            "SELECT event_time, sensor, v FROM readings SORT BY event_time, sensor, v\nLIMIT 3",
            "transform, query 1, line 2: LIMIT without ORDER BY takes any rows: add ORDER BY with a unique order",
        ),
        pytest.param(
            "SELECT max(event_time) AS event_time,\nmax_by(sensor, v, 2) AS s FROM readings",
            "transform, query 1, line 2: the order of max_by has ties: rows with equal values in it can have any "
            "order: add columns to it until no two rows are equal in it: max_by(…, struct(…, …))",
            marks=SINCE_4_2,
        ),
        pytest.param(
            "SELECT event_time,\nmin_by(sensor, v, 2) OVER (PARTITION BY v % 2) AS s FROM readings",
            "transform, query 1, line 2: the order of min_by has ties: rows with equal values in it can have any "
            "order: add columns to it until no two rows are equal in it: min_by(…, struct(…, …))",
            marks=SINCE_4_2,
        ),
        (
            "SELECT event_time, v FROM readings WHERE v = (SELECT v FROM readings LIMIT 1)",
            "transform, query 1, line 1: LIMIT without ORDER BY takes any rows: add ORDER BY with a unique order",
        ),
        (
            "SELECT event_time, v FROM readings WHERE v IN (SELECT first(v) FROM readings)",
            "transform, query 1, line 1: first depends on the order of the rows, which is not defined: use min_by or "
            "max_by",
        ),
        (
            "SELECT event_time, v FROM readings WHERE v IN "
            "(SELECT v FROM (SELECT v, row_number() OVER (ORDER BY sensor) AS n FROM readings) WHERE n = 1)",
            "transform, query 1, line 1: the order of row_number has ties: rows with equal values in it can have any "
            "order: add columns to its ORDER BY until no two rows are equal in it",
        ),
        (
            "SELECT event_time, v FROM readings WHERE event_time < timestamp 'now'",
            "transform, query 1, line 1: now has another value in each run: take times and values from the data",
        ),
        (
            "SELECT event_time, v FROM readings WHERE event_time < to_timestamp('now')",
            "transform, query 1, line 1: now has another value in each run: take times and values from the data",
        ),
        (
            "SELECT event_time, v FROM readings WHERE event_time < 'today'",
            "transform, query 1, line 1: today has another value in each run: take times and values from the data",
        ),
        (
            "SELECT max(event_time) AS event_time, approx_percentile(v, 0.5) AS v FROM readings GROUP BY sensor",
            "transform, query 1, line 1: approx_percentile depends on the order of the rows, which is not defined: use "
            "an exact function, such as percentile",
        ),
        (
            "SELECT event_time, v FROM readings WHERE event_time < CAST('today' AS DATE)",
            "transform, query 1, line 1: today has another value in each run: take times and values from the data",
        ),
        (
            "SELECT max(event_time) AS event_time, max_by(sensor, v) AS s FROM readings",
            "transform, query 1, line 1: the order of max_by has ties: rows with equal values in it can have any "
            "order: add columns to it until no two rows are equal in it: max_by(…, struct(…, …))",
        ),
        (
            "SELECT event_time, min_by(v, event_time) OVER (PARTITION BY sensor) AS n FROM readings",
            "transform, query 1, line 1: the order of min_by has ties: rows with equal values in it can have any "
            "order: add columns to it until no two rows are equal in it: min_by(…, struct(…, …))",
        ),
        (
            "SELECT max(event_time) AS event_time, listagg(sensor) WITHIN GROUP (ORDER BY v) AS s FROM readings",
            "transform, query 1, line 1: the order of listagg has ties: rows with equal values in it can have any "
            "order: add columns to it until no two rows are equal in it: ORDER BY …, …",
        ),
        (
            "SELECT sensor, v FROM readings",
            "transform: the result has no column event_time, the event time of each row: select it, or name another "
            "column in SetVocab.eventTimeColumn",
        ),
        (
            "SELECT * FROM readings",
            "transform: column offset has the name of a system column: a `*` selects the system columns of the input, "
            "too: list the columns in the query, in Spark SQL also `* EXCEPT (offset, op, system_time)`",
        ),
        (
            "SELECT offset, event_time FROM readings",
            "transform: column offset has the name of a system column: rename it in the query (`offset AS offset_1`), "
            "or, if the dataset has no data yet, rename the system column with SetVocab.offsetColumn",
        ),
        (
            "SELECT event_time, sensr FROM readings",
            "transform, query 1, line 1: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter "
            "with name `sensr` cannot be resolved. Did you mean one of the following? [`sensor`,",
        ),
        ("SELECT event_time FROM reading", "transform, query 1, line 1: unknown table reading"),
        (
            "SELECT v AS event_time FROM readings",
            "transform: event time column event_time must be DATE or TIMESTAMP, not BIGINT: convert it in the query, "
            "in Spark SQL `timestamp_seconds(event_time)` for seconds, `timestamp_millis(event_time)` for "
            "milliseconds, `make_date(event_time, 1, 1)` for a year, or name another column in "
            "SetVocab.eventTimeColumn",
        ),
        ("DROP TABLE readings", "transform, query 1: a query must be one SELECT over readings, people"),
    ],
)
def test_refused_when_planned(
    spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled, query: str, message: str
) -> None:
    readings.poll([READING])
    people.poll([{"id": 1, "name": "ann"}])
    derived = Derived.of(spark, tmp_path / "d", query, readings=readings, people=people)
    with pytest.raises(InvalidQuery) as refusal:
        transform.execute(spark.newSession(), derived.request(is_analyzed_only=True), lambda _: None)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT event_time, sensor, rank() OVER (ORDER BY v) AS n FROM readings",
        "SELECT event_time, sensor, sum(v) OVER (PARTITION BY sensor ORDER BY event_time) AS n FROM readings",
        "SELECT event_time, sensor, v FROM readings ORDER BY v, sensor, event_time LIMIT 3",
        "SELECT max(event_time) AS event_time, sort_array(collect_list(v)) AS v FROM readings GROUP BY sensor",
        "SELECT max(event_time) AS event_time, sensor FROM readings GROUP BY sensor ORDER BY sensor LIMIT 1",
        "SELECT event_time, id, name FROM people ORDER BY id LIMIT 2",
        "SELECT event_time, v FROM readings WHERE v IN (SELECT p.id FROM people AS p ORDER BY p.id LIMIT 1)",
        "SELECT event_time, v FROM readings WHERE v = (SELECT max_by(v, (v, sensor)) FROM readings)",
        "SELECT max(event_time) AS event_time, max_by(name, id) AS name FROM people",
        pytest.param("SELECT max(event_time) AS event_time, max_by(name, id, 2) AS name FROM people", marks=SINCE_4_2),
        "SELECT event_time, sensor, v FROM readings SORT BY v",
        "SELECT event_time, to_timestamp('10:30', 'HH:mm') AS t FROM readings",
        pytest.param(
            "SELECT event_time, name, row_number() OVER (ORDER BY id) AS n FROM people QUALIFY n < 3", marks=SINCE_4_2
        ),
        "SELECT event_time, name FROM people LIMIT ALL",
        "SELECT max(event_time) AS event_time, listagg(sensor) WITHIN GROUP (ORDER BY sensor) AS s FROM readings",
    ],
)
def test_deterministic_queries_are_accepted(
    spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled, query: str
) -> None:
    readings.poll([READING])
    people.poll([{"id": 1, "name": "ann"}])
    assert Derived.of(spark, tmp_path / "d", query, readings=readings, people=people).step().slice is not None


def test_all_columns_but_the_system_columns(spark: SparkSession, tmp_path: Path, readings: Polled) -> None:
    readings.poll([READING])
    query = "SELECT * EXCEPT (offset, op, system_time) FROM readings"
    new = Derived.of(spark, tmp_path / "d", query, readings=readings).step().slice
    assert new is not None
    assert new.offset_interval.count == 1


OF_THE_RUN = {
    "aes_encrypt(sensor, '0000111122223333')": "line 1: aes_encrypt takes a random initialization vector: give it",
    "sha2(aes_encrypt(sensor, '0000111122223333', 'GCM'), 256)": "line 1: aes_encrypt takes a random",
    "timestamp(lower('NOW'))": "the query depends on a time of the run, from a text such as now",
    "CAST(concat('no', 'w') AS TIMESTAMP)": "the query depends on a time of the run",
    "CAST(upper('today') AS DATE)": "the query depends on a time of the run",
    "try_to_timestamp(lower('TOMORROW'))": "the query depends on a time of the run",
    "from_json('{\"a\": \"now\"}', 'a STRING').a::timestamp": "the query depends on a time of the run",
    "exists(SELECT 1 FROM people WHERE to_date(lower('TODAY')) > event_time)": "the query depends on a time of the run",
    "try_to_timestamp('tomorrow')": "line 1: tomorrow has another value in each run",
    "TIMESTAMP /* of the run */ 'now'": "line 1: now has another value in each run",
    "DATE r'today'": "line 1: today has another value in each run",
    r"TIMESTAMP '\u006eow'": "now has another value in each run",
    "current_timezone()": "line 1: current_timezone has another value in each run",
    "convert_timezone('UTC', event_time)": "current_timezone has another value in each run",
    "unix_timestamp()": "current_timestamp has another value in each run",
    "user()": "current_user has another value in each run",
    "current_path()": "line 1: current_path has another value in each run",
    "version()": "line 1: version has another value in each run",
    "uniform(1, 10, 3)": "line 1: uniform has another value in each run",
    "transform(array(1), x -> now())": "line 1: now has another value in each run",
    "(SELECT hll_sketch_estimate(hll_sketch_agg(id)) FROM people)": "line 1: hll_sketch_agg depends on the order",
    "(SELECT kll_sketch_get_n_bigint(kll_sketch_agg_bigint(id)) FROM people)": "line 1: kll_sketch_agg_bigint",
    "(SELECT max(x) FROM VALUES (version()) AS t(x))": "line 1: version has another value in each run",
    "(SELECT max(x) FROM VALUES (aes_encrypt('a', '0000111122223333')) AS t(x))": "line 1: aes_encrypt takes a random",
    **dict.fromkeys(
        (
            f"aes_encrypt(sensor, '0000111122223333', 'GCM', 'DEFAULT', {vector})"
            for vector in (
                *("X''", "X'000102030405060708090a0b'", "unhex('')", "CAST(left(sensor, 0) AS BINARY)"),
                *(
                    "left(md5(sensor), 0)",
                    "left(md5(sensor), v)",
                    "substr(md5(sensor), 33)",
                    "substr(md5(sensor), 33, 12)",
                ),
            )
        ),
        "line 1: aes_encrypt takes a random initialization vector: give it the mode 'ECB', or as fifth argument a",
    ),
    "(SELECT array_sort(collect_list(id), (a, b) -> CAST(a % 2 - b % 2 AS INT)) FROM people)": "line 1: collect_list",
    "(SELECT array_sort(collect_list(id), (a, b) -> 0) FROM people)": "line 1: collect_list depends on the order",
    "(SELECT array_sort(collect_list((id, name)), (a, b) -> IF(a.id < b.id, -1, 1)).id FROM people)": "line 1: coll",
    "(SELECT min(name COLLATE UTF8_LCASE) FROM people)": "line 1: under a collation, texts that differ are equal",
}
"""Expressions -> beginning of the message."""

OF_THE_ROW = (
    "aes_encrypt(sensor, '0000111122223333', 'ECB')",
    "aes_encrypt(sensor, '0000111122223333', 'GCM', 'DEFAULT', substr(CAST(sha2(sensor, 256) AS BINARY), 1, 12))",
    *(
        f"aes_encrypt(sensor, '0000111122223333', 'GCM', 'DEFAULT', {vector})"
        for vector in (
            "'abcdefghijkl'",
            "CAST('abcdefghijkl' AS BINARY)",
            "left(md5(sensor), 12)",
            "unhex('000102')",
        )
    ),
    "aes_encrypt(sensor, '0000111122223333', 'CBC', 'PKCS', unhex(md5(sensor)))",
    "DATE '2020-01-01'",
    "event_time > make_date(2020, 1, 1)",
    "TIMESTAMP 'epoch'",
    "convert_timezone('UTC', 'America/New_York', CAST(event_time AS TIMESTAMP_NTZ))",
    "try_cast(sensor AS TIMESTAMP)",
    "to_timestamp(sensor, 'yyyy')",
    "sensor COLLATE UTF8_LCASE = 'A'",
    "sensor COLLATE UTF8_LCASE",
    "(SELECT array_sort(collect_list(id)) FROM people)",
    "(SELECT array_sort(collect_list(id), (a, b) -> CASE WHEN a < b THEN 1 WHEN a > b THEN -1 ELSE 0 END) FROM people)",
    "(SELECT max(x) FROM VALUES (aes_encrypt('a', '0000111122223333', 'ECB')) AS t(x))",
)


def test_values_of_the_run_are_refused(spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled) -> None:
    readings.poll([READING])
    people.poll([{"id": 1, "name": "ann"}])
    session = spark.newSession()
    for expression, message in OF_THE_RUN.items():
        query = f"SELECT event_time, {expression} AS x FROM readings"
        derived = Derived.of(spark, tmp_path / "d", query, readings=readings, people=people)
        with pytest.raises(InvalidQuery) as refusal:
            transform.execute(session, derived.request(is_analyzed_only=True), lambda _: None)
        assert message in str(refusal.value), expression
    for expression in OF_THE_ROW:
        query = f"SELECT event_time, {expression} AS x FROM readings"
        derived = Derived.of(spark, tmp_path / "d", query, readings=readings, people=people)
        transform.execute(session, derived.request(is_analyzed_only=True), lambda _: None)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT max(event_time) AS event_time, avg(v) AS v, "
            "max(CASE WHEN v > 0 THEN CAST(x AS TIMESTAMP) END) AS t "
            "FROM (SELECT *, concat('no', 'w') AS x FROM readings)",
            "transform: the query depends on a time of the run, from a text such as now or today that it computes,",
        ),
        (
            "SELECT max(event_time) AS event_time, avg(v) AS v,\n"
            "listagg(DISTINCT sensor) WITHIN GROUP (ORDER BY sensor) AS s FROM readings",
            "transform, query 1, line 2: listagg(DISTINCT …) cannot be beside a sum or an average of floating-point "
            "numbers: write array_join(sort_array(collect_set(…)), ',')",
        ),
    ],
)
def test_refused_when_sums_get_their_order(
    spark: SparkSession, tmp_path: Path, readings: Polled, query: str, message: str
) -> None:
    readings.poll([READING])
    derived = Derived.of(spark, tmp_path / "d", query, readings=readings)
    with pytest.raises(InvalidQuery) as refusal:
        derived.step()
    assert str(refusal.value).startswith(message)
    assert [*(tmp_path / "d").iterdir()] == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(event_time) AS event_time, sensor COLLATE UTF8_LCASE AS s FROM readings GROUP BY 2",
        "SELECT DISTINCT event_time, sensor COLLATE UTF8_LCASE AS s FROM readings",
        "SELECT max(event_time) AS event_time, max(sensor COLLATE UNICODE_CI) AS s FROM readings",
        "SELECT * FROM (SELECT event_time, sensor COLLATE UTF8_LCASE AS s FROM readings) ORDER BY 1, 2 LIMIT 1",
    ],
)
def test_a_collation_does_not_choose_the_text_that_is_shown(
    spark: SparkSession, tmp_path: Path, readings: Polled, query: str
) -> None:
    readings.poll([READING])
    derived = Derived.of(spark, tmp_path / "d", query, readings=readings)
    with pytest.raises(InvalidQuery, match="line 1: under a collation, texts that differ are equal, and which of them"):
        transform.execute(spark.newSession(), derived.request(is_analyzed_only=True), lambda _: None)


def test_a_collation_compares(spark: SparkSession, tmp_path: Path, readings: Polled, people: Polled) -> None:
    """Texts of a collation are in the result as other texts are, also when they change."""
    joined = "SELECT r.event_time, r.sensor COLLATE UTF8_LCASE AS s, p.name FROM readings r JOIN people p ON "
    query = f"{joined} p.name COLLATE UTF8_LCASE = r.sensor COLLATE UTF8_LCASE"
    derived = Derived.of(spark, tmp_path / "d", query, readings=readings, people=people)
    readings.poll([READING])
    people.poll([{"id": 1, "name": "A"}, {"id": 2, "name": "b"}])
    derived.step()
    assert [row[1:] for row in derived.rows] == [("a", "A")]
    people.poll([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    derived.step()
    assert [row[1:] for row in derived.rows] == [("a", "a")]


def test_totals_over_no_rows(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    """The row of totals over no rows has no event time. With HAVING, it leaves the result."""
    total = "SELECT max(event_time) AS event_time, count(*) AS n FROM people"
    plain = Derived.of(spark, tmp_path / "p", total, people=people)
    having = Derived.of(spark, tmp_path / "h", f"{total} HAVING count(*) > 0", people=people)
    people.poll([{"id": 1, "name": "ann"}])
    plain.step(), having.step()
    people.poll([])
    message = (
        r"^derived: column event_time, which is NOT NULL in the dataset, is null in 1 row, such as "
        r"\(event_time=None, n=0\). Each row needs an event time: filter such rows out in the query. A total without "
        r"GROUP BY has a row over no rows too: with HAVING count\(\*\) > 0, this row leaves the result$"
    )
    with pytest.raises(InvalidQuery, match=message):
        plain.step()
    assert [row[1:] for row in plain.rows] == [(1,)]
    having.step()
    assert having.rows == Counter()
    plain.queries, plain.is_query_new = having.queries, True
    plain.step()
    assert plain.rows == Counter()


def test_a_primary_key_does_not_order_the_records_of_a_key(spark: SparkSession, tmp_path: Path, people: Polled) -> None:
    """A query that names op reads all records of a key."""
    people.poll([{"id": 1, "name": "ann"}])
    query = "SELECT event_time, name, op AS code FROM people ORDER BY id LIMIT 2"
    derived = Derived.of(spark, tmp_path / "d", query, people=people)
    with pytest.raises(InvalidQuery, match="line 1: the ORDER BY before LIMIT has ties"):
        derived.step()


@pytest.mark.parametrize(
    ("engine", "query"),
    [
        ("spark", "SELECT a.event_time, a.v FROM readings a CROSS JOIN readings b"),
        ("spark", "SELECT event_time, explode(sequence(1, 4)) AS v FROM readings"),
        ("datafusion", "SELECT a.event_time, a.v FROM readings a CROSS JOIN readings b"),
    ],
)
def test_a_result_that_explodes_is_an_error(
    spark: SparkSession, tmp_path: Path, readings: Polled, monkeypatch: pytest.MonkeyPatch, engine: str, query: str
) -> None:
    monkeypatch.setattr(result, "MOST_ROWS", 100)
    monkeypatch.setattr(result, "MOST_ROWS_PER_RECORD", 2)
    readings.poll([{**READING, "v": n} for n in range(30)])
    exploding = Derived.of(spark, tmp_path / "d", query, readings=readings)
    exploding.engine = engine
    with pytest.raises(Exception, match="the result has more than 100 rows of 30 input records: does a join lack a"):
        exploding.step()
    assert not list((tmp_path / "d").iterdir())
    assert exploding.history == ()
