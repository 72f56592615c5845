"""When blocks could be read: records of publications beside the chain."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain import info_files, publications
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset_facts import log_entries
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.publications import Publication, block_as_of
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle import garbage
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.errors import CommitConflict, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.ui.chain_cache import read_positions

from .conftest import DID

EIGHT = Instant.parse("2024-05-02T08:00:00Z")
HOUR = 3_600_000_000_000


def at(hours: float) -> Instant:
    return EIGHT.plus_ns(int(hours * HOUR))


@dataclass
class Diary:
    """A dataset, and what a reader who looked after each event has written down: since when which head was there."""

    store: object
    name: str = "diary"
    seen: list[tuple[Instant, str]] = field(default_factory=list)

    def __post_init__(self):
        self.dataset = self.store.create(DatasetAlias.parse(self.name))
        draft = Draft(self.dataset)
        draft.append(model.Seed(dataset_id=DID, dataset_kind="Root"), EIGHT)
        self.dataset.storage.compare_and_set_ref("head", None, draft.state.head)
        self.seen.append((EIGHT, draft.state.head))

    def merge(self, time: Instant, blocks: int = 1) -> Candidate:
        """A candidate of some blocks on the head."""
        base = self.dataset.head()
        draft = Draft(self.dataset, replay(self.dataset))
        for number in range(blocks):
            draft.append(model.SetInfo(description=f"{time} {number}"), time)
        return Candidate(self.name, base, draft.state.head, "candidate-0", blocks)

    def publish(self, candidate: Candidate, time: Instant, **author) -> None:
        publish(self.store, candidate, Author(time=str(time), **author))
        self.seen.append((time, candidate.candidate))

    def crash(self, candidate: Candidate, time: Instant) -> None:
        """Be killed after the record of a publication, before the head moves."""
        publications.record(self.dataset, Publication(candidate.candidate, time, "published", Author(), candidate.base))

    def move_at_once(self, time: Instant) -> None:
        """Move the head like other tools, and like an edited manifest: without a record."""
        new = self.merge(time)
        self.dataset.storage.compare_and_set_ref("head", new.base, new.candidate)
        self.seen.append((time, new.candidate))

    def head_at(self, time: Instant) -> str | None:
        return next((head for since, head in reversed(self.seen) if since <= time), None)


def as_of(dataset, time: Instant) -> str | None:
    try:
        return block_as_of(dataset, str(time))
    except InvalidInput:
        return None


def check_random_histories(store, seeds):
    """As of each time, a dataset is what a reader saw at that time, whatever happened before and since."""
    for seed in seeds:
        chance = random.Random(seed)
        diary, hours, waiting = Diary(store, f"diary-{seed}"), 0, []
        for _ in range(chance.randint(3, 12)):
            hours += chance.randint(1, 5)
            act = chance.choice(("merge", "merge", "publish", "publish", "crash", "move"))
            if act == "merge":
                waiting.append(diary.merge(at(hours), chance.randint(1, 3)))
            elif act == "move":
                diary.move_at_once(at(hours))
            elif act in ("publish", "crash") and waiting:
                candidate = chance.choice(waiting)
                if diary.dataset.contains(diary.dataset.head(), candidate.candidate):
                    publish(store, candidate, Author(time=str(at(hours))))  # again: nothing happens
                elif candidate.base != diary.dataset.head():
                    with pytest.raises(CommitConflict):
                        publish(store, candidate, Author(time=str(at(hours))))
                elif act == "crash":
                    diary.crash(candidate, at(hours))
                else:
                    diary.publish(candidate, at(hours))
                    publish(store, candidate, Author(time=str(at(hours + 0.5))))  # a retry
        positions = read_positions(diary.dataset, diary.dataset.head(), store.work_area)
        for time in (moment.plus_ns(ns) for moment, _ in diary.seen for ns in (-1, 0, 1, HOUR // 2)):
            expected = diary.head_at(time)
            assert as_of(diary.dataset, time) == expected, (seed, time)
            place = positions._before(time)
            assert (positions.hashes[place] if place >= 0 else None) == expected, (seed, time)
        heads = {head: str(since) for since, head in diary.seen}
        published = {entry["hash"]: entry["published"] for entry in log_entries(diary.dataset)}
        assert {head: published[head] for head in heads} == heads, seed


def test_as_of_a_time_is_what_could_be_read_then(store):
    check_random_histories(store, range(12))


@pytest.mark.torture
def test_as_of_a_time_is_what_could_be_read_then_in_many_histories(store):
    check_random_histories(store, range(1000, 1400))


@pytest.fixture
def released(store):
    """A dataset whose candidate of nine o'clock was published at eleven, by a person."""
    diary = Diary(store)
    candidate = diary.merge(at(1), blocks=2)
    diary.publish(candidate, at(3), who="ann@desk", reason="checked by hand", run={"command": "odf rejected publish"})
    return diary


