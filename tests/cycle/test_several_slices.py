"""An input that becomes several slices: several blocks, one publication."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.cycle import settings_of
from airflow_provider_odf.cycle.run import run as run_cycle
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner

from .conftest import Write, cycle_of
from .holding import held, rows
from .test_cycle import PRICES

WITH_TIME = PRICES.replace("- price BIGINT", "- price BIGINT\n          - event_time TIMESTAMP")


def added(dataset: Dataset) -> list[tuple[tuple[int, int], str, str | None]]:
    """Offsets, watermark and source state of each AddData."""
    events = [block.event for _, block in dataset.walk() if isinstance(block.event, model.AddData)]
    return [
        (
            (e.new_data.offset_interval.start, e.new_data.offset_interval.end),
            str(e.new_watermark),
            e.new_source_state.value if e.new_source_state else None,
        )
        for e in reversed(events)
        if e.new_data is not None
    ]


def test_one_publication_has_all_slices_and_the_last_one_the_state_of_the_source(
    tmp_path: Path, write: Write, store: Store, engine: LocalRunner
) -> None:
    write("odf.yaml", "defaults: {slice_records: 2, max_retracted_share: 0.5}\n")
    (manifest,) = load([write("prices.yaml", WITH_TIME)]).manifests
    assert settings_of(manifest).slice_records == 2

    def poll(day: int) -> object:
        cycle = cycle_of(store, manifest, engine, Instant.parse(f"2024-02-{day:02}T00:00:00Z"), slice_records=2)
        return run_cycle(cycle)

    days = (3, 1, 5, 4, 2)
    first = [f"{sku},{n},2024-01-0{day}" for n, (sku, day) in enumerate(zip("abcde", days, strict=True))]
    write("in/1.csv", "\n".join(("sku,price,event_time", *first)))
    assert str(poll(1)) == "published 5 records (offsets 0..4)"
    dataset = store.dataset("prices")
    assert added(dataset) == [
        ((0, 1), "2024-01-03T00:00:00Z", None),
        ((2, 3), "2024-01-05T00:00:00Z", None),
        ((4, 4), "2024-01-05T00:00:00Z", "1.csv"),
    ]
    assert len([*(tmp_path / "store/prices/info/publications").iterdir()]) == 1

    write("in/2.csv", "\n".join(("sku,price,event_time", *first[:3])) + "\nd,9,2024-01-06\nf,6,2024-01-06\n")
    assert str(poll(2)) == "published 4 records (offsets 5..8): 1 added, 1 removed, 1 corrected"
    # -C and +C of d are the first two, -R of e and +A of f the others.
    assert added(dataset)[3:] == [
        ((5, 6), "2024-01-06T00:00:00Z", "1.csv"),
        ((7, 8), "2024-01-06T00:00:00Z", "2.csv"),
    ]
    assert rows(store, "sku", "price") == [("a", 0), ("b", 1), ("c", 2), ("d", 9), ("f", 6)]

    # 3 of 5 rows: each slice for itself retracts less than half of them.
    head = dataset.head()
    write("in/3.csv", "\n".join(("sku,price,event_time", *first[:2])))
    assert "in/3.csv retracts 3 of 5 rows" in held(poll(3))
    assert dataset.head() == head
