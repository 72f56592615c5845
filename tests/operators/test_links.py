from types import SimpleNamespace

import pytest
from airflow.sdk import DAG

from airflow_provider_odf import PollingSourceOperator, build_dags
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.operators.links import BlockLink, DatasetLink, ReportLink, Ticket
from tests.manifests import appending

CANDIDATE = Candidate(dataset="acme/orders", base="f1620aa", candidate="f1620bb", ref="candidate-x")
KEY = SimpleNamespace(dag_id="acme.orders")
TICKET = Ticket("acme.orders", "file:///data/odf", "acme/orders", "f1620bb")


def operator(**values):
    return SimpleNamespace(odf=SimpleNamespace(uri="file:///data/odf"), **values)


@pytest.mark.parametrize(
    ("link", "of", "page"),
    [
        (BlockLink(), operator(shown=CANDIDATE), "blocks"),
        (ReportLink(), operator(shown=CANDIDATE, has_report=True), "reports"),
    ],
)
def test_a_link_holds_what_its_page_shows(link, of, page):
    path, _, ticket = link.get_link(of, ti_key=KEY).rpartition("/")
    assert path == f"/odf/{page}/acme.orders"
    assert Ticket.read(ticket, "acme.orders") == TICKET


@pytest.mark.parametrize(
    ("link", "of"),
    [(BlockLink(), operator()), (ReportLink(), operator(shown=CANDIDATE, has_report=False))],
)
def test_no_link_without_a_page(link, of):
    assert link.get_link(of, ti_key=KEY) == ""


def test_a_site_below_a_prefix(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://example.com/airflow/")
    assert BlockLink().get_link(operator(shown=CANDIDATE), ti_key=KEY).startswith("/airflow/odf/blocks/acme.orders/")


def test_each_task_of_a_dag_that_publishes_a_dataset_links_to_its_pages(tmp_path):
    """Also a task that is skipped, which has no candidate."""
    (tmp_path / "orders.yaml").write_text(appending("acme/orders"))
    dag = build_dags(tmp_path, store=str(tmp_path / "store"))["acme.orders"]
    assert [DatasetLink().get_link(task, ti_key=KEY) for task in dag.tasks] == ["/odf/datasets/acme.orders"] * 3
    with DAG("other") as other:
        poll = PollingSourceOperator(task_id="poll", manifest="orders.yaml")
    assert (poll.dag, DatasetLink().get_link(poll, ti_key=KEY)) == (other, "")