@pytest.mark.parametrize(("hours", "place"), [(0, 0), (1, 0), (2.9, 0), (3, 1), (9, 1)])
def test_a_candidate_that_is_released_later(released, hours, place):
    assert as_of(released.dataset, at(hours)) == released.seen[place][1]


def test_the_record_of_a_publication(released):
    dataset, head = released.dataset, released.dataset.head()
    name = f"20240502T110000.000000000Z.1-2.{head}"
    assert dataset.storage.names("info/publications") == [f"{name}.json"]
    publication = publications.newest_data(dataset)
    assert publication is None  # no block of data yet
    ((entry, read),) = publications.newest(publications.published_history(dataset, "head"), 5)
    assert (entry.name, read.decision, str(read.time)) == (name, "published", "2024-05-02T11:00:00Z")
    assert (read.author.who, read.author.reason) == ("ann@desk", "checked by hand")
    assert read.author.run_name == "odf rejected publish"
    log = [(e["sequenceNumber"], e["published"], e["isRecorded"]) for e in log_entries(dataset)]
    assert log == [
        (0, "2024-05-02T08:00:00Z", False),
        (1, "2024-05-02T11:00:00Z", True),
        (2, "2024-05-02T11:00:00Z", True),
    ]


def test_what_was_not_published_has_no_time(released):
    waiting = released.merge(at(5))
    assert [entry["published"] for entry in log_entries(released.dataset, waiting.candidate)][-1] is None


@pytest.mark.parametrize("how", ["altered", "renamed", "removed"])
def test_a_damaged_record_counts_as_missing(released, how):
    dataset = released.dataset
    (file,) = (dataset.storage.root / "info/publications").iterdir()
    if how == "altered":
        file.write_text(file.read_text().replace("ann@desk", "bob@desk"))
    elif how == "renamed":
        file.rename(file.with_name(file.name.replace("T11", "T17")))
    else:
        file.unlink()
    assert as_of(dataset, at(1)) == dataset.head()
    assert len(list(info_files.damaged(dataset))) == (how != "removed")


def test_a_clock_that_goes_back_makes_no_block_older_than_one_before_it(released):
    released.publish(released.merge(at(3.5)), at(2))
    last = [entry["published"] for entry in log_entries(released.dataset)]
    assert last[-2:] == ["2024-05-02T11:00:00Z", "2024-05-02T11:30:00Z"]


def test_a_writer_that_loses_the_race_leaves_no_record(released):
    slow, quick = released.merge(at(4)), released.merge(at(4.5))
    original = LocalStorage.compare_and_set_ref
    dataset = released.dataset

    class Overtaken(LocalStorage):
        def compare_and_set_ref(self, name, expected, new):
            if name == "head":
                original(self, "head", quick.base, quick.candidate)
            original(self, name, expected, new)

    from dataclasses import replace

    from airflow_provider_odf.cycle.publish import _move_head

    overtaken = replace(dataset, storage=Overtaken(dataset.storage.root))
    with pytest.raises(CommitConflict):
        _move_head(overtaken, slow, Publication(slow.candidate, at(5), "published", Author(), slow.base))
    assert len(dataset.storage.names("info/publications")) == 1


def test_a_time_among_many_publications_reads_few_files(store, monkeypatch):
    diary = Diary(store)
    (store.cache("diary")).mkdir(parents=True)
    for hour in range(1, 71):
        diary.publish(diary.merge(at(hour)), at(hour + 0.5))
    dataset, reads = store.dataset("diary"), []
    replay(dataset)
    original = LocalStorage.get
    monkeypatch.setattr(LocalStorage, "get", lambda self, name: reads.append(name) or original(self, name))
    assert block_as_of(dataset, str(at(10))) == diary.head_at(at(10))
    assert sum(name.startswith("info/") for name in reads) == 2
    assert len(reads) < 15


def test_only_records_of_blocks_that_nothing_leads_to_are_garbage(released):
    lost = released.merge(at(4))
    released.crash(lost, at(5))
    released.publish(released.merge(at(6)), at(7))
    found = garbage.unused(released.store, released.dataset, 0, is_idle=True)
    records = [item.name for item in found if item.kind == "publication"]
    assert records == [f"20240502T130000.000000000Z.3-3.{lost.candidate}.json"]
    assert all(garbage.remove(item, released.dataset) for item in found)
    assert len(released.dataset.storage.names("info/publications")) == 2
