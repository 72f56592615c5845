"""No secret of a source, a contract or a pushed address reaches a block, an XCom, a log line, an error or an event."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openlineage.client.serde import Serde

from airflow_provider_odf import protocol
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.contract.load import load as load_contract
from airflow_provider_odf.cycle.messages import Input, Pushed
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.xcom import pass_input
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.lineage import events
from airflow_provider_odf.lineage.columns import Reading
from airflow_provider_odf.lineage.dataset import About, Subject, contract_facts
from airflow_provider_odf.lineage.naming.stores import local_file
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.operators.lineage import names_of, pushed_names, sources_of
from airflow_provider_odf.source import uris
from tests.cycle.conftest import cycle_of
from tests.cycle.derivatives import SCHEMA, commit, data_slice
from tests.http_server import Server
from tests.lineage.naming.test_secrets import SECRETS, URLS

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: orders
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: http://${{{{ env.USER_OF_TEST }}}}:${{{{ env.SECRET }}}}@{host}{path}?year=2024&x=${{{{ env.SECRET }}}}
        headers:
          - {{name: X-Api-Key, value: "${{{{ env.SECRET }}}}"}}
          - {{name: Authorization, value: "Bearer ${{{{ env.SECRET }}}}"}}
      read: {{kind: Csv, schema: ["id BIGINT"]}}
      merge: {{kind: Append}}
"""


def contract_of(url: str) -> dict[str, object]:
    """A contract with an address in each place that lineage reads."""
    column = {
        "type": "long",
        "description": f"see {url}",
        "lineage": {"inputFields": [{"namespace": url, "name": url, "field": "id"}], "transformationDescription": url},
    }
    servers: dict[str, object] = {
        kind: {
            "type": kind,
            "location": url,
            "host": url,
            "path": url,
            "endpointUrl": url,
            "url": url,
            "account": "a",
            "database": "d",
            "schema": "s",
            "dataset": "d",
            "project": "p",
            "topic": "t",
            "password": url,
            "port": 5432,
        }
        for kind in ("s3", "azure", "gcs", "postgres", "kafka", "local", "sftp", "snowflake", "trino", "sqlserver")
    }
    info = {"title": "Orders", "version": "1.0.0", "description": url}
    models = {"orders": {"description": url, "fields": {"id": column}}}
    return {"dataContractSpecification": "1.1.0", "id": "c", "info": info, "servers": servers, "models": models}


def text_of(lineage: events.TaskLineage) -> str:
    parts = (*lineage.inputs, *lineage.outputs, *lineage.job_facets.values(), *lineage.run_facets.values())
    return "".join(json.dumps(json.loads(Serde.to_json(part)), ensure_ascii=False) for part in parts)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="airflow_provider_odf")
    return caplog


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("aZ5-._~!$&*+,;=:@/?#%'()[]{}|^", min_size=1, max_size=8), st.booleans())
def test_values_of_templates(
    server: Server,
    lines: pytest.LogCaptureFixture,
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    is_found: bool,
) -> None:
    secret, folder = f"zQ9x{text}x9Qz", tmp_path_factory.mktemp("source")
    lines.clear()
    server.serve("/a.csv", b"1\n", etag='"1"')
    host = server.url.removeprefix("http://")
    (folder / "orders.yaml").write_text(MANIFEST.format(host=host, path="/a.csv" if is_found else "/no.csv"))
    (manifest,) = load([folder / "orders.yaml"]).manifests
    store = Store.open(folder / "store")
    cycle = cycle_of(store, manifest, environment={"USER_OF_TEST": "uSeR7", "SECRET": secret})
    said = [text_of(events.poll(sources_of(manifest)))]
    try:
        new = poll(cycle)
        assert isinstance(new, Input)
        said.append(json.dumps(pass_input(store, new)))
        dataset = store.dataset("orders")
        state = replay(dataset)
        source = model.SourceState(source_name="polling", kind=new.files[0].state.kind, value=new.files[0].state.value)
        commit(dataset, state, SCHEMA, model.AddData(new_data=data_slice(dataset, state), new_source_state=source))
    except OdfError as e:
        said.append(str(e))
    said += [p.read_text(errors="replace") for p in folder.rglob("*") if p.is_file() and p.suffix != ".csv"]
    for everything in (*said, lines.text):
        assert secret not in everything
        assert "uSeR7" not in everything


def everything_about(uri: str, folder: Path) -> str:
    """The XCom, the events of a push from an address, and of a merge with a contract and a query that have it."""
    pushed = Pushed((uris.shown(uri),))
    (folder / "contract.yaml").write_text(json.dumps(contract_of(uri)))
    facts = contract_facts(load_contract(folder / "contract.yaml"), "orders")
    subject = Subject(
        local_file("/store/orders"),
        "file:///store",
        "orders",
        columns=(protocol.Column("id", "BIGINT"),),
        about=About("Root"),
        contract=facts,
    )
    query = protocol.Transform("spark", (protocol.SqlQueryStep(f"SELECT id FROM input WHERE source = '{uri}'"),))
    sources = [*names_of(pushed.origins), *pushed_names(uri), *pushed_names([uri])]
    lineage = events.merge(sources, subject, None, reading=Reading(None, query))
    return json.dumps(protocol.to_json(pushed), ensure_ascii=False) + text_of(lineage)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(URLS), SECRETS)
def test_addresses(
    lines: pytest.LogCaptureFixture, tmp_path_factory: pytest.TempPathFactory, url: str, secret: str
) -> None:
    lines.clear()
    uri = url.format(user="uSeR7", secret=quote(secret, safe=""))
    everything = everything_about(uri, tmp_path_factory.getbasetemp()) + lines.text
    assert secret not in everything
    assert "zQ9x" not in everything
    assert "x9Qz" not in everything
