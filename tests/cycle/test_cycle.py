"""Whole cycles on a real engine: what is published, what is not, and what a second try does."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Candidate, Input, UpToDate
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.errors import (
    CommitConflict,
    ContractRejected,
    InvalidInput,
    InvalidQuery,
    SourceError,
    StillRejected,
)
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.protocol import SparkUse
from airflow_provider_odf.runner.local import LocalRunner

from .conftest import NoEngine, Publisher, Run, Write, cycle_of

pytestmark = pytest.mark.spark

TIME = Instant.parse("2024-01-01T12:00:00Z")

PRICES = """
kind: DatasetSnapshot
version: 1
content:
  name: prices
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: FilesGlob
        path: in/*.csv
      read:
        kind: Csv
        header: true
        schema:
          - sku STRING
          - price BIGINT
      merge:
        kind: Snapshot
        primaryKey: [sku]
"""

CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:prices
info: {title: Prices, version: 1.0.0}
models:
  prices:
    fields:
      price: {type: long, minimum: 0}
"""


@pytest.fixture
def prices(write: Write) -> Path:
    return write("prices.yaml", PRICES)


def one(manifest: Path) -> Manifest:
    return load([manifest]).manifests[0]


def look(store: Store, manifest: Path, time: Instant = TIME) -> Input | UpToDate:
    return poll(cycle_of(store, one(manifest), time=time))


def test_nothing_new_needs_no_engine(prices: Path, write: Write, run: Run, store: Store) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    assert str(run(prices)) == "published 1 record (offsets 0..0)"
    head = store.dataset("prices").head()
    assert str(run(prices, "2024-01-02T12:00:00Z", runner=NoEngine())) == "up to date"
    assert store.dataset("prices").head() == head
    prices.write_text(f"{PRICES.rstrip()}\n    - {{kind: SetInfo, description: Prices}}\n")
    edited = run(prices, "2024-01-03T12:00:00Z", runner=NoEngine())
    assert str(edited) == "up to date (manifest applied: SetInfo)"


def test_several_new_files_are_one_block_each_and_one_move_of_head(
    prices: Path, write: Write, run: Run, store: Store
) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    write("in/2.csv", "sku,price\na,2\n")
    write("in/3.csv", "sku,price\na,2\n")
    write("in/4.csv", "sku,price\n")
    write("odf.yaml", "defaults: {allow_empty_input: true}\n")
    assert str(run(prices)) == "published 4 records (offsets 0..3): 1 added, 1 removed, 1 corrected"
    events = [block.event for _, block in store.dataset("prices").walk()][::-1]
    assert [e.kind for e in events] == ["Seed", "SetPollingSource", "SetDataSchema", *["AddData"] * 4]
    offsets = [(d.start, d.end) if (d := e.new_data and e.new_data.offset_interval) else None for e in events[3:]]
    assert offsets == [(0, 0), (1, 2), None, (3, 3)]
    assert [e.new_source_state.value for e in events[3:]] == ["1.csv", "2.csv", "3.csv", "4.csv"]
    assert [(r["op"], r["sku"], r["price"]) for r in tail_rows(store.dataset("prices"), 9)] == [
        ("+A", "a", 1),
        ("-C", "a", 1),
        ("+C", "a", 2),
        ("-R", "a", 2),
    ]
    assert verify(store.dataset("prices")).records == 4


def test_a_bad_file_changes_nothing_and_the_next_run_works(prices: Path, write: Write, run: Run, store: Store) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    run(prices)
    head = store.dataset("prices").head()
    write("in/2.csv", "sku,price\na,2\nb,cheap\n")
    outcome = run(prices)
    assert isinstance(outcome.error, InvalidQuery)
    assert "in/2.csv" in str(outcome)
    assert "'cheap'" in str(outcome)
    assert "price" in str(outcome)
    assert store.dataset("prices").head() == head
    write("in/2.csv", "sku,price\na,2\nb,3\n")
    assert str(run(prices)) == "published 3 records (offsets 1..3): 1 added, 1 corrected"
    assert list(state_rows(store.dataset("prices"))) == [
        {"system_time": "2024-01-01T12:00:00Z", "event_time": "2024-01-01T12:00:00Z", "sku": "a", "price": 2},
        {"system_time": "2024-01-01T12:00:00Z", "event_time": "2024-01-01T12:00:00Z", "sku": "b", "price": 3},
    ]


def test_a_source_that_is_missing_leaves_a_dataset_without_data(prices: Path, run: Run, store: Store) -> None:
    outcome = run(prices)
    assert isinstance(outcome.error, SourceError)
    assert "in/*.csv" in str(outcome)
    assert not replay(store.dataset("prices")).has_data


def test_a_contract_stops_new_data_until_source_or_contract_change(
    prices: Path, write: Write, run: Run, store: Store
) -> None:
    write("prices.datacontract.yaml", CONTRACT)
    write("in/1.csv", "sku,price\na,1\n")
    assert str(run(prices)) == "published 1 record (offsets 0..0)"
    head = store.dataset("prices").head()
    write("in/2.csv", "sku,price\na,-2\n")
    outcome = run(prices)
    assert isinstance(outcome.error, ContractRejected)
    assert str(outcome) == (
        "contract urn:prices rejected 2 records of prices: price: >= 0: 1 row: -2 at offset 2. "
        f"The dataset is unchanged. To inspect the records: odf rejected show prices --store {store.location}"
    )
    assert store.dataset("prices").head() == head
    (rejection,) = candidates.rejections(store.dataset("prices"))
    assert (rejection.base, rejection.records, rejection.report.result) == (head, 2, "failed")
    assert verify(store.dataset("prices"), rejection.block_hash).records == 3

    again = run(prices, runner=NoEngine())
    assert isinstance(again.error, StillRejected)
    assert str(again) == (
        "the newest input of prices is still rejected: price: >= 0; "
        f"to inspect it: odf rejected show prices --store {store.location}"
    )
    assert str(run(prices, runner=NoEngine(), still_rejected="skip")) == str(again)
    assert run(prices, runner=NoEngine(), still_rejected="skip").error is None

    # The publisher mends it with another file: both come in, and the state after them is what the contract sees.
    write("in/3.csv", "sku,price\na,2\n")
    assert str(run(prices)) == "published 4 records (offsets 1..4): 2 corrected"


def test_an_eased_contract_lets_the_rejected_data_in(prices: Path, write: Write, run: Run, store: Store) -> None:
    contract = write("prices.datacontract.yaml", CONTRACT)
    write("in/1.csv", "sku,price\na,-1\n")
    assert isinstance(run(prices).error, ContractRejected)
    contract.write_text(contract.read_text().replace("minimum: 0", "minimum: -5"))
    assert str(run(prices)) == "published 1 record (offsets 0..0)"


def test_a_url_that_takes_rejected_data_back_is_up_to_date(
    publisher: Publisher, write: Write, run: Run, store: Store
) -> None:
    fetch = f"kind: Url\n        url: {publisher.url}"
    manifest = write("prices.yaml", PRICES.replace("kind: FilesGlob\n        path: in/*.csv", fetch))
    write("prices.datacontract.yaml", CONTRACT)
    publisher.publish("sku,price\na,1\n", "2024-01-01T09:00:00Z")
    run(manifest)
    publisher.publish("sku,price\na,-1\n", "2024-01-01T10:00:00Z")
    assert isinstance(run(manifest).error, ContractRejected)
    assert isinstance(run(manifest, runner=NoEngine()).error, StillRejected)
    publisher.publish("sku,price\na,1\n", "2024-01-01T09:00:00Z")
    assert str(run(manifest)) == "up to date"


def test_a_merge_that_is_repeated_finds_its_candidate(
    prices: Path, write: Write, store: Store, engine: LocalRunner
) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    polled = look(store, prices)
    assert isinstance(polled, Input)
    candidate = merge(cycle_of(store, "prices", engine), polled)
    assert isinstance(candidate, Candidate)
    assert dataclasses.replace(candidate, notices=(), changes=None) == merge(cycle_of(store, "prices"), polled)
    assert store.dataset("prices").head() == polled.base
    publish(store, candidate)
    assert publish(store, candidate) == store.dataset("prices").head() == candidate.candidate
    assert store.dataset("prices").storage.refs() == ["head"]


def test_a_candidate_on_an_old_head_cannot_be_published(
    prices: Path, write: Write, store: Store, engine: LocalRunner
) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    late, early = look(store, prices), look(store, prices, Instant.parse("2024-01-01T13:00:00Z"))
    cycle = cycle_of(store, "prices", engine)
    slow, quick = merge(cycle, late), merge(cycle, early)
    publish(store, quick)
    with pytest.raises(CommitConflict, match="head"):
        publish(store, slow)
    with pytest.raises(CommitConflict, match=r"published f1620[0-9a-f]+ since: run again \(in Airflow, clear"):
        merge(cycle, dataclasses.replace(late, system_time="2024-01-01T14:00:00Z"))


def test_racing_cycles_of_a_new_dataset_both_end_well(prices: Path, write: Write, run: Run, store: Store) -> None:
    write("in/1.csv", "sku,price\na,1\nb,2\n")
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(lambda _: run(prices), range(3)))
    # One that is late has made the same candidate, which is published then, or finds nothing new.
    published = "published 2 records (offsets 0..1)"
    assert {published} <= set(map(str, outcomes)) <= {published, "up to date"}
    assert [row["sku"] for row in tail_rows(store.dataset("prices"), 9)] == ["a", "b"]
    assert verify(store.dataset("prices")).records == 2


def test_a_manifest_that_changes_is_appended(prices: Path, write: Write, run: Run, store: Store) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    run(prices)
    before = replay(store.dataset("prices")).sequence_number
    prices.write_text(prices.read_text() + "    - {kind: SetInfo, description: Prices of things}\n")
    assert str(run(prices, runner=NoEngine())) == "up to date (manifest applied: SetInfo)"
    state = replay(store.dataset("prices"))
    assert state.sequence_number == before + 1
    assert state.info.description == "Prices of things"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("primaryKey: [sku]", "primaryKey: [price]", r"merged under the key \(sku\), not \(price\)"),
        (
            "kind: Snapshot\n        primaryKey: [sku]",
            "kind: Snapshot\n        primaryKey: [sku]\n    - {kind: SetVocab, offsetColumn: nr}",
            "their names cannot change",
        ),
    ],
)
def test_what_data_depend_on_may_not_change(
    prices: Path, write: Write, run: Run, store: Store, old: str, new: str, message: str
) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    run(prices)
    head = store.dataset("prices").head()
    prices.write_text(prices.read_text().replace(old, new))
    outcome = run(prices)
    assert isinstance(outcome.error, InvalidInput)
    with pytest.raises(InvalidInput, match=message):
        raise outcome.error
    assert str(outcome).startswith(f"{prices}:")
    assert store.dataset("prices").head() == head


def test_the_state_of_a_long_chain_of_append_is_kept(write: Write, run: Run, store: Store) -> None:
    manifest = write("prices.yaml", PRICES.split("      merge:")[0] + "      merge: {kind: Append}\n")
    for number in range(100, 164):
        write(f"in/{number}.csv", f"sku,price\na,{number}\n")
    run(manifest)
    kept = store.cache("prices") / "chain-state"
    kept.unlink(missing_ok=True)
    write("in/164.csv", "sku,price\na,164\n")
    run(manifest, "2024-01-02T12:00:00Z")
    assert kept.is_file()
    assert replay(store.dataset("prices")).last_offset == 64


@pytest.mark.parametrize(("spark", "engines"), [("needed", 0), ("always", 1)])
def test_many_datasets_share_one_engine(write: Write, store: Store, spark: SparkUse, engines: int) -> None:
    """Small merges without Spark need none."""
    from airflow_provider_odf.cycle.run import run_all

    write("in/1.csv", "sku,price\na,1\n")
    names = [f"prices-{n}" for n in range(4)]
    manifests = [one(write(f"{name}.yaml", PRICES.replace("name: prices", f"name: {name}"))) for name in names]
    with LocalRunner("local[2]") as runner:
        outcomes = list(run_all([dataclasses.replace(cycle_of(store, m, runner), spark=spark) for m in manifests]))
        assert runner.started == engines
    assert [(o.dataset, str(o)) for o in outcomes] == [(n, "published 1 record (offsets 0..0)") for n in names]


def test_of_events_that_replace_each_other_the_last_counts(prices: Path, write: Write, run: Run, store: Store) -> None:
    infos = "".join(f"    - {{kind: SetInfo, description: {text}}}\n" for text in ("Old", "New"))
    prices.write_text(prices.read_text() + infos)
    write("in/1.csv", "sku,price\na,1\n")
    run(prices)
    head = store.dataset("prices").head()
    assert str(run(prices, runner=NoEngine())) == "up to date"
    assert store.dataset("prices").head() == head
    assert replay(store.dataset("prices")).info.description == "New"


def test_a_new_url_is_not_asked_for_what_the_old_one_had(
    publisher: Publisher, write: Write, run: Run, store: Store
) -> None:
    fetch = f"kind: Url\n        url: {publisher.url}"
    manifest = write("prices.yaml", PRICES.replace("kind: FilesGlob\n        path: in/*.csv", fetch))
    publisher.publish("sku,price\na,1\n", "2024-01-01T09:00:00Z")
    run(manifest)
    manifest.write_text(manifest.read_text().replace("data.csv", "other.csv"))
    publisher.publish("sku,price\na,2\n", "2023-01-01T09:00:00Z", path="/other.csv")
    publisher.server.requests.clear()
    assert str(run(manifest)) == "published 2 records (offsets 1..2): 1 corrected"
    assert str(run(manifest)) == "up to date"
    (first, headers), (second, again) = publisher.server.requests
    assert (first, second) == ("/other.csv", "/other.csv")
    assert headers.keys().isdisjoint({"if-none-match", "if-modified-since"})
    assert "if-none-match" in again


def test_files_that_were_rejected_are_not_late(prices: Path, write: Write, run: Run, store: Store) -> None:
    write("prices.datacontract.yaml", CONTRACT)
    write("in/1.csv", "sku,price\na,-1\n")
    write("in/2.csv", "sku,price\na,-2\n")
    assert isinstance(run(prices).error, ContractRejected)
    outcome = run(prices, runner=NoEngine())
    assert isinstance(outcome.error, StillRejected)
    assert outcome.notices == ()


def test_a_dataset_whose_rows_are_all_gone_has_an_empty_state(
    prices: Path, write: Write, run: Run, store: Store
) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    write("in/2.csv", "sku,price\n")
    write("odf.yaml", "defaults: {allow_empty_input: true}\n")
    assert str(run(prices)) == "published 2 records (offsets 0..1): 1 added, 1 removed"
    assert list(state_rows(store.dataset("prices"))) == []


def test_clauses_that_are_not_tested_are_told(prices: Path, write: Write, run: Run) -> None:
    write("prices.datacontract.yaml", CONTRACT.replace("minimum: 0", "minimum: 0, format: uri"))
    write("in/1.csv", "sku,price\na,1\n")
    outcome = run(prices)
    assert str(outcome) == "published 1 record (offsets 0..0)"
    assert outcome.notices == (
        "contract urn:prices: not enforced: price is a valid uri (format does not apply to the type long)",
    )
