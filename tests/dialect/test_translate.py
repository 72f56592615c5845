from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_odf.dialect.translate import ENGINES, input_columns, preprocess_to_spark
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import SqlQueryStep, TemporalTable, TransformSql
from airflow_provider_odf.protocol import Column, ReadStep
from airflow_provider_odf.protocol import SqlQueryStep as SparkStep

_INPUT = {"input": (Column("id", "BIGINT"), Column("at", "STRING"))}


def _steps(*steps: tuple[str | None, str], engine: str = "flink") -> TransformSql:
    return TransformSql(engine=engine, queries=tuple(SqlQueryStep(alias=alias, query=query) for alias, query in steps))


def _refusal(transform: TransformSql, tables: dict[str, tuple[Column, ...] | None] | None = None) -> str:
    with pytest.raises(InvalidInput) as refused:
        preprocess_to_spark(transform, _INPUT if tables is None else tables)
    return str(refused.value)


def test_spark_is_passed_on_as_it_is() -> None:
    transform = preprocess_to_spark(
        TransformSql(engine="spark", version="4.0", query="select `a b` from input -- x"), _INPUT
    )
    assert transform.engine == "spark"
    assert transform.version == "4.0"
    assert transform.query is None
    assert transform.queries == (SparkStep("select `a b` from input -- x", None),)


def test_steps_see_earlier_steps_with_their_types() -> None:
    transform = preprocess_to_spark(
        _steps(("halves", "select id / 2 as half from input"), (None, "select half / 2 as quarter from `halves`")),
        _INPUT,
    )
    assert transform.queries == (
        SparkStep("SELECT (`id` DIV 2) AS `half` FROM `input`", "halves"),
        SparkStep("SELECT (`half` DIV 2) AS `quarter` FROM `halves`", None),
    )


def test_queries_of_datafusion_are_passed_on_as_they_are() -> None:
    steps = (("${env:HOME}", "select ids from input"), (None, 'select * from "${env:HOME}" -- x'))
    transform = preprocess_to_spark(_steps(*steps, engine="datafusion"), _INPUT)
    assert transform.engine == "datafusion"
    assert transform.queries == tuple(SparkStep(query, alias) for alias, query in steps)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((("a", "select 1"),), "preprocess query 1: the last query is the output and cannot have an alias"),
        (
            ((None, "select 1"), (None, "select 1")),
            "preprocess query 1: every query except the last needs an alias",
        ),
        (
            (("a", "select 1"), ("A", "select 1"), (None, "select 1")),
            "preprocess query 2: alias A is already in use (choose another: aliases are case-insensitive)",
        ),
        (
            (("Input", "select 1"), (None, "select 1")),
            "preprocess query 1: alias Input is already in use (choose another: aliases are case-insensitive)",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["spark", "datafusion", "flink"])
def test_aliases_that_would_hide_something(
    engine: str, steps: tuple[tuple[str | None, str], ...], message: str
) -> None:
    assert _refusal(_steps(*steps, engine=engine)) == message


def test_neither_query_nor_queries() -> None:
    assert _refusal(TransformSql(engine="spark")) == "preprocess: give either query or queries"


def test_engine_that_is_not_known() -> None:
    assert _refusal(TransformSql(engine="duckdb", query="select 1")) == (
        "preprocess: unknown engine duckdb (use one of spark, datafusion, flink, risingwave)"
    )


@pytest.mark.parametrize("engine", ["spark", "datafusion", *ENGINES])
def test_temporal_tables_are_refused(engine: str) -> None:
    temporal = (TemporalTable(name="rates", primary_key=("currency",)),)
    message = _refusal(TransformSql(engine=engine, query="select 1 as a", temporal_tables=temporal))
    assert message.startswith("preprocess: temporalTables are not supported: they need state")


