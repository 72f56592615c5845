from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.lineage.dataset import About, of_dataset, of_source
from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import Column

TIME = Instant.parse("2024-05-02T08:00:00Z")


def state(**fields: object) -> ChainState:
    return ChainState("f1620aa", 0, TIME, "did:odf:fed0126262ba1", "Root", **fields)


def test_dataset(tmp_path: Path):
    dataset = Dataset(DatasetAlias("acme", "cities"), LocalStorage(tmp_path / "acme" / "cities"))
    columns = pa.schema([pa.field("offset", pa.int64(), nullable=False), pa.field("name", pa.string())])
    described = of_dataset(
        Store.open(tmp_path),
        dataset,
        state(schema=schema.set_data_schema(columns), info=model.SetInfo(description="All cities")),
    )
    assert described.edition_names.primary == Identifier("file", f"{tmp_path}/acme/cities")
    assert described.links == (
        (Identifier("file://127.0.0.1:0", f"{tmp_path}/acme/cities"), "LOCATION"),
        (Identifier("file", f"{tmp_path}/acme/cities/data"), "LOCATION"),
        (Identifier(f"odf+file://{tmp_path}", "acme/cities"), "ALIAS"),
        (Identifier("did:odf", "fed0126262ba1"), "ID"),
    )
    assert described.columns == (Column("offset", "BIGINT", False), Column("name", "STRING", True))
    assert described.description == "All cities"


def test_dataset_without_data(tmp_path: Path):
    dataset = Dataset(DatasetAlias(None, "cities"), LocalStorage(tmp_path / "cities"))
    described = of_dataset(Store.open(tmp_path), dataset, state(), edition="2024")
    assert described.edition_names.primary == Identifier("file://127.0.0.1:0", f"{tmp_path}/cities")
    assert (described.columns, described.description) == ((), None)
    assert described.about == About("Root")


def test_what_people_say_of_a_dataset(tmp_path: Path):
    items = (model.AttachmentEmbedded(path="README.md", content="Größe"),)
    said = state(
        info=model.SetInfo(keywords=("geo",)),
        license=model.SetLicense(short_name="CC0", name="Zero", spdx_id="CC0-1.0", website_url="https://me:pw@h/cc0"),
        attachments=model.SetAttachments(attachments=model.AttachmentsEmbedded(items=items)),
    )
    dataset = Dataset(DatasetAlias(None, "cities"), LocalStorage(tmp_path / "cities"))
    assert of_dataset(Store.open(tmp_path), dataset, said).about == About(
        kind="Root",
        keywords=("geo",),
        license={"shortName": "CC0", "name": "Zero", "spdxId": "CC0-1.0", "websiteUrl": "https://h/cc0"},
        attachments=(("README.md", 7),),
    )


@pytest.mark.parametrize(
    ("fetch", "identifier"),
    [
        (model.FetchStepUrl(url="https://h/x?b=1&a=1"), Identifier("https://h", "/x?a=1&b=1")),
        (model.FetchStepUrl(url="https://h/x?q=p-${{ env.KEY }}&a=1#f"), Identifier("https://h", "/x?a=1")),
        (model.FetchStepUrl(url="https://h/x?${{ env.Q }}&b=2"), Identifier("https://h", "/x?b=2")),
        (model.FetchStepUrl(url="https://h/x?k=${{ env.KEY }}&a=1"), Identifier("https://h", "/x?a=1")),
        (model.FetchStepUrl(url="${{ env.URL }}"), None),
        (model.FetchStepUrl(url="data/x.csv"), Identifier("file", "/dags/data/x.csv")),
        (model.FetchStepUrl(url="mailto:x@y"), None),
        (model.FetchStepUrl(url="s3://lake/in/a b#1?%20.csv"), Identifier("s3://lake", "in/a b#1?%20.csv")),
        (model.FetchStepUrl(url="s3://lake/in/${{ env.DAY }}.csv"), Identifier("s3://lake", "in")),
        (model.FetchStepUrl(url="s3://${{ env.LAKE }}/in/a.csv"), None),
        (model.FetchStepFilesGlob(path="gs://lake/in/2024-*/a.csv"), Identifier("gs://lake", "in")),
        (
            model.FetchStepUrl(url="abfss://c@acct.dfs.core.windows.net/in/a.csv"),
            Identifier("abfss://c@acct.dfs.core.windows.net", "in/a.csv"),
        ),
        (model.FetchStepFilesGlob(path="data/*.csv"), Identifier("file", "/dags/data")),
        (model.FetchStepContainer(image="ghcr.io/acme/x:1"), Identifier("oci://ghcr.io", "acme/x:1")),
        (
            model.FetchStepMqtt(host="h", port=1883, topics=(model.MqttTopicSubscription(path="a/#"),)),
            Identifier("mqtt://h:1883", "a"),
        ),
        (
            model.FetchStepMqtt(
                host="h",
                port=1883,
                topics=tuple(
                    model.MqttTopicSubscription(path=p) for p in ("a/b", "a/b/+/c", "+/x", "s/${{ env.N }}/t")
                ),
            ),
            Identifier("mqtt://h:1883", "a/b,/,s"),
        ),
        (
            model.FetchStepMqtt(host="${{ env.H }}", port=1, topics=(model.MqttTopicSubscription(path="a"),)),
            None,
        ),
        (model.FetchStepUrl(url="https://h/d/${{ env.A || 'x/y?z' }}/x?b=1"), Identifier("https://h", "/d")),
        (model.FetchStepUrl(url="https://${{ env.HOST }}/d/x"), None),
        (model.FetchStepUrl(url="data/${{ env.YEAR }}/x.csv"), Identifier("file", "/dags/data")),
        (model.FetchStepUrl(url="data/x[1]*.csv"), Identifier("file", "/dags/data/x[1]*.csv")),
        (model.FetchStepFilesGlob(path="data/${{ env.YEAR }}/x.csv"), Identifier("file", "/dags/data")),
        (model.FetchStepContainer(image="ghcr.io/acme/${{ env.IMAGE }}"), None),
        (model.FetchStepEthereumLogs(chain_id=1), None),
    ],
)
def test_source(fetch: model.FetchStep, identifier: Identifier | None):
    named = of_source(fetch, base="/dags")
    assert (named.primary if named else None) == identifier


def test_a_container_has_the_account_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    step = model.FetchStepUrl(url="az://c/in/a.csv")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    assert of_source(step, base="/dags").primary == Identifier("az://c", "/in/a.csv")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "Acct")
    assert of_source(step, base="/dags").primary == Identifier("abfss://c@acct.dfs.core.windows.net", "in/a.csv")
