"""Forms of a contract report."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from airflow_provider_odf.contract.report import as_junit, counts, document, lines
from airflow_provider_odf.protocol import CheckResult, ContractReport

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "contract-report.schema.json").read_text())
FIELDS = "/models/orders/fields"


def result(path, kind, outcome, description, **properties):
    return CheckResult(path, kind, outcome, description, model="orders", **properties)


ROWS = {"rows": 50, "failed_rows": 0}
REPORT = ContractReport(
    "urn:orders",
    "abc",
    "orders",
    (
        result(f"{FIELDS}/id/required", "required", "pass", "id is never null", field="id", line=7, **ROWS),
        result(
            f"{FIELDS}/total/minimum",
            "minimum",
            "fail",
            "total: >= 0",
            field="total",
            line=9,
            expected=">= 0",
            observed="-1",
            reason="1 row: -1 at offset 3",
            rows=50,
            failed_rows=1,
            samples=({"id": "7", "total": "-1"}, {"id": None, "total": "-2"}),
        ),
        result("/models/orders/quality/0", "quality_text", "informational", "plausible", reason="a text"),
        result("/models/orders/quality/1", "quality_sql", "error", "sum", line=12, reason="no column \x1b x"),
        result("/models/orders/quality/2", "quality_sql", "fail", "many", severity="warning", observed="50", line=14),
    ),
    50,
    specification="Data Contract Specification 1.1.0",
)


def test_the_log_starts_with_what_failed_and_has_one_line_for_what_passed():
    assert list(lines(REPORT, "acme/orders")) == [
        "contract urn:orders on acme/orders: error (1 error, 1 failed, 1 warning, 1 passed, 1 not enforced)",
        "",
        "outcome   clause   line   reason",
        "──────────────────────────────────────────",
        "error     sum      12     no column \\x1b x",
        "",
        "outcome   clause        expected   found   rows   failed   line",
        "───────────────────────────────────────────────────────────────",
        "fail      total: >= 0   >= 0       -1      50     1        9",
        "warning   many                     50                      14",
        "",
        "failing rows: total: >= 0",
        "  id     total",
        "  ────────────",
        "  7      -1",
        "  null   -2",
        "",
        "not enforced    clause      reason",
        "──────────────────────────────────",
        "informational   plausible   a text",
        "",
        "passed: 1 clause",
    ]


def test_an_error_has_its_whole_reason_and_clauses_that_share_it_are_one_row():
    reason = "the query, line 1: a column, variable, or function parameter with name `nocol` cannot be resolved"
    report = ContractReport(
        "urn:orders",
        "abc",
        "orders",
        (
            result("/models/orders", "model_present", "error", "the data can be read", reason="no file", line=3),
            result(f"{FIELDS}/id", "field_present", "error", "column id exists", reason="no file", line=4),
            result(f"{FIELDS}/id/type", "field_type", "error", "id is a long", reason="no file", line=5),
            result("/models/orders/quality/1", "quality_sql", "error", "sum", observed="x", reason=reason, line=9),
        ),
    )
    assert list(lines(report, "orders"))[2:] == [
        "outcome   clause                                                line   reason",
        "─" * 168,
        "error     the data can be read, and 2 other clauses of orders   3      no file",
        f"error     sum                                                   9      {reason}",
    ]


def test_what_passed_is_short():
    report = ContractReport("urn:orders", "abc", "orders", REPORT.results[:1])
    assert list(lines(report, "orders")) == ["contract urn:orders on orders: passed (1 passed)", "", "passed: 1 clause"]
    assert counts(ContractReport("urn:orders", "abc", "orders", ())) == "no clauses"


def test_json_fits_its_schema():
    value = document(REPORT)
    Draft202012Validator.check_schema(SCHEMA)
    assert list(Draft202012Validator(SCHEMA).iter_errors(json.loads(json.dumps(value)))) == []
    assert {name: value for name, value in value.items() if name != "checks"} == {
        "contract": "urn:orders",
        "specification": "Data Contract Specification 1.1.0",
        "result": "error",
    }
    assert value["checks"][1] == {
        "path": "/models/orders/fields/total/minimum",
        "line": 9,
        "kind": "minimum",
        "model": "orders",
        "field": "total",
        "description": "total: >= 0",
        "severity": "error",
        "outcome": "fail",
        "reason": "1 row: -1 at offset 3",
        "observed": "-1",
        "expected": ">= 0",
        "rows": 50,
        "failedRows": 1,
        "samples": [{"id": "7", "total": "-1"}, {"id": None, "total": "-2"}],
    }


def test_junit_has_one_case_for_each_clause():
    root = ET.fromstring(as_junit(REPORT, "orders.yaml"))
    (suite,) = root
    assert root.attrib == suite.attrib
    assert root.attrib == {"name": "urn:orders", "tests": "5", "failures": "1", "errors": "1", "skipped": "2"}
    cases = {case.attrib.pop("name"): case for case in suite}
    assert [(name, [(e.tag, e.attrib["message"], e.text) for e in case]) for name, case in cases.items()] == [
        ("id is never null (/models/orders/fields/id/required)", []),
        (
            "total: >= 0 (/models/orders/fields/total/minimum)",
            [
                (
                    "failure",
                    "1 row: -1 at offset 3",
                    "expected: >= 0\nfound: -1\nfailing: 1 row of 50\nid=7, total=-1\nid=null, total=-2",
                )
            ],
        ),
        ("plausible (/models/orders/quality/0)", [("skipped", "not enforced: a text", None)]),
        ("sum (/models/orders/quality/1)", [("error", "no column \ufffd x", None)]),
        ("many (/models/orders/quality/2)", [("skipped", "warning: 50", "found: 50")]),
    ]
    attributes = cases["total: >= 0 (/models/orders/fields/total/minimum)"].attrib
    assert attributes == {"classname": "urn:orders.orders", "file": "orders.yaml", "line": "9"}


@pytest.mark.parametrize(
    ("kind", "severity", "outcome", "expected"),
    [
        ("quality_sql", "error", "error", "error"),
        ("quality_sql", "warning", "error", "error"),
        ("quality_sql", "error", "fail", "failed"),
        ("quality_sql", "warning", "fail", "warning"),
        ("service_level_retention", "error", "error", "error"),
        ("service_level_retention", "warning", "error", "warning"),
        ("service_level_retention", "warning", "fail", "warning"),
        ("quality_sql", "error", "informational", "passed"),
    ],
)
def test_the_result(kind: str, severity: str, outcome: str, expected: str):
    results = (result("/a", "required", "pass", "a"), result("/b", kind, outcome, "b", severity=severity))
    report = ContractReport("c", "d", "orders", results)
    assert (report.result, bool(report.broken)) == (expected, expected in ("failed", "error"))
