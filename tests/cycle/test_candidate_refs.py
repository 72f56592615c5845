"""Refs of candidates when a dataset's head moves: exactly those go that nobody can decide on any more."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.protocol import ContractReport

TIME = Instant.parse("2024-05-02T08:00:00Z")
DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"
MISSING = "f1620" + "ab" * 32


@pytest.fixture
def dataset(store: Store) -> Dataset:
    dataset = store.create(DatasetAlias.parse("prices"))
    draft = Draft(dataset)
    draft.append(model.Seed(dataset_id=DID, dataset_kind="Root"), TIME)
    dataset.storage.compare_and_set_ref("head", None, draft.state.head)
    return dataset


def candidate(dataset: Dataset, base: str, name: str) -> Candidate:
    """A candidate of one block under a ref ``candidate-NAME``."""
    draft = Draft(dataset, replay(dataset, base))
    source_state = model.SourceState(source_name="s", kind="odf/etag", value=name)
    draft.append(model.AddData(new_source_state=source_state), TIME)
    ref = f"candidate-{name}"
    dataset.storage.compare_and_set_ref(ref, None, draft.state.head)
    return Candidate("prices", base, draft.state.head, ref, records=1)


def reject(dataset: Dataset, made: Candidate) -> None:
    report = ContractReport("urn:prices", "digest", "prices", ())
    candidates.save_report(dataset, made, report)
    candidates.reject(dataset, made)


def test_publish_drops_exactly_the_candidates_that_do_not_build_on_the_head(store: Store, dataset: Dataset) -> None:
    seed = dataset.head()
    first, beaten = candidate(dataset, seed, "first"), candidate(dataset, seed, "beaten")
    after = candidate(dataset, first.candidate, "after")
    dead = candidate(dataset, beaten.candidate, "on-a-beaten-one")
    reject(dataset, candidate(dataset, seed, "low"))
    assert publish(store, first) == first.candidate
    assert dataset.storage.refs() == [after.ref, "head", "rejected-low"]
    assert dead.ref not in dataset.storage.refs()
    # A task that runs again publishes nothing and takes nothing from who is at work on the head.
    assert publish(store, first) == first.candidate
    assert dataset.storage.refs() == [after.ref, "head", "rejected-low"]


@pytest.mark.parametrize("content", ["", "not a hash", MISSING, "\udcff"])
def test_a_damaged_candidate_ref_does_not_stop_a_publish(
    store: Store, dataset: Dataset, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = candidate(dataset, dataset.head(), "made")
    (Path(dataset.location) / "refs" / "candidate-bad").write_text(content, errors="surrogateescape")
    assert publish(store, made) == dataset.head() == made.candidate
    assert dataset.storage.refs() == ["candidate-bad", "head"]
    assert "dataset prices: cannot remove ref candidate-bad: " in caplog.text


def test_a_rejected_candidate_that_was_published_is_rejected_no_longer(store: Store, dataset: Dataset) -> None:
    made, other = (candidate(dataset, dataset.head(), name) for name in ("made", "other"))
    reject(dataset, made)
    reject(dataset, other)
    assert [r.ref for r in candidates.rejections(dataset)] == ["rejected-made", "rejected-other"]
    dataset.storage.compare_and_set_ref("head", made.base, made.candidate)  # by hand, or another tool
    assert [r.ref for r in candidates.rejections(dataset)] == ["rejected-other"]
    publish(store, candidate(dataset, made.candidate, "next"))
    assert dataset.storage.refs() == ["head", "rejected-other"]
    assert publish(store, dataclasses.replace(made, ref="rejected-made")) == dataset.head()
