"""No secret of any input reaches an event or a log line."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openlineage.client.serde import Serde

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.cycle.messages import Pushed
from airflow_provider_odf.lineage import applications, dataset, events
from airflow_provider_odf.lineage.applications import ApplicationRun, Parents, RunName
from airflow_provider_odf.lineage.columns import Reading
from airflow_provider_odf.lineage.dataset import Subject
from airflow_provider_odf.lineage.naming.stores import local_file
from airflow_provider_odf.operators.lineage import names_of, pushed_names
from airflow_provider_odf.source import uris

RUN = RunName("airflow", "cities.merge", "01941f29-7c00-7087-8906-40e512c257bd")
SECRETS = st.from_regex(r"Zq9[A-Za-z0-9._~-]{9,20}X", fullmatch=True)
SCHEMES = st.sampled_from(
    ["http", "https", "ftp", "ftps", "s3", "s3a", "gs", "hdfs", "kafka", "abfss", "postgresql", "mysql", "odd+scheme"]
)
PARAMETERS = st.sampled_from(["token", "sig", "X-Amz-Signature", "api_key", "password", "access_token", "sas"])


@st.composite
def inputs(draw: st.DrawFn) -> tuple[str, str]:
    """A URI with a secret, and the secret."""
    scheme, secret = draw(SCHEMES), draw(SECRETS)
    host = draw(st.sampled_from(["example.org", "example.org:8443", "[::1]:9000", "10.0.0.7"]))
    path = draw(st.sampled_from(["/a.csv", "/a b/c.csv", "/", ""]))
    where = draw(st.sampled_from(["user", "user alone", "parameter", "both"]))
    user = {"user": f"me:{secret}@", "both": f"me:{secret}@", "user alone": f":{secret}@"}.get(where, "")
    query = f"?year=2024&{draw(PARAMETERS)}={secret}" if where in ("parameter", "both") else ""
    return f"{scheme}://{user}{host}{path}{query}", secret


def text_of(*parts: object) -> str:
    return "".join(json.dumps(json.loads(Serde.to_json(part))) for part in parts)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(inputs())
def test_pushed_uris(caplog: pytest.LogCaptureFixture, uri_and_secret: tuple[str, str]):
    uri, secret = uri_and_secret
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        pushed = Pushed((uris.shown(uri),))
        sources = [*names_of(pushed.origins), *pushed_names(uri), *pushed_names([uri])]
        lineage = events.merge(sources, Subject(local_file("/store/cities"), "file:///store", "cities"), None)
    assert secret not in json.dumps(protocol.to_json(pushed))
    assert secret not in text_of(*lineage.inputs, *lineage.outputs)
    assert secret not in caplog.text


@settings(max_examples=30)
@given(inputs())
def test_errors_queries_and_contracts(uri_and_secret: tuple[str, str]):
    uri, secret = uri_and_secret
    query = protocol.Transform("spark", (protocol.SqlQueryStep(f"SELECT id FROM input WHERE source = '{uri}'"),))
    request = protocol.MergeRequest(
        *("", "cities", "", protocol.DatasetVocabulary(), protocol.ReadStep("Csv"), protocol.MergeStrategy("Append")),
        (protocol.MergeInput(("/a.csv",), ""),),
        0,
        "/new",
        query,
    )
    run = ApplicationRun(request, Parents(RUN, RUN), events.TaskLineage())
    told = [
        *run.start(protocol.Engine("odf_merge_cities", "4.2.0")),
        *run.end(errors.InternalError(f"cannot read {uri}", f"at {uri}")),
    ]
    assert secret not in text_of(*told)
    column = dataset.ColumnFacts(f"see {uri}", (), {"inputFields": [{"namespace": uri, "name": uri, "field": "id"}]})
    subject = Subject(
        local_file("/store/cities"),
        "file:///store",
        "cities",
        columns=(protocol.Column("id", "BIGINT"),),
        description=f"from {uri}",
        contract=dataset.ContractFacts(description=uri, columns={"id": column}),
    )
    lineage = events.merge([], subject, None, reading=Reading(None, query))
    assert secret not in text_of(*lineage.inputs, *lineage.outputs, *lineage.job_facets.values())
    assert applications.counts(protocol.RawQuerySuccess(1)) is None
