"""Contracts on whole models: the orders of the specification, and flights, with rows that break each clause in turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.report import document
from airflow_provider_odf.contract.sources import of_data
from airflow_provider_odf.engine.contract import sources

pytestmark = pytest.mark.spark

ORDERS = """\
dataContractSpecification: 1.1.0
id: urn:datacontract:checkout:orders-latest
info: {title: Orders Latest, version: 1.0.0}
models:
  orders:
    type: table
    fields:
      order_id: {$ref: '#/definitions/order_id', required: true, unique: true, primaryKey: true}
      order_timestamp: {type: timestamp, required: true}
      order_total:
        type: long
        required: true
        quality:
        - type: sql
          query: SELECT quantile_cont(order_total, 0.95) AS percentile_95 FROM orders
          mustBeBetween: [1000, 49900]
      customer_id: {type: text, minLength: 10, maxLength: 20}
      customer_email_address:
        type: text
        format: email
        required: true
        pii: true
        quality: [{type: text, description: The email address is not verified.}]
      processed_timestamp: {type: timestamp, required: true, config: {jsonType: string, jsonFormat: date-time}}
    quality:
    - type: sql
      query: |
        SELECT MAX(EXTRACT(EPOCH FROM (order_timestamp - LAG(order_timestamp) OVER (ORDER BY order_timestamp))))
        FROM orders
      mustBeLessThan: 3600
    - {type: sql, query: SELECT count(*) AS row_count FROM orders, mustBeGreaterThan: 5}
  line_items:
    type: table
    fields:
      line_item_id: {type: text, required: true}
      order_id: {$ref: '#/definitions/order_id', references: orders.order_id}
      sku: {$ref: '#/definitions/sku'}
    primaryKey: [order_id, line_item_id]
definitions:
  order_id: {type: text, format: uuid, pii: true}
  sku: {type: text, pattern: '^[A-Za-z0-9]{8,14}$'}
servicelevels:
  availability: {percentage: 99.9%}
  retention: {period: P1Y, unlimited: false}
  latency: {threshold: 25h, sourceTimestampField: orders.order_timestamp, processedTimestampField: orders.processed_timestamp}
  freshness: {threshold: 25h, timestampField: orders.order_timestamp}
  frequency: {type: batch, interval: daily, cron: 0 0 * * *}
  support: {time: 9am to 5pm in EST on business days, responseTime: 1h}
  backup: {interval: weekly, cron: 0 0 * * 0, recoveryTime: 24 hours, recoveryPoint: 1 week}
