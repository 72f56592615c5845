"""Thresholds, durations and queries of quality rules and service levels."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from airflow_provider_odf.contract import expectations, queries, service_levels, soda, thresholds
from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.thresholds import RuleError


@pytest.mark.parametrize(
    ("text", "months", "seconds"),
    [
        ("25h", 0, 90000),
        ("1 year", 12, 0),
        ("5s", 0, 5),
        ("24 hours", 0, 86400),
        ("30d", 0, 2592000),
        ("1 week", 0, 604800),
        ("2 months", 2, 0),
        ("1.5 years", 18, 0),
        ("1 day and 12 hours", 0, 129600),
        ("P1Y", 12, 0),
        ("P1M", 1, 0),
        ("PT1M", 0, 60),
        ("P1DT12H", 0, 129600),
        ("PT0.5S", 0, 0.5),
        ("P2W", 0, 1209600),
    ],
)
def test_durations(text: str, months: int, seconds: float):
    assert service_levels.parse_duration(text) == service_levels.Duration(months, Decimal(str(seconds)))


@pytest.mark.parametrize("text", ["", "soon", "5", "P", "PT", "5 parsecs", "1.1 months", "-1h", "1h tomorrow"])
def test_no_durations(text: str):
    with pytest.raises(RuleError):
        service_levels.parse_duration(text)


def test_thresholds():
    rule = {
        "mustBeGreaterOrEqualTo": 1,
        "mustBeGreaterThanOrEqualTo": 2,
        "must_be_not_between": [1, 2.5],
        "unit": "rows",
    }
    assert thresholds.require(rule) == {
        "must_be_greater_or_equal_to": 1,
        "must_be_greater_than_or_equal_to": 2,
        "must_be_not_between": [1, 2.5],
    }
    for wrong in (
        {"mustBe": "1"},
        {"mustBe": True},
        {"mustBeBetween": 1},
        {"mustBeBetween": [1]},
        {"mustBeNice": 1},
        {},
    ):
        with pytest.raises(RuleError):
            thresholds.require(wrong)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM {model} WHERE ${field} = '{2}'", "SELECT count(*) FROM `my-t` WHERE a.`b c` = '{2}'"),
        ("SELECT {column} FROM {table}, {object}", "SELECT a.`b c` FROM `my-t`, `my-t`"),
        ("SELECT quantile_cont(f(a, b), 0.5) FROM t", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f(a, b)) FROM t"),  # noqa: E501
        ("SELECT 'quantile_cont(a, 1)' -- EXTRACT(EPOCH FROM x)", "SELECT 'quantile_cont(a, 1)' -- EXTRACT(EPOCH FROM x)"),  # noqa: E501
        (
            "SELECT max(lag(x) OVER (ORDER BY y)) m FROM t AS o WHERE o.x > 3 GROUP BY z;",
            "SELECT MAX(__window_0) AS m FROM (SELECT *, LAG(x) OVER (ORDER BY y) AS __window_0 FROM t AS o WHERE o.x > 3) "  # noqa: E501
            "AS o GROUP BY z",
        ),
        (
            "WITH a AS (SELECT max(lag(x) OVER (ORDER BY y)) v FROM (SELECT 1)) SELECT v FROM a",
            "WITH a AS (SELECT MAX(__window_0) AS v FROM (SELECT *, LAG(x) OVER (ORDER BY y) AS __window_0 FROM (SELECT 1)) "  # noqa: E501
            "AS __rows) SELECT v FROM a",
        ),
        ("SELECT quantile_cont(a) over", "SELECT quantile_cont(a) over"),
        ("SELECT max(lag(x) OVER (ORDER BY y)) FROM t, u", "SELECT max(lag(x) OVER (ORDER BY y)) FROM t, u"),
        ("SELECT sum(count(*)) OVER () FROM t", "SELECT sum(count(*)) OVER () FROM t"),
        (
            "SELECT max(lag(x) OVER (ORDER BY y)) FROM t JOIN u USING (x)",
            "SELECT max(lag(x) OVER (ORDER BY y)) FROM t JOIN u USING (x)",
        ),
    ],
)  # fmt: skip
def test_queries(query: str, expected: str):
    assert queries.of_rule(query, "my-t", "a.b c") == expected


def test_placeholders_without_meaning():
    for field in (None, "lines[].sku"):
        with pytest.raises(RuleError):
            queries.of_rule("SELECT {field}", "t", field)


def test_a_misspelt_placeholder():
    with pytest.raises(RuleError, match=r"^unknown placeholder \{modle\}: did you mean \{model\}\?$"):
        queries.of_rule("SELECT count(*) FROM {modle} WHERE a RLIKE '^x{2}{n}'", "t", None)


def test_a_rule_without_a_description_says_what_it_tests():
    text = """\
dataContractSpecification: 1.2.1
id: urn:t
info: {title: T, version: 1.0.0}
models:
  my-t:
    fields:
      a:
        quality:
          - {type: sql, query: "SELECT max({field})\\n  FROM {model}", mustBe: 1}
          - {type: custom, engine: soda, implementation: {type: missing_count, must_be: 1}}
    quality:
      - {type: sql, query: "SELECT max({field}) FROM ${object}", mustBe: 1}
      - {type: custom, engine: soda, implementation: "type: duplicate_percent\\ncolumns: [a, b]\\nmust_be: 0"}
      - {type: custom, engine: great-expectations,
         implementation: {expectation_type: expect_column_to_exist, kwargs: {column: a}}}
      - {type: custom, engine: other, implementation: "[x"}
      - {type: sql, query: SELECT 1, mustBe: 1, description: "One  is\\n one."}
