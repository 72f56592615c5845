"""The block of a dataset's history that a time or a hash names."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.publications import block_as_of, data_as_of
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias

from .conftest import DID

HOURS = [Instant.parse(f"2024-05-02T{hour:02}:00:00.123456789Z") for hour in (8, 9, 9, 11)]


@pytest.fixture
def chain(store):
    """A dataset with blocks at 8, 9, 9 and 11, and their hashes."""
    dataset = store.create(DatasetAlias.parse("numbers"))
    draft = Draft(dataset)
    events = [model.Seed(dataset_id=DID, dataset_kind="Root"), *(model.SetInfo(description=text) for text in "abc")]
    hashes = [draft.append(event, time) for event, time in zip(events, HOURS, strict=True)]
    dataset.storage.compare_and_set_ref("head", None, hashes[-1])
    return dataset, hashes


@pytest.mark.parametrize(
    ("time", "block"),
    [
        ("2024-05-02T08:00:00.123456789Z", 0),
        ("2024-05-02T10:59:59+02:00", 0),
        ("2024-05-02T09:00:00.123456788Z", 0),
        ("2024-05-02T09:00:00.123456789Z", 2),
        ("2024-05-02 10:00:00z", 2),
        ("2024-05-02T11:00:00.124Z", 3),
        ("9999-12-31T23:59:59Z", 3),
        (datetime(2024, 5, 2, 12, 0, tzinfo=timezone(timedelta(hours=2))), 2),
        (datetime(2025, 1, 1, tzinfo=UTC), 3),
    ],
)
def test_a_time_names_the_newest_block_that_is_not_after_it(chain, time, block):
    dataset, hashes = chain
    assert block_as_of(dataset, time) == hashes[block]


def test_a_time_before_the_first_block(chain):
    with pytest.raises(InvalidInput) as caught:
        block_as_of(chain[0], "2024-05-02T08:00:00.123Z")
    assert str(caught.value) == (
        "dataset numbers has no history as of 2024-05-02T08:00:00.123Z: its first block was published at "
        "2024-05-02T08:00:00.123456789Z"
    )


NO_POSITION = "no date (2026-05-01), no time with a zone (2026-05-01T08:00:00Z) and no hash of a block (f1620…)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "yesterday",
            f"as of: 'yesterday' is {NO_POSITION}",
        ),
        (
            "2024-05-32",
            f"as of: '2024-05-32' is {NO_POSITION}",
        ),
        (
            "2024-5-2",
            f"as of: '2024-5-2' is {NO_POSITION}: did you mean 2024-05-02?",
        ),
        ("20240502", ": did you mean 2024-05-02?"),
        ("2024-05-02 8:00", ": did you mean 2024-05-02T08:00:00Z?"),
        ("2024-05-02T08:00:01", ": did you mean 2024-05-02T08:00:01Z?"),
        (
            5,
            f"as of: 5 is {NO_POSITION}",
        ),
        (None, "as of: None is no date"),
        (
            "",
            f"as of: '' is {NO_POSITION}",
        ),
        ("F1620AB", "as of: 'F1620AB' is no date"),
        (datetime(2024, 5, 2), "as of: 2024-05-02 00:00:00 has no time zone"),
    ],
)
def test_neither_a_time_nor_a_hash(chain, text, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        block_as_of(chain[0], text)


@pytest.mark.parametrize("month", ["2024-05", "202405"])
def test_a_month_is_no_date_of_its_first_days(chain, month):
    with pytest.raises(InvalidInput, match=f"^as of: '{month}' is {re.escape(NO_POSITION)}$"):
        block_as_of(chain[0], month)


@pytest.mark.parametrize("day", ["2024-05-02", date(2024, 5, 2)])
def test_a_date_is_the_end_of_its_day(chain, day):
    dataset, hashes = chain
    assert block_as_of(dataset, day) == hashes[-1]
    with pytest.raises(InvalidInput, match=r"no history as of 2024-05-01T23:59:59\.999999999Z"):
        block_as_of(dataset, "2024-05-01" if isinstance(day, str) else date(2024, 5, 1))


def test_a_hash_or_its_start_names_the_block(chain):
    dataset, hashes = chain
    for block_hash in hashes:
        assert block_as_of(dataset, block_hash) == block_hash
        assert block_as_of(dataset, block_hash[:13]) == block_hash


def test_an_ambiguous_start_of_a_hash(chain):
    dataset, hashes = chain
    with pytest.raises(InvalidInput, match="dataset numbers has 4 blocks whose hash starts with f1620, such as f1620"):
        block_as_of(dataset, "f1620")
    assert len(hashes) == 4


def test_an_unknown_hash(chain):
    with pytest.raises(DatasetNotFound, match=r"has no block f1620abcdabcd: `odf log numbers --store .*` lists its"):
        block_as_of(chain[0], "f1620abcdabcd")


def test_a_block_of_a_candidate_is_not_part_of_the_history(chain):
    dataset, _ = chain
    draft = Draft(dataset, replay(dataset))
    block_hash = draft.append(model.SetInfo(description="candidate"), HOURS[-1])
    with pytest.raises(InvalidInput, match=f"is not in the history of its head.*`--ref {block_hash}`"):
        block_as_of(dataset, block_hash[:13])
    known = next(name for name in dataset.storage.names("blocks") if name != block_hash)
    same = next(n for n in range(6, 70) if known[:n] != block_hash[:n])
    assert block_as_of(dataset, known[:same]) == known


def test_rows_need_data(grow):
    growing = grow()
    before = growing.draft.state.head
    with pytest.raises(InvalidInput) as caught:
        data_as_of(growing.dataset, before)
    assert str(caught.value) == f"dataset numbers has no data yet as of {before}, block {before}"
    growing.add(("+A", 1, "a"))
    first = growing.dataset.head()
    with pytest.raises(InvalidInput) as caught:
        data_as_of(growing.dataset, before[:20])
    assert str(caught.value) == (
        f"dataset numbers has no data yet as of {before[:20]}, block {before}: its first data are in block {first} of "
        "2024-05-02T08:00:00Z"
    )
    later = growing.append(model.SetInfo(description="x"))
    assert data_as_of(growing.dataset, later) == later
    assert data_as_of(growing.dataset, "2024-05-02T08:00:00Z") == later
