"""What health knows of chains and of what is kept about their blocks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates, tested
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.health.facts import read_facts
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import Check, CheckResult, ContractReport

SYSTEM = (
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("op", pa.int32(), nullable=False),
    pa.field("system_time", pa.timestamp("ms", "UTC"), nullable=False),
    pa.field("event_time", pa.timestamp("ms", "UTC")),
)
FRESHNESS = "/servicelevels/freshness", "service_level_freshness"


def test_a_merge_without_news_hides_neither_promises_nor_decisions(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    draft = Draft(store.create(DatasetAlias.parse("orders")))
    dataset = draft.dataset
    for event in (model.Seed(dataset_id=f"did:odf:fed01{1:064}", dataset_kind="Root"),
                  schema.set_data_schema(pa.schema(SYSTEM))):  # fmt: skip
        draft.append(event, Instant.parse("2024-05-01T08:00:00Z"))
    dataset.storage.compare_and_set_ref("head", None, draft.state.head)

    def merged(time: str) -> Candidate:
        base = draft.state.head
        draft.append(model.AddData(new_watermark=Instant.parse(time)), Instant.parse(time))
        return Candidate("orders", base, draft.state.head, "candidate-1", records=0)

    candidate = merged("2024-05-02T08:00:00Z")
    result = CheckResult(*FRESHNESS, "pass", "freshness", observed="2024-04-30T23:00:00Z")
    report = ContractReport("urn:orders", "d", "orders", (result,))
    candidates.save_report(dataset, candidate, report, promises=(Check(*FRESHNESS, "freshness"),))
    publish(store, candidate, Author("ann", "refunds", time="2024-05-02T09:00:00Z"), "published anyway")
    publish(store, merged("2024-05-03T08:00:00Z"), Author(time="2024-05-03T09:00:00Z"))

    chain = read_facts(store, dataset).chain
    assert chain is not None
    assert (str(chain.published), str(chain.newest_time)) == ("2024-05-03T09:00:00Z", "2024-04-30T23:00:00Z")
    assert str(chain.changed) == "2024-05-02T09:00:00Z"
    assert [promise.path for promise in chain.promises] == ["/servicelevels/freshness"]
    assert (chain.decision, chain.who, chain.reason) == ("published anyway", "ann", "refunds")
    block_hash, record = tested.newest_record(dataset, draft.state.head)
    assert (block_hash, record.report) == (candidate.candidate, report)
