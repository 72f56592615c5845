from html.parser import HTMLParser
from pathlib import Path

import pytest
from airflow.api_fastapi.app import create_auth_manager
from fastapi import HTTPException
from fastapi.testclient import TestClient

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.rejected import Record, save, save_report
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.protocol import CheckResult, ContractReport
from airflow_provider_odf.ui import app
from airflow_provider_odf.ui.plugin import LazyApp
from airflow_provider_odf.ui.signed_link import Ticket

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: acme/orders
  kind: Root
  metadata:
    - kind: SetInfo
      description: Orders
"""
MISSING = "f1620" + 64 * "0"


@pytest.fixture
def dataset(tmp_path):
    (tmp_path / "orders.yaml").write_text(MANIFEST)
    store = Store.open(tmp_path / "store")
    apply(store, load([tmp_path / "orders.yaml"]).manifests[0], Instant.parse("2026-05-01T00:00:00Z"))
    return store.dataset("acme/orders")


def ticket(dataset, block_hash, name="acme/orders", dag_id="acme.orders"):
    return Ticket(dag_id, Path(dataset.location).parent.parent.as_uri(), name, block_hash).sign()


def test_a_block_as_yaml(dataset):
    head, state = dataset.head(), replay(dataset)
    response = app.block("acme.orders", ticket(dataset, head))
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.body.decode() == (
        f"# acme/orders, block {head}\n"
        "systemTime: '2026-05-01T00:00:00Z'\n"
        f"prevBlockHash: {dataset.block(state.head).prev_block_hash}\n"
        "sequenceNumber: 1\n"
        "event:\n"
        "  kind: SetInfo\n"
        "  description: Orders\n"
    )


def test_a_block_has_no_literal_secrets(dataset, tmp_path):
    source = (
        "    - kind: SetPollingSource\n      fetch: {kind: Url, url: 'https://me:s3cr3t@h.org/a?key=s3cr3t', "
        "headers: [{name: X-Token, value: s3cr3t}]}\n      read: {kind: Csv}\n      merge: {kind: Append}\n"
    )
    (tmp_path / "orders.yaml").write_text(MANIFEST + source)
    store = Store.open(tmp_path / "store")
    apply(store, load([tmp_path / "orders.yaml"]).manifests[0], Instant.parse("2026-05-01T00:00:00Z"))
    text = app.block("acme.orders", ticket(dataset, dataset.head())).body.decode()
    assert "url: https://h.org/a?key=***" in text
    assert "s3cr3t" not in text


class Shown(HTMLParser):
    """The texts of a page, by the elements around them, and all names of elements."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.around, self.elements = [], [], set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        if tag != "meta":
            self.around.append(tag)

    def handle_endtag(self, tag):
        assert self.around.pop() == tag

    def handle_data(self, data):
        if self.around[-1] != "style" and data.strip():
            self.texts.append((self.around[-1], data.strip()))


def shown(response):
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    page = Shown(response.body.decode())
    assert page.around == []
    assert not page.elements & {"script", "img", "link", "b"}
    return page.texts


def test_a_report_starts_with_what_failed(dataset):
    samples = ({"id": "7", "price": "<b>-1</b>"}, {"id": None, "price": "***"})
    results = (
        CheckResult("/a", "required", "pass", "id is never null", line=3, rows=5, failed_rows=0),
        CheckResult(
            "/b", "minimum", "fail", "price: >= 0", line=5, rows=5, failed_rows=2, expected=">= 0", samples=samples
        ),
        CheckResult("/c", "pattern", "fail", "name is never empty", severity="warning", reason="1 row"),
        CheckResult("/d", "quality_text", "informational", "prices are plausible", reason="a text"),
    )
    report = ContractReport("urn:orders", "d", "orders", results, tested_rows=5)
    save_report(dataset, Candidate("acme/orders", "base", dataset.head(), "candidate-x", records=5), report)
    texts = shown(app.report("acme.orders", ticket(dataset, dataset.head())))
    assert texts[1:6] == [
        ("h1", "Contract report of acme/orders"),
        ("span", "failed"),
        ("p", "Clauses failed. The new data was not published."),
        ("p", "1 failed, 1 warning, 1 passed, 1 not enforced"),
        ("dt", "Contract"),
    ]
    start = texts.index(("h2", "Did not pass"))
    assert texts[start:] == [
        ("h2", "Did not pass"),
        ("span", "failed"),
        ("h3", "price: >= 0"),
        *[("dt", "Expected"), ("dd", ">= 0"), ("dt", "Failing"), ("dd", "2 rows of 5")],
        *[("dt", "Clause"), ("code", "/b"), ("dd", "line 5")],
        *[("th", "id"), ("th", "price")],
        *[("td", "7"), ("td", "<b>-1</b>"), ("td", "null"), ("td", "***")],
        ("span", "warning"),
        ("h3", "name is never empty"),
        *[("dt", "Reason"), ("dd", "1 row"), ("dt", "Clause"), ("code", "/c")],
        ("h2", "Not enforced"),
        ("p", "These clauses were not tested, and the data may violate them."),
        *[("th", "Clause"), ("th", "Reason"), ("th", "Place")],
        *[("span", "informational"), ("td", "prices are plausible"), ("td", "a text"), ("code", "/d")],
        ("summary", "Passed: 1 clause"),
        *[("th", "Clause"), ("th", "Found"), ("th", "Rows"), ("th", "Place")],
        *[("td", "id is never null"), ("td", "5"), ("code", "/a"), ("td", "line 3")],
    ]


def test_why_an_input_was_held_back(dataset):
    save(dataset, dataset.head(), Record("base", 2, held=("in.csv has no rows, which retracts all 2 rows",)))
    assert shown(app.report("acme.orders", ticket(dataset, dataset.head()))) == [
        ("title", "Input of acme/orders"),
        ("h1", "Input of acme/orders"),
        ("span", "held back"),
        ("p", "The input was held back and not published."),
        ("li", "in.csv has no rows, which retracts all 2 rows"),
        ("dt", "Block"),
        ("code", dataset.head()),
    ]


@pytest.mark.parametrize("page", [app.block, app.report])
@pytest.mark.parametrize(("name", "block_hash"), [("acme/orders", MISSING), ("../etc", MISSING), ("nothing", MISSING)])
def test_what_is_not_there_is_a_404_that_tells_no_paths(dataset, page, name, block_hash):
    with pytest.raises(HTTPException) as caught:
        page("acme.orders", ticket(dataset, block_hash, name))
    assert caught.value.status_code == 404
    assert str(Path(dataset.location).parent) not in caught.value.detail


@pytest.mark.parametrize("page", [app.block, app.report])
def test_a_link_shows_its_own_block_to_readers_of_its_own_dag_alone(dataset, page):
    good = ticket(dataset, dataset.head())
    for dag_id, text in (("other.dag", good), ("acme.orders", good[:-1]), ("acme.orders", "WyJhIl0.x")):
        with pytest.raises(HTTPException) as caught:
            page(dag_id, text)
        assert caught.value.status_code == 404


@pytest.mark.parametrize("page", ["blocks", "reports"])
def test_nobody_reads_without_logging_in(dataset, page):
    create_auth_manager()
    with TestClient(LazyApp()) as client:
        assert client.get(f"/{page}/acme.orders/{ticket(dataset, dataset.head())}").status_code == 401
