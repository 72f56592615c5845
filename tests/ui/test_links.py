from types import SimpleNamespace

import pytest

from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.ui.links import BlockLink, ReportLink

CANDIDATE = Candidate(dataset="acme/orders", base="f1620aa", candidate="f1620bb", ref="candidate-x")
KEY = SimpleNamespace(dag_id="acme.orders")


@pytest.mark.parametrize(
    ("link", "operator", "path"),
    [
        (BlockLink(), SimpleNamespace(), ""),
        (BlockLink(), SimpleNamespace(shown=CANDIDATE), "/odf/blocks/acme.orders/acme/orders/f1620bb"),
        (ReportLink(), SimpleNamespace(shown=CANDIDATE, has_report=False), ""),
        (
            ReportLink(),
            SimpleNamespace(shown=CANDIDATE, has_report=True),
            "/odf/reports/acme.orders/acme/orders/f1620bb",
        ),
    ],
)
def test_paths(link, operator, path):
    assert link.get_link(operator, ti_key=KEY) == path


def test_a_site_below_a_prefix(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://example.com/airflow/")
    link = BlockLink().get_link(SimpleNamespace(shown=CANDIDATE), ti_key=KEY)
    assert link == "/airflow/odf/blocks/acme.orders/acme/orders/f1620bb"
