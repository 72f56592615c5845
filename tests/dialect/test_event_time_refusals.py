"""Event time in transforms: what has no exact translation is refused with its place."""

from __future__ import annotations

import pytest

from airflow_provider_odf.errors import InvalidInput
from tests.dialect.derivatives import Table, queries, transform

_TABLES = {
    "t": Table("event_time TIMESTAMP, k STRING, v BIGINT"),
    "s": Table("event_time TIMESTAMP, k STRING, w BIGINT"),
}
_OF = "for system_time as of t.event_time"
_DAY = "interval '1' day"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (f"select tumble_start(event_time, {_DAY}) as a from t", "1:8: tumble_start needs TUMBLE with the same"),
        (
            f"select tumble_end(event_time, {_DAY}) as a from t group by tumble(event_time, interval '2' day)",
            "1:8: tumble_end needs TUMBLE with the same arguments in GROUP BY",
        ),
        (
            f"select k from t group by k, tumble(event_time, {_DAY}), hop(event_time, {_DAY}, {_DAY})",
            "1:67: GROUP BY can have only one window",
        ),
        ("select count(*) as n from t group by tumble(k, interval '1' day)", "1:38: tumble: needs a DATE or TIMESTAMP"),
        (
            "select count(*) as n from t group by tumble(event_time, interval '1' month)",
            "1:66: months and years have no fixed length (write the interval in days)",
        ),
        (
            f"select count(*) as n from t group by hop(event_time, interval '2' day, {_DAY})",
            "1:38: hop: intervals must be above 0, and the first at most as long as the second",
        ),
        (
            f"select tumble(event_time, {_DAY}) as a from t group by tumble(event_time, {_DAY})",
            "1:8: a window cannot be",
        ),
        (
            f"select count(*) as n from t group by tumble(event_time, {_DAY}) order by 1 limit 2",
            "1:38: ORDER beside a window in GROUP BY is not supported (use the next query)",
        ),
        (
            "select * from table(session(table t, descriptor(event_time), interval '1' day))",
            "1:21: function session in",
        ),
        (
            "select * from table(tumble(table nope, descriptor(event_time), interval '1' day))",
            "1:34: table nope does not",
        ),
        ("select * from table(tumble(table t, descriptor(event_time)))", "1:21: tumble takes 1 or 2 intervals, not 0"),
        (f"select * from t {_OF} as x", "1:15: FOR SYSTEM_TIME AS OF is supported only on the right side of a JOIN"),
        (
            f"select * from s join t {_OF} as x on s.k = x.k",
            "1:22: t has no versions for FOR SYSTEM_TIME AS OF (it must be an input of the transform",
        ),
        (f"select t.k from t right join s {_OF} as x on t.k = x.k", "1:30: RIGHT JOIN with FOR SYSTEM_TIME AS OF"),
        (f"select t.k from t join s {_OF} as x on t.k > x.k", "1:"),
        (f"select t.k from t join s {_OF} as x on t.k = x.k or t.v = 1", "1:"),
        (f"select t.k from t join s {_OF} as x on x.k = x.k", "1:"),
        (
            "select t.k from t join s for system_time as of proctime() as x on t.k = x.k",
            "1:24: FOR SYSTEM_TIME AS OF needs",
        ),
        (
            "select t.k from t join s for system_time as of t.v as x on t.k = x.k",
            "1:48: FOR SYSTEM_TIME AS OF needs a DATE",
        ),
        (f"with s as (select * from t) select t.k from t join s {_OF} as x on t.k = x.k", "1:52: s has no versions"),
        (
            "select t.k from t full join s on t.k = s.k and t.event_time = s.event_time",
            "1:29: FULL JOIN on intervals of event time is not supported (use LEFT JOIN)",
        ),
        (
            f"select t.k from t join s {_OF} as x on t.k = x.k right join t as y on y.k = t.k",
            "1:",
        ),
    ],
)
def test_refusals_of_flink(query: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        queries(transform("flink", query, temporal={"s": ("k",)}), _TABLES)
    print(str(refused.value))
    assert str(refused.value).startswith(f"transform query 1, {message}")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select k, count(*) as n from t group by k emit on window close", "1:8: EMIT ON WINDOW CLOSE needs windows"),
        (
            "select k, count(*) as n from tumble(t, event_time, interval '1 day') group by k emit on window close",
            "1:8: EMIT ON WINDOW CLOSE needs windows (group the rows of tumble or hop in FROM by window_start or",
        ),
        (
            "select k from t union all select k from t order by k emit on window close",
            "1:34: EMIT ON WINDOW CLOSE needs windows",
        ),
        ("select * from cumulate(t, event_time, interval '1 day')", "1:15: function cumulate in FROM is not supported"),
        ("select now() as n from t", "1:8: now has another value in each run"),
    ],
)
def test_refusals_of_risingwave(query: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        queries(transform("risingwave", query), _TABLES)
    print(str(refused.value))
    assert str(refused.value).startswith(f"transform query 1, {message}")


@pytest.mark.parametrize(
    ("temporal", "message"),
    [
        ({"u": ("k",)}, "transform: temporal table u is not an input of the transform (inputs: t, s)"),
        (
            {"s": ("x",)},
            "transform: temporal table s has no column x (columns: offset, op, system_time, event_time, k, w)",
        ),
    ],
)
def test_temporal_tables_must_be_inputs_with_their_keys(temporal: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        queries(transform("flink", "select k from t", temporal=temporal), _TABLES)
    assert str(refused.value) == message
