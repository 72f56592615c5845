from datetime import datetime, timezone

import pytest

from airflow_provider_odf.ui.airflow_api import Publication
from airflow_provider_odf.ui.health import health
from airflow_provider_odf.ui.problem_page import public

NOW = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("dag", "facts", "word"),
    [
        ({"run_state": "success"}, {}, "fresh"),
        ({"next_run": "2026-05-01T11:55:00Z"}, {}, "fresh"),
        ({"next_run": "2026-05-01T11:30:00Z"}, {}, "stale"),
        ({"is_paused": True}, {}, "stale"),
        ({}, {"behind": ["orders"]}, "stale"),
        ({"run_state": "failed"}, {"behind": ["orders"]}, "failing"),
        ({"run_state": "failed"}, {"rejected": 1}, "rejected"),
        ({"run_state": "success", "is_paused": True}, {"has_data": False}, "never run"),
    ],
)
def test_health(dag, facts, word):
    publication = Publication("d", "file:///s/d", **dag)
    assert health(publication, **{"has_data": True, "rejected": 0, "behind": [], "now": NOW, **facts}).word == word


@pytest.mark.parametrize(
    ("dag_id", "uri", "alias", "store"),
    [
        ("acme.orders", "file:///s/acme/orders", "acme/orders", "file:///s"),
        ("acme.orders", "file:///s/acme.orders", "acme.orders", "file:///s"),
        ("my_dag", "file:///s/orders", "orders", "file:///s"),
    ],
)
def test_a_dataset_is_where_its_asset_is(dag_id, uri, alias, store):
    publication = Publication(dag_id, uri)
    assert (publication.alias, publication.store) == (alias, store)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("/data/odf/x/blocks/f16: is missing", "…/f16: is missing"),
        ("run `odf verify x --store '/data/o df'` now", "run `odf verify x --store STORE` now"),
        ("file:///data/odf/x: gone; 1/2 of it", "…/x: gone; 1/2 of it"),
        ("https://example.org/a/b is public", "https://example.org/a/b is public"),
    ],
)
def test_messages_without_paths(message, shown):
    assert public(message) == shown
