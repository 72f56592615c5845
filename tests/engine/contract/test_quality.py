"""Quality rules of every type, from YAML to the report."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.sources import of_data
from airflow_provider_odf.engine.contract import queries, sources

pytestmark = pytest.mark.spark

HEAD = "dataContractSpecification: 1.2.1\nid: urn:t\ninfo: {title: T, version: 1.0.0}\n"
ROWS = [
    {"id": 1, "name": "ann", "total": 100, "at": "2024-09-01T10:00:00Z", "in": "2024-09-01T10:00:30Z"},
    {"id": 2, "name": "bob", "total": 200, "at": "2024-09-01T11:00:00Z", "in": "2024-09-01T12:00:01Z"},
    {"id": 3, "name": "", "total": 300, "at": "2024-09-01T11:30:00Z", "in": "2024-09-01T11:31:00Z"},
    {"id": 4, "name": "N/A", "total": 400, "at": "2024-09-01T12:15:00Z"},
    {"id": 4, "total": 450.5, "at": "2024-09-02T00:00:00Z", "in": "2024-09-02T00:00:10Z"},
]
FIELDS = """\
fields:
  id: {type: long}
  name: {type: string}
  total: {type: number, pii: true}
  at: {type: timestamp}
  in: {type: timestamp}
"""


@pytest.fixture
def tested(spark, tmp_path: Path):
    """Return the outcome and the reason of the clauses of a contract that are not about fields alone."""

    def tested(body: str, rows: list[dict[str, Any]] = ROWS, as_of: str = "2024-09-02T06:00:00Z") -> dict[str, Any]:
        (tmp_path / "t.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        file = parse(HEAD + dedent(body), "c.yaml")
        contract = compile_models(file, ["t"])
        report = sources.test(
            spark.newSession(), contract, of_data(file, ["t"], str(tmp_path / "t.ndjson"), None), as_of=as_of
        )
        return {
            r.path.replace("/models/t/", ""): (r.outcome, r.reason)
            for r in report.results
            if "quality" in r.path or "servicelevels" in r.path
        }

    return tested


def model(*rules: dict[str, Any]) -> str:
    return "models:\n  t:\n" + indent(FIELDS + f"quality: {json.dumps(rules)}\n", "    ")


def test_sql(tested):
    count = {"type": "sql", "query": "SELECT count(*) FROM {model}"}
    results = tested(
        model(
            count | {"mustBe": 5, "mustBeGreaterThan": 4, "mustBeGreaterOrEqualTo": 5, "mustBeLessThanOrEqualTo": 5},
            count | {"mustBeGreaterThan": 4, "mustBeLessThan": 5},
            count | {"mustBeBetween": [1, 5], "mustNotBeBetween": [6, 9], "mustNotBe": 4},
            count | {"mustNotBeBetween": [5, 9]},
            {"query": "SELECT quantile_cont(total, 0.5) AS p FROM {table}", "mustBe": 300},
            {
                "type": "sql",
                "query": "SELECT MAX(EXTRACT(EPOCH FROM (at - LAG(at) OVER (ORDER BY at)))) FROM t",
                "mustBeLessThanOrEqualTo": 42300,
            },
            {
                "type": "sql",
                "query": "SELECT MAX(EXTRACT(EPOCH FROM at)) FROM t o WHERE o.id < 2;",
                "mustBe": 1725184800,
            },
            {"type": "sql", "query": "SELECT avg(total) FROM t WHERE id > 9", "mustBe": 1},
            count,
            {"type": "sql", "mustBe": 1},
            count | {"mustBe": "5"},
            count | {"mustBeBetween": [5, 1]},
            {"type": "sql", "query": "SELECT {column} FROM t", "mustBe": 1},
            {"type": "sql", "query": "DROP TABLE t", "mustBe": 1},
            {"type": "sql", "query": "SELECT 1; SELECT 2", "mustBe": 1},
            {"type": "sql", "query": "SELECT\n  count(*)\nFROM elsewhere", "mustBe": 1},
            {"type": "sql", "query": "SELECT\n  nothing\nFROM t", "mustBe": 1},
            {"type": "sql", "query": "SELECT strftime(at, '%d') FROM t", "mustBe": 1},
            {"type": "sql", "query": "SELECT id, total FROM t", "mustBe": 1},
            {"type": "sql", "query": "SELECT id FROM t", "mustBe": 1},
            {"type": "sql", "query": "SELECT max(at) FROM t", "mustBe": 1},
            {"type": "sql", "query": "SELECT 1 / (count(*) - 5) FROM t", "mustBe": 1},
            {"type": "sql", "query": "SELECT java_method('java.lang.System', 'exit', 1)", "mustBe": 1},
        )
    )
    assert [results[f"quality/{i}"] for i in range(23)] == [
        ("pass", "the value is 5"),
        ("fail", "the value is 5"),
        ("pass", "the value is 5"),
        ("fail", "the value is 5"),
        ("pass", "the value is sensitive"),
        ("pass", "the value is 42300"),
        ("pass", "the value is 1725184800"),
        ("fail", "the value is null"),
        ("error", "the rule has no threshold: add one, such as mustBe or mustBeLessThan"),
        ("error", "the rule has no query"),
        ("error", "mustBe: '5' is not a number"),
        ("error", "mustBeBetween: 5 is greater than 1"),
        ("error", "{column} cannot be used in a rule of a model: write the column name instead"),
        (
            "error",
            "the query: a query must be one SELECT over t, but this query has the Spark plan node DropTable, "
            "which is not allowed",
        ),
        ("error", "the query, line 1: [PARSE_SYNTAX_ERROR] Syntax error at or near 'SELECT': extra input 'SELECT'."),
        ("error", "the query, line 3: unknown table elsewhere: a query can only read t"),
        (
            "error",
            "the query, line 2: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with "
            "name `nothing` cannot be resolved. Did you mean one of the following? [`in`, `at`, `id`, `total`, `name`].",  # noqa: E501
        ),
        ("error", "the query, line 1: strftime is not a built-in function of Spark: use only built-in functions"),
        ("error", "the query returns 2 columns: select one number"),
        ("error", "the query returns more than one row: select one number"),
        ("error", "the value is a time, not a number"),
        (
            "error",
            "the query failed: DIVIDE_BY_ZERO: the message is hidden, because it may show sensitive values",
        ),
        ("error", "the query, line 1: function java_method is not allowed: it reads data or runs code from elsewhere"),
    ]


def test_the_number_of_a_query_is_hidden_if_it_is_made_of_sensitive_columns(tested):
    """``total`` is sensitive. Rules of every language; a count says nothing about values."""
    queries = (
        "SELECT max(total) FROM t",
        "SELECT max(TOTAL) - min(total) FROM {model}",
        "SELECT id FROM t WHERE total = 100",
        "SELECT max(length(name)) FROM t WHERE total > 100",
        "SELECT crc32(CAST(total AS STRING)) FROM t WHERE id = 1",
        "SELECT (SELECT max(total) FROM t) + count(*) FROM t",
        "SELECT max(id) FROM t",
        "SELECT count(*) FROM t WHERE total > 200",
        "SELECT count(DISTINCT total) FROM t",
        "SELECT sum(CASE WHEN total IS NULL THEN 1 ELSE 0 END) FROM t",
        "SELECT 100.0 * count(total) / count(*) FROM t",
    )
    rules = [{"query": query, "mustBe": 7} for query in queries]
    soda = {"type": "metric_expression", "expression_sql": "max(total)", "must_be": 7}
    results = tested(model(*rules, {"type": "custom", "engine": "soda", "specification": soda}))
    hidden = ("fail", "the value is sensitive")
    assert [results[f"quality/{i}"] for i in range(12)] == [
        *[hidden] * 6,
        ("fail", "the value is 4"),
        ("fail", "the value is 3"),
        ("fail", "the value is 5"),
        ("fail", "the value is 0"),
        ("fail", "the value is 100"),
        hidden,
    ]


def test_library_metrics(tested):
    body = """
        models:
          t:
            fields:
              id: {type: long, quality: [{type: library, metric: duplicateValues, mustBe: 0}]}
              name:
                type: string
                quality:
                  - {metric: nullValues, mustBeLessThan: 20, unit: percent}
                  - {metric: nullValues, mustBe: 1}
                  - {metric: missingValues, arguments: {missingValues: [null, '', N/A]}, mustBeLessThan: 3}
                  - {metric: invalidValues, arguments: {validValues: [ann, bob]}, mustBe: 0}
                  - {metric: invalidValues, arguments: {pattern: '^[a-z]*$'}, mustBe: 1}
                  - {metric: invalidValues, mustBe: 1}
                  - {metric: freshValues, mustBe: 1}
                  - {rule: nullCheck, severity: warning}
              total: {type: number}
            quality:
              - {metric: rowCount, mustBeBetween: [1, 5]}
              - {metric: duplicateValues, arguments: {properties: [id, name]}, mustBe: 0}
              - {metric: duplicateValues, arguments: {properties: [id, nope]}, mustBe: 0}
              - {metric: nullValues, mustBe: 0}
        """
    assert tested(body) == {
        "fields/id/quality/0": ("fail", "duplicate values: 1: 4, 4"),
        "fields/name/quality/0": ("fail", "null values: 20 percent: null"),
        "fields/name/quality/1": ("pass", "null values: 1"),
        "fields/name/quality/2": ("fail", "missing values: 3: N/A, null"),
        "fields/name/quality/3": ("fail", "invalid values: 2: N/A"),
        "fields/name/quality/4": ("pass", "invalid values: 1"),
        "fields/name/quality/5": ("error", "invalidValues needs validValues or a pattern as arguments"),
        "fields/name/quality/6": ("unsupported", "there is no library metric freshValues"),
        "fields/name/quality/7": ("fail", "null values: 1: null"),
        "quality/0": ("pass", "row count: 5"),
        "quality/1": ("pass", "duplicate values: 0"),
        "quality/2": ("fail", "column not found"),
        "quality/3": ("error", "nullValues applies to a single field: move the rule to that field"),
    }


def test_missing_values_are_compared_as_values(spark, tested):
    missing = {"n": [-1, 999], "d": [-1], "i": [-1.0, "N/A"], "b": [True], "at": ["1970-01-01T00:00:00Z"]}
    kinds = {"n": "decimal", "d": "double", "i": "int", "b": "boolean", "at": "timestamp"}
    rules = {
        name: [{"metric": "missingValues", "mustBe": 0, "arguments": {"missingValues": values}}]
        for name, values in missing.items()
    }
    fields = {name: {"type": kind, "quality": rules[name]} for name, kind in kinds.items()}
    rows: list[dict[str, Any]] = [
        {"n": -1.0, "d": -1.00, "i": -1, "b": True, "at": "1970-01-01T01:00:00+01:00"},
        {"n": 9.99e2, "d": 1.5, "i": 1, "b": False, "at": "2024-09-01T10:00:00Z"},
        {},
    ]
    body = f"models: {{t: {{fields: {json.dumps(fields)}}}}}"
    of_text = tested(body, [*rows, {"i": "N/A"}]).values()
    assert [reason.split(": ")[1] for _, reason in of_text] == ["4", "3", "3", "3", "3"]
    typed = spark.sql(
        "SELECT CAST(n AS DECIMAL(9, 2)) n, CAST(d AS DOUBLE) d, i, b, CAST(at AS TIMESTAMP) at FROM VALUES"
        " ('-1', '-1', -1, true, '1970-01-01T01:00:00+01:00'), ('999', '1.5', 1, false, '2024-09-01T10:00:00Z'),"
        " (NULL, NULL, NULL, NULL, NULL) AS t(n, d, i, b, at)"
    )
    report = sources.test_frames(compile_models(parse(HEAD + body, "c.yaml"), ["t"]), {"t": typed})
    assert [r.failed_rows for r in report.results if "quality" in r.path] == [3, 2, 2, 2, 2]


def test_soda(tested):
    def soda(**check: Any) -> dict[str, Any]:
        return {"type": "custom", "engine": "soda", "specification": check}

    name = {"column": "name"}
    total = {"column": "total"}
    checks = [
        soda(type="row_count", must_be_between=[1, 5]),
        soda(type="rows_exist"),
        soda(type="rows_present"),
        soda(type="no_missing_values", **name),
        soda(type="missing_count", missing_values=["N/A"], must_be=2, **name),
        soda(type="missing_percent", missing_regex="^$", must_be_less_than_or_equal_to=40, **name),
        soda(type="no_invalid_values", valid_values=["ann", "bob"], missing_values=["", "N/A"], **name),
        soda(type="invalid_count", valid_min_length=3, valid_max_length=3, must_be=1, **name),
        soda(type="invalid_percent", valid_regex="^[a-z]+$", must_be_greater_than=39, **name),
        soda(type="invalid_count", invalid_values=["ann"], must_be=1, **name),
        soda(type="invalid_count", valid_format="email", must_be=4, **name),
        soda(type="invalid_count", valid_min=150, valid_max=400, must_be=2, **total),
        soda(type="no_invalid_values", valid_values_reference_data={"dataset": "t", "column": "id"}, column="id"),
        soda(type="no_duplicate_values", column="id"),
        soda(type="duplicate_count", column="id", must_be=1),
        soda(type="duplicate_percent", columns=["id"], must_be=20),
        soda(type="freshness_in_hours", column="at", must_be_less_than=7),
        soda(type="freshness_in_minutes", column="at", must_be_less_than=7),
        soda(type="avg", must_be=290.1, **total),
        soda(type="min", must_be=100, **total),
        soda(type="max", must_be=450.5, **total),
        soda(type="sum", must_be=1450.5, **total),
        soda(type="stddev_pop", must_be_between=[128, 129], **total),
        soda(type="var_samp", must_be_not_between=[20000, 21000], **total),
        soda(type="percentile", percentile=0.75, must_be=400, **total),
        soda(type="avg_length", must_be=2.25, **name),
        soda(type="max_length", must_be=3, **name),
        soda(type="avg", must_be=1, **name),
        soda(type="metric_expression", metric="m", expression_sql="max(id) - min(id)", must_be=3),
        soda(type="metric_query", metric="m", query_sql="SELECT count(*) FROM t", must_be=5),
        soda(type="metric_expression", metric="m", expression_sql="1 FROM t; DROP TABLE t; SELECT 1", must_be=3),
        soda(type="avg", filter_sql="id > 1", must_be=3, **total),
        soda(type="anomaly"),
        soda(type="missing_count", **name),
        soda(),
        {"type": "custom", "engine": "soda", "implementation": "type: row_count\nmust_be: 5"},
        {"type": "custom", "engine": "montecarlo", "specification": {}},
    ]
    assert [*tested(model(*checks)).values()] == [
        ("pass", "row count: 5"),
        ("pass", "row count: 5"),
        ("pass", "row count: 5"),
        ("fail", "missing values: 1: null"),
        ("pass", "missing values: 2"),
        ("pass", "missing values: 40 percent"),
        ("pass", "invalid values: 0"),
        ("pass", "invalid values: 1"),
        ("pass", "invalid values: 40 percent"),
        ("pass", "invalid values: 1"),
        ("pass", "invalid values: 4"),
        ("pass", "invalid values: 2"),
        ("pass", "reference: 0"),
        ("fail", "duplicate values: 1: 4, 4"),
        ("pass", "duplicate values: 1"),
        ("pass", "duplicate values: 20 percent"),
        ("pass", "age: 6"),
        ("fail", "age: 360"),
        ("pass", "the value is sensitive"),
        ("pass", "the value is sensitive"),
        ("pass", "the value is sensitive"),
        ("pass", "the value is sensitive"),
        ("pass", "the value is sensitive"),
        ("fail", "the value is sensitive"),
        ("pass", "the value is sensitive"),
        ("pass", "avg length: 2.25"),
        ("pass", "max length: 3"),
        ("error", "avg does not apply to a column of type string"),
        ("pass", "the value is 3"),
        ("pass", "the value is 5"),
        ("error", "the query, line 1: [PARSE_SYNTAX_ERROR] Syntax error at or near 'DROP': extra input 'DROP'."),
        ("unsupported", "filter_sql is not supported in a Soda check: use a rule of type sql"),
        ("unsupported", "Soda's contract language has no check of type anomaly"),
        ("error", "missing_count has no threshold: add one, such as must_be or must_be_less_than"),
        ("error", "the Soda check has no type"),
        ("pass", "row count: 5"),
        ("unsupported", "engine montecarlo is not supported"),
    ]


def test_great_expectations(tested):
    def expect(name: str, **kwargs: Any) -> dict[str, Any]:
        return {
            "type": "custom",
            "engine": "great-expectations",
            "specification": {"expectation_type": f"expect_{name}", "kwargs": kwargs},
        }

    def unexpected(query: str) -> dict[str, Any]:
        specification = {"type": "UnexpectedRowsExpectation", "kwargs": {"unexpectedRowsQuery": query}}
        return {"type": "custom", "engine": "great-expectations", "specification": specification}

    name, total = {"column": "name"}, {"column": "total"}
    rules = [
        expect("table_row_count_to_be_between", min_value=1, max_value=4),
        expect("table_row_count_to_equal", value=5),
        expect("table_column_count_to_equal", value=5),
        expect("column_to_exist", column="nope"),
        expect("table_columns_to_match_set", column_set=["id", "name", "total", "at", "in"]),
        expect("table_columns_to_match_ordered_list", column_list=["id", "name"]),
        expect("column_values_to_not_be_null", mostly=0.8, **name),
        expect("column_values_to_be_null", **name),
        expect("column_values_to_be_unique", column="id"),
        expect("column_values_to_be_unique", column="id", mostly=0.6),
        expect("compound_columns_to_be_unique", column_list=["id", "name"]),
        expect("column_values_to_be_between", min_value=100, strict_min=True, mostly=0.8, **total),
        expect("column_values_to_be_between", min_value=100, strict_min=True, **total),
        expect("column_values_to_be_in_set", value_set=["ann", "bob"], mostly=0.5, **name),
        expect("column_values_to_be_in_set", value_set=["ann", "bob"], mostly=0.51, **name),
        expect("column_values_to_not_be_in_set", value_set=["ann"], **name),
        expect("column_values_to_match_regex", regex="^[a-z]*$", **name),
        expect("column_values_to_not_match_regex", regex="/", **name),
        expect("column_value_lengths_to_be_between", max_value=3, **name),
        expect("column_max_to_be_between", max_value=450, **total),
        expect("column_mean_to_be_between", min_value=290, max_value=291, **total),
        expect("column_median_to_be_between", min_value=300, max_value=300, **total),
        expect("column_unique_value_count_to_be_between", min_value=4, max_value=4, column="id"),
        expect("column_proportion_of_unique_values_to_be_between", min_value=0.8, column="id"),
        expect("column_values_to_be_between"),
        expect("column_values_to_be_increasing", column="id"),
        expect("column_values_to_be_between", min_value=1, column="nope"),
        unexpected("SELECT * FROM {batch} WHERE id > 3;"),
        unexpected("SELECT * FROM {batch} WHERE id > 4 -- none"),
        unexpected("SELECT * FROM csv.`/etc/passwd`"),
        expect("query_results_to_match_comparison", base_query="SELECT 1"),
    ]
    assert [*tested(model(*rules)).values()] == [
        ("fail", "row count: 5"),
        ("pass", "row count: 5"),
        ("pass", "5 columns"),
        ("fail", "column nope not found"),
        ("pass", "the columns exist"),
        ("fail", "additional column at, additional column in, additional column total"),
        ("pass", "null values: 20 percent"),
        ("fail", "present values: 80 percent: ann, bob"),
        ("fail", "repeated rows: 40 percent: 4, 4"),
        ("pass", "repeated rows: 40 percent"),
        ("pass", "repeated rows: 0 percent"),
        ("pass", "violations: 20 percent"),
        ("fail", "violations: 20 percent"),
        ("pass", "violations: 50 percent"),
        ("fail", "violations: 50 percent: N/A"),
        ("fail", "violations: 25 percent: ann"),
        ("fail", "violations: 25 percent: N/A"),
        ("fail", "violations: 25 percent: N/A"),
        ("pass", "violations: 0 percent"),
        ("fail", "the value is sensitive"),
        ("pass", "the value is sensitive"),
        ("pass", "the value is sensitive"),
        ("pass", "distinct values: 4"),
        ("pass", "distinct share: 0.8"),
        ("error", "expect_column_values_to_be_between needs min_value, max_value or both"),
        (
            "error",
            "expect_column_values_to_be_increasing needs Great Expectations where Spark runs: "
            "install airflow-provider-odf[great-expectations]",
        ),
        ("fail", "column not found"),
        ("fail", "the value is 2"),
        ("pass", "the value is 0"),
        ("error", "the query, line 2: unknown table csv, /etc/passwd: a query can only read t"),
        ("error", "expect_query_results_to_match_comparison runs queries of its own: use a rule of type sql"),
    ]


def test_service_levels(tested):
    body = """
        models:
          t:
            fields:
              id: {type: long}
              at: {type: timestamp}
              in: {type: timestamp}
        servicelevels:
          freshness: {threshold: 6h, timestampField: t.at}
          latency: {threshold: PT1M, sourceTimestampField: t.at, processedTimestampField: t.in}
          retention: {period: 1 day, timestampField: t.at}
          frequency: {type: batch, interval: daily}
          availability: {percentage: 99.9%}
          custom: {x: 1}
        """
    assert [*tested(body).values()] == [
        ("pass", "the newest is from 2024-09-02T00:00:00Z, 0 days 6:00:00 old"),
        ("fail", "1 row too late: 0 01:00:01"),
        ("pass", "the oldest is from 2024-09-01T10:00:00Z, 0 days 20:00:00 old"),
        ("informational", "only the history of a dataset shows how often it is updated"),
        ("informational", "it is a promise about the service, which cannot be tested on data"),
        ("informational", "it is a promise about the service, which cannot be tested on data"),
    ]
    short = body.replace("6h", "5 hours 59m").replace("PT1M", "2 hours").replace("1 day", "1 month")
    assert [*tested(short).values()][:3] == [
        ("fail", "the newest is from 2024-09-02T00:00:00Z, 0 days 6:00:00 old"),
        ("pass", "4 rows tested"),
        ("pass", "the oldest is from 2024-09-01T10:00:00Z, 0 days 20:00:00 old"),
    ]
    wrong = body.replace("6h", "soon").replace("t.at, proc", "t.gone, proc").replace("timestampField: t.at", "x: y")
    assert [*tested(wrong).values()][:3] == [
        ("informational", "cannot be measured without timestampField"),
        ("fail", "column gone not found"),
        ("informational", "cannot be measured without timestampField"),
    ]


def test_time_limit(tested, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queries, "TIME_LIMIT", 3.0)
    slow = "SELECT count(*) FROM range(100000) a, range(100000) b WHERE hash(a.id, b.id) = 1"
    results = tested(model({"query": "SELECT 1", "mustBe": 1}, {"query": slow, "mustBe": 0}))
    assert results["quality/1"] == ("error", "the query took longer than 0.05 minutes")
    assert results["quality/0"] == ("pass", "the value is 1")


def test_a_pattern_of_exponential_time_in_a_rule_of_its_own(tested):
    rule = {"type": "library", "metric": "invalidValues", "arguments": {"pattern": "^(a+)+$"}, "mustBe": 4}
    body = f"models: {{t: {{fields: {{name: {{type: string, quality: [{json.dumps(rule)}]}}}}}}}}\n"
    assert tested(body) == {"fields/name/quality/0": ("pass", "invalid values: 4")}
