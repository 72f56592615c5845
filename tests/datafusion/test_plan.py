"""Queries planned over empty tables: what is refused, where, and what is known of the others."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_provider_odf.datafusion.plan import Plan, plan, syntax
from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.protocol import SqlQueryStep
from tests.datafusion.conftest import ROWS


def steps(*queries: str) -> list[SqlQueryStep]:
    return [SqlQueryStep(q, f"step {n}" if n < len(queries) else None) for n, q in enumerate(queries, 1)]


def planned(*queries: str) -> Plan:
    return plan(steps(*queries), {"input": ROWS.schema})


def refusal(*queries: str) -> str:
    with pytest.raises(QueryProblem) as refused:
        planned(*queries)
    return str(refused.value)


def test_the_result_is_known_before_there_are_rows() -> None:
    columns = "id, m / 3 as third, upper(s) as s, row_number() over (order by id) as r, to_timestamp(s) as t"
    assert [(f.name, f.type) for f in planned(f"select {columns} from input").output] == [
        ("id", pa.int64()),
        ("third", pa.decimal128(16, 6)),
        ("s", pa.string()),
        ("r", pa.uint64()),
        ("t", pa.timestamp("ns")),
    ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select id\n from ", "query 1, 2:6: Expected: identifier, found: EOF"),
        ("selec 1", "query 1, 1:1: Expected: an SQL statement, found: selec"),
        ("select id,\n  (1 + from input", "query 1, 2:13: Expected: ), found: input"),
        ("select 'x", "query 1, 1:8: Unterminated string literal"),
        ("select id from inptu", "query 1, 1:16: table 'inptu' not found"),
        ("select id,\n  Id from input", 'query 1, 2:3: No field named "Id". The columns are input.id, '),
        ("select 'nme', nme /* nme */ from input", "query 1, 1:15: No field named nme. "),
        ("select uper(s) as s from input", "query 1, 1:8: Invalid function 'uper'. (did you mean `upper`?)"),
        ("select cast(id as foo) as x from input", "query 1, 1:19: Unsupported SQL type foo"),
        ("select t + interval '- 1 day' as x from input", "query 1, 1:1: Invalid input syntax"),
        ("select id + s as x from input", "query 1, 1:1: Cannot coerce arithmetic expression Int64 + Utf8"),
        ("select upper(id) as x from input", "query 1, 1:8: Function 'upper' requires String, but received Int64"),
        ("select id from input where id = $1", "query 1, 1:33: parameters ($…) are not supported (write the value)"),
        ("select id, n as ID from input", "query 1, 1:17: two columns of the result are named ID, ignoring case"),
        ("select 1 as a; select 2 as a", "query 1, 1:1: The context currently only supports a single SQL statement"),
    ],
)  # fmt: skip
def test_refused_with_its_place(query: str, message: str) -> None:
    assert refusal(query).startswith(message)


def test_the_nearest_name_is_told() -> None:
    assert refusal("select name from input").endswith('(did you mean `"Name"`?)')
    second = 'select\n  id from "step 1"'
    assert refusal("select id as Id from input", second).startswith("query 2, 2:3: No field named id.")


@pytest.mark.parametrize(
    "statement",
    [
        "copy input to '/tmp/x.csv'",
        "create external table x stored as csv location '/etc/passwd'",
        "create table x as select 1",
        "create view x as select 1",
        "select 1 as id into x",
        "insert into input select * from input",
        "delete from input",
        "drop table input",
        "set datafusion.execution.batch_size = 1",
        "prepare x as select 1",
        "show tables",
        "describe input",
        "explain select 1",
        "explain analyze select 1",
        "use x",
        "begin",
    ],
)
@pytest.mark.parametrize("with_columns", [True, False])
def test_nothing_but_queries(statement: str, with_columns: bool) -> None:
    with pytest.raises(QueryProblem, match="only queries"):
        planned(statement) if with_columns else syntax(steps(statement))


@pytest.mark.parametrize(
    "source",
    ["'/etc/x'", '"/etc/x"', "'https://example.org/x.csv'", "information_schema.tables", "read_csv('/etc/x')"],
)
def test_a_query_reads_its_input_only(source: str) -> None:
    assert "not found" in refusal(f"select * from {source}")


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("interval '1 day'", "an interval (month_day_nano_interval), which Spark does not support (select `CAST("),
        ("cast('10:00' as time)", "a time of day, which"),
        ("t - t", "an interval (duration[ms]), which"),
        ("null", "NULL, a value without a type, which"),
        ("arrow_cast(1, 'Decimal256(60, 2)')", "a DECIMAL with precision 60 and scale 2, which"),
    ],
)  # fmt: skip
def test_types_that_spark_cannot_hold(expression: str, what: str) -> None:
    assert f"column x is {what}" in refusal(f"select {expression} as x from input")


@pytest.mark.parametrize(
    "query",
    [
        "select * from input",
        "select id, upper(s) as u from input where id > 1 and s like '%a'",
        "select unnest(l) as x, id from input",
        "select id from input union all select n from input",
        "with a as (select * from input) select a.id from a",
        "select id from (select id, s from input where s <> 'Sort:') as q",
        "select id from input where false",
    ],
)
def test_row_wise(query: str) -> None:
    assert planned(query).is_row_wise


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) as c from input",
        "select distinct id from input",
        "select id from input union select n from input",
        "select id, sum(id) over (order by n) as x from input",
        "select id from input order by id",
        "select id from input limit 2",
        "select id from input where id in (select n from input)",
        "select id, (select max(id) from input) as x from input",
        "select a.id from input as a join input as b on a.id = b.n",
        "select id, random() as x from input",
        "select id, now() as x from input",
        "select id, current_date as x from input",
        "select 1 as x",
        "select id from input union all select 1 as id",
        "values (1, 2)",
        "select value from generate_series(1, 3)",
        "with recursive r as (select 1 as n union all select n + 1 from r) select n from r",
    ],
)
def test_not_row_wise(query: str) -> None:
    assert not planned(query).is_row_wise


def test_an_expression_is_optimized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from datafusion import DataFrame

    optimized: list[str] = []
    for name in ("optimized_logical_plan", "execution_plan", "to_arrow_table", "collect", "__arrow_c_stream__"):
        method = getattr(DataFrame, name)
        monkeypatch.setattr(DataFrame, name, lambda *a, _m=method, _n=name: (optimized.append(_n), _m(*a))[1])
    assert planned(f"select {' + '.join(['id'] * 50)} as x from input").output.names == ["x"]
    assert optimized == ["__arrow_c_stream__"]


def test_every_step_counts() -> None:
    assert planned("select id from input where id > 1", 'select id + 1 as x from "step 1"').is_row_wise
    assert not planned("select max(id) as id from input", 'select id + 1 as x from "step 1"').is_row_wise
    # Even one that the last query does not use: it is planned for each part.
    assert planned("select max(id) as id from input", "select id from input").is_row_wise


def test_a_plan_is_not_run() -> None:
    assert planned("select count(*) as c from generate_series(1, 1000000000000)").output.names == ["c"]


@pytest.mark.parametrize("query", ["select nope, upper(a) as a from input", "select * from input"])
def test_without_columns_their_names_are_not_checked(query: str) -> None:
    syntax(steps(query, 'select * from "step 1"'))


@pytest.mark.parametrize("query", ["select a b c from input", "select a from inptu", "select uper(a) from input"])
def test_without_columns_the_rest_is_checked(query: str) -> None:
    with pytest.raises(QueryProblem):
        syntax(steps(query))
