"""Reports of the operators to DataHub, without Spark; tests/examples reports from a real run."""

import json
import logging
import sys
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.operators.datahub import report_to_datahub
from airflow_provider_odf.protocol import Check, CheckResult, Contract, ContractReport, OffsetInterval
from tests.manifests import appending

CONTRACT = Contract("urn:two", "two", "d", (Check("/a", "required", "never null", "id"),))
REPORT = ContractReport("urn:two", "d", "two", (CheckResult("/a", "required", "pass", "never null", "id"),))


@pytest.fixture
def report(tmp_path, caplog):
    """Report from a task on an Append dataset; return the levels and texts of the log."""
    (tmp_path / "in").mkdir()
    (tmp_path / "two.yaml").write_text(appending("two"))
    store = Store.open(tmp_path / "store")
    apply(store, load([tmp_path / "two.yaml"]).manifests[0], Instant.parse("2026-05-01T00:00:00Z"))
    head = store.dataset("two").head()
    candidate = Candidate("two", head, head, "candidate-0", records=50, offsets=OffsetInterval(100, 149))
    run = SimpleNamespace(logical_date=datetime(2026, 5, 1, tzinfo=UTC))
    ti = SimpleNamespace(dag_id="two", task_id="contract_test", run_id="r1", try_number=1, map_index=-1, dag_run=run)
    ti.get_template_context = dict

    def report(**arguments):
        caplog.clear()
        with caplog.at_level(logging.INFO, "airflow_provider_odf.operators.datahub"):
            report_to_datahub(store, candidate, CONTRACT, REPORT, {"ti": ti}, **arguments)
        return [(r.levelname, r.getMessage()) for r in caplog.records if r.name.endswith("operators.datahub")]

    return report


def test_without_settings_nothing_is_sent(report):
    assert report() == []


def test_a_file_says_which_rows_were_tested_and_where(report, tmp_path, monkeypatch):
    file = tmp_path / "datahub.json"
    monkeypatch.setenv("AIRFLOW__ODF__DATAHUB_FILE", str(file))
    monkeypatch.setenv("AIRFLOW__ODF__DATAHUB_ENV", "DEV")
    monkeypatch.setenv("AIRFLOW__ODF__DATAHUB_INCIDENTS", "False")
    assert report(url="https://a/report") == [("INFO", f"DataHub: 6 aspects of 1 clause sent to {file}")]
    aspects = {p["aspectName"]: p["aspect"]["json"] for p in json.loads(file.read_text())}
    assert aspects["assertionActions"] == {"onSuccess": [], "onFailure": []}
    event = aspects["assertionRunEvent"]
    assert event["asserteeUrn"].endswith("/store/two,DEV)")
    assert event["runId"].startswith("019de0d5-c800-7")  # the rest depends on the namespace of lineage
    assert event["partitionSpec"] == {"partition": "offset 100..149", "type": "PARTITION"}
    assert event["batchSpec"]["query"] == "SELECT * FROM `two` WHERE `offset` BETWEEN 100 AND 149"
    assert event["batchSpec"]["customProperties"] == {"ref": "candidate-0", "records": "50", "rows": "new records"}
    context = event["runtimeContext"]
    assert (context["dag_id"], context["task_id"], context["dag_run_id"]) == ("two", "contract_test", "r1")


def test_a_server_that_fails_is_a_warning_and_the_file_is_written(report, tmp_path, monkeypatch, server):
    file = tmp_path / "datahub.json"
    monkeypatch.setenv("AIRFLOW__ODF__DATAHUB_FILE", str(file))
    monkeypatch.setenv("AIRFLOW__ODF__DATAHUB_CONN_ID", "nowhere")
    monkeypatch.setenv(
        "AIRFLOW_CONN_DH", json.dumps({"conn_type": "datahub", "host": server.url, "password": "s3cr3t"})
    )
    (refused, sent) = report(conn_id="dh")
    assert (refused[0], sent[0]) == ("WARNING", "INFO")
    assert refused[1].startswith(f"DataHub: cannot send the report to {server.url}: ")
    (missing, sent) = report()
    assert missing[0] == "WARNING"
    assert missing[1].startswith("DataHub: connection nowhere cannot be used: ")
    assert file.exists()
    assert "s3cr3t" not in str([refused, missing])


def test_a_missing_library_is_a_warning(report, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ODF__DATAHUB_CONN_ID", "dh")
    for name in [name for name in sys.modules if name.partition(".")[0] == "datahub"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "datahub", None)
    ((level, message),) = report()
    assert level == "WARNING"
    assert message.endswith("pip install 'airflow-provider-odf[datahub]'")
