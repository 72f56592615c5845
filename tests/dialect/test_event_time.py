"""Event time in transforms: windows, interval joins and temporal tables wait for the watermark. Results on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dialect.derivatives import Table, queries, rows, transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_EVENTS = Table(
    "event_time TIMESTAMP, k STRING, v BIGINT",
    [
        "0, '2020-01-01 00:10:00', 'a', 1",
        "0, '2020-01-01 00:15:00', 'a', 2",
        "0, '2020-01-01 00:20:00.001', 'a', 4",
        "0, '2020-01-01 00:59:59.999', 'b', 8",
        "0, '2020-01-01 01:00:00', 'b', 16",
        "0, '1969-12-31 23:59:59.500', 'a', 32",
    ],
)


def test_windows_in_group_by_wait_until_they_are_closed(spark: SparkSession) -> None:
    tumble = transform(
        "flink",
        "select tumble_start(event_time, interval '1' hour) as s, tumble_rowtime(event_time, interval '1' hour) as r, "
        "k, sum(v) as n from t group by tumble(event_time, interval '1' hour), k having count(*) > 0",
    )
    assert rows(spark, tumble, {"t": _EVENTS}, None, "2020-01-01 00:59:59", "2020-01-01 01:00:00", "2021-01-01") == [
        [],
        ["1969-12-31 23:00:00 1969-12-31 23:59:59.999 a 32"],
        [
            "1969-12-31 23:00:00 1969-12-31 23:59:59.999 a 32",
            "2020-01-01 00:00:00 2020-01-01 00:59:59.999 a 7",
            "2020-01-01 00:00:00 2020-01-01 00:59:59.999 b 8",
        ],
        [
            "1969-12-31 23:00:00 1969-12-31 23:59:59.999 a 32",
            "2020-01-01 00:00:00 2020-01-01 00:59:59.999 a 7",
            "2020-01-01 00:00:00 2020-01-01 00:59:59.999 b 8",
            "2020-01-01 01:00:00 2020-01-01 01:59:59.999 b 16",
        ],
    ]
    hop = transform(
        "flink",
        "select hop_end(event_time, interval '10' minute, interval '15' minute) as e, count(*) as n from t "
        "where k = 'a' and v < 30 group by hop(event_time, interval '10' minute, interval '15' minute)",
    )
    assert rows(spark, hop, {"t": _EVENTS}, "2020-01-01 00:25:00", "2021-01-01") == [
        ["2020-01-01 00:15:00 1", "2020-01-01 00:25:00 3"],
        ["2020-01-01 00:15:00 1", "2020-01-01 00:25:00 3", "2020-01-01 00:35:00 1"],
    ]
    session = transform(
        "flink",
        "select k, session_start(event_time, interval '5' minute) as s, session_end(event_time, interval '5' minute) "
        "as e, sum(v) as n from t where v < 30 group by k, session(event_time, interval '5' minute)",
    )
    assert rows(spark, session, {"t": _EVENTS}, "2020-01-01 00:25:00.001", "2021-01-01") == [
        ["a 2020-01-01 00:10:00 2020-01-01 00:20:00 3", "a 2020-01-01 00:20:00.001 2020-01-01 00:25:00.001 4"],
        [
            "a 2020-01-01 00:10:00 2020-01-01 00:20:00 3",
            "a 2020-01-01 00:20:00.001 2020-01-01 00:25:00.001 4",
            "b 2020-01-01 00:59:59.999 2020-01-01 01:05:00 24",
        ],
    ]


def test_windows_in_from_wait_until_they_are_closed(spark: SparkSession) -> None:
    tumble = transform(
        "flink",
        "select window_start, window_end, window_time, k, sum(v) as n from "
        "table(tumble(table t, descriptor(event_time), interval '1' hour)) as w "
        "group by window_start, window_end, window_time, k",
    )
    assert rows(spark, tumble, {"t": _EVENTS}, "2020-01-01 00:59:59", "2020-01-01 01:00:00") == [
        ["1969-12-31 23:00:00 1970-01-01 00:00:00 1969-12-31 23:59:59.999 a 32"],
        [
            "1969-12-31 23:00:00 1970-01-01 00:00:00 1969-12-31 23:59:59.999 a 32",
            "2020-01-01 00:00:00 2020-01-01 01:00:00 2020-01-01 00:59:59.999 a 7",
            "2020-01-01 00:00:00 2020-01-01 01:00:00 2020-01-01 00:59:59.999 b 8",
        ],
    ]
    hop = transform(
        "flink",
        "select v, window_start, window_end from table(hop(table t, descriptor(event_time), interval '10' minute, "
        "interval '15' minute)) where v in (2, 32)",
    )
    assert rows(spark, hop, {"t": _EVENTS}, "2021-01-01") == [
        [
            "2 2020-01-01 00:10:00 2020-01-01 00:25:00",
            "32 1969-12-31 23:50:00 1970-01-01 00:05:00",
        ]
    ]
    cumulate = transform(
        "flink",
        "select window_start, window_end, sum(v) as n from table(cumulate(table t, descriptor(event_time), "
        "interval '10' minute, interval '30' minute)) where k = 'a' and v < 30 group by window_start, window_end",
    )
    assert rows(spark, cumulate, {"t": _EVENTS}, "2021-01-01") == [
        [
            "2020-01-01 00:00:00 2020-01-01 00:20:00 3",
            "2020-01-01 00:00:00 2020-01-01 00:30:00 7",
        ]
    ]


_DAYS = Table("day DATE, k STRING", ["0, '2020-01-01', 'a'", "0, '2020-01-03', 'b'"], event_time="day")


def test_windows_of_risingwave_wait_only_with_emit_on_window_close(spark: SparkSession) -> None:
    query = "select window_end - interval '1' second as at, k, count(1) as n from tumble(days, day, interval '1 day')"
    waiting = transform("risingwave", f"{query} group by 1, 2 emit on window close")
    at_once = transform("risingwave", f"{query} group by 1, 2")
    both = ["2020-01-01 23:59:59 a 1", "2020-01-03 23:59:59 b 1"]
    assert rows(spark, waiting, {"days": _DAYS}, None, "2020-01-02", "2020-01-04") == [[], both[:1], both]
    assert rows(spark, at_once, {"days": _DAYS}, None) == [both]
    hop = transform("risingwave", "select k, window_start from hop(days, day, interval '1 day', interval '2 day')")
    assert rows(spark, hop, {"days": _DAYS}, None) == [
        ["a 2019-12-31 00:00:00", "a 2020-01-01 00:00:00", "b 2020-01-02 00:00:00", "b 2020-01-03 00:00:00"]
    ]


_ORDERS = Table(
    "event_time TIMESTAMP, id BIGINT",
    ["0, '2020-01-01 06:00:00', 1", "0, '2020-01-01 18:00:00', 2", "0, '2020-01-05 00:00:00', 3"],
)
_SHIPMENTS = Table(
    "at TIMESTAMP, id BIGINT",
    ["0, '2020-01-03 06:00:00', 1", "0, '2020-01-03 18:00:00.001', 2", "0, '2020-01-05 00:00:00', 3"],
    event_time="at",
)
_JOIN = (
    "select o.event_time, o.id, cast(s.at as timestamp(3)) as shipped from orders as o left join shipments as s "
    "on o.id = s.id and s.at between o.event_time and o.event_time + interval '2' day"
)
_INPUTS = {"orders": _ORDERS, "shipments": _SHIPMENTS}


def test_interval_joins_wait_for_rows_that_may_still_match(spark: SparkSession) -> None:
    first, second = "2020-01-01 06:00:00 1 2020-01-03 06:00:00", "2020-01-01 18:00:00 2 -"
    assert rows(spark, transform("flink", _JOIN), _INPUTS, None, "2020-01-03 06:00:00", "2020-01-03 18:00:00") == [
        [], [first], [first, second]
    ]  # fmt: skip


def test_windows_after_an_interval_join_wait_for_its_rows(spark: SparkSession) -> None:
    query = "select tumble_start(event_time, interval '1' day) as d, count(shipped) as n, count(*) as m from q1"
    daily = transform("flink", _JOIN, f"{query} group by tumble(event_time, interval '1' day)")
    assert rows(spark, daily, _INPUTS, "2020-01-03 23:59:59", "2020-01-04") == [[], ["2020-01-01 00:00:00 1 2"]]
    assert (
        "WHERE timestamp_micros(unix_micros(`odf:window_end`) + 172800000000) <= :odf_watermark"
        in queries(daily, _INPUTS)[1]
    )


@pytest.mark.parametrize(
    ("on", "wait"),
    [
        ("o.event_time = s.at", "`o`.`event_time` <= :odf_watermark"),
        (
            "o.event_time - interval '1' hour < s.at and s.at < o.event_time + interval '1' hour",
            "timestamp_micros(unix_micros(`o`.`event_time`) + 3599999000) <= :odf_watermark",
        ),
        (
            "s.at >= o.event_time - interval '2' hour and s.at + interval '1' hour <= o.event_time",
            "timestamp_micros(unix_micros(`o`.`event_time`) - 3600000000) <= :odf_watermark",
        ),
    ],
)
def test_the_upper_bound_decides_how_long_a_join_waits(on: str, wait: str) -> None:
    query = f"select o.id from orders as o join shipments as s on o.id = s.id and {on}"
    (spark_sql,) = queries(transform("flink", query), _INPUTS)
    assert spark_sql.endswith(f" WHERE {wait}")


def test_joins_with_one_bound_or_of_ordinary_times_do_not_wait() -> None:
    for query in (
        "select o.id from orders as o join shipments as s on o.id = s.id and s.at >= o.event_time",
        "select o.id from orders as o join q1 as s on o.id = s.id and s.at = o.event_time",
    ):
        steps = ("select id, cast(at as timestamp(3)) as at from shipments group by id, at", query)
        assert "odf_watermark" not in queries(transform("flink", *steps), _INPUTS)[1]


_RATES = Table(
    "at TIMESTAMP, base STRING, target STRING, rate DOUBLE",
    [
        "0, '2020-01-01', 'USD', 'CAD', 1.1",
        "0, '2020-01-03', 'USD', 'CAD', 1.3",
        "0, '2020-01-02', 'EUR', 'CAD', 1.5",
        # A correction of the time and value of a version, and then of its value only.
        "2, '2020-01-03', 'USD', 'CAD', 1.3",
        "3, '2020-01-04', 'USD', 'CAD', 1.4",
        "2, '2020-01-04', 'USD', 'CAD', 1.4",
        "3, '2020-01-04', 'USD', 'CAD', 1.45",
        # The newest version is of another target: it replaces the one before, and is filtered afterwards.
        "0, '2020-01-06', 'USD', 'EUR', 0.9",
        "1, '2020-01-08', 'EUR', 'CAD', 1.5",
    ],
    event_time="at",
)
_PAYMENTS = Table(
    "event_time TIMESTAMP, currency STRING",
    [
        f"0, '2020-01-{day}', '{currency}'"
        for day, currency in (
            ("01", "EUR"), ("01", "USD"), ("02 23:59:59.999", "USD"), ("03", "USD"), ("04", "USD"), ("06", "USD"),
            ("07", "EUR"), ("08", "EUR"), ("09", "GBP"),
        )
    ],
)  # fmt: skip


def test_temporal_joins_take_the_version_at_the_time_of_the_left_row(spark: SparkSession) -> None:
    query = (
        "select p.*, r.rate from payments as p {} join rates for system_time as of p.event_time as r "
        "on p.currency = r.base and r.target = 'CAD'"
    )
    tables = {"payments": _PAYMENTS, "rates": _RATES}
    temporal = {"rates": ("base",)}
    inner = rows(spark, transform("flink", query.format(""), temporal=temporal), tables, "2020-01-03", "2021-01-01")
    columns = [[f"{row.split()[-2]} {row.split()[-1]}" for row in result] for result in inner]
    assert columns == [["USD 1.1", "USD 1.1", "USD 1.3"], ["USD 1.1", "USD 1.1", "USD 1.3", "USD 1.45", "EUR 1.5"]]
    (left,) = rows(spark, transform("flink", query.format("left"), temporal=temporal), tables, "2021-01-01")
    assert [" ".join(row.split()[-2:]) for row in left] == [
        "EUR -", "USD 1.1", "USD 1.1", "USD 1.3", "USD 1.45", "USD -", "EUR 1.5", "EUR -", "GBP -"
    ]  # fmt: skip


def test_a_temporal_table_is_read_by_its_records_and_shows_its_columns_only() -> None:
    query = "select * from payments join rates for system_time as of event_time as r on currency = r.base"
    (spark_sql,) = queries(
        transform("flink", query.replace("select *", "select r.*"), temporal={"Rates": ("BASE",)}),
        {"payments": _PAYMENTS, "rates": _RATES},
    )
    assert spark_sql == (
        "SELECT `r`.`offset`, `r`.`op`, `r`.`system_time`, `r`.`at`, `r`.`base`, `r`.`target`, `r`.`rate` "
        "FROM `payments` JOIN (SELECT * FROM (SELECT *, LEAD(`at`) OVER (PARTITION BY `base` ORDER BY `at`, `offset`) "
        "AS `odf:until` FROM `odf:records:rates` WHERE `op` <> 2) WHERE `op` IN (0, 3)) AS `r` "
        "ON `currency` = `r`.`base` AND `r`.`at` <= `event_time` "
        "AND (`r`.`odf:until` IS NULL OR `event_time` < `r`.`odf:until`) WHERE `event_time` <= :odf_watermark"
    )
