from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.commit import Draft, normalized
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.errors import BlockRejected, CommitConflict, StorageError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias

DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"
TIME = Instant.parse("2024-05-02T08:00:00.123456789Z")
SEED = model.Seed(dataset_id=DID, dataset_kind="Root")


@pytest.fixture
def dataset(store):
    return store.create(DatasetAlias.parse("numbers"))


def test_blocks_are_files_that_nobody_sees_until_the_ref_moves(store, dataset):
    draft = Draft(dataset)
    seed = draft.append(SEED, TIME)
    info = draft.append(model.SetInfo(description="x"), TIME)
    assert {p.name for p in (Path(dataset.location) / "blocks").iterdir()} == {seed, info}
    assert store.get("numbers") is None
    dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    assert replay(store.dataset("numbers")) == draft.state
    assert dataset.block(info).prev_block_hash == seed
    assert dataset.block(info).system_time == TIME


@pytest.mark.parametrize("name", ["cities", "sensors"])
def test_blocks_are_those_that_another_writer_makes(foreign, dataset, name):
    draft = Draft(dataset)
    for block_hash, block in reversed(list(foreign(name).walk())):
        assert draft.append(block.event, block.system_time) == block_hash


def test_candidate_is_published_by_moving_head(dataset):
    draft = Draft(dataset)
    base = draft.append(SEED, TIME)
    dataset.storage.compare_and_set_ref("head", None, base)
    candidate = Draft(dataset, replay(dataset))
    new = candidate.append(model.SetInfo(description="x"), TIME)
    dataset.storage.compare_and_set_ref("candidate-1", None, new)
    assert dataset.head() == base
    dataset.storage.compare_and_set_ref("head", base, new)
    assert dataset.head() == new
    with pytest.raises(CommitConflict, match="refs/head points to"):
        dataset.storage.compare_and_set_ref("head", base, new)


def test_a_rejected_block_is_not_written(dataset):
    draft = Draft(dataset)
    with pytest.raises(BlockRejected, match="starts with a Seed"):
        draft.append(model.SetInfo(), TIME)
    with pytest.raises(BlockRejected, match="no Seed yet"):
        _ = draft.state
    assert not (Path(dataset.location) / "blocks").exists()


def test_a_block_that_cannot_be_written_changes_nothing(dataset):
    draft = Draft(dataset)
    (Path(dataset.location) / "blocks").write_text("in the way")
    with pytest.raises(StorageError, match="blocks"):
        draft.append(SEED, TIME)
    (Path(dataset.location) / "blocks").unlink()
    block_hash = draft.append(SEED, TIME)
    assert dataset.block(block_hash).event == SEED


@pytest.mark.parametrize("version", [2, 3])
def test_manifest_version(dataset, version):
    block_hash = Draft(dataset, manifest_version=version).append(SEED, TIME)
    assert codec.decode_frame(dataset.storage.get(f"blocks/{block_hash}"))[0] == version


def test_transforms_are_stored_normalized():
    polling = model.SetPollingSource(
        fetch=model.FetchStepUrl(url="u"),
        read=model.ReadStepCsv(),
        preprocess=model.TransformSql(engine="spark", query="SELECT 1"),
        merge=model.MergeStrategyAppend(),
    )
    stored = normalized(polling)
    assert stored.preprocess == model.TransformSql(engine="spark", queries=(model.SqlQueryStep(query="SELECT 1"),))
    assert normalized(stored) == stored
    assert normalized(SEED) is SEED
