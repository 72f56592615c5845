import pytest

from airflow_provider_odf.ui.airflow_api import Publication
from airflow_provider_odf.ui.pages import public


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
