"""An engine that does not see the disk of this machine: it reads and writes objects of the store's bucket."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import durable_files
from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.garbage import Garbage, find_gone, unused
from airflow_provider_odf.cycle.replay import replay_transforms
from airflow_provider_odf.errors import ChainCorrupted, ContractRejected, StorageError
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.protocol.wire import to_json
from airflow_provider_odf.runner.local import LocalRunner
from tests.http_server import Server
from tests.manifests import polled
from tests.s3 import relaying, use

from .conftest import NoEngine, RunIn, Write, cycle_of
from .test_object_store import CONTRACT, EXPENSIVE, PRICES, SEEDS, blocks, seed

pytestmark = pytest.mark.spark


@dataclass
class Elsewhere:
    """The engine of the tests, which gets no path of this machine."""

    engine: LocalRunner
    hidden: Path
    requests: list[Any] = field(default_factory=list)
    shares_disk = False

    def submit(self, request: protocol.Request, *callbacks: object) -> Any:
        text = json.dumps(to_json(request))
        assert str(self.hidden) not in text
        self.requests.append(request)
        return self.engine.submit(request, *callbacks)


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalRunner]:
    """An engine that starts in a test which uses a bucket, whose variables it inherits."""
    with LocalRunner("local[2]") as runner:
        yield runner


@pytest.fixture
def elsewhere(engine: LocalRunner, tmp_path: Path) -> Elsewhere:
    return Elsewhere(engine, tmp_path)


RunElsewhere = Callable[..., Any]


@pytest.fixture
def run_elsewhere(run_in: RunIn, elsewhere: Elsewhere) -> RunElsewhere:
    def run_elsewhere(store: Store, manifest: Path, hour: int, **options: object) -> Any:
        return run_in(store, manifest, hour, **{"runner": elsewhere, **options})

    return run_elsewhere


def passed(store: Store, name: str = "prices") -> list[str]:
    """What is in the exchange, without the names of folders that are random."""
    return sorted(info.name.rpartition("/")[2] for info in store.inputs(name).every_file())


@pytest.mark.parametrize("spark", ["needed", "always"])
def test_blocks_are_those_of_a_folder(
    bucket: str,
    run_in: RunIn,
    run_elsewhere: RunElsewhere,
    elsewhere: Elsewhere,
    write: Write,
    tmp_path: Path,
    spark: str,
):
    prices, expensive = write("prices.yaml", PRICES), write("expensive.yaml", EXPENSIVE)
    contract = write("prices.contract.yaml", CONTRACT)
    local, remote = Store.open(tmp_path / "store"), Store.open(bucket)
    for name in SEEDS:
        seed(local, name)
        seed(remote, name)
    for hour, rows in enumerate(("a,90\nb,110\n", "a,120\nc,7\n", "a,130\nc,7\n"), 10):
        write(f"in/{hour}.csv", "sku,price\n" + rows)
        for store, run in ((local, run_in), (remote, run_elsewhere)):
            outcome = run(store, prices, hour, spark=spark, contract_file=str(contract))
            assert (outcome.error, outcome.report and outcome.report.result) == (None, "passed")
            assert run(store, expensive, hour).error is None
    assert len(blocks(local, "prices")) == 6
    assert blocks(remote, "prices") == blocks(local, "prices")
    assert blocks(remote, "expensive") == blocks(local, "expensive")
    assert verify(remote.dataset("prices")).records == 8
    assert [request.history[0].path.rpartition("/")[0] for request in elsewhere.requests[-2:]] == [
        f"{bucket}/prices/data",
        f"{bucket}/expensive/data",
    ]
    assert passed(remote) == passed(remote, "expensive") == []
    cycle = cycle_of(remote, load([expensive]).manifests[0], elsewhere)
    replayed = replay_transforms(cycle.inputs, remote.dataset("expensive"), cycle.ask, passes_objects=True)
    assert (replayed.transformations, replayed.records) == (3, 5)
    assert passed(remote, "expensive") == []
    write("in/20.csv", "sku,price\na,-1\n")
    outcome = run_elsewhere(remote, prices, 20, spark=spark, contract_file=str(contract))
    assert isinstance(outcome.error, ContractRejected)


def write_days(write: Write, sku: str = "b") -> None:
    """As many files as make the state worth a cache; each becomes a slice."""
    for day in range(16):
        write(f"in/10-{day:02}.csv", f"sku,price\na,{day}\n{sku},7\n")


@pytest.mark.parametrize("spark", ["needed", "always"])
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_state_is_found_by_another_machine(
    bucket: str, run_in: RunIn, elsewhere: Elsewhere, write: Write, tmp_path: Path, spark: str, where: str
):
    prices, one, other = (
        write("prices.yaml", PRICES),
        Store.open(bucket, tmp_path / "one"),
        Store.open(bucket, tmp_path / "other"),
    )
    elsewhere.hidden = elsewhere.hidden if where == "elsewhere" else tmp_path / "none"
    elsewhere.shares_disk = where == "here"
    write_days(write)
    assert run_in(one, prices, 10, runner=elsewhere, spark=spark).error is None
    cached = list(one.shared_cache("prices").folders())
    assert len(cached) == 1
    write("in/20.csv", "sku,price\na,20\nb,8\n")
    assert run_in(other, prices, 20, runner=elsewhere, spark=spark).error is None
    cache = elsewhere.requests[-1].prev_state
    place = f"{bucket}/.work/.cache/prices" if where == "elsewhere" else str(tmp_path / "other/.cache/prices")
    assert (cache.path, cache.last_offset) == (f"{place}/{cached[0]}", 31)
    assert state_rows(other.dataset("prices")).table.column("price").to_pylist() == [20, 8]


def new_sku() -> str:
    """A value that makes the bytes of files new, so that the engine has no copies of them."""
    return f"b-{uuid4().hex}"


@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("file", ["f1620", "state.json", "seal.json", "newest.json"])
def test_a_damaged_state_is_not_used(
    bucket: str, run_in: RunIn, elsewhere: Elsewhere, write: Write, tmp_path: Path, where: str, file: str
):
    prices, said = write("prices.yaml", PRICES), list[str]()
    elsewhere.hidden = elsewhere.hidden if where == "elsewhere" else tmp_path / "none"
    elsewhere.shares_disk = where == "here"
    write_days(write, sku := new_sku())
    assert run_in(Store.open(bucket, tmp_path / "one"), prices, 10, runner=elsewhere).error is None
    store = Store.open(bucket, tmp_path / "other")
    shared = store.shared_cache("prices")
    (name,) = (info.name for info in shared.every_file() if info.name.rpartition("/")[2].startswith(file))
    content = shared.get(name)
    shared.put(name, content[:-6] + b"damage")
    write("in/20.csv", f"sku,price\na,20\n{sku},8\n")
    outcome = run_in(store, prices, 20, runner=elsewhere, progress=said.append)
    assert outcome.error is None
    assert state_rows(store.dataset("prices")).table.column("price").to_pylist() == [20, 8]
    if file != "newest.json":
        assert any("state cache" in line or "without the cached state" in line for line in said), said


def test_a_missing_or_damaged_slice_is_an_error(
    bucket: str, run_elsewhere: RunElsewhere, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    prices, store = write("prices.yaml", PRICES), Store.open(bucket)
    sku = new_sku()
    for hour in (10, 11):
        write(f"in/{hour}.csv", f"sku,price\n{sku},{hour}\n")
        assert run_elsewhere(store, prices, hour).error is None
    head = store.dataset("prices").head()
    last = f"data/{replay(store.dataset('prices')).slices[-1].physical_hash}"  # no merge has read it yet
    storage = store.folder(store.dataset("prices").alias)
    content = storage.get(last)
    write("in/12.csv", "sku,price\na,12\n")
    for spark in ("needed", "always"):
        storage.put(last, content[:-6] + b"damage")
        error = run_elsewhere(store, prices, 12, spark=spark).error
        assert isinstance(error, ChainCorrupted)
        assert str(error).startswith(f"{bucket}/prices/{last}: checksum mismatch")
        storage.remove(last, storage.stat(last).modified)
        error = run_elsewhere(store, prices, 12, spark=spark).error
        assert isinstance(error, ChainCorrupted)
        assert str(error).startswith(f"{bucket}/prices/{last}: the file is missing")
    assert store.dataset("prices").head() == head
    storage.put(last, content)
    assert run_elsewhere(store, prices, 12).error is None


def reading(write: Write, uri: str) -> Path:
    """A derivative of prices at a location."""
    by_id = EXPENSIVE.partition("datasetRef: ")[2].partition(",")[0]
    return write("elsewhere.yaml", EXPENSIVE.replace(by_id, f"'{uri}'"))


def serve(server: Server, folder: Path) -> str:
    """Serve the files of a dataset, and return its URL."""
    for path in filter(Path.is_file, folder.rglob("*")):
        server.serve(f"/{folder.name}/{path.relative_to(folder)}", path.read_bytes())
    return f"{server.url}/{folder.name}"


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("place", ["http", "folder"])
def test_generated_inputs_of_other_stores_give_the_same_rows(
    bucket: str,
    run_in: RunIn,
    elsewhere: Elsewhere,
    write: Write,
    tmp_path: Path,
    server: Server,
    place: str,
    number: int,
):
    """The engine reads copies in the exchange, which has each slice once, whatever machine copied it."""
    rng, local = random.Random(number), Store.open(tmp_path / "store")
    for name in SEEDS:
        seed(local, name)
    seed(Store.open(bucket), "expensive")
    prices, expensive, copies = write("prices.yaml", PRICES), write("expensive.yaml", EXPENSIVE), 0
    for hour in range(1, 6):
        rows = (f"{sku},{rng.choice([90, 110, 130])}" for sku in rng.sample("abcdef", rng.randrange(1, 6)))
        write(f"in/{hour}.csv", "\n".join(("sku,price", *rows, "")))
        assert run_in(local, prices, hour).error is None
        assert run_in(local, expensive, hour).error is None
        if rng.random() < 0.3:
            continue  # then the next run reads two slices
        folder = tmp_path / "store/prices"
        uri = serve(server, folder) if place == "http" else folder.as_uri()
        store, said = Store.open(bucket, tmp_path / f"machine-{rng.randrange(2)}"), list[str]()
        assert run_in(store, reading(write, uri), hour, runner=elsewhere, progress=said.append).error is None
        shared = store.shared_copies(store.find(uri))
        held = [info.name.rpartition("/")[2] for info in shared.every_file()]
        assert held == sorted(part.physical_hash for part in replay(local.dataset("prices")).slices)
        assert {part.path.rpartition("/data/")[0] for part in elsewhere.requests[-1].query_inputs[0].history} == {
            shared.location()
        }
        new, copies = len(held) - copies, len(held)
        assert sum(f"copying {new} slice" in line and bucket in line for line in said) == (new > 0)
        assert state_rows(store.dataset("expensive")).table == state_rows(local.dataset("expensive")).table


def test_a_copy_of_an_input_is_compared_and_made_again(
    bucket: str, run_in: RunIn, elsewhere: Elsewhere, write: Write, tmp_path: Path, server: Server
):
    prices, local, store = write("prices.yaml", PRICES), Store.open(tmp_path / "store"), Store.open(bucket)
    write("in/1.csv", f"sku,price\n{new_sku()},190\n")
    assert run_in(local, prices, 1).error is None
    uri = serve(server, tmp_path / "store/prices")
    (slice_,) = replay(local.dataset("prices")).slices
    expensive, file = reading(write, uri), f"/prices/data/{slice_.physical_hash}"
    intact = server.resources[file].content
    server.resources[file].content = intact[:-6] + b"damage"
    error = run_in(store, expensive, 2, runner=elsewhere).error
    assert isinstance(error, ChainCorrupted)
    assert f"{uri}/data/{slice_.physical_hash}: checksum mismatch" in str(error)
    shared = store.shared_copies(store.find(uri))
    assert list(shared.every_file()) == []
    server.resources[file].content = intact
    shared.put(f"data/{slice_.physical_hash}", intact[:100])
    assert run_in(store, expensive, 2, runner=elsewhere).error is None
    assert shared.get(f"data/{slice_.physical_hash}") == intact
    assert [(item.kind, item.path) for item in find_gone(store, 0, is_idle=True)] == [("copy", shared.location())]
    assert find_gone(store, 3600, is_idle=True) == []


@pytest.mark.parametrize("end", [b"damage", b"damaged footer" * 3 + b"PAR1", None])
def test_a_copy_that_was_damaged_or_removed_later_is_made_again(
    bucket: str, run_in: RunIn, elsewhere: Elsewhere, write: Write, tmp_path: Path, server: Server, end: bytes | None
):
    prices, local, store = write("prices.yaml", PRICES), Store.open(tmp_path / "store"), Store.open(bucket)
    write("in/1.csv", f"sku,price\n{new_sku()},190\n")
    assert run_in(local, prices, 1).error is None
    uri = serve(server, tmp_path / "store/prices")
    (slice_,) = replay(local.dataset("prices")).slices
    shared, name = store.shared_copies(store.find(uri)), f"data/{slice_.physical_hash}"
    intact = server.resources[f"/prices/{name}"].content
    if end is not None:
        shared.put(name, intact[: -len(end)] + end)

    class LateCollector:
        shares_disk = False

        def submit(self, *arguments: Any) -> Any:
            if end is None:
                shared.remove_folder("data")
            return elsewhere.submit(*arguments)

    expensive = reading(write, uri)
    error = run_in(store, expensive, 2, runner=LateCollector()).error
    assert isinstance(error, StorageError)
    what = "the file is missing" if end is None else "checksum mismatch: the content has the hash f1620"
    assert str(error).startswith(f"{shared.location(name)}: {what}")
    assert str(error).endswith("; it is a copy of a slice of another store: run again to make a new one")
    assert list(shared.every_file()) == []
    assert run_in(store, expensive, 2, runner=elsewhere).error is None
    assert shared.get(name) == intact


@pytest.mark.parametrize("end", [b"damage", b"damaged footer" * 3 + b"PAR1"])
def test_a_damaged_footer_of_an_input_is_an_error_that_names_it(
    bucket: str, run_in: RunIn, elsewhere: Elsewhere, write: Write, end: bytes
):
    store = Store.open(bucket)
    for name in SEEDS:
        seed(store, name)
    write("in/1.csv", f"sku,price\n{new_sku()},190\n")
    assert run_in(store, write("prices.yaml", PRICES), 1, runner=elsewhere).error is None
    (slice_,) = replay(store.dataset("prices")).slices
    storage, name = store.dataset("prices").storage, f"data/{slice_.physical_hash}"
    storage.put(name, storage.get(name)[: -len(end)] + end)
    error = run_in(store, write("expensive.yaml", EXPENSIVE), 2, runner=elsewhere).error
    assert isinstance(error, ChainCorrupted)
    assert str(error).startswith(f"{storage.location(name)}: checksum mismatch: the content has the hash f1620")


def of_bucket(store: Store) -> list[Garbage]:
    """The garbage that is in the bucket, of any age."""
    return [item for item in unused(store, store.dataset("prices"), 0, is_idle=True) if "://" in item.path]


def test_what_a_killed_step_left_in_the_bucket_is_garbage_after_a_while(
    bucket: str, run_elsewhere: RunElsewhere, write: Write
):
    prices, store = write("prices.yaml", PRICES), Store.open(bucket)
    write("in/1.csv", "sku,price\na,90\n")
    assert run_elsewhere(store, prices, 1).error is None
    store.inputs("prices").put("merge-0123/f1620", b"a slice")
    store.inputs("prices").put("merge-0123/state/state.json", b"{}")
    store.inputs("prices").put("merge-4567/alive", b"7")  # the mailbox of an application
    assert [(item.kind, item.path) for item in of_bucket(store)] == [
        ("work folder", f"{bucket}/.work/prices/merge-0123"),
        ("work folder", f"{bucket}/.work/prices/merge-4567"),
    ]
    assert unused(store, store.dataset("prices"), 3600, is_idle=True) == []


def test_states_that_others_superseded_are_garbage(
    bucket: str, run_elsewhere: RunElsewhere, write: Write, tmp_path: Path
):
    """As two machines leave them that write the list of the newest ones at once."""
    prices, store = write("prices.yaml", PRICES), Store.open(bucket)
    write_days(write)
    assert run_elsewhere(store, prices, 10).error is None
    shared = store.shared_cache("prices")
    (newest,) = shared.folders()
    assert of_bucket(store) == []
    first = blocks(store, "prices")[-1]
    shared.put(f"{first}/state.json", b"{}")
    assert [item.path for item in of_bucket(store)] == [f"{bucket}/.work/.cache/prices/{first}"]
    shared.put("newest.json", json.dumps([first, newest]).encode())
    assert of_bucket(store) == []


def test_a_state_whose_download_was_cut_is_downloaded_again(
    bucket: str, run_in: RunIn, elsewhere: Elsewhere, write: Write, tmp_path: Path
):
    prices, said = write("prices.yaml", PRICES), list[str]()
    elsewhere.hidden, elsewhere.shares_disk = tmp_path / "none", True
    write_days(write)
    assert run_in(Store.open(bucket, tmp_path / "one"), prices, 10, runner=elsewhere).error is None
    store, write_whole = Store.open(bucket, tmp_path / "other"), durable_files.pending

    def cut(target: Path, content: Any, **options: Any) -> Any:
        if ".cache" in target.parts and target.name.startswith("f1620") and target.parent.name != "data":
            raise OSError(5, "cut")
        return write_whole(target, content, **options)

    write("in/20.csv", "sku,price\na,20\nb,8\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable_files, "pending", cut)
        patch.setattr(elsewhere, "engine", NoEngine())
        assert "an engine was asked" in str(run_in(store, prices, 20, runner=elsewhere).error)
    assert elsewhere.requests[-1].prev_state is None
    write("in/21.csv", "sku,price\na,21\nb,8\n")
    assert run_in(store, prices, 21, runner=elsewhere, progress=said.append).error is None
    assert elsewhere.requests[-1].prev_state.last_offset == 31
    assert not [line for line in said if "damaged" in line]


STRATEGIES = ("Append", "Ledger", "Snapshot", "UpsertStream", "ChangelogStream")


def generated(rng: random.Random, strategy: str, live: set[int]) -> str:
    """A file of rows; ``live`` are the keys of a changelog."""
    lines = []
    for key in rng.sample(range(12), rng.randrange(1, 12)):
        value = rng.choice(["", "1", "2", "3"])
        op = 3 if key in live else 0
        live.add(key)
        lines.append(f"{op},{key},{value}" if strategy == "ChangelogStream" else f"{key},{value}")
        if op == 3 and strategy == "ChangelogStream":
            lines.insert(-1, f"2,{key},1")
    return "\n".join(["op,k,v" if strategy == "ChangelogStream" else "k,v", *lines, ""])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("number", range(2))
def test_generated_histories_have_the_same_blocks(
    bucket: str,
    run_in: RunIn,
    run_elsewhere: RunElsewhere,
    write: Write,
    tmp_path: Path,
    strategy: str,
    number: int,
):
    """In a folder, and in a bucket with an engine elsewhere, where each run may be that of another machine."""
    rng, live = random.Random(number), set[int]()
    columns = "op INT, k INT, v INT" if strategy == "ChangelogStream" else "k INT, v INT"
    key = "" if strategy == "Append" else ", primaryKey: [k]"
    manifest = write(
        "prices.yaml",
        polled(
            "prices",
            "{kind: FilesGlob, path: in/*.csv}",
            f"{{kind: Csv, header: true, schema: [{columns}]}}",
            f"{{kind: {strategy}{key}}}",
        ),
    )
    local = Store.open(tmp_path / "store")
    for store in (local, Store.open(bucket)):
        seed(store, "prices")
    for hour in range(1, 8):
        for part in range(17 if hour == 2 else rng.choice([1, 1, 3])):
            write(f"in/{hour}-{part:02}.csv", generated(rng, strategy, live))
        remote = Store.open(bucket, tmp_path / f"machine-{rng.randrange(3)}")
        spark = rng.choice(["needed", "always"])
        outcomes = (run_in(local, manifest, hour), run_elsewhere(remote, manifest, hour, spark=spark))
        assert [outcome.error for outcome in outcomes] == [None, None]
        assert blocks(remote, "prices") == blocks(local, "prices")


def test_nobody_asks_for_the_sizes_of_slices(
    s3: str, run_in: RunIn, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Blocks have them. As for other files, a process asks for the size once."""
    monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
    prices, expensive = write("prices.yaml", PRICES), write("expensive.yaml", EXPENSIVE)
    asked = []
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        store = Store.open(f"s3://bucket/{uuid4().hex}", tmp_path / "work")
        for name in SEEDS:
            seed(store, name)
        with LocalRunner("local[2]") as engine:
            runner = Elsewhere(engine, tmp_path)
            for hour in range(1, 4):
                write(f"in/{hour}.csv", f"sku,price\na,{hour + 110}\nb,{hour}\n")
                relay.kinds()
                for manifest in (prices, expensive):
                    outcome = run_in(store, manifest, hour, runner=runner, spark="always")
                    assert outcome.error is None
                    heads = [path.split("/")[-2] for method, path in relay.requests if method == "HEAD"]
                    asked.append(sorted(re.sub("-.*", "", folder) for folder in heads))
                    relay.kinds()
    # That of the input file, and those of the new slice before and after the server copies it to its place.
    assert asked == [["0", "data", "merge"], ["data", "merge"]] * 3
