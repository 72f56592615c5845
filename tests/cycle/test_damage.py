"""One flipped bit in a file that is kept between runs: the next run gives the right rows or a clear error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.publish import contract_test
from airflow_provider_odf.cycle.read import read
from airflow_provider_odf.errors import ChainCorrupted, ContractRejected
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.seal import first_altered, seal
from tests.manifests import polled

from .conftest import NoEngine, Run, Write, cycle_of
from .test_cycle import look

pytestmark = pytest.mark.spark

PRICES = polled(
    "prices",
    "{kind: FilesGlob, path: in/*.csv}",
    "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}",
    "{kind: Snapshot, primaryKey: [sku]}",
)


CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:prices
info: {title: Prices, version: 1.0.0}
models: {prices: {fields: {price: {type: long, minimum: 0}}}}
"""


def flip(file: Path, at: int = -1, bit: int = 3) -> None:
    """Flip one bit of a file, by default in the middle; the file may be linked elsewhere, which is damaged too."""
    data = bytearray(file.read_bytes())
    data[at if at >= 0 else len(data) // 2] ^= 1 << bit
    file.write_bytes(data)


def prices(store: Store) -> list[tuple[str, int]]:
    return [(row["sku"], row["price"]) for row in state_rows(store.dataset("prices"))]


@pytest.fixture
def manifest(write: Write) -> Path:
    return write("prices.yaml", PRICES)


@pytest.fixture
def cached(manifest: Path, write: Write, run: Run, store: Store) -> Path:
    """A dataset of 16 slices, from which on its state is kept; the directory of its caches."""
    for number in range(16):
        write(f"in/{number:02}.csv", f"sku,price\na,{number}\nb,1\nc,1\n")
    assert str(run(manifest)) == "published 33 records (offsets 0..32): 3 added, 15 corrected"
    (cache,) = (path for path in store.cache("prices").iterdir() if path.is_dir())
    assert (cache.name, first_altered(cache)) == (store.dataset("prices").head(), None)
    return cache


def test_a_damaged_cache_is_rebuilt_in_the_same_run(
    cached: Path, manifest: Path, write: Write, run: Run, store: Store
) -> None:
    """The files of the cache in turn; Parquet notices few of the flips, and takes others for a damaged input."""
    damaged = cached
    for number, name in enumerate(["f1620*", "state.json", "seal.json", "f1620*", None], 16):
        if name is not None:
            (file,) = damaged.glob(name)
            flip(file, at=4 + number)
        write(f"in/{number:02}.csv", f"sku,price\na,{number}\nb,1\nc,1\n")
        assert str(run(manifest)).startswith("published 2 records")
        (damaged,) = (path for path in store.cache("prices").iterdir() if path.is_dir())
        assert first_altered(damaged) is None
        # Dropped and made anew, or the old one beside which nothing new was worth keeping.
        assert (damaged.name == store.dataset("prices").head()) == (name is not None)
    assert prices(store) == [("a", 20), ("b", 1), ("c", 1)]
    assert verify(store.dataset("prices")).records == 43


def test_a_cache_of_another_dataset_or_block_is_not_used(
    cached: Path, manifest: Path, write: Write, run: Run, store: Store
) -> None:
    seal(cached, [*cached.glob("f1620*"), cached / "state.json"], dataset="did:odf:another", block=cached.name)
    write("in/16.csv", "sku,price\na,16\nb,1\nc,1\n")
    assert str(run(manifest)).startswith("published 2 records")
    assert not cached.exists()


def test_a_damaged_slice_is_an_error_before_the_engine_is_asked(
    manifest: Path, write: Write, run: Run, store: Store
) -> None:
    write("in/1.csv", "sku,price\na,1\nb,1\n")
    run(manifest)
    (file,) = (Path(store.location) / "prices" / "data").iterdir()
    whole, head = file.read_bytes(), store.dataset("prices").head()
    write("in/2.csv", "sku,price\na,2\nb,1\n")
    for at in (4, len(whole) // 2, len(whole) - 9):
        flip(file, at)
        error = run(manifest, runner=NoEngine()).error
        assert isinstance(error, ChainCorrupted)
        assert not error.is_transient
        assert re.fullmatch(
            rf"{file}: checksum mismatch: the content has the hash f1620[0-9a-f]{{64}}; the file is damaged: "
            rf"restore it from a backup or a copy of the dataset, "
            rf"then run `odf verify prices --store {store.location}`",
            str(error),
        )
        with pytest.raises(ChainCorrupted, match="checksum mismatch: the content has the hash"):
            tail_rows(store.dataset("prices"), 1)
        file.write_bytes(whole)
    assert store.dataset("prices").head() == head
    assert str(run(manifest)) == "published 2 records (offsets 2..3): 1 corrected"
    assert prices(store) == [("a", 2), ("b", 1)]


@pytest.mark.parametrize("name", ["file-00000", "seal.json"])
def test_a_damaged_input_is_not_merged(manifest: Path, write: Write, store: Store, name: str) -> None:
    write("in/1.csv", "sku,price\na,1\n")
    polled = look(store, manifest)
    (path,) = polled.files[0].paths
    flip(Path(path).with_name(name))
    with pytest.raises(
        ChainCorrupted, match=rf"{name}: the file is missing or was changed after it was fetched for prices: "
    ):
        merge(cycle_of(store, "prices"), polled)
    with pytest.raises(
        ChainCorrupted, match=rf"{name}: the file is missing or was changed after it was fetched for prices: "
    ):
        read(cycle_of(store, "prices"), polled)


def test_a_damaged_report_is_made_again(manifest: Path, write: Write, run: Run, store: Store) -> None:
    write("prices.datacontract.yaml", CONTRACT)
    write("in/1.csv", "sku,price\na,-1\n")
    assert isinstance(run(manifest).error, ContractRejected)
    dataset = store.dataset("prices")
    (file,) = (Path(dataset.location) / "info/reports").iterdir()
    whole = file.read_bytes()
    for damaged in (whole[:-20], whole.replace(b"-1 at offset 0", b"-1 at offset 1"), b""):
        file.write_bytes(damaged)
        (rejection,) = candidates.rejections(dataset)
        assert (rejection.report, candidates.load_report(dataset, rejection.block_hash)) == (None, None)
        with pytest.raises(
            ChainCorrupted, match=rf"reports/{file.name} is damaged: restore it from a backup or remove it. "
        ):
            verify(dataset)
        assert isinstance(run(manifest).error, ContractRejected)
        (rejection,) = candidates.rejections(dataset)
        assert rejection.report.results[-1].reason == "1 row: -1 at offset 0"
        assert verify(dataset).slices == 0


def test_the_damaged_report_of_a_candidate_is_made_again(
    manifest: Path, write: Write, store: Store, engine: LocalRunner
) -> None:
    """Between the merge and the task that judges it."""
    write("prices.datacontract.yaml", CONTRACT)
    write("in/1.csv", "sku,price\na,1\n")
    (one,) = load([manifest]).manifests
    cycle = cycle_of(store, one, engine)
    candidate = merge(cycle, look(store, manifest))
    (file,) = (Path(store.dataset("prices").location) / "info/reports").iterdir()
    flip(file)
    assert contract_test(cycle, candidate, cycle.contract).result == "passed"
    assert candidates.load_report(store.dataset("prices"), candidate.candidate).result == "passed"
