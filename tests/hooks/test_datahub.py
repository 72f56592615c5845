import json

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.hooks.datahub import DataHubHook


def connection(monkeypatch, **fields):
    monkeypatch.setenv("AIRFLOW_CONN_DATAHUB_DEFAULT", json.dumps({"conn_type": "datahub", **fields}))


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"host": "http://gms:8080/"}, "http://gms:8080"),
        ({"host": "gms", "port": 8080}, "http://gms:8080"),
        ({"host": "https://example.org/api/gms"}, "https://example.org/api/gms"),
        ({"host": "gms", "schema": "https"}, "https://gms"),
    ],
)
def test_the_server_of_a_connection(monkeypatch, fields, url):
    extra = {"ca_certificate_path": "/ca.pem"}
    connection(monkeypatch, **fields, password="s3cr3t", extra=extra)
    server = DataHubHook().get_conn()
    assert (server.url, server.token, server.options) == (url, "s3cr3t", extra)


def test_a_connection_without_a_host(monkeypatch):
    connection(monkeypatch)
    with pytest.raises(InvalidInput, match="connection datahub_default has no host: set it to the URL"):
        DataHubHook().get_conn()


def test_the_test_of_a_connection(monkeypatch, server):
    connection(monkeypatch, host=server.url)
    assert DataHubHook().test_connection()[0] is False
    server.serve("/config", b'{"noCode": "true"}')
    assert DataHubHook().test_connection() == (True, f"connected to {server.url}")
