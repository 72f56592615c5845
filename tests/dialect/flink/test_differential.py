"""The same queries on real Flink and, translated, on Spark: values, types and names of columns must be equal.

``make test-slow`` installs Flink and runs them. Flink takes a time of day before 1970 for the day after in some
functions; those run over the times from 1970 on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from airflow_provider_odf.dialect.flink import ENGINE
from airflow_provider_odf.errors import InvalidInput
from tests.dialect.flink import comparison

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_provider_odf.protocol import Column

TRANSLATED = {
    "numbers": """
        1 | -5 | 1.5 | 0.5 | 10.25 | 1e3 | 2147483648 | 9223372036854775807 | true | cast(null as int)
        i + 1 | i + k | k * 2 / 2 | i - k | i / 2 | j / 2 | k / 3 | i / k | k % 3 | j % 3 | i % 3 | -7 % 3
        mod(k, 3) | mod(i, 7) | -7 / 2 | -i | -d | -f | -m | i - -k
        d + 1 | d / 2 | d * d | d - 0.5 | d * m | 2 * (i + 1) / 3 | d + i
        f + f | f * f | f * 2 | f / 2 | f / cast(3 as float) | f + k | f - k | k * f | f + d | d - f | f * d | d * f
        f / e | e / cast(7 as float) | f + m | m + f | f * 1.5 | f - 1.5 | cast(k as float) / power(10.0, 3)
        m + n | m - n | m * n | m / n | m / 3 | m / 7.0 | m + 1 | m + k | m * k | m - k | k / 2.0 | k * 0.1
        m / cast(3 as smallint) | m % 2 | m % n | mod(m, 3) | m * 0.5 | n / e | m * cast(2 as double)
        abs(i) | abs(j) | abs(m) | abs(d) | abs(f) | ceil(d) | ceil(m) | ceil(i) | floor(d) | floor(e) | floor(m)
        floor(i) | ceil(e) | round(d) | round(d, 1) | round(e, 2) | round(e) | round(m, 1) | round(m) | round(n, 2)
        round(n, 3) | round(i) | round(e, 15) | power(10.0, 18) | power(2, 10)
        power(2.5, 2)
    """,
    "comparisons": """
        i = 1 | j = 2 | i = j | i = d | d = 0 | d < 0.5 | m = 1.5 | m > n | m = 2 | m <> n | i = 1.0 | d >= m
                f = f | f < cast('1.5' as float) | f = k | s = u | s < u | s > '' | b = c | b > c | i <> 1
                i >= k | i <= k
        dt = '2020-01-02' | dt > date '2020-01-01' | ts > '2020-01-02' | ts < tz | ts = tz
        ts >= timestamp '2020-02-29 00:00:00' | i is null | i is not null | b is true | b is not true | b is not false
        i is distinct from k | i is not distinct from k | i between 0 and 5 | i not between 0 and 5 | d between 0 and 5
        i in (1, 2, 7) | i not in (1, 2) | s in ('abc', '') | not b | b and c | b or c | not (b and c) or i > 0
        s like 'a%' | s like '%\\%%' | s not like '%l%' | s like '_' | s like ''
    """,
    "conditions": """
        case when i > 0 then 'p' when i < 0 then 'negative' end | case i when 1 then 'one' when 7 then 's' else 'x' end
        case when b then 1 else 2.5 end | case when b then j else k end | case when b then m else n end
        case when b then m else 1 end | case when b then f else k end | case when b then d else 1 end
        case when b then d else m end | case when b then s else 'x' end | case when b then dt else dz end
        case when b then ts else tz end | case when b then cast(null as bigint) else i end
        coalesce(i, k) | coalesce(i, 0) | coalesce(j, k) | coalesce(s, u, 'x') | coalesce(d, 0) | coalesce(f, 0)
        coalesce(m, 0) | coalesce(m, n) | ifnull(i, 0) | ifnull(s, 'x') | nullif(i, 1) | nullif(s, '') | nullif(j, 2)
        nullif(d, 2) | nullif(m, 2) | if(b, i, k) | if(b, s, 'x') | if(b, 1, 2.5)
        greatest(i, k) | greatest(s, u) | greatest(j, i) | least(i, k) | least(s, u) | greatest(dt, dz) | least(ts, tz)
    """,
    "casts": """
        cast(j as bigint) | cast(k as int) | cast(k as smallint) | cast(i as double) | cast(i as float)
        cast(k as decimal(10,2)) | cast(i as varchar) | cast(i as string) | cast(i as boolean) | cast(b as int)
        cast(b as bigint) | cast(b as string) | cast(d as float) | cast(f as double) | cast(e as bigint)
        cast(-e as int) | cast(e as decimal(10,2)) | cast(-e as decimal(10,1)) | cast(n as int) | cast(m as bigint)
        cast(m as double) | cast(n as double) | cast(m as decimal(12,1)) | cast(n as decimal(10,1))
        cast(m as decimal(14,3)) | cast(m as string) | cast(n as varchar) | cast(d as string) | cast(f as string)
        cast(w as bigint) | cast(' 1 ' as bigint) | cast('+1' as int) | cast(cast(r as string) as double)
        cast('1.5e3' as double) | cast('1.555' as decimal(10,2)) | cast('-1.545' as decimal(10,2))
        cast('yes' as boolean) | cast('T' as boolean) | cast('0' as boolean) | cast(y as date) | cast(dt as string)
        cast(dt as timestamp(3)) | cast(dt as timestamp) | cast(ts as string) | cast(cast(ts as timestamp) as varchar)
        cast(ts as timestamp(3)) | cast('2020-01-02 03:04:05' as timestamp(3)) | cast('2020-01-02' as timestamp(3))
        cast(cast(dt as string) || ' 01:02:03.5' as timestamp(3)) | date '2020-01-02'
        timestamp '2020-01-02 03:04:05' | cast(s as varchar(2)) | cast(s as varchar) | cast('abc' as varchar(2))
        try_cast(s as int) | try_cast(w as int) | try_cast(w as bigint) | try_cast(u as double) | try_cast(w as double)
        try_cast(u as date) | try_cast(y as date) | try_cast(u as timestamp(3)) | try_cast(w as decimal(20,2))
        try_cast(s as decimal(5,2)) | try_cast('1e3' as int) | try_cast('1e3' as double) | try_cast('q1' as double)
        try_cast('Äpfel 1' as double)
    """,
    "text": r"""
        'a\d' | 'it''s' | '${spark.master}' | upper(s) | lower(s)
        char_length(s) | character_length(s) | concat(s, u) | concat(s, '-', u) | concat_ws('-', s, u)
        concat_ws(s, 'a', u, 'b') | s || u | s || 'x' | s || '-' || u | substring(s, 2) | substring(s, 2, 3)
        substring(s from 2 for 3) | substring(s, 0, 3) | substring(s, 0) | substring(s, 2, 0) | substring(s, 99)
        substr(s, 2, 3) | substr(s, 2) | left(s, 2) | left(s, 0) | left(s, -1) | right(s, 2) | right(s, -1)
        left(s, j)
        right(s, j) | right(s, 100) | trim(s) | trim('	a	') | trim(both ' x' from s) | trim(leading 'a' from s)
        trim(trailing 'd' from s) | ltrim(s) | rtrim(s) | btrim(s) | ltrim(s, 'aH') | rtrim(s, 'cd') | btrim(s, ' a')
        lpad(s, 5, '*') | lpad(s, 0, '*') | rpad(s, 5, 'xy') | repeat(s, 2) | repeat(s, -1) | replace(s, 'b', 'Z')
        replace(s, 'l', '') | replace(s, ' ', u) | reverse(s) | position('l' in s) | position('' in s) | instr(s, 'l')
        startswith(s, 'a') | endswith(s, 'c') | startswith(s, u) | endswith(s, '') | md5(s) | sha1(s)
        sha256(s) | sha512(s) | translate(s, 'abc', 'xy') | translate(s, 'l ', 'L')
        regexp_replace(s, 'l', 'L') | regexp_replace(s, '(.)b', '<$1>') | regexp_replace(s, '[a-c]+', '\x')
        regexp_replace(s, '\s+', '') | regexp_extract(s, '(.)b', 1) | regexp_extract(s, '(.)b') | regexp(s, 'b')
        regexp_extract(s, 'z(.)', 1) | regexp(s, '^[A-Z]') | regexp_extract(s, '([a-z]+) ([A-Z])', 2)
        regexp_replace(s, 'x*', '-') | regexp_replace(s, '\b', '.') | regexp(s, '(?i)HELLO') | regexp(s, '\p{Lu}')
        regexp_extract(s, '[a-z]+(?= )') | regexp(s, '$')
    """,
    "times": """
        ts + interval '1' day | ts - interval '1' month | ts + interval '1' year | ts + interval '2' hour
        ts + interval '30' minute | ts + interval '5' second | interval '1' day + ts | dt + interval '1' day
        dt - interval '1' month | dt + interval '1' year | timestampadd(day, 1, ts) | timestampadd(month, 1, ts)
        timestampadd(month, 1, dt) | timestampadd(day, -1, dt) | timestampadd(hour, 5, ts) | timestampadd(week, 1, ts)
        timestampadd(minute, j % 100, ts) | timestampadd(year, 1, ts)
        timestampadd(second, 1, ts) | timestampdiff(day, dz, dt) | timestampdiff(hour, dz, dt)
        cast(to_timestamp(y) as string) | to_timestamp(s) | to_timestamp('2020-01-02 03:04:05')
        to_timestamp('2020-01-02 03:04:05.123')
        to_timestamp('2020-01-02T03:04:05') | to_timestamp('2020/01/02', 'yyyy/MM/dd') | to_timestamp('x', 'yyyyMMdd')
        to_timestamp('2020/01/02 03:04:05', 'yyyy/MM/dd HH:mm:ss') | to_timestamp('20200102', 'yyyyMMdd')
        to_timestamp('2020-01-02T03:04:05.123Z', 'yyyy-MM-dd''T''HH:mm:ss.SSS''Z''') | to_timestamp(u, 'yyyy-MM-dd')
        cast(to_timestamp(y, 'yyyy-MM-dd') as string) | to_timestamp(s, 'yyyy.MM.dd')
        to_date(y) | to_date(s) | to_date('02.01.2020', 'dd.MM.yyyy')
        from_unixtime(k) | from_unixtime(k, 'yyyy/MM/dd') | from_unixtime(r - 5)
        cast(to_timestamp_ltz(k, 3) as timestamp(3)) | cast(to_timestamp_ltz(k, 0) as timestamp(3))
        cast(cast(to_timestamp_ltz(i) as timestamp(3)) as string) | cast(to_timestamp_ltz(k) as timestamp(3))
        year(dt) | month(dt) | quarter(dt) | week(dt) | dayofyear(dt) | dayofmonth(dt) | dayofweek(dt)
        extract(year from dt) | extract(month from dt) | extract(epoch from dt) | extract(quarter from dt)
        extract(week from dt) | extract(day from dt)
        floor(dt to month) | floor(dt to year) | floor(dt to quarter)
    """,
    "arrays": "l[1] | l[9] | ls[1] | ls[2] | cardinality(l) | cardinality(ls) | st.x | st.y | `input`.st.x",
}

SINCE_1970 = """
    year(ts) | month(ts) | quarter(ts) | week(ts) | dayofyear(ts) | dayofmonth(ts) | dayofweek(ts) | hour(ts)
    minute(ts) | second(ts) | extract(year from ts) | extract(hour from ts) | extract(second from ts)
    extract(epoch from ts) | extract(dow from ts) | extract(doy from ts)
    extract(minute from ts) | extract(day from ts)
    floor(ts to day) | floor(ts to hour) | floor(ts to month) | floor(ts to year) | floor(ts to quarter)
    floor(ts to minute) | floor(ts to second) | cast(ts as date) | cast(ts as timestamp(0))
    timestampdiff(day, tz, ts) | timestampdiff(hour, tz, ts) | timestampdiff(minute, tz, ts)
    timestampdiff(second, tz, ts) | date_format(ts, 'yyyy-MM-dd HH:mm:ss') | date_format(ts, 'dd/MM/yy')
    date_format(ts, 'EEE MMM d') | date_format(ts, 'HH:mm:ss.SSS') | date_format(ts, 'yyyy-MM-dd''T''HH:mm:ss')
    date_format(ts, 'EEEE MMMM DDD hh a H m s M')
