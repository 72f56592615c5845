"""What `odf gc` finds and removes, and what it never touches."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_odf.chain import object_storage
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cli import app
from airflow_provider_odf.cycle import garbage
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.source import work_area

TIME = Instant.parse("2024-05-02T08:00:00Z")
DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"
DAY = 24 * 3600
UNKNOWN = "f1620" + "ab" * 32


def block(dataset: Dataset, base: str | None, name: str) -> str:
    draft = Draft(dataset, replay(dataset, base) if base else None)
    if base is None:
        return draft.append(model.Seed(dataset_id=DID, dataset_kind="Root"), TIME)
    source_state = model.SourceState(source_name="s", kind="odf/etag", value=name)
    return draft.append(model.AddData(new_source_state=source_state), TIME)


@pytest.fixture
def dataset(store: Store) -> Dataset:
    dataset = store.create(DatasetAlias.parse("prices"))
    dataset.storage.compare_and_set_ref("head", None, block(dataset, None, "seed"))
    return dataset


def put(path: Path, content: str = "x" * 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def age(root: Path, seconds: float = 2 * DAY) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        os.utime(path, (time.time() - seconds,) * 2)


def find(store: Store, dataset: Dataset, older_than: float = DAY) -> dict[str, str]:
    return {os.path.relpath(i.path, store.location): i.kind for i in garbage.unused(store, dataset, older_than)}


def test_only_what_no_ref_leads_to_is_garbage(store: Store, dataset: Dataset) -> None:
    seed = dataset.head()
    refs = dataset.storage.compare_and_set_ref
    beaten, published = block(dataset, seed, "beaten"), block(dataset, seed, "published")
    rejected, lost = block(dataset, seed, "rejected"), block(dataset, beaten, "lost")
    live = block(dataset, published, "live")
    refs("candidate-beaten", None, beaten)
    refs("candidate-live", None, live)
    refs("rejected-1", None, rejected)
    refs("head", seed, published)
    root, work, cache = Path(dataset.location), store.scratch("prices"), store.cache("prices")
    put(root / "refs" / "candidate-bad", "no hash")
    put(root / "data" / UNKNOWN)
    put(root / "checkpoints" / UNKNOWN)
    put(root / "data" / ".pending-1")
    put(root / "data" / "notes.txt")
    put(root / "info" / "reports" / f"{UNKNOWN}.json")
    put(root / "info" / "reports" / f"{rejected}.json", "{}")
    put(root / "info" / "other.json")
    for name in (published, UNKNOWN):
        put(cache / name / "part-0.parquet")
    put(work / "merge-1" / "part")
    put(work / "poll-1" / "file")
    put(work / "poll-2" / "file")
    put(work / ".turn")
    age(Path(store.location))
    age(work / "poll-2", 0)
    os.utime(work / "poll-2", (time.time() - 8 * DAY,) * 2)
    kinds = find(store, dataset)
    assert kinds == {
        "prices/refs/candidate-bad": "candidate",
        "prices/refs/candidate-beaten": "candidate",
        f"prices/blocks/{beaten}": "block",
        f"prices/blocks/{lost}": "block",
        f"prices/data/{UNKNOWN}": "slice",
        "prices/data/.pending-1": "file",
        f"prices/checkpoints/{UNKNOWN}": "checkpoint",
        f"prices/info/reports/{UNKNOWN}.json": "report",
        f".work/.cache/prices/{UNKNOWN}": "cache",
        ".work/prices/merge-1": "work folder",
        ".work/prices/poll-2": "work folder",
    }
    before = {path for path in Path(store.location).rglob("*") if path.is_file()}
    for item in garbage.unused(store, dataset, DAY):
        assert garbage.remove(item, dataset)
    gone = {str(p.relative_to(Path(store.location))) for p in before if not p.exists()}
    assert all(any(path == name or path.startswith(f"{name}/") for name in kinds) for path in gone)
    assert find(store, dataset) == {}
    assert dataset.storage.refs() == ["candidate-live", "head", "rejected-1"]
    for ref in dataset.storage.refs():
        assert verify(dataset, ref).blocks >= 2


def test_nothing_young_is_garbage_and_a_young_candidate_keeps_its_blocks(store: Store, dataset: Dataset) -> None:
    seed = dataset.head()
    beaten, published = block(dataset, seed, "beaten"), block(dataset, seed, "published")
    dataset.storage.compare_and_set_ref("head", seed, published)
    put(store.scratch("prices") / "merge-1" / "part")
    age(Path(store.location))
    dataset.storage.compare_and_set_ref("candidate-beaten", None, beaten)
    os.utime(store.scratch("prices") / "merge-1")
    assert find(store, dataset) == {}


def test_folders_of_killed_merges_go_at_once_and_those_of_running_ones_stay(store: Store, dataset: Dataset) -> None:
    work = store.scratch("prices")
    with work_area.scratch(work) as running:
        age(work)
        assert find(store, dataset, 3 * DAY) == {}
        killed = work / "merge-killed"
        put(killed / ".owner", (running / ".owner").read_text())
        assert find(store, dataset, 3 * DAY) == {".work/prices/merge-killed": "work folder"}
        with work_area.scratch(work) as other:
            assert sorted(work.iterdir()) == sorted((running, other))
    assert list(work.iterdir()) == []


def test_caches_and_work_folders_of_a_dataset_that_is_gone(store: Store, dataset: Dataset) -> None:
    """Gone or forgotten; those of datasets that are there, or never were, stay."""
    for name in ("prices", "acme/orders", "unknown"):
        put(store.cache(name) / (dataset.head() if name == "prices" else UNKNOWN) / "part-0.parquet")
        put(store.cache(name) / "checked-slices")
        put(store.scratch(name) / "poll-1" / "file")
        put(store.scratch(name) / ".turn")
    store.registry.remember(dataset.alias, DID)
    store.registry.remember(DatasetAlias.parse("acme/orders"), DID)
    put(Path(store.location) / ".datasets" / ".pending-1")
    age(Path(store.location))

    def found() -> list[str]:
        return [os.path.relpath(item.path, store.work_area) for item in garbage.find_gone(store, DAY)]

    names = ["../.datasets/.pending-1"]  # of a writer that was killed
    names += [f".cache/acme/orders/{name}" for name in ("checked-slices", UNKNOWN)]
    names += [f"acme/orders/{name}" for name in ("poll-1", ".turn")]
    assert found() == names
    assert garbage.find_gone(store, 3 * DAY) == []
    store.forget(DatasetAlias.parse("acme/orders"))
    gc = ["gc", "--store", store.location]
    assert "5 items, 50 bytes: odf gc --delete removes them" in CliRunner().invoke(app, gc).stderr
    assert found() == names
    assert "5 items, 50 bytes: deleted" in CliRunner().invoke(app, [*gc, "--delete"]).stderr
    assert found() == []
    assert (store.scratch("unknown") / "poll-1" / "file").exists()
    assert (store.scratch("prices") / "poll-1" / "file").exists()


def test_a_file_that_a_writer_meets_again_is_put_back(store: Store, dataset: Dataset) -> None:
    lost = block(dataset, dataset.head(), "lost")
    age(Path(store.location))
    (item,) = garbage.unused(store, dataset, DAY)
    assert block(dataset, dataset.head(), "lost") == lost  # a task that is run again, after a day
    assert not garbage.remove(item, dataset)
    dataset.storage.compare_and_set_ref("candidate-again", None, lost)
    assert verify(dataset, "candidate-again").blocks == 2
    assert find(store, dataset, 0) == {}


def test_the_command_lists_and_removes_and_one_damaged_dataset_stops_no_other(
    store: Store, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = store.create(DatasetAlias.parse("damaged"))
    damaged.storage.compare_and_set_ref("head", None, UNKNOWN)
    put(Path(damaged.location) / "data" / UNKNOWN)
    slice_ = put(Path(dataset.location) / "data" / UNKNOWN)
    age(Path(store.location))
    monkeypatch.chdir(Path(store.location).parent)

    def gc(*arguments: str):
        return CliRunner().invoke(app, ["gc", *arguments, "--store", store.location])

    shown = gc()
    assert shown.exit_code == 1
    assert (
        f"damaged: store/damaged/refs/head is damaged: it holds '{UNKNOWN}', but blocks/ has no such block"
        in shown.stderr
    )
    assert "1 item, 10 bytes: odf gc --delete removes them" in shown.stderr
    assert f"store/prices/data/{UNKNOWN}" in shown.stdout
    (row,) = json.loads(gc("prices", "--format", "json").stdout)
    assert row == {
        "dataset": "prices",
        "kind": "slice",
        "size": 10,
        "ageHours": 48.0,
        "path": f"store/prices/data/{UNKNOWN}",
    }
    assert gc("prices", "--older-than", "72").stderr == "0 items, 0 bytes: nothing to remove\n"
    assert slice_.exists()
    removed = gc("prices", "--delete")
    assert (removed.exit_code, removed.stderr) == (0, "1 item, 10 bytes: deleted\n")
    assert not slice_.exists()
    assert (Path(damaged.location) / "data" / UNKNOWN).exists()


def test_a_pack_of_blocks_goes_with_its_dataset(bucket: str) -> None:
    store = Store.open(bucket)
    for name in ("gone", "unknown"):
        store.shared_cache(name).put(object_storage.PACK, b"pack")
    store.registry.remember(DatasetAlias.parse("gone"), DID)
    (item,) = garbage.find_gone(store, 0, is_idle=True)
    assert (item.kind, item.path) == ("cache", f"{bucket}/.work/.cache/gone/blocks.zip")
    assert garbage.remove(item, None)
    assert garbage.find_gone(store, 0, is_idle=True) == []


def test_a_copy_that_a_run_makes_after_the_listing_stays(bucket: str) -> None:
    store = Store.open(bucket)
    copies = store.exchange.folder(".cache").folder("+0123456789abcdef")
    copies.put("data/old", b"old")
    time.sleep(1.1)  # servers note times in seconds
    (item,) = garbage.find_gone(store, 0, is_idle=True)
    assert (item.kind, item.path) == ("copy", copies.location())
    copies.put("data/new", b"new")
    assert not garbage.remove(item, None)
    assert [file.name for file in copies.every_file()] == ["data/new"]
    time.sleep(1.1)
    (item,) = garbage.find_gone(store, 0, is_idle=True)
    assert garbage.remove(item, None)
    assert list(copies.every_file()) == []
    copies.put("data/newer", b"newer")
    assert not garbage.remove(item, None)
    assert [file.name for file in copies.every_file()] == ["data/newer"]