"""
    checks = compile_models(parse(text, "c.yaml"), ["my-t"]).checks
    assert [c.description for c in checks if "quality" in c.path] == [
        "a: SELECT max(a) FROM `my-t`",
        "a: missing_count",
        "my-t: SELECT max({field}) FROM ${object}",
        "my-t: duplicate_percent of a, b",
        "my-t: expect_column_to_exist of a",
        "my-t: other",
        "my-t: One is one.",
    ]


def test_the_page_lists_every_check_and_expectation():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "contract-tests.md").read_text(encoding="utf-8")
    assert [name for name in (*soda.TYPES, *expectations.FORMS) if f"`{name}`" not in page] == []


def test_quality_of_the_whole_contract():
    head = "dataContractSpecification: 0.9.3\nid: urn:t\ninfo: {title: T, version: 1.0.0}\n"
    models = "models: {t: {fields: {id: {type: long}, at: {type: timestamp}}}, u: {fields: {id: {type: long}}}}\n"
    soda = """\
quality:
  type: SodaCL
  specification:
    checks for t:
      - row_count > 5
      - missing_percent(id) < 5%
      - duplicate_count(id, at) = 0
      - invalid_count(id) = 0:
          valid min: 1
      - avg(id) not between 1 and 2
      - percentile(id, 0.95) >= 3
      - freshness(at) < 1d12h
      - values in (id) must exist in u (id)
      - anomaly score for row_count < default
      - avg(id) < many
    checks for u: [row_count > 0]
    checks for v: [row_count > 0]
    filter t [daily]: {where: x}
"""
    checks = compile_models(parse(head + models + soda, "c.yaml"), ["t"]).checks
    rules = [c for c in checks if c.path.startswith("/quality")]
    start = "/quality/specification/checks for t"
    assert [(c.path.removeprefix(start), c.field, c.columns, c.outcome, c.reason, c.arguments) for c in rules] == [
        ('/0', None, (), '', '', {'thresholds': {'must_be_greater_than': 5}, 'metric': 'row_count'}),
        ('/1', 'id', (), '', '', {'thresholds': {'must_be_less_than': 5}, 'unit': 'percent', 'missing': [], 'metric': 'missing_values'}),  # noqa: E501
        ('/2', None, ('id', 'at'), '', '', {'thresholds': {'must_be': 0}, 'unit': 'rows', 'metric': 'duplicate_values'}),  # noqa: E501
        ('/3', 'id', (), '', '', {'rules': [{'kind': 'minimum', 'arguments': {'limit': 1}}], 'forbidden': [], 'thresholds': {'must_be': 0}, 'unit': 'rows', 'missing': [], 'metric': 'invalid_values'}),  # noqa: E501
        ('/4', 'id', (), '', '', {'thresholds': {'must_not_be_between': [1, 2]}, 'metric': 'avg'}),
        ('/5', 'id', (), '', '', {'fraction': 0.95, 'thresholds': {'must_be_greater_than_or_equal_to': 3}, 'metric': 'percentile'}),  # noqa: E501
        ('/6', 'at', (), '', '', {'seconds': 60, 'thresholds': {'must_be_less_than': 2160.0}, 'metric': 'age'}),
        ('/7', 'id', (), '', '', {'target': 'u.id', 'thresholds': {'must_be': 0}, 'unit': 'rows', 'metric': 'reference'}),  # noqa: E501
        ('/8', None, (), 'unsupported', "the SodaCL check 'anomaly score for row_count < default' is not supported", {}),  # noqa: E501
        ('/9', None, (), 'error', "'many' is not a number", {}),
        ('/quality/specification/checks for u', None, (), 'informational', 'it applies to model u', {}),
        ('/quality/specification/checks for v', None, (), 'error', 'the contract has no model v', {}),
        ('/quality/specification/filter t [daily]', None, (), 'unsupported', 'filter t [daily] is not supported', {}),
    ]  # fmt: skip


def test_expectations_of_the_whole_contract():
    head = "dataContractSpecification: 0.9.3\nid: urn:t\ninfo: {title: T, version: 1.0.0}\n"
    models = "models: {t: {fields: {id: {type: long}}}}\n"
    for specification, expected in (
        (
            """{t: '[{"expectation_type": "expect_table_row_count_to_equal", "kwargs": {"value": 5}}, 1]'}""",
            [("/t/0", ""), ("/t/1", "1 is not an expectation")],
        ),
        ("{t: '[{]'}", [("/t", "the rules are not JSON: Expecting property name enclosed in double quotes")]),
    ):
        text = f"{head}{models}quality: {{type: great-expectations, specification: {specification}}}\n"
        checks = compile_models(parse(text, "c.yaml"), ["t"]).checks
        found = [
            (c.path.partition("/specification")[2], c.reason.partition(": line")[0])
            for c in checks
            if "quality" in c.path
        ]
        assert found == expected
    for quality, expected in (
        ("{type: custom, specification: x}", ("unsupported", "`quality` of type custom is not supported")),
        ("{description: good}", ("informational", "a text rule is documentation and cannot be tested")),
        ("{type: SodaCL}", ("error", "`quality.specification` must be a mapping from models to their rules")),
    ):
        (check,) = compile_models(parse(f"{head}{models}quality: {quality}\n", "c.yaml"), []).checks
        assert (check.outcome, check.reason) == expected
