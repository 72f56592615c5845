"""Expectations as the library Great Expectations 1.24 judges them on Spark: recorded outcomes and unexpected rows.

`test_great_expectations_generated.py` compares with the library itself.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.engine.contract.sources import test_frames as report_on

pytestmark = pytest.mark.spark

ROWS = [
    (1, 1.0, "a", None, "1"),
    (1, float("nan"), "ab", None, "1"),
    (2, None, None, None, "2"),
    (None, 3.0, None, None, "2"),
    (None, 3.0, None, None, "30"),
]
CASES: list[tuple[str, dict[str, Any], str, int | None]] = [
    ("compound_columns_to_be_unique", {"column_list": ["n", "s"]}, "pass", 0),
    ("compound_columns_to_be_unique", {"column_list": ["n", "s"], "ignore_row_if": "never"}, "fail", 2),
    ("compound_columns_to_be_unique", {"column_list": ["n", "x"]}, "fail", 2),
    ("compound_columns_to_be_unique", {"column_list": ["n", "x"], "mostly": 0.6}, "pass", 2),
    ("compound_columns_to_be_unique", {"column_list": ["n", "x"], "ignore_row_if": "any_value_is_missing"}, "pass", 0),
    ("compound_columns_to_be_unique", {"column_list": ["n", "x"], "ignore_row_if": "neither"}, "error", None),
    ("compound_columns_to_be_unique", {"column_list": ["n"]}, "error", None),
    ("column_values_to_be_in_set", {"column": "n", "value_set": [1], "mostly": 2 / 3}, "pass", 1),
    ("column_values_to_be_in_set", {"column": "n", "value_set": [1], "mostly": 0.6666666667}, "fail", 1),
    ("column_values_to_be_in_set", {"column": "k", "value_set": [1, 2]}, "fail", 1),
    ("column_values_to_be_in_set", {"column": "n", "value_set": ["1", "2"]}, "pass", 0),
    ("column_values_to_be_in_set", {"column": "s", "value_set": [1]}, "error", None),
    ("column_values_to_be_in_set", {"column": "n", "value_set": []}, "fail", 3),
    ("column_values_to_be_between", {"column": "x", "min_value": 0}, "pass", 0),
    ("column_values_to_be_between", {"column": "x", "max_value": 3}, "fail", 1),
    ("column_values_to_be_between", {"column": "x", "min_value": 3, "max_value": 1}, "error", None),
    ("column_value_lengths_to_be_between", {"column": "s", "min_value": 1, "strict_min": True}, "fail", 1),
    ("column_value_lengths_to_be_between", {"column": "s", "max_value": 2, "strict_max": True}, "fail", 1),
    ("column_value_lengths_to_equal", {"column": "n", "value": 1}, "pass", 0),
    ("column_values_to_match_regex", {"column": "n", "regex": "^1$"}, "fail", 1),
    ("column_values_to_match_regex_list", {"column": "s", "regex_list": ["^a$", "b$"]}, "pass", 0),
    ("column_values_to_match_regex_list", {"column": "s", "regex_list": ["a", "b"], "match_on": "all"}, "fail", 1),
    ("column_values_to_match_regex_list", {"column": "s", "regex_list": []}, "error", None),
    ("column_median_to_be_between", {"column": "x", "min_value": 3, "max_value": 3}, "pass", None),
    ("column_mean_to_be_between", {"column": "x", "min_value": 0}, "fail", None),
    ("column_sum_to_be_between", {"column": "z", "min_value": 0}, "fail", None),
    ("column_proportion_of_unique_values_to_be_between", {"column": "z", "min_value": 0}, "pass", 0),
    ("column_proportion_of_unique_values_to_be_between", {"column": "z", "max_value": 0}, "pass", 0),
    ("column_to_exist", {"column": "n"}, "pass", None),
    ("column_to_exist", {"column": "N"}, "fail", None),
    ("column_values_to_be_unique", {"column": "k", "strict": True}, "error", None),
    ("column_values_to_be_between", {"column": "n", "min_value": 1, "strict_min": "false"}, "error", None),
    ("table_row_count_to_equal", {"value": 5.5}, "error", None),
    ("table_column_count_to_be_between", {"min_value": 1, "strict_min": True}, "error", None),
]  # fmt: skip


def test_outcomes_and_unexpected_rows(spark):
    rules = [
        {
            "type": "custom",
            "engine": "great-expectations",
            "specification": {"type": f"expect_{kind}", "kwargs": kwargs},
        }
        for kind, kwargs, *_ in CASES
    ]
    head = {"dataContractSpecification": "1.2.1", "id": "t", "info": {"title": "T", "version": "1.0.0"}}
    contract = parse(json.dumps(head | {"models": {"t": {"quality": rules}}}), "c.yaml")
    frame = spark.createDataFrame(ROWS, "n INT, x DOUBLE, s STRING, z DOUBLE, k STRING").coalesce(1)
    results = [r for r in report_on(compile_models(contract, ["t"]), {"t": frame}).results if "quality" in r.path]
    outcomes = [(*case[:2], r.outcome, r.failed_rows) for case, r in zip(CASES, results, strict=True)]
    assert outcomes == CASES


def test_unknown_keys_are_refused():
    rule = {"engine": "great-expectations", "type": "custom"}
    specification = {"type": "expect_column_values_to_be_unique", "column": "k", "kwargs": {}}
    rules = [
        rule | {"specification": specification},
        rule | {"specification": {"type": "expect_column_to_exist", "kwargs": {"column": "k", "colum_index": 1}}},
    ]
    head = {"dataContractSpecification": "1.2.1", "id": "t", "info": {"title": "T", "version": "1.0.0"}}
    contract = parse(json.dumps(head | {"models": {"t": {"quality": rules}}}), "c.yaml")
    reasons = [c.reason for c in compile_models(contract, ["t"]).checks if "quality" in c.path]
    assert reasons == [
        "an expectation has no column: arguments belong into kwargs",
        "expect_column_to_exist has no argument colum_index: it has column",
    ]
