"""Reset of a derivative: what stays, what goes, and what of the earlier history can still do something."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle import candidates, garbage
from airflow_provider_odf.cycle.candidates import describe
from airflow_provider_odf.cycle.lost_race import settle
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.publish import publish
from airflow_provider_odf.cycle.reset import plan, readers, reset
from airflow_provider_odf.cycle.transform import check_history
from airflow_provider_odf.cycle.xcom import pass_candidate, receive_candidate
from airflow_provider_odf.errors import CommitConflict, DatasetGone, InputRewritten, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.protocol import ContractReport

from .derivatives import derivative, ingest, root, transform, transform_event

DAY = 24 * 3600


@pytest.fixture
def orders(store: Store) -> Dataset:
    orders = root(store)
    ingest(orders)
    return orders


@pytest.fixture
def report(store: Store, orders: Dataset) -> Dataset:
    """A derivative of two slices."""
    report = derivative(store, orders)
    transform(report, orders)
    ingest(orders)
    transform(report, orders)
    return report


def candidate(dataset: Dataset, source: Dataset, name: str) -> Candidate:
    """A candidate of one record under ``candidate-NAME``."""
    base = replay(dataset)
    ingest(source)
    draft = Draft(dataset, base)
    draft.append(transform_event(dataset, base, source), base.system_time)
    ref = candidates.CANDIDATE + name
    dataset.storage.compare_and_set_ref(ref, None, draft.state.head)
    return describe(dataset, base.head, draft.state.head, ref)


def reject(dataset: Dataset, made: Candidate) -> str:
    candidates.save_report(dataset, made, ContractReport("urn:report", "digest", "report", ()))
    return candidates.reject(dataset, made)


def age(root: Path, seconds: float = 2 * DAY) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        os.utime(path, (time.time() - seconds,) * 2)


def test_the_id_and_metadata_stay_and_the_data_go(store: Store, report: Dataset) -> None:
    before = replay(report)
    done = reset(store, report)
    state = replay(store.dataset("report"))
    assert [block.event.kind for _, block in report.walk()][::-1] == [
        "Seed",
        "SetVocab",
        "SetTransform",
        "SetInfo",
        "SetLicense",
        "SetAttachments",
    ]
    assert (state.head, state.dataset_id, state.kind) == (done.head, before.dataset_id, "Derivative")
    kept = ("set_vocab", "transform", "info", "license", "attachments")
    assert [getattr(state, name) for name in kept] == [getattr(before, name) for name in kept]
    assert state.info == model.SetInfo(description="orders by id")
    assert (state.schema, state.last_offset, state.slices, state.query_inputs) == (None, None, (), {})
    assert verify(report, is_quick=True).blocks == 6
    assert store.registry.get(report.alias).dataset_id == before.dataset_id


def test_the_dataset_is_computed_anew_from_the_first_record(store: Store, orders: Dataset, report: Dataset) -> None:
    first = replay(report).query_inputs
    reset(store, report)
    transform(report, orders)
    state = replay(report)
    assert (state.query_inputs, state.last_offset, state.sequence_number) == (first, 0, 7)


def test_the_histories_share_no_block(store: Store, orders: Dataset, report: Dataset) -> None:
    """Even with a clock that stands still: the seed of the new history is later than all earlier blocks."""
    earlier, first = {h for h, _ in report.walk()}, replay(report)
    reset(store, report, lambda: first.system_time)
    transform(report, orders)
    second = reset(store, report, lambda: first.system_time)
    assert earlier.isdisjoint(h for h, _ in report.walk())
    assert report.common_block(first.head, second.head) is None
    assert replay(report).system_time > second.before.system_time > first.system_time


def test_the_version_of_blocks_stays(store: Store, orders: Dataset) -> None:
    report = store.create(orders.alias.parse("report"))
    draft = Draft(report, manifest_version=2)
    draft.append(model.Seed(dataset_id=replay(orders).dataset_id, dataset_kind="Derivative"), Instant(0))
    fields = (model.DataField(name="id", type=model.DataTypeInt64()),)
    draft.append(model.SetDataSchema(schema=model.DataSchema(fields=fields)), Instant(0))
    report.storage.compare_and_set_ref("head", None, draft.state.head)
    done = reset(store, report)
    assert codec.decode_frame(report.storage.get(f"blocks/{done.head}"))[0] == 2


def test_a_plan_changes_nothing(store: Store, orders: Dataset, report: Dataset) -> None:
    made = candidate(report, orders, "made")
    files = sorted(Path(store.location).rglob("*"))
    planned = plan(report)
    assert (planned.changes_nothing, planned.candidates, planned.head) == (False, (made.ref,), report.head())
    assert sorted(Path(store.location).rglob("*")) == files


def test_without_data_there_is_nothing_to_reset(store: Store, orders: Dataset) -> None:
    report = derivative(store, orders)
    head = report.head()
    assert reset(store, report).changes_nothing
    assert (report.head(), report.storage.refs()) == (head, ["head"])


def test_a_root_is_refused(store: Store, orders: Dataset) -> None:
    head = orders.head()
    for function in (plan, lambda dataset: reset(store, dataset)):
        with pytest.raises(InvalidInput, match=r"dataset orders is a root: .* `odf forget orders --store "):
            function(orders)
    assert orders.head() == head


def test_another_dataset_under_the_name_is_refused(store: Store, report: Dataset) -> None:
    head = report.head()
    store.registry.remember(report.alias, "did:odf:other")
    with pytest.raises(DatasetGone, match="instead of did:odf:other"):
        reset(store, report)
    assert report.head() == head


def test_candidates_and_caches_of_the_earlier_history_go(store: Store, orders: Dataset, report: Dataset) -> None:
    candidate(report, orders, "waiting")
    reject(report, bad := candidate(report, orders, "bad"))
    report.storage.compare_and_set_ref("accepted-x", None, bad.candidate)
    cache = store.cache("report")
    (cache / report.head()).mkdir(parents=True)
    (cache / "checked-slices").write_text("{}")
    done = reset(store, report)
    assert done.candidates == ("accepted-x", "candidate-waiting", "rejected-bad")
    assert report.storage.refs() == ["head", done.replaced_ref]
    assert report.head(done.replaced_ref) == done.before.head
    assert not cache.exists()
    assert list(candidates.rejections(report)) == []


def test_a_candidate_of_the_earlier_history_cannot_be_published(store: Store, orders: Dataset, report: Dataset) -> None:
    """As by a task that merged before the reset: its XCom, its candidate, and the ref that it claims afterwards."""
    made = candidate(report, orders, f"{1:016x}")
    xcom = pass_candidate(made)
    done = reset(store, report)
    with pytest.raises(
        CommitConflict, match="is not a candidate: another writer published first, or the candidate was"
    ):
        receive_candidate(store, xcom)
    report.storage.compare_and_set_ref(made.ref, None, made.candidate)
    with pytest.raises(CommitConflict, match=f"{made.candidate} is not based on the head {done.head}"):
        publish(store, made)
    late = reject(report, made)
    assert list(candidates.rejections(report)) == []
    transform(report, orders)
    publish(store, candidate(report, orders, "new"))
    assert late not in report.storage.refs()
    assert [ref for ref in report.storage.refs() if ref != "head"] == [done.replaced_ref]


def test_a_published_candidate_is_not_published_again_after_a_reset(
    store: Store, orders: Dataset, report: Dataset
) -> None:
    made = candidate(report, orders, "made")
    publish(store, made)
    done = reset(store, report)
    with pytest.raises(CommitConflict):
        publish(store, made)
    assert report.head() == done.head


def test_a_rejected_candidate_of_this_history_stays(store: Store, orders: Dataset, report: Dataset) -> None:
    reset(store, report)
    transform(report, orders)
    ref = reject(report, candidate(report, orders, "bad"))
    publish(store, candidate(report, orders, "good"))
    assert [r.ref for r in candidates.rejections(report)] == [ref]


def test_the_earlier_history_stays_for_the_grace_period_of_gc(store: Store, orders: Dataset, report: Dataset) -> None:
    earlier = {h for h, _ in report.walk()}
    slices = {s.physical_hash for s in replay(report).slices}
    age(Path(store.location))
    done = reset(store, report)
    assert garbage.unused(store, report, DAY) == []
    assert replay(report, done.replaced_ref).slices == done.before.slices
    age(Path(store.location))
    items = garbage.unused(store, report, DAY)
    assert {(item.kind, item.name) for item in items} == {
        ("earlier history", done.replaced_ref),
        *(("block", name) for name in earlier),
        *(("slice", name) for name in slices),
    }
    assert all(garbage.remove(item, report) for item in items)
    assert report.storage.refs() == ["head"]
    assert verify(report, is_quick=True).blocks == 6
    transform(report, orders)


def test_a_late_rejection_of_the_earlier_history_is_garbage(store: Store, orders: Dataset, report: Dataset) -> None:
    made = candidate(report, orders, "made")
    reset(store, report)
    reject(report, made)
    age(Path(store.location))
    names = {item.name for item in garbage.unused(store, report, DAY)}
    assert {"rejected-made", made.candidate} <= names


def test_those_computed_from_it_are_named_and_stop(store: Store, orders: Dataset, report: Dataset) -> None:
    summary = derivative(store, report, name="summary")
    derivative(store, report, name="never-run")
    transform(summary, report)
    position = replay(summary).query_inputs[replay(report).dataset_id]
    done = reset(store, report)
    assert [str(d.alias) for d in readers(store, done.before.dataset_id)] == ["summary"]
    transform(report, orders)
    with pytest.raises(InputRewritten, match=r"input report was rewritten.*`odf reset summary --store "):
        check_history(summary, report, report.head(), position)
    reset(store, summary)
    transform(summary, report)
    position = replay(summary).query_inputs[replay(report).dataset_id]
    check_history(summary, report, report.head(), position)


def test_a_reset_follows_on_a_writer_that_publishes_meanwhile(store: Store, orders: Dataset, report: Dataset) -> None:
    made = candidate(report, orders, "made")
    heads = []

    def clock() -> Instant:
        """Publish while the first attempt writes its blocks."""
        if not heads:
            heads.append(publish(store, made))
        return Instant.now()

    done = reset(store, report, clock)
    assert done.before.head == made.candidate
    assert report.storage.refs() == ["head", done.replaced_ref]
    assert (replay(report).has_data, verify(report, is_quick=True).blocks) == (False, 6)


def test_resets_and_writers_at_once_leave_one_whole_history(store: Store, orders: Dataset, report: Dataset) -> None:
    problems: list[Exception] = []
    stop = threading.Event()

    def attempt(_: CommitConflict | None) -> None:
        ingest(orders)
        transform(report, orders)

    def write() -> None:
        while not stop.wait(0.005):  # Real writers need more time: they compute.
            try:
                settle(store, "report", attempt)
            except Exception as e:
                problems.append(e)
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        resets = [reset(store, report) for _ in range(10)]
    finally:
        stop.set()
        writer.join()
    assert problems == []
    assert sum(not done.changes_nothing for done in resets) >= 1
    assert replay(report).dataset_id == resets[0].before.dataset_id
