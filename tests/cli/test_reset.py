"""``odf reset``: what it prints, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.hooks.odf import OdfHook
from tests.cycle.derivatives import derivative, ingest, root, transform

from .test_cli import in_this_process


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store in ``odf-store``: orders, report computed from it, and summary computed from report."""
    store = Store.open(tmp_path / "odf-store")
    orders = root(store)
    report = derivative(store, orders)
    for _ in range(2):
        ingest(orders)
        transform(report, orders)
    transform(derivative(store, report, name="summary"), report)
    return store


def test_what_it_prints(store: Store, tmp_path: Path) -> None:
    before = replay(store.dataset("report"))
    store.dataset("report").storage.compare_and_set_ref("candidate-1", None, before.head)
    events = "SetVocab, SetTransform, SetInfo, SetLicense, SetAttachments"
    ref = f"replaced-{before.head[5:21]}"
    note = (
        "note: summary was computed from report: after this reset it stops until you run "
        "`odf reset summary --store odf-store`\n"
    )
    assert in_this_process(["reset", "report", "--dry-run"], tmp_path) == (
        0,
        "report: would be removed from the history: 2 records in 2 slices\n"
        f"report: would be kept: the id {before.dataset_id}, {events}\n"
        "report: would be dropped: candidate-1\n"
        f"report: its earlier history would stay under the ref {ref} until `odf gc` removes it\n"
        "report: the next run computes the dataset anew from orders\n",
        note,
    )
    assert store.dataset("report").head() == before.head
    assert in_this_process(["reset", "report"], tmp_path) == (
        0,
        "report: removed from the history: 2 records in 2 slices\n"
        f"report: kept: the id {before.dataset_id}, {events}\n"
        "report: dropped: candidate-1\n"
        f"report: its earlier history stays under the ref {ref} until `odf gc` removes it\n"
        "report: the next run computes the dataset anew from orders\n",
        note,
    )
    assert in_this_process(["reset", "report"], tmp_path) == (
        0,
        "report: nothing to reset: the dataset has no data yet\n",
        "",
    )
    code, out, _ = in_this_process(["log", "report", "--ref", ref], tmp_path)
    assert (code, len(out.splitlines())) == (0, before.sequence_number + 3)


def test_what_cannot_be_reset(store: Store, tmp_path: Path) -> None:
    for options in ([], ["--dry-run"]):
        assert in_this_process(["reset", "orders", *options], tmp_path) == (
            2,
            "",
            "dataset orders is a root: its history comes from its source, and no run can compute it again. Only "
            "derivatives can be reset. To start a new history anyway, delete the folder odf-store/orders, then run "
            "`odf forget orders --store odf-store`\n",
        )
    code, _, err = in_this_process(["reset", "reprot"], tmp_path)
    assert (code, err) == (2, "no dataset reprot in odf-store (did you mean `report`?)\n")


def test_from_a_task(store: Store) -> None:
    head = OdfHook(store=store.location).reset("report")
    assert replay(store.dataset("report")).head == head
    assert not replay(store.dataset("report")).has_data