"""

QUERIES = [
    "select count(*) as a, count(i) as b, count(distinct j) as c, sum(i) as d, sum(m) as f, avg(k) as g, avg(e) as h, "
    "min(s) as i, max(ts) as j, min(d) as k, max(d) as l, sum(e) as m, count(1) as n, sum(distinct k) as o, "
    "max(dt) as p, min(b) as q, max(f) as r, min(m) as s, avg(i) as t from `input`",
    "select sum(j) as a, avg(j) as b, sum(cast(j as smallint)) as c from `input` where j < 100",
    "select sum(j) as a, avg(k) as b, max(k) as c, count(*) as d, avg(d) as e from `input` where r > 100",
    "select g, count(*) as n, sum(k) as t, avg(k) as a from `input` group by g order by g",
    "select g, count(*) as n from `input` group by g having count(*) > 2 order by g desc",
    "select upper(g) as g, count(*) as n from `input` group by upper(g) order by 1",
    "select sum(k) filter (where b) as a, sum(distinct cast(k as int)) filter (where b) as d, "
    "count(*) filter (where i > 0) as b from `input`",
    "select distinct g from `input` order by g desc",
    "select r, i from `input` order by i desc, r limit 3",
    "select r, i from `input` order by i, r limit 3 offset 1",
    "select r from `input` order by i nulls last, r",
    "select r from `input` order by d desc, r",
    "select r from `input` order by b, r",
    "select r from `input` where i is not null and s <> '' order by r",
    "select a.r, b.s from `input` a join `input` b on a.r = b.i order by a.r",
    "select a.r, b.r as r2 from `input` as a left join `input` as b on a.r = b.i and b.k > 2 order by a.r",
    "select a.r, b.k from `input` a full join `input` b on a.r = b.i order by a.r, b.k",
    "select a.r, b.r as r2 from `input` a cross join (select r from `input` where r < 3) b order by 1, 2",
    "select r from `input` where r in (select i from `input` where i is not null) order by r",
    "select r from `input` a where exists (select 1 from `input` b where b.i = a.r) order by r",
    "select r from `input` where i = (select max(i) as m from `input`) order by r",
    "with t as (select r, i from `input`), u as (select r from t where i < 5) select * from u order by r",
    "select * from (select r, upper(s) as s from `input`) x order by r",
    "select r from `input` union all select k from `input` order by 1",
    "select g from `input` union select u from `input` order by 1",
    "select g from `input` except select u from `input` order by 1",
    "select g from `input` intersect select u from `input` order by 1",
    "select r, row_number() over (partition by g order by r) as n, rank() over (order by g) as k, "
    "dense_rank() over (order by g desc) as d, lag(i) over (order by r) as l, "
    "lead(i, 2) over (order by r) as e from `input` order by r",
    "select r, sum(k) over (partition by g order by r) as a, count(*) over () as c, sum(k) over (order by g) as d, "
    "sum(k) over (order by r rows between 1 preceding and current row) as b, "
    "max(i) over (partition by g) as e, sum(m) over (partition by g order by r rows unbounded preceding) as f, "
    "sum(j) over (partition by g order by r rows between current row and current row) as h, "
    "avg(e) over (order by r rows between unbounded preceding and unbounded following) as i from `input` order by r",
    "select r, first_value(s) over (partition by g order by r) as a, "
    "last_value(s) over (partition by g order by r) as b from `input` order by r",
    "select r from (select r, row_number() over (partition by g order by r desc) as n from `input`) as x "
    "where n = 1 order by r",
    "select t.r, t.st.x as x from `input` as t order by r",
]

BOTH_STOP = [
    "i / 0", "j / (j - j)", "m / 0", "cast('' as bigint)", "cast(s as double)", "cast('x' as boolean)",
    "cast('2020-02' as timestamp(3))", "cast(s as date)",
]  # fmt: skip
"""Where Flink stops, Spark must not give values."""

STOPPED = [
    "d / 0", "from_unixtime(i)", "cast(i as int)", "cast(m as int)", "cast(1e20 as bigint)",
    "cast('1.7' as int)", "try_cast('1.7' as int)",
    "to_timestamp('2020-02-30')", "to_timestamp('2020-1-2')", "to_timestamp('2020/02/30', 'yyyy/MM/dd')",
    "to_date(u, 'yyyy-MM-dd')", "i * i * i * i",
]  # fmt: skip
"""Where Flink wraps around, saturates, or reads leniently, Spark stops."""


def _expressions(block: str) -> list[str]:
    return [e.strip() for line in block.strip().splitlines() for e in line.split(" | ")]


_TABLES = {"input": "", "since_1970": "1970"}
_GROUP = 25
"""Expressions that Flink evaluates in one query: each query takes a second."""


def _groups(block: str, table: str) -> list[tuple[str, list[str]]]:
    found = _expressions(block)
    parts = [found[i : i + _GROUP] for i in range(0, len(found), _GROUP)]
    return [(f"select {', '.join(f'{e} as c{i}' for i, e in enumerate(part))} from `{table}`", part) for part in parts]


GROUPS = {
    query: part
    for table, blocks in (("input", TRANSLATED.values()), ("since_1970", [SINCE_1970]))
    for block in blocks
    for query, part in _groups(block, table)
}
STOPPING = [f"select {e} as z from `input`" for e in BOTH_STOP]


@pytest.fixture(scope="module")
def tables(rows: pa.Table) -> dict[str, pa.Table]:
    return {"input": rows, "since_1970": rows.filter(pa.compute.field("r") != 3).filter(pa.compute.field("r") != 5)}


@pytest.fixture(scope="module")
def on_flink(
    tables: dict[str, pa.Table], declared: tuple[Column, ...], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], dict[str, Any]]:
    """Answers of Flink, which starts once for all queries."""
    queries = [*GROUPS, *QUERIES, *STOPPING]
    answers = comparison.on_flink(queries, tables, declared, tmp_path_factory.mktemp("flink"))
    return dict(zip(queries, answers, strict=True)).__getitem__


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, tables: dict[str, pa.Table]) -> Callable[[str], pa.Table]:
    for name, table in tables.items():
        spark.createDataFrame(table).coalesce(1).createOrReplaceTempView(name)
    return lambda query: spark.sql(query).toArrow()


@pytest.fixture
def of_flink(declared: tuple[Column, ...]) -> Callable[[str], str]:
    from airflow_provider_odf.dialect.translate import preprocess_to_spark
    from airflow_provider_odf.manifest.model import TransformSql

    both = {"input": declared, "since_1970": declared}
    return lambda query: preprocess_to_spark(TransformSql(engine="flink", query=query), both).queries[0].query


@pytest.mark.flink
@pytest.mark.spark
@pytest.mark.parametrize("query", GROUPS, ids=[f"{group[0]}…" for group in GROUPS.values()])
def test_expressions_are_the_same(
    query: str, of_flink: Callable[[str], str], on_flink: Callable[[str], Any], on_spark: Callable[[str], pa.Table]
) -> None:
    comparison.compare(GROUPS[query], on_flink(query), on_spark(of_flink(query)))


@pytest.mark.flink
@pytest.mark.spark
@pytest.mark.parametrize("query", QUERIES)
def test_queries_are_the_same(
    query: str, of_flink: Callable[[str], str], on_flink: Callable[[str], Any], on_spark: Callable[[str], pa.Table]
) -> None:
    theirs = on_flink(query)
    comparison.compare([query] * len(theirs.get("names", [])), theirs, on_spark(of_flink(query)))


@pytest.mark.flink
@pytest.mark.spark
def test_what_stops_flink_stops_spark(
    of_flink: Callable[[str], str], on_flink: Callable[[str], Any], on_spark: Callable[[str], pa.Table]
) -> None:
    from pyspark.errors import PySparkException

    for query in STOPPING:
        assert "error" in on_flink(query), query
        with pytest.raises((PySparkException, InvalidInput)):
            on_spark(of_flink(query))


@pytest.mark.spark
def test_what_flink_takes_otherwise_stops_spark(
    of_flink: Callable[[str], str], on_spark: Callable[[str], pa.Table]
) -> None:
    from pyspark.errors import PySparkException

    for expression in STOPPED:
        with pytest.raises(PySparkException):
            on_spark(of_flink(f"select {expression} as z from `input`"))


def test_everything_compared_is_translated(of_flink: Callable[[str], str]) -> None:
    for query in (*GROUPS, *QUERIES):
        of_flink(query)


def test_every_translated_function_is_compared() -> None:
    everything = " ".join([*TRANSLATED.values(), SINCE_1970, *QUERIES])
    names = {*ENGINE.scalars, *ENGINE.aggregates, *ENGINE.windows}
    assert [name for name in sorted(names) if f"{name}(" not in everything] == []
