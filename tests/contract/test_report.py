from __future__ import annotations

import json

from airflow_provider_odf import protocol
from airflow_provider_odf.contract import report
from airflow_provider_odf.protocol import CheckResult, ContractReport

REPORT = ContractReport(
    "urn:orders",
    "abc",
    "orders",
    (
        CheckResult("orders__id__required", "pass", "id is never null", "id", expected="not null", failed_rows=0),
        CheckResult(
            "orders__sku__pattern",
            "fail",
            "sku matches [A-Z]",
            "sku",
            expected="matches [A-Z]",
            actual="1 row: x[red] at offset 3",
            failed_rows=1,
        ),
        CheckResult("orders__q", "fail", "young", severity="warning", actual="old"),
        CheckResult("orders__x", "error", "x matches (", "x", actual="Unclosed group"),
        CheckResult("orders__email__format", "unsupported", "email: format email is not tested", "email"),
    ),
    1200,
)


def test_summary():
    assert report.summary(REPORT) == (
        "contract urn:orders could not be evaluated on 1,200 rows: "
        "1 could not be tested, 1 failed, 1 failed as warnings, 1 passed, 1 unsupported"
    )
    assert report.summary(ContractReport("c", "", "m", REPORT.results[:2], 1)) == (
        "contract c failed on 1 row: 1 failed, 1 passed"
    )
    assert report.summary(ContractReport("c", "", "m", (REPORT.results[2],))) == (
        "contract c passed with warnings on 0 rows: 1 failed as warnings"
    )
    assert report.summary(ContractReport("c", "", "m", ())) == "contract c passed on 0 rows: it has no clauses"


def test_failures_name_the_worst_first():
    assert report.failures(REPORT) == (
        "orders__x: x matches (: Unclosed group",
        "orders__sku__pattern: sku matches [A-Z]: 1 row: x[red] at offset 3",
        "orders__q: young: old",
    )


def test_table_shows_every_clause():
    assert report.text(REPORT).splitlines() == [
        "outcome      clause                 expected                           found",
        "pass         orders__id__required   not null",
        "fail         orders__sku__pattern   matches [A-Z]                      1 row: x[red] at offset 3",
        "warning      orders__q              young                              old",
        "error        orders__x              x matches (                        Unclosed group",
        "unsupported  orders__email__format  email: format email is not tested",
        "",
        report.summary(REPORT),
    ]
    assert "\x1b[31mfail" in report.text(REPORT, is_colored=True)


def test_json_round_trip():
    text = json.dumps(protocol.to_json(REPORT))
    assert protocol.from_json(ContractReport, json.loads(text)) == REPORT
