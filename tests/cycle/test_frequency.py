"""Quality rules and service levels of datasets: queries over the history, ages, and the frequency of updates."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.contract.service_levels import Frequency
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.cycle.contract_context import _of_schedule
from airflow_provider_odf.errors import ContractInconclusive, ContractRejected
from tests.cycle.conftest import Run, Write
from tests.manifests import polled

MANIFEST = polled(
    "orders",
    "{kind: FilesGlob, path: in/*.csv, order: ByName}",
    "{kind: Csv, header: true, schema: [id BIGINT, at TIMESTAMP]}",
)
CONTRACT = """
    dataContractSpecification: 1.2.1
    id: urn:orders
    info: {title: Orders, version: 1.0.0}
    models:
      orders:
        fields:
          id: {type: long}
        quality:
          - {type: sql, query: 'SELECT count(*) FROM {model}', mustBeLessThan: 4}
          - {metric: rowCount, mustBe: 1, severity: warning}
    servicelevels:
      freshness: {threshold: 3d, timestampField: at}
      frequency: {type: batch, interval: daily}
    """


def test_a_dataset(write: Write, run: Run, tmp_path: Path):
    manifest = write("orders.yaml", MANIFEST)
    write("orders.datacontract.yaml", CONTRACT)
    write("odf.yaml", 'defaults: {schedule: "@daily"}\n')
    found = []
    for day, time in (("1", "2024-05-01"), ("2", "2024-05-02"), ("3", "2024-05-05")):
        write(f"in/{day}.csv", f"id,at\n{day},2024-05-0{day}T00:00:00Z\n")
        outcome = run(manifest, f"{time}T10:00:00Z")
        report = outcome.report
        assert report is not None, str(outcome)
        found.append([(r.outcome, r.reason) for r in report.results if r.kind.startswith(("quality", "service"))])
    assert found == [
        [
            ("pass", "the value is 1"),
            ("pass", "row count: 1"),
            ("pass", "the newest is from 2024-05-01T00:00:00Z, 0 days 10:00:00 old"),
            ("pass", "the first update"),
        ],
        [
            ("pass", "the value is 2"),
            ("fail", "row count: 2"),
            ("pass", "the newest is from 2024-05-02T00:00:00Z, 0 days 10:00:00 old"),
            ("pass", "no period without an update between 2024-05-01T10:00:00Z and 2024-05-02T10:00:00Z"),
        ],
        [
            ("pass", "the value is 3"),
            ("fail", "row count: 3"),
            ("pass", "the newest is from 2024-05-03T00:00:00Z, 2 days 10:00:00 old"),
            ("fail", "2 periods without an update between 2024-05-02T10:00:00Z and 2024-05-05T10:00:00Z"),
        ],
    ]


RELEASED = """
    dataContractSpecification: 1.2.1
    id: urn:orders
    info: {title: Orders, version: 1.0.0}
    models:
      orders:
        fields:
          id: {type: long, maximum: 5}
    servicelevels:
      frequency: {type: batch, interval: daily}
    """


def test_an_update_counts_from_its_publication(write: Write, run: Run, store: Store):
    """What was merged on the second day and released on the fifth is an update of the fifth."""
    manifest = write("orders.yaml", MANIFEST)
    write("orders.datacontract.yaml", RELEASED)
    write("in/1.csv", "id,at\n1,2024-05-01T00:00:00Z\n")
    run(manifest, "2024-05-01T10:00:00Z")
    write("in/2.csv", "id,at\n9,2024-05-02T00:00:00Z\n")
    assert isinstance(run(manifest, "2024-05-02T10:00:00Z").error, ContractRejected)
    dataset = store.dataset("orders")
    released = Author("ann", "checked", time="2024-05-05T09:00:00Z")
    assert decisions.publish_anyway(store, dataset, decisions.chosen(dataset, None), released)
    write("in/3.csv", "id,at\n3,2024-05-06T00:00:00Z\n")
    report = run(manifest, "2024-05-06T10:00:00Z").report
    assert [(r.outcome, r.reason) for r in report.results if r.kind.startswith("service")] == [
        ("pass", "no period without an update between 2024-05-05T09:00:00Z and 2024-05-06T10:00:00Z")
    ]


LATE = """
    dataContractSpecification: 1.2.1
    id: urn:orders
    info: {title: Orders, version: 1.0.0}
    models:
      orders:
        fields:
          id: {type: long}
    servicelevels:
      freshness: {threshold: 1h, timestampField: at}
      retention: {period: 1h, timestampField: at}
      latency: {threshold: 1h, sourceTimestampField: at, processedTimestampField: arrived}
      availability: {percentage: 99.9%}
      frequency: {cron: never}
      delay: {threshold: soon, timestampField: at}
    """


def test_service_levels_never_block_a_publication(write: Write, run: Run):
    manifest = write("orders.yaml", MANIFEST.replace("at TIMESTAMP]", "at TIMESTAMP, arrived TIMESTAMP]"))
    write("orders.datacontract.yaml", LATE)
    write("in/1.csv", "id,at,arrived\n1,2024-05-01T00:00:00Z,2024-05-01T09:00:00Z\n")
    outcome = run(manifest, "2024-05-02T00:00:00Z")
    assert str(outcome) == "published 1 record (offsets 0..0)"
    assert outcome.report is not None
    assert outcome.report.result == "warning"
    assert [
        (r.path, r.severity, r.outcome, r.reason) for r in outcome.report.results if r.kind.startswith("service")
    ] == [
        (
            "/servicelevels/freshness",
            "warning",
            "fail",
            "the newest is from 2024-05-01T00:00:00Z, 1 day 0:00:00 old",
        ),
        (
            "/servicelevels/retention",
            "warning",
            "fail",
            "the oldest is from 2024-05-01T00:00:00Z, 1 day 0:00:00 old",
        ),
        ("/servicelevels/latency", "warning", "fail", "1 row too late: 0 09:00:00 at offset 0"),
        (
            "/servicelevels/availability",
            "warning",
            "informational",
            "it is a promise about the service, which cannot be tested on data",
        ),
        (
            "/servicelevels/frequency",
            "warning",
            "error",
            "cron never is not valid: Exactly 5, 6 or 7 columns has to be specified for iterator expression.",
        ),
        (
            "/servicelevels/delay",
            "warning",
            "informational",
            "it is a promise about the service, which cannot be tested on data",
        ),
    ]


UNKNOWN = """
    dataContractSpecification: 1.2.1
    id: urn:orders
    info: {title: Orders, version: 1.0.0}
    models:
      orders:
        fields: {id: {type: long}}
        quality:
          - {type: sql, query: SELECT sum(missing) FROM orders, mustBe: 1, severity: warning}
    servicelevels:
      frequency: {cron: never}
    """


def test_a_rule_of_severity_warning_that_cannot_be_evaluated_blocks(write: Write, run: Run):
    manifest = write("orders.yaml", MANIFEST)
    write("in/1.csv", "id,at\n1,2024-05-01T00:00:00Z\n")
    write("orders.datacontract.yaml", UNKNOWN.replace("sum(missing)", "sum(id)"))
    levels = run(manifest, "2024-05-01T00:00:00Z")
    assert str(levels) == "published 1 record (offsets 0..0)"
    assert levels.report is not None
    assert levels.report.result == "warning"
    assert levels.report.results[-1].outcome == "error"
    write("orders.datacontract.yaml", UNKNOWN)
    write("in/2.csv", "id,at\n2,2024-05-01T00:00:00Z\n")
    outcome = run(manifest, "2024-05-02T00:00:00Z")
    assert isinstance(outcome.error, ContractInconclusive)
    assert "missing" in str(outcome)


def test_a_value_that_cannot_be_read_holds_the_candidate_back(write: Write, run: Run):
    manifest = write("orders.yaml", MANIFEST)
    write("in/1.csv", "id,at\n1,2024-05-01T00:00:00Z\n")
    contract = UNKNOWN.replace("sum(missing)", "sum(id)")
    write("orders.datacontract.yaml", contract.replace("{type: long}", "{type: long, minimum: few}"))
    outcome = run(manifest, "2024-05-01T00:00:00Z")
    assert isinstance(outcome.error, ContractInconclusive)
    assert "orders.datacontract.yaml:6:40: models.orders.fields.id.minimum: 'few' is not a number" in str(outcome)
    write("orders.datacontract.yaml", contract)
    assert str(run(manifest, "2024-05-01T00:00:00Z")) == "published 1 record (offsets 0..0)"


def periods(start: str, end: str, **arguments: str) -> int:
    times = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end))
    return Frequency("/frequency", **arguments).periods(*times)


def test_periods():
    assert periods("2024-05-01T23:00", "2024-05-02T01:00", interval="daily") == 1
    assert periods("2024-05-01T01:00", "2024-05-02T23:00", interval="daily") == 1
    assert periods("2024-05-01T23:00", "2024-05-03T01:00", interval="daily") == 2
    assert periods("2024-05-01T00:00", "2024-05-01T01:10", interval="15 minutes") == 4
    assert periods("2024-01-31", "2024-03-01", interval="P1M") == 2
    assert periods("2024-01-31", "2024-03-01", interval="quarterly") == 0
    assert periods("2024-05-01T03:00", "2024-05-08T03:00", cron="0 4 * * MON") == 1
    for wrong in ({"cron": "x"}, {"interval": "often"}, {"interval": "1 month 2 days"}, {"interval": "0s"}):
        with pytest.raises(RuleError):
            periods("2024-05-01", "2024-05-08", **wrong)


def test_schedules():
    now = datetime(2024, 5, 1, tzinfo=UTC)
    schedules = ("@hourly", "0 6 * * *", "@weekly", "@change", None)
    assert [_of_schedule(Frequency("", "daily"), schedule, now) for schedule in schedules] == [0, 1, 7, 0, 0]
