"""Pages of links of tasks: of a DAG that publishes the dataset, and of one that publishes nothing."""

from pathlib import Path

import pyarrow as pa
import pytest
from airflow.api_fastapi.app import create_auth_manager
from fastapi.testclient import TestClient

from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.operators.links import Ticket
from airflow_provider_odf.ui.plugin import LazyApp
from tests.chain.conftest import Growing

from .rejecting import publish, reject
from .shown import shown

MISSING = "f1620" + 64 * "0"
COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))


@pytest.fixture
def numbers(store):
    return Growing(store.create(DatasetAlias.parse("acme/numbers")), model.MergeStrategyAppend(), COLUMNS)


def link(kind, dataset, block_hash, name="acme/numbers", dag_id="acme.numbers"):
    store = Path(dataset.location).parent.parent.as_uri()
    return f"/{kind}/{dag_id}/{Ticket(dag_id, store, name, block_hash).sign()}"


def test_a_link_leads_to_the_pages_of_the_dataset(open_page, numbers):
    head = publish(numbers, ("+A", 1, "one"))
    block = open_page(link("blocks", numbers.dataset, head), follow_redirects=False)
    assert (block.status_code, block.headers["location"]) == (303, f"/odf/datasets/acme.numbers/blocks/{head}")
    report = open_page(link("reports", numbers.dataset, head), follow_redirects=False)
    assert report.headers["location"] == f"/odf/datasets/acme.numbers/contract/{head}"
    rejection = reject(numbers, ("+A", 3, "three"))
    page = shown(open_page(link("reports", numbers.dataset, rejection.block_hash)))
    assert "It failed its contract and was not published. waiting" in page.lines


def test_a_dag_that_publishes_another_dataset_has_the_page_of_the_link(open_page, numbers):
    secret = "https://me:s3cr3t@h.org/a?key=s3cr3t"
    source = model.SetPollingSource(
        fetch=model.FetchStepUrl(url=secret), read=model.ReadStepCsv(), merge=model.MergeStrategyAppend()
    )
    block_hash = numbers.append(source)
    page = shown(open_page(link("blocks", numbers.dataset, block_hash, dag_id="empty")))
    assert page.lines[1] == "acme/numbers"
    assert "Block 3: SetPollingSource" in page.lines
    assert "url: https://h.org/a?key=***" in page.lines[-1]
    assert "s3cr3t" not in str(page.lines)
    head = publish(numbers, ("+A", 1, "one"))
    report = shown(open_page(link("reports", numbers.dataset, head, dag_id="empty")))
    assert report.lines[report.lines.index("Contract report") + 1].startswith("passed All enforced clauses passed.")
    assert report.after("Block") == head
    rejection = reject(numbers, ("+A", 3, "three"))
    report = shown(open_page(link("reports", numbers.dataset, rejection.block_hash, dag_id="empty")))
    assert report.lines[report.lines.index("Contract report") + 1].startswith("failed Clauses failed.")


@pytest.mark.parametrize("kind", ["blocks", "reports"])
def test_what_is_not_there_is_a_404_that_tells_no_paths(open_page, numbers, kind):
    for name, block_hash in (("acme/numbers", MISSING), ("../etc", MISSING), ("nothing", MISSING)):
        problem = shown(open_page(link(kind, numbers.dataset, block_hash, name)), 404)
        assert problem.lines[2] == "The link is not valid, or its block no longer exists."


@pytest.mark.parametrize("kind", ["blocks", "reports"])
def test_a_link_shows_its_own_block_to_readers_of_its_own_dag_alone(open_page, numbers, kind):
    path = link(kind, numbers.dataset, numbers.dataset.head())
    for wrong in (path.replace("acme.numbers", "empty"), path[:-1], f"/{kind}/acme.numbers/WyJhIl0.x"):
        assert shown(open_page(wrong), 404).lines[0] == "This page does not exist"
    assert shown(open_page(path, role=None), 403).lines[0] == "You may not see this page"


@pytest.mark.parametrize("kind", ["blocks", "reports"])
def test_nobody_reads_without_logging_in(numbers, kind):
    create_auth_manager()
    with TestClient(LazyApp()) as client:
        assert client.get(link(kind, numbers.dataset, numbers.dataset.head())).status_code == 401
