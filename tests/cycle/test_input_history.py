"""A derivative notices that the history of its input was rewritten, and says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import InputPosition
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.transform import check_history
from airflow_provider_odf.errors import ChainCorrupted, InputRewritten
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model

from .derivatives import SCHEMA, derivative, ingest, root, transform

LATER = Instant.parse("2024-05-03T08:00:00Z")


def position(report, orders):
    return replay(report).query_inputs[replay(orders).dataset_id]


def rewrite(dataset):
    """Give a dataset another history, with the same id and as many blocks and records."""
    head, draft = dataset.head(), Draft(dataset)
    draft.append(model.Seed(dataset_id=replay(dataset).dataset_id, dataset_kind="Root"), LATER)
    draft.append(SCHEMA, LATER)
    dataset.storage.compare_and_set_ref("head", head, draft.state.head)
    return ingest(dataset, time=LATER)


def test_an_input_that_continues(store: Store) -> None:
    orders = root(store)
    report = derivative(store, orders)
    check_history(report, orders, orders.head(), InputPosition(None, None))
    ingest(orders)
    transform(report, orders)
    check_history(report, orders, orders.head(), position(report, orders))
    ingest(orders)
    check_history(report, orders, ingest(orders), position(report, orders))


def test_only_new_blocks_are_read(store: Store) -> None:
    orders = root(store)
    report = derivative(store, orders)
    ingest(orders)
    transform(report, orders)
    at = position(report, orders)
    before = [block_hash for block_hash, _ in orders.walk()][1:]
    head = ingest(orders)
    for block_hash in before:
        Path(orders.storage.location(f"blocks/{block_hash}")).unlink()
    check_history(report, orders, head, at)


@pytest.mark.parametrize("is_collected", [False, True], ids=["old blocks are there", "after odf gc"])
def test_an_input_with_another_history(store: Store, is_collected: bool) -> None:
    orders = root(store)
    report = derivative(store, orders)
    old = ingest(orders)
    transform(report, orders)
    at = position(report, orders)
    head = rewrite(orders)
    if is_collected:
        Path(orders.storage.location(f"blocks/{old}")).unlink()
    with pytest.raises(InputRewritten) as caught:
        check_history(report, orders, head, at)
    assert not caught.value.is_transient
    assert re.fullmatch(
        r"the history of the input orders was rewritten: it no longer contains the block f1620\w{64}, up to which "
        r"report was computed\. orders was reset, replaced or restored from an older copy: restore the history of "
        r"orders that has this block, or run `odf reset report --store \S+` to compute report anew from "
        r"the present one",
        str(caught.value),
    )
    assert old in str(caught.value)


def test_an_input_that_was_restored_from_an_older_copy(store: Store) -> None:
    orders = root(store)
    report = derivative(store, orders)
    older = ingest(orders)
    newer = ingest(orders)
    transform(report, orders)
    orders.storage.compare_and_set_ref("head", newer, older)
    with pytest.raises(InputRewritten, match=newer):
        check_history(report, orders, older, position(report, orders))


def test_a_lost_block_of_the_input_is_damage(store: Store) -> None:
    orders = root(store)
    report = derivative(store, orders)
    lost = ingest(orders)
    transform(report, orders)
    head = ingest(orders)
    Path(orders.storage.location(f"blocks/{lost}")).unlink()
    with pytest.raises(ChainCorrupted, match=f"{lost}: the block is missing"):
        check_history(report, orders, head, position(report, orders))
