"""Decisions on inputs that are held back or rejected."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates, decisions, held_back
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.cycle.poll import position
from airflow_provider_odf.cycle.push import Push
from airflow_provider_odf.cycle.run import run_push
from airflow_provider_odf.errors import ContractRejected, InvalidInput, StillRejected
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.source.fetchers import check
from airflow_provider_odf.source.options import Options
from tests.manifests import pushed

from .conftest import NoEngine, Run, Write, cycle_of
from .holding import TWO_ROWS, held, rows
from .test_cycle import CONTRACT, PRICES

pytestmark = [pytest.mark.spark, pytest.mark.slow]

READ = "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}"
PUSHED = pushed("prices", READ, "{kind: Snapshot, primaryKey: [sku]}")


def test_what_is_accepted_after_the_head_moved_passes_once(
    write: Write, run: Run, store: Store, engine: LocalRunner
) -> None:
    run(write("prices.yaml", PUSHED))
    cycle = cycle_of(store, "prices", engine)

    def push(name: str, content: str) -> Outcome:
        return run_push(cycle, Push((str(write(name, content)),)))

    assert push("1.csv", "id,value\na,1\n").error is None
    held(push("2.csv", "id,value\n"))
    held(push("3.csv", "colour,weight\nb,1\n"))
    assert push("4.csv", "id,value\na,2\n").error is None
    # A pushed file that was held back says nothing about a polling source, and each push is judged by itself.
    dataset = store.dataset("prices")
    empty, other = sorted(candidates.rejections(dataset), key=lambda r: "header" in r.record.held[0])
    assert [r.base == dataset.head() for r in (empty, other)] == [False, False]
    assert not decisions.publish_anyway(store, dataset, empty)
    outcome = push("5.csv", "id,value\n")  # the same content under another name
    assert str(outcome) == "published 1 record (offsets 3..3): 1 removed"
    assert outcome.notices[-1].startswith("publishing this input once, although it was held back: ")
    assert push("6.csv", "id,value\na,1\n").error is None
    held(push("7.csv", "id,value\n"))
    assert [ref for ref in dataset.storage.refs() if ref.startswith("accepted-")] == []
    assert not decisions.publish_anyway(store, dataset, other)
    assert push("8.csv", "colour,weight\nb,1\n").error is None
    assert held_back.newest_header(dataset, "head", "default").names == ("colour", "weight")


@pytest.fixture
def prices(write: Write, run: Run) -> Path:
    """The manifest of a dataset with a contract, which has one file."""
    manifest = write("prices.yaml", PRICES)
    write("prices.datacontract.yaml", CONTRACT)
    write("in/1.csv", TWO_ROWS)
    run(manifest)
    return manifest


def test_a_discarded_file_does_not_come_again(write: Write, run: Run, store: Store, prices: Path) -> None:
    write("in/2.csv", "sku,price\na,-1\nb,-2\n")
    assert isinstance(run(prices).error, ContractRejected)
    dataset = store.dataset("prices")
    decisions.discard(dataset, decisions.chosen(dataset, None))
    (rejection,) = candidates.rejections(dataset)
    outcome = run(prices, runner=NoEngine())
    assert (outcome.error, str(outcome)) == (None, f"up to date: the newest input was discarded ({rejection.ref})")
    write("in/3.csv", "sku,price\na,1\nb,5\n")
    assert str(run(prices)) == "published 2 records (offsets 2..3): 1 corrected"
    assert rows(store, "sku", "price") == [("a", 1), ("b", 5)]
    with pytest.raises(InvalidInput, match="has no rejected candidate rejected-y; there are: rejected-"):
        decisions.chosen(dataset, "rejected-y")


def test_a_rejected_file_is_read_again_once_it_is_corrected(write: Write, run: Run, store: Store, prices: Path) -> None:
    write("in/2.csv", "sku,price\na,-1\n")
    write("in/3.csv", "sku,price\na,-3\nb,3\n")
    assert isinstance(run(prices).error, ContractRejected)
    assert has_changed(store, prices) is False
    write("in/2.csv", "sku,price\na,-20\n")
    assert has_changed(store, prices) is True
    dataset = store.dataset("prices")
    assert decisions.changed_files(decisions.chosen(dataset, None)) == ["in/2.csv"]
    assert isinstance(run(prices, "2024-01-02T12:00:00Z").error, ContractRejected)
    assert isinstance(run(prices, runner=NoEngine()).error, StillRejected)

    # Of discarded files only those that have changed are read again.
    decisions.discard(dataset, decisions.chosen(dataset, None))
    assert (has_changed(store, prices), run(prices, runner=NoEngine()).error) == (False, None)
    write("in/3.csv", "sku,price\na,4\nb,3\n")
    assert has_changed(store, prices) is True
    assert str(run(prices, "2024-01-03T12:00:00Z")) == "published 4 records (offsets 2..5): 2 corrected"
    assert rows(store, "sku", "price") == [("a", 4), ("b", 3)]


def test_a_discarded_file_stays_out_while_another_is_rejected(
    write: Write, run: Run, store: Store, prices: Path
) -> None:
    write("in/3.csv", "sku,price\na,-3\nb,3\n")
    assert isinstance(run(prices).error, ContractRejected)
    dataset = store.dataset("prices")
    decisions.discard(dataset, decisions.chosen(dataset, None))
    write("in/2.csv", "sku,price\na,-2\nb,2\n")
    assert isinstance(run(prices, "2024-01-02T12:00:00Z").error, ContractRejected)
    for _ in range(2):
        assert isinstance(run(prices, "2024-01-03T12:00:00Z", runner=NoEngine()).error, StillRejected)
    assert has_changed(store, prices) is False
    assert len(list(candidates.rejections(dataset))) == 2


def test_what_is_accepted_passes_although_it_was_rejected_again(
    write: Write, run: Run, store: Store, prices: Path
) -> None:
    write("in/2.csv", "sku,price\na,-3\nb,3\n")
    assert isinstance(run(prices).error, ContractRejected)
    dataset = store.dataset("prices")
    first = decisions.chosen(dataset, None)
    write("prices.yaml", PRICES.replace("  metadata:", "  metadata:\n    - {kind: SetInfo, description: edited}"))
    assert isinstance(run(prices, "2024-01-02T12:00:00Z").error, ContractRejected)
    assert not decisions.publish_anyway(store, dataset, first)
    assert has_changed(store, prices) is True
    outcome = run(prices, "2024-01-03T12:00:00Z")
    assert (outcome.error, str(outcome)) == (None, "published 4 records (offsets 2..5): 2 corrected")
    assert rows(store, "sku", "price") == [("a", -3), ("b", 3)]


def test_a_candidate_is_tested_again(write: Write, run: Run, store: Store, engine: LocalRunner, prices: Path) -> None:
    write("in/2.csv", "sku,price\na,-3\nb,3\n")
    assert isinstance(run(prices).error, ContractRejected)
    dataset = store.dataset("prices")
    rejection = decisions.chosen(dataset, None)

    def retest() -> str:
        (one,) = load([prices]).manifests
        return decisions.retest(cycle_of(store, one, engine), decisions.chosen(dataset, rejection.ref)).result

    before = dataset.head()
    write("prices.datacontract.yaml", CONTRACT.replace("minimum: 0", "minimum: -2"))
    with pytest.raises(ContractRejected, match=r"price: >= -2: 1 row: -3 at offset 3"):
        retest()
    assert (dataset.head(), decisions.chosen(dataset, None).ref) == (before, rejection.ref)
    write("prices.datacontract.yaml", CONTRACT.replace("minimum: 0", "minimum: -3"))
    assert retest() == "passed"
    assert dataset.head() == rejection.block_hash
    assert rows(store, "sku", "price") == [("a", -3), ("b", 3)]
    assert candidates.load_report(dataset, rejection.block_hash).result == "passed"
    with pytest.raises(InvalidInput, match="has no contract in its metadata"):
        decisions.retest(cycle_of(store, "prices", engine), rejection_of(dataset, rejection))


def rejection_of(dataset: Dataset, published: candidates.Rejection) -> candidates.Rejection:
    return replace(published, record=replace(published.record, base=dataset.head()))


def test_a_trigger_has_the_contract_of_the_other_tasks(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    write("contracts/strict.yaml", CONTRACT)
    write("in/1.csv", "sku,price\na,-3\n")
    assert isinstance(run(prices, contract="contracts/strict.yaml").error, ContractRejected)
    assert has_changed(store, prices, "contracts/strict.yaml") is False
    # Without the contract, or after an edit of it, the input would not be rejected again.
    assert has_changed(store, prices) is True
    write("contracts/strict.yaml", CONTRACT.replace("minimum: 0", "minimum: -5"))
    assert has_changed(store, prices, "contracts/strict.yaml") is True


def has_changed(store: Store, manifest: Path, contract: str | None = None) -> bool:
    """Whether a trigger would report a change."""
    (one,) = load([manifest]).manifests
    now = position(store, one, contract)
    version = check(
        now.fetch,
        base=now.base,
        state=now.state,
        environment={},
        options=Options(),
        rejected=now.rejected,
        discarded=now.discarded,
    )
    return asyncio.run(version) is not None
