"""Expectations that the library Great Expectations evaluates, where the extra is installed: `make test-newest`."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.sources import of_data
from airflow_provider_odf.engine.contract import sources

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("great_expectations") is None, reason="the extra great-expectations is missing"),
    # The library warns of its own future, and of conditions as text, which contracts have.
    pytest.mark.filterwarnings("ignore"),
]

FIELDS = {
    "id": {"type": "long"},
    "kind": {"type": "string"},
    "email": {"type": "string", "pii": True},
    "low": {"type": "long"},
    "high": {"type": "long"},
    "day": {"type": "date"},
}
ROWS = """\
id,kind,email,low,high,day
1,a,a@b.c,1,10,2024-01-01
2,a,secret@x.org,2,9,2024-01-02
3,b,other@x.org,5,5,2024-05-01
4,c,,7,3,2024-07-01
5,a,fifth@x.org,,3,
"""


@pytest.fixture
def tested(spark, tmp_path: Path):
    """Return the outcome and the reason of each expectation."""

    def tested(*expectations: tuple[str, dict[str, Any]]) -> list[tuple[str, str]]:
        rules = [
            {"engine": "great-expectations", "specification": {"expectation_type": name, "kwargs": kwargs}}
            for name, kwargs in expectations
        ]
        head = {"dataContractSpecification": "1.2.1", "id": "t", "info": {"title": "T", "version": "1.0.0"}}
        (tmp_path / "t.csv").write_text(ROWS)
        file = parse(json.dumps(head | {"models": {"t": {"fields": FIELDS, "quality": rules}}}), "c.yaml")
        data = of_data(file, ["t"], str(tmp_path / "t.csv"), None)
        report = sources.test(spark.newSession(), compile_models(file, ["t"]), data)
        return [(r.outcome, r.reason) for r in report.results if "quality" in r.path]

    return tested


def test_outcomes(spark, tested):
    kind, ids, day = {"column": "kind"}, {"column": "id"}, {"column": "day"}
    pair = {"column_A": "high", "column_B": "low"}
    shares = {"values": ["a", "b", "c"], "weights": [0.1, 0.1, 0.8]}
    median = {"quantile_ranges": {"quantiles": [0.5], "value_ranges": [[10, 20]]}}
    assert tested(
        ("expect_column_values_to_be_increasing", ids),
        ("expect_column_values_to_be_decreasing", ids),
        ("expect_column_values_to_be_of_type", ids | {"type_": "LongType"}),
        ("expect_column_values_to_be_of_type", kind | {"type_": "LongType"}),
        ("expect_column_pair_values_a_to_be_greater_than_b", pair),
        ("ExpectColumnPairValuesAToBeGreaterThanB", {"columnA": "high", "columnB": "low", "mostly": 0.5}),
        ("expect_column_kl_divergence_to_be_less_than", kind | {"partition_object": shares, "threshold": 0.1}),
        ("expect_column_quantile_values_to_be_between", ids | median),
        ("expect_column_distinct_values_to_contain_set", kind | {"value_set": ["a", "z"]}),
        ("expect_column_values_to_be_between", day | {"min_value": "2024-01-02", "max_value": "2024-12-31"}),
    ) == [
        (
            "pass",
            "expect_column_values_to_be_increasing: "
            "element count 5, missing count 0, unexpected count 0, unexpected percent 0",
        ),
        (
            "fail",
            "expect_column_values_to_be_decreasing: "
            "element count 5, missing count 0, unexpected count 4, unexpected percent 80",
        ),
        ("pass", "expect_column_values_to_be_of_type: observed value LongType"),
        ("fail", "expect_column_values_to_be_of_type: observed value StringType"),
        (
            "fail",
            "expect_column_pair_values_a_to_be_greater_than_b: "
            "element count 5, missing count 0, unexpected count 2, unexpected percent 40",
        ),
        (
            "pass",
            "expect_column_pair_values_a_to_be_greater_than_b: "
            "element count 5, missing count 0, unexpected count 2, unexpected percent 40",
        ),
        ("fail", "expect_column_kl_divergence_to_be_less_than: observed value 0.936426"),
        (
            "fail",
            'expect_column_quantile_values_to_be_between: observed value {"quantiles": [0.5], "values": [3.0]}',
        ),
        ("fail", "expect_column_distinct_values_to_contain_set: missing count 1"),
        (
            "fail",
            "expect_column_values_to_be_between: "
            "element count 5, missing count 1, unexpected count 1, unexpected percent 25",
        ),
    ]
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_conditions(tested):
    def where(condition: Any, parser: str = "spark") -> tuple[str, dict[str, Any]]:
        kwargs = {"column": "kind", "value_set": ["a"], "row_condition": condition, "condition_parser": parser}
        return "expect_column_values_to_be_in_set", kwargs

    name, refused = "expect_column_values_to_be_in_set", "row_condition, line 1"
    assert tested(
        where("id < 3"),
        where("id > 2"),
        where('col("id") < 3', "great_expectations"),
        where({"type": "comparison", "column": {"name": "id"}, "operator": "<", "parameter": 3}),
        where("id > 9"),
        where("reflect('java.lang.System', 'getenv', 'HOME') = 'x'"),
        where("exists (SELECT * FROM csv.`/etc/passwd`)"),
        where(
            {"type": "and", "conditions": [{"type": "pass_through", "pass_through_filter": "xpath(kind, kind)"}] * 2}
        ),
    ) == [
        ("pass", f"{name}: element count 2, missing count 0, unexpected count 0, unexpected percent 0"),
        ("fail", f"{name}: element count 3, missing count 0, unexpected count 2, unexpected percent 66.666667"),
        ("pass", f"{name}: element count 2, missing count 0, unexpected count 0, unexpected percent 0"),
        ("pass", f"{name}: element count 2, missing count 0, unexpected count 0, unexpected percent 0"),
        ("pass", f"{name}: element count 0, missing count 0"),
        ("error", f"{name}: {refused}: function reflect is not allowed: it reads data or runs code from elsewhere"),
        ("error", f"{name}: {refused}: unknown table csv, /etc/passwd: a query can only read __expectation_rows"),
        ("error", f"{name}: {refused}: function xpath is not allowed: it reads data or runs code from elsewhere"),
    ]


def test_errors_and_sensitive_values(tested):
    pair = "expect_column_pair_values_a_to_be_greater_than_b"
    hidden = "the evaluation failed, with a message that may show values"
    assert tested(
        ("expect_column_values_to_be_odd", {"column": "id"}),
        ("expect_column_values_to_be_increasing", {"column": "id", "strict": True}),
        ("expect_column_values_to_be_increasing", {"column": "nope"}),
        ("expect_column_value_z_scores_to_be_less_than", {"column": "kind", "threshold": 3, "double_sided": True}),
        (pair, {"column_A": "high", "column_B": "kind"}),
        (pair, {"column_A": "high", "column_B": "email"}),
        ("expect_column_values_to_be_increasing", {"column": "id", "row_condition": "int(email) > 3"}),
        ("expect_column_most_common_value_to_be_in_set", {"column": "email", "value_set": ["x"]}),
    ) == [
        ("error", "expect_column_values_to_be_odd: expect_column_values_to_be_odd not found"),
        ("error", "expect_column_values_to_be_increasing: strict: extra fields not permitted"),
        ("fail", "column nope not found"),
        (
            "error",
            "expect_column_value_z_scores_to_be_less_than: "
            "Expected numeric column type for function mean(). Recieved type: StringType()",
        ),
        (
            "error",
            f'{pair}: [CAST_INVALID_INPUT] The value \'a\' of the type "STRING" cannot be cast to "BIGINT" because it '
            "is malformed. Correct the value as per the syntax, or change its target type. Use `try_cast` to tolerate "
            "malformed input and return NULL instead.",
        ),
        ("error", f"{pair}: {hidden}"),
        ("error", f"expect_column_values_to_be_increasing: {hidden}"),
        ("fail", "expect_column_most_common_value_to_be_in_set: evaluated by Great Expectations"),
    ]