def test_unknown_function_is_told_with_its_place() -> None:
    queries = _steps(("a", "select id from input"), (None, "select\n  id,\n  id + foo_bar(id) as x\nfrom a"))
    assert _refusal(queries) == (
        "preprocess query 2, 3:8: function foo_bar is not supported by the flink translation "
        "(write it in another way, or use engine: spark with Spark's SQL)"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select id,\n  ids from input", "1, 2:3: column ids does not exist (columns: id, at)"),
        ("select id from inputs", "1, 1:16: table inputs does not exist (tables: input)"),
        ("select id from input where", "1, 1:22: a keyword or expression is missing at 'where'"),
        (
            "select id as a, at as A from input",
            "1, 1:8: two columns are named A (rename one: names are case-insensitive)",
        ),
        (
            "select upper(at) from input",
            "1, 1:8: this column has no name (name it: … AS name; engines would choose different names)",
        ),
        ("select id from input; select 1", "1, 1:1: one query is expected, not 2 (split it into several queries"),
        ("select * exclude (id) from input", "1, 1:19: EXCEPT is not supported here"),
        ("select unnest(id) as x from input", "1, 1:8: function unnest is not supported by the flink translation"),
        (
            "select id from input union all select at from input",
            "1, 1:8: column id is BIGINT on one side and STRING on",
        ),
        ("select id from a.b", "1, 1:16: table a.b does not exist (quote a name with dots as a whole)"),
        ("delete from input", "1, 1:1: only queries (SELECT, WITH, UNION and the like) are supported"),
        (
            "select at + 1 as x from input",
            "1, 1:8: arithmetic with STRING and INT is not supported (cast them to numbers)",
        ),
        (
            "select id = at as x from input",
            "1, 1:8: engines compare BIGINT with STRING differently (cast one of them)",
        ),
        (
            "select stddev(id) as x from input",
            "1, 1:8: function stddev is not supported by the flink translation",
        ),
        ("select 'x", "1, 1:7: Missing '"),
    ],
)
def test_refusals_name_place_reason_and_way_out(query: str, message: str) -> None:
    assert _refusal(TransformSql(engine="flink", query=query)).startswith(f"preprocess query {message}")


def test_names_are_found_ignoring_case_and_dots_are_kept(translate: Callable[..., str]) -> None:
    columns = (Column("PID", "STRING"),)
    assert translate("select pid, upper(Pid) as `a.b` from Input", columns=columns) == (
        "SELECT `pid`, upper(`Pid`) AS `a.b` FROM `input`"
    )
    transform = preprocess_to_spark(
        TransformSql(engine="flink", query="select x.id from `a.b-c` as x"), {"a.b-c": None}
    )
    assert transform.queries[0].query == "SELECT `x`.`id` FROM `a.b-c` AS `x`"


def test_columns_of_a_csv_without_schema_are_strings(translate: Callable[..., str]) -> None:
    columns = input_columns(ReadStep("Csv"))
    assert columns == (Column("*", "STRING"),)
    assert translate("select upper(a) as a from input", columns=columns) == "SELECT upper(`a`) AS `a` FROM `input`"


@pytest.mark.parametrize(
    "step", [ReadStep("Csv", infer_schema=True), ReadStep("NdJson"), ReadStep("Csv", columns=(Column("a", "INT"),))]
)
def test_other_columns_are_what_is_declared(step: ReadStep) -> None:
    assert input_columns(step) == step.columns


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("condition", "spark"),
    [
        ("r in (select i from input)", "`r` IN (SELECT `i` FROM `input`)"),
        ("r not in ((select i from input))", "NOT `r` IN (SELECT `i` FROM `input`)"),
        (
            "exists (select 1 from input b where b.i = a.r)",
            "EXISTS(SELECT 1 FROM `input` AS `b` WHERE `b`.`i` = `a`.`r`)",
        ),
        ("i = (select max(i) from input)", "`i` = (SELECT max(`i`) FROM `input`)"),
    ],
)
def test_queries_inside_expressions(translate: Callable[..., str], engine: str, condition: str, spark: str) -> None:
    assert translate(f"select r from input a where {condition}", engine) == (
        f"SELECT `r` FROM `input` AS `a` WHERE {spark}"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_with_inside_a_query_hides_no_table_outside(translate: Callable[..., str], engine: str) -> None:
    inner = "with input as (select r as i from input) select i from input"
    assert translate(f"select i from input where i in ({inner})", engine) == (
        "SELECT `i` FROM `input` WHERE `i` IN (WITH `input` AS (SELECT `r` AS `i` FROM `input`) "
        "SELECT `i` FROM `input`)"
    )


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("r in (select s from input)", "IN compares BIGINT with STRING (cast one of them)"),
        ("r in (select r, i from input)", "a query used as a value, or in IN, must have exactly one named column"),
        ("r = (select * from input)", "a query used as a value, or in IN, must have exactly one named column"),
        ("exists (select 1 from input b where b.nope = 1)", "column b.nope does not exist"),
        ("r in (select x.r from (select r from input where a.r = 1) as x)", "column a.r does not exist"),
    ],
)
def test_queries_inside_expressions_that_are_refused(
    translate: Callable[..., str], condition: str, message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        translate(f"select r from input a where {condition}")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "text", ["b = i > 0", "i > 0 = b", "not b = c like 'x'", "i = 1 || s like 'a'", "(b in (true)) + 1"]
)
def test_operators_that_engines_bind_differently_need_parentheses(expression: Callable[..., str], text: str) -> None:
    with pytest.raises(InvalidInput):
        expression(text)
