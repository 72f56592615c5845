import json
from pathlib import Path

import pytest
from datahub.configuration.common import OperationalError
from datahub.ingestion.source.file import read_metadata_file

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.datahub.send import File, Server, send
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from tests.datahub.conftest import DATASET, clause, made

MANIFEST = "kind: DatasetSnapshot\nversion: 1\ncontent: {name: acme/orders, kind: Root, metadata: []}\n"
ASPECTS = ["assertionInfo", "dataPlatformInstance", "assertionActions", "status", "assertionRunEvent"]
A, B = clause("/a", "required", field="id"), clause("/b", "quality_text", "informational")


@pytest.fixture
def dataset(tmp_path):
    (tmp_path / "orders.yaml").write_text(MANIFEST)
    store = Store.open(tmp_path / "store")
    apply(store, load([tmp_path / "orders.yaml"]).manifests[0], Instant.parse("2026-05-01T00:00:00Z"))
    return store.dataset("acme/orders")


def test_a_server_gets_every_aspect_in_one_request(datahub):
    assertions = made(A, B)
    assert send(assertions, Server(datahub.url, "s3cr3t")) == 12
    assert [p["aspectName"] for p in datahub.proposals] == ["datasetProperties", "schemaMetadata", *ASPECTS, *ASPECTS]
    assert [p["entityUrn"] for p in datahub.proposals[:2]] == [DATASET, DATASET]
    assert [r for r in datahub.requests if "ingest" in r] == ["/aspects?action=ingestProposalBatch"]
    assert datahub.tokens == {"Bearer s3cr3t"}
    assert [v["result"]["type"] for v in datahub.values("assertionRunEvent").values()] == ["SUCCESS", "INIT"]
    assert "s3cr3t" not in repr(Server(datahub.url, "s3cr3t"))


def test_what_the_server_knows_of_the_dataset_stays(datahub):
    datahub.aspects[DATASET, "datasetProperties"] = {"com.linkedin.dataset.DatasetProperties": {"name": "mine"}}
    send(made(A), Server(datahub.url))
    assert [p["aspectName"] for p in datahub.proposals] == ["schemaMetadata", *ASPECTS]


def test_a_refusal_is_an_error(datahub):
    datahub.status = 422
    with pytest.raises(OperationalError, match="refused"):
        send(made(A), Server(datahub.url))


def test_clauses_are_removed_once_from_the_place_that_has_them(datahub, dataset, tmp_path):
    server, file = Server(datahub.url), File(tmp_path / "out.json", "run")
    removed = {}
    for name, assertions, destination in [
        ("first", made(A, B), server),
        ("other place", made(A), file),
        ("gone", made(A), server),
        ("again", made(A), server),
        ("back", made(A, B), server),
    ]:
        datahub.proposals.clear()
        send(assertions, destination, dataset)
        removed[name] = [urn for urn, value in datahub.values("status").items() if value["removed"]]
    assert removed == {"first": [], "other place": [], "gone": [made(B).urns[0]], "again": [], "back": []}
    assert datahub.values("status") == {urn: {"removed": False} for urn in made(A, B).urns}


def test_a_refused_report_is_not_remembered(datahub, dataset):
    send(made(A, B), Server(datahub.url), dataset)
    datahub.status = 422
    with pytest.raises(OperationalError):
        send(made(A), Server(datahub.url), dataset)
    datahub.status = 200
    send(made(A), Server(datahub.url), dataset)
    assert datahub.values("status")[made(B).urns[0]] == {"removed": True}


def test_a_file_that_datahub_reads(tmp_path):
    file = tmp_path / "new" / "datahub.json"
    for _ in range(2):
        send(made(A, B), File(file, "acme/orders.1"))
    read = list(read_metadata_file(file))
    assert [p.aspectName for p in read] == ["datasetProperties", "schemaMetadata", *ASPECTS, *ASPECTS]
    assert all(p.validate() for p in read)
    assert [f.name for f in file.parent.iterdir()] == ["datahub.json"]


def test_a_folder_gets_one_file_for_each_run(tmp_path):
    for run in ("acme/orders.1", "acme/orders.2"):
        send(made(A), File(tmp_path, run))
    assert sorted(f.name for f in tmp_path.iterdir()) == ["acme-orders.1.json", "acme-orders.2.json"]
    assert len(json.loads(Path(tmp_path / "acme-orders.1.json").read_text())) == 7