"""  # noqa: E501

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def tested(spark, tmp_path: Path) -> Callable[[str, Rows, str], dict[str, tuple[str, int | None]]]:
    """Test a contract on rows by model, and return outcome and failed rows by pointer."""

    def tested(text: str, rows: Rows, as_of: str) -> dict[str, tuple[str, int | None]]:
        for model, records in rows.items():
            (tmp_path / f"{model}.json").write_text("".join(f"{json.dumps(record)}\n" for record in records))
        file = parse(text, "c.yaml")
        contract = compile_models(file, [*rows])
        data = of_data(file, [*rows], f"{tmp_path}/{{model}}.json", "ndjson")
        report = document(sources.test(spark.newSession(), contract, data, as_of=as_of))
        assert all(check["reason"] for check in report["checks"])
        return {check["path"]: (check["outcome"], check["failedRows"]) for check in report["checks"]}

    return tested


def order_id(number: int) -> str:
    return f"243c25e5-a081-43a9-aeab-6d5d5b6c{number:04x}"


ORDER_ROWS: Rows = {
    "orders": [
        {
            "order_id": order_id(n),
            "order_timestamp": f"2026-09-09T08:{n:02}:00Z",
            "order_total": 2500 + n,
            "customer_id": f"{n:010}",
            "customer_email_address": f"customer{n}@example.com",
            "processed_timestamp": f"2026-09-09T09:{n:02}:00Z",
        }
        for n in range(10)
    ],
    "line_items": [
        {"line_item_id": f"LI-{n}", "order_id": order_id(n % 5), "sku": f"40012345678{n:02}"} for n in range(10)
    ],
}

SERVED = "2026-09-09T20:00:00Z"


NOT_TESTED = {
    "/models/orders/fields/customer_email_address/quality/0": ("informational", None),
    "/servicelevels/availability": ("informational", None),
    "/servicelevels/frequency": ("informational", None),
    "/servicelevels/retention": ("informational", None),
    "/servicelevels/support": ("informational", None),
    "/servicelevels/backup": ("informational", None),
}


def without_passes(outcomes: dict[str, tuple[str, int | None]]) -> dict[str, tuple[str, int | None]]:
    return {path: outcome for path, outcome in outcomes.items() if outcome[0] != "pass" and path not in NOT_TESTED}


def test_orders_that_satisfy_their_contract(tested):
    outcomes = tested(ORDERS, ORDER_ROWS, SERVED)
    assert {path: outcome for path, outcome in outcomes.items() if outcome[0] != "pass"} == NOT_TESTED


def test_orders_of_which_each_breaks_another_clause(tested):
    rows = deepcopy(ORDER_ROWS)
    broken_orders: list[dict[str, Any]] = [
        {"order_id": None},
        {"order_timestamp": None},
        {"order_timestamp": "yesterday"},
        {"order_total": None},
        {"order_total": 99.5},
        {"customer_id": "123456789"},
        {"customer_id": "123456789012345678901"},
        {"customer_email_address": "mary"},
        {"customer_email_address": None},
        {"processed_timestamp": None},
        {"order_id": order_id(20), "processed_timestamp": "2026-09-10T10:00:00Z"},
        {"order_id": order_id(20)},
        {"order_id": order_id(21), "customer_id": None},  # which breaks nothing
    ]
    broken_items: list[dict[str, Any]] = [
        {"order_id": order_id(77)},
        {"order_id": "1001"},
        {"line_item_id": None},
        {"line_item_id": "LI-20", "order_id": order_id(20)},
        {"line_item_id": "LI-20", "order_id": order_id(20)},
        {"sku": "4001"},
    ]
    for model, broken in (("orders", broken_orders), ("line_items", broken_items)):
        whole = rows[model]
        rows[model] = [whole[n % len(whole)] | values for n, values in enumerate(broken)]
    orders, items = "/models/orders/fields", "/models/line_items/fields"
    assert without_passes(tested(ORDERS, rows, SERVED)) == {
        f"{orders}/order_id/required": ("fail", 1),
        f"{orders}/order_id/unique": ("fail", 2),
        f"{orders}/order_id/primaryKey": ("fail", 3),
        f"{orders}/order_timestamp/required": ("fail", 1),
        f"{orders}/order_timestamp/type": ("fail", 1),
        f"{orders}/order_total/required": ("fail", 1),
        f"{orders}/order_total/type": ("fail", 1),
        f"{orders}/customer_id/minLength": ("fail", 1),
        f"{orders}/customer_id/maxLength": ("fail", 1),
        f"{orders}/customer_email_address/format": ("fail", 1),
        f"{orders}/customer_email_address/required": ("fail", 1),
        f"{orders}/processed_timestamp/required": ("fail", 1),
        f"{items}/line_item_id/required": ("fail", 1),
        f"{items}/order_id/format": ("fail", 1),
        f"{items}/order_id/references": ("fail", 3),  # one of an order without an id
        f"{items}/sku/pattern": ("fail", 1),
        "/models/line_items/primaryKey": ("fail", 3),
        "/servicelevels/latency": ("fail", 1),
    }


def test_orders_that_together_break_a_clause(tested):
    rows = deepcopy(ORDER_ROWS)
    for order in rows["orders"]:
        order["order_total"] = 999
    rows["orders"][0] |= {"order_timestamp": "2026-09-09T06:59:00Z", "processed_timestamp": "2026-09-09T07:00:00Z"}
    del rows["orders"][5:]
    for item in rows["line_items"]:
        del item["sku"]
    sku = "/models/line_items/fields/sku"
    assert without_passes(tested(ORDERS, rows, "2026-09-10T10:00:00Z")) == {
        "/models/orders/fields/order_total/quality/0": ("fail", None),
        "/models/orders/quality/0": ("fail", None),
        "/models/orders/quality/1": ("fail", None),
        sku: ("fail", None),
        f"{sku}/type": ("fail", None),
        f"{sku}/pattern": ("fail", None),
        "/servicelevels/freshness": ("fail", None),
    }
