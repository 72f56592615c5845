"""What steps ask of an object store: how many requests, and what happens when it refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_odf.chain import object_storage
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.garbage import unused
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.cycle.run import run
from airflow_provider_odf.errors import ChainCorrupted, StorageError
from airflow_provider_odf.evolution.inputs import with_ids
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId
from airflow_provider_odf.runner.local import LocalRunner
from tests.manifests import derived
from tests.s3 import EXPIRED, PASSING, THROTTLED, Answer, Fault, Relay, once, passed_on, relaying, try_few_times, use

from .conftest import Write, cycle_of
from .test_object_store import PRICES

TIME = Instant.parse("2024-01-01T00:00:00Z")


@pytest.fixture
def relay(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Relay]:
    monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
    try_few_times(monkeypatch)
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        yield relay


@pytest.fixture
def uri(relay: Relay) -> str:
    return f"s3://bucket/{uuid4().hex}"


@pytest.fixture
def cycle(uri: str, write: Write, engine: LocalRunner):
    manifest = write("prices.yaml", PRICES)

    def cycle(hour: int) -> Cycle:
        write(f"in/{hour}.csv", f"sku,price\na,{hour}\n")
        return again(hour)

    def again(hour: int) -> Cycle:
        (one,) = load([manifest]).manifests
        return cycle_of(Store.open(uri), one, engine, Instant.parse(f"2024-01-01T{hour:02}:00:00Z"))

    cycle.again = again
    return cycle


@pytest.mark.spark
def test_requests_of_the_steps_of_a_cycle(relay: Relay, cycle):
    """In one process, as `odf run` does them. A block and its slice are two writes; nothing is ever listed."""
    assert run(cycle(1)).error is None
    assert run(cycle(2)).error is None
    relay.kinds()
    this = cycle(3)
    new_input = poll(this)
    assert relay.kinds() == {"GET": 3}  # head, the store's entry of the dataset, other refs
    candidate = merge(this, new_input)
    assert relay.kinds() == {"GET": 2, "PUT": 3}  # head and other refs; slice, block, candidate
    publish(this.store, candidate)
    assert relay.kinds() == {"GET": 2, "PUT": 3}  # head and other refs; publication, head, candidate's ref
    assert isinstance(poll(cycle.again(4)), UpToDate)
    assert relay.kinds() == {"GET": 3}


@pytest.mark.spark
def test_requests_of_steps_in_processes_of_their_own(relay: Relay, cycle, monkeypatch: pytest.MonkeyPatch):
    """As in Airflow. Before its first move of a ref, each process checks by two writes that conditions are heeded."""
    monkeypatch.setattr(object_storage, "_CHECKED", set())
    assert run(cycle(1)).error is None
    assert run(cycle(2)).error is None
    new_input = poll(cycle(3))
    monkeypatch.setattr(object_storage, "_CHECKED", set())
    relay.kinds()
    candidate = merge(cycle.again(3), new_input)
    assert relay.kinds() == {"GET": 3, "PUT": 3 + 2}
    monkeypatch.setattr(object_storage, "_CHECKED", set())
    publish(cycle.again(3).store, candidate)
    assert relay.kinds() == {"GET": 2, "PUT": 3 + 2}


@pytest.mark.spark
def test_after_a_refused_write_the_next_run_publishes_the_same(relay: Relay, cycle):
    """Each write of a run is refused once, as if the process had been killed there."""
    assert run(cycle(1)).error is None
    writes, errors = 0, []

    def refuse(method: str, path: str) -> Answer:
        nonlocal writes
        writes += method == "PUT"
        return EXPIRED if method == "PUT" and writes == refused else None

    for refused in range(1, 7):
        head, hour = cycle.again(1).store.dataset("prices").head(), 1 + refused
        writes, relay.answer = 0, refuse
        outcome = run(cycle(hour))
        relay.answer = passed_on
        if outcome.error is not None:
            errors.append(refused)
            assert isinstance(outcome.error, StorageError)
            assert "the credentials have expired: renew them (ExpiredToken)" in str(outcome.error)
            assert cycle.again(1).store.dataset("prices").head() == head
            assert run(cycle.again(hour)).error is None
        state = replay(cycle.again(1).store.dataset("prices"))
        assert (state.sequence_number, state.last_offset) == (3 + refused, 2 * refused)
    assert errors == [1, 2, 3, 4, 5]  # the sixth only drops the ref of the published candidate
    verify(cycle.again(1).store.dataset("prices"))


def long_chain(uri: str, blocks: int) -> Dataset:
    store = Store.open(uri)
    dataset = store.create(DatasetAlias.parse("numbers"))
    draft = Draft(dataset)
    draft.append(model.Seed(dataset_id=str(DatasetId.create()), dataset_kind="Root"), TIME)
    for number in range(blocks - 1):
        draft.append(model.SetInfo(description=str(number)), TIME)
    dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    return store.dataset("numbers")


def test_a_long_chain_is_read_at_once_and_then_from_this_machine(relay: Relay, uri: str):
    dataset = long_chain(uri, 100)
    dataset.storage.forget_copies()
    relay.kinds()
    assert replay(Store.open(uri).dataset("numbers")).sequence_number == 99
    assert relay.kinds() == {"GET": 103, "LIST": 1}
    assert replay(Store.open(uri).dataset("numbers")).sequence_number == 99
    assert relay.kinds() == {"GET": 2}


def test_a_new_machine_gets_a_long_chain_in_a_pack(
    relay: Relay, uri: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    length, pack = 300, "blocks.zip"
    dataset = long_chain(uri, length)

    def on_new_machine() -> dict[str, int]:
        monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / uuid4().hex))
        relay.kinds()
        state = replay(Store.open(uri).dataset("numbers"))
        requests = relay.kinds()
        assert (state.head, state.sequence_number) == (dataset.head(), length - 1)
        return requests

    assert on_new_machine() == {"GET": 303, "LIST": 1, "PUT": 1}
    assert on_new_machine() == {"GET": 18, "LIST": 1}  # of them 15 blocks, until many are missing
    base, length = replay(dataset), 340
    draft = Draft(dataset, base)
    for number in range(40):
        draft.append(model.SetInfo(description=f"more {number}"), TIME)
    dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)
    assert on_new_machine() == {"GET": 43, "LIST": 1}

    shared = Store.open(uri).shared_cache("numbers")
    whole = shared.get(pack) or b""
    for damaged in (b"", b"no zip", whole[:-100], whole[:5000] + b"flipped" + whole[5007:]):
        shared.put(pack, damaged)
        assert on_new_machine()["LIST"] == 1
    shared.put(pack, whole)
    relay.answer = once("GET", pack, THROTTLED)
    assert on_new_machine()["LIST"] == 1

    first = [block_hash for block_hash, _ in dataset.walk()][-2]
    dataset.storage.put(f"blocks/{first}", b"damaged")
    assert on_new_machine()["GET"] == 43
    with pytest.raises(ChainCorrupted, match=f"{first}: checksum mismatch"):
        verify(Store.open(uri).dataset("numbers"))


def test_nobody_looks_for_a_dataset_of_another_store(relay: Relay, uri: str):
    dataset, other = long_chain(uri, 1), Store.open(f"{uri}-2")
    relay.kinds()
    assert [other.owns(dataset), other.cache_of(dataset).name[0], other.id_of(dataset)[:8]] == [False, "+", "did:odf:"]
    assert relay.kinds()["LIST"] == 0
    assert Store.open(uri).owns(dataset)


def test_verify_reads_every_block_of_the_bucket(relay: Relay, uri: str):
    dataset = long_chain(uri, 5)
    first = [block_hash for block_hash, _ in dataset.walk()][-2]
    Store.open(uri).folder(dataset.alias).put(f"blocks/{first}", b"damaged")
    assert replay(dataset).sequence_number == 4
    with pytest.raises(ChainCorrupted, match=f"{first}: checksum mismatch"):
        verify(dataset)


def test_a_damaged_copy_is_copied_again(relay: Relay, uri: str):
    dataset = long_chain(uri, 5)
    replay(dataset)
    for copy in (dataset.cache / "blocks").iterdir():
        copy.write_bytes(b"damaged")
    assert replay(dataset).sequence_number == 4


def test_copies_on_this_machine_are_garbage_after_a_while(relay: Relay, uri: str):
    dataset = long_chain(uri, 2)
    store = Store.open(uri)
    replay(dataset)
    assert {item.kind for item in unused(store, store.dataset("numbers"), 0, is_idle=True)} == {"copy"}
    assert unused(store, dataset, 3600, is_idle=True) == []


def test_an_input_that_cannot_be_read_now_is_an_error_to_try_again(relay: Relay, uri: str, write: Write):
    alias = f"{long_chain(uri, 2).storage.uri}/info/alias"
    file = write(
        "big.yaml",
        derived(
            "big",
            f"{{datasetRef: {uri}/numbers, alias: numbers}}",
            "{kind: Sql, engine: spark, query: 'SELECT description FROM numbers'}",
        ),
    )
    (manifest,) = load([file]).manifests
    relay.answer = lambda method, path: THROTTLED
    with pytest.raises(
        StorageError, match=rf"big.yaml:8:29: input {uri}/numbers cannot be read: {alias}: the server"
    ) as e:
        with_ids(manifest, Store.open(f"{uri}-2"))
    assert e.value.is_transient


def test_a_candidate_that_cannot_be_read_now_is_no_garbage(relay: Relay, uri: str):
    dataset = long_chain(uri, 2)
    (draft := Draft(dataset, replay(dataset))).append(model.SetInfo(description="new"), TIME)
    dataset.storage.compare_and_set_ref("candidate-1", None, draft.state.head)
    dataset.storage.forget_copies()
    relay.answer = lambda method, path: THROTTLED if draft.state.head in path else None
    with pytest.raises(StorageError, match=f"{draft.state.head}: the server cannot answer now"):
        unused(Store.open(uri), Store.open(uri).dataset("numbers"), 0, is_idle=True)
    relay.answer = passed_on
    dataset.storage.forget_copies()
    assert unused(Store.open(uri), Store.open(uri).dataset("numbers"), 0, is_idle=True) == []


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (403, "AccessDenied", r"permission denied to (read|write): AccessDenied \(check the credentials"),
        (403, "RequestTimeTooSkewed", "the clock of this machine differs from that of the server: set it"),
        (400, "ExpiredToken", r"the credentials have expired: renew them \(ExpiredToken\)"),
        (503, "SlowDown", "the server cannot answer now: SlowDown, after 3 retries: run again later"),
        (500, "InternalError", "the server cannot answer now: InternalError, after 3 retries: run again later"),
    ],
)
def test_what_a_server_refuses_is_one_error_and_moves_no_head(
    relay: Relay, uri: str, status: int, code: str, message: str
):
    head = long_chain(uri, 3).head()
    relay.answer = lambda method, path: (status, code)
    with pytest.raises(StorageError, match=f"{uri}.*{message}"):
        replay(Store.open(uri).dataset("numbers"))
    relay.answer = lambda method, path: (status, code) if method == "PUT" else None
    dataset = Store.open(uri).dataset("numbers")
    with pytest.raises(StorageError, match=f"{uri}.*{message}"):
        Draft(dataset, replay(dataset)).append(model.SetInfo(description="new"), TIME)
    relay.answer = passed_on
    assert Store.open(uri).dataset("numbers").head() == head


@pytest.mark.parametrize("answer", PASSING, ids=str)
def test_a_server_that_recovers_is_asked_again(relay: Relay, uri: str, answer: Answer):
    long_chain(uri, 3)
    relay.answer = once("GET", "", answer, answer)
    assert replay(Store.open(uri).dataset("numbers")).sequence_number == 2


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.CUT_IN_BODY, Fault.LOST, Fault.LOST_503, THROTTLED], ids=str)
def test_a_large_slice_whose_upload_was_cut_is_sent_again(relay: Relay, uri: str, tmp_path: Path, fault: Answer):
    storage = long_chain(uri, 1).storage
    (tmp_path / "slice").write_bytes(content := bytes(range(256)) * 50_000)
    relay.answer = once("PUT", "partNumber", None, fault)
    storage.adopt("data/x", tmp_path / "slice")
    assert sum("partNumber" in path for _, path in relay.requests) == 4
    with storage.open("data/x") as file:
        assert file.read() == content
