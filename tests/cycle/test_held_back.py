"""Inputs that look wrong are held back, and somebody decides: empty ones, large retractions, changed headers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates, decisions, held_back
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Candidate, Input
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.errors import InputHeldBack, StillRejected
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.runner.local import LocalRunner

from .conftest import NoEngine, Run, Write, cycle_of
from .holding import TWO_ROWS, held, rows, with_read
from .test_cycle import PRICES

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_an_empty_snapshot_is_held_back_until_somebody_decides(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", TWO_ROWS)
    run(prices)
    head = store.dataset("prices").head()
    write("in/2.csv", "sku,price\n")
    dataset = store.dataset("prices")
    message = held(run(prices))
    (rejection,) = candidates.rejections(dataset)
    assert message == (
        "input of prices was held back: in/2.csv has no rows, which retracts all 2 rows "
        "(`allow_empty_input: true` in odf.yaml allows that). The dataset is unchanged. "
        f"To inspect the input: odf rejected show prices --store {store.location}; to publish it anyway: "
        f"odf rejected publish prices {rejection.ref} --store {store.location}"
    )
    assert (dataset.head(), rejection.records, rejection.report) == (head, 2, None)
    assert isinstance(run(prices, runner=NoEngine()).error, StillRejected)

    # Of a kill between the candidate's ref and its rejection only the candidate is left: it is not published either.
    dataset.storage.compare_and_set_ref(rejection.ref, rejection.block_hash, None)
    dataset.storage.compare_and_set_ref("candidate-x", None, rejection.block_hash)
    candidate = Candidate("prices", head, rejection.block_hash, "candidate-x", 2)
    with pytest.raises(InputHeldBack):
        held_back.check(dataset, candidate, candidates.load_record(dataset, candidate.candidate))

    assert decisions.publish_anyway(store, dataset, decisions.chosen(dataset, "rejected-x"))
    assert (dataset.head(), rows(store, "sku"), dataset.storage.refs()) == (rejection.block_hash, [], ["head"])
    assert str(run(prices, runner=NoEngine())) == "up to date"


def test_a_damaged_report_may_be_that_of_an_input_held_back(
    write: Write, run: Run, store: Store, engine: LocalRunner
) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", TWO_ROWS)
    run(prices)
    write("in/2.csv", "sku,price\n")
    (one,) = load([prices]).manifests
    cycle = cycle_of(store, one, engine, Instant.parse("2024-01-02T00:00:00Z"))
    polled = poll(cycle)
    assert isinstance(polled, Input)
    shutil.copytree(store.scratch("prices"), Path(store.location) / "kept")
    with pytest.raises(InputHeldBack):
        merge(cycle, polled)
    dataset = store.dataset("prices")
    (rejection,) = candidates.rejections(dataset)
    # A kill between the candidate's ref and its rejection leaves the candidate and its input.
    dataset.storage.compare_and_set_ref(rejection.ref, rejection.block_hash, None)
    dataset.storage.compare_and_set_ref(f"candidate-{polled.key}", None, rejection.block_hash)
    shutil.copytree(Path(store.location) / "kept", store.scratch("prices"), dirs_exist_ok=True)
    report = Path(dataset.location) / "info" / "reports" / f"{rejection.block_hash}.json"
    report.write_bytes(report.read_bytes().replace(b"has no rows", b"has no cows"))
    with pytest.raises(InputHeldBack):
        merge(cycle, polled)
    assert [r.record.held for r in candidates.rejections(dataset)] == [rejection.record.held]


def test_an_edit_that_waits_for_data_has_a_rejected_input_judged_again(write: Write, run: Run, store: Store) -> None:
    read = "read: {kind: Csv, header: true}\n      preprocess: {kind: Sql, engine: spark, query: 'QUERY'}"
    prices = write("prices.yaml", with_read(read.replace("QUERY", "select * from input")))
    write("in/1.csv", TWO_ROWS)
    assert run(prices).error is None
    write("in/2.csv", "sku,price\n")
    held(run(prices))
    assert isinstance(run(prices, runner=NoEngine()).error, StillRejected)
    write("prices.yaml", with_read(read.replace("QUERY", "select sku, price from input")))
    held(run(prices, "2024-01-02T12:00:00Z"))
    assert [block.event.kind for _, block in store.dataset("prices").walk()][:2] == ["SetPollingSource", "AddData"]
    assert isinstance(run(prices, "2024-01-03T12:00:00Z", runner=NoEngine()).error, StillRejected)


FORMS = {
    "csv": ("{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}", TWO_ROWS, "sku,price\n"),
    "json": ("{kind: Json, schema: [sku STRING, price BIGINT]}", '[{"sku": "a", "price": 1}]', "[]"),
    "json without a schema": ("{kind: Json}", '[{"sku": "a", "price": 1}]', "[]"),
    "ndjson without a schema": ("{kind: NdJson}", '{"sku": "a", "price": 1}\n', "\n\n"),
    "csv without a byte": ("{kind: Csv, schema: [sku STRING, price BIGINT]}", "a,1\n", ""),
    "ndjson without a byte": ("{kind: NdJson, schema: [sku STRING, price BIGINT]}", '{"sku": "a", "price": 1}\n', ""),
    "ndjson without a byte or schema": ("{kind: NdJson}", '{"sku": "a", "price": 1}\n', ""),
    "preprocess": (
        "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}\n"
        "      preprocess: {kind: Sql, engine: spark, query: select * from input where price > 0}",
        TWO_ROWS,
        "sku,price\na,-1\n",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_input_without_rows_has_many_forms(form: str, write: Write, run: Run, store: Store) -> None:
    read, full, empty = FORMS[form]
    prices = write("prices.yaml", with_read(f"read: {read}"))
    write("in/1.csv", full)
    assert run(prices).error is None
    write("in/2.csv", "").write_text(empty)
    if not empty:  # A file of 0 bytes counts once another file follows it.
        assert run(prices, runner=NoEngine()).notices == (
            "skipped empty files: in/2.csv. A later poll reads them when they are no longer empty",
        )
        write("in/2b.csv", "").write_text("\n")
    assert "in/2.csv has no rows, which retracts all" in held(run(prices))
    write("odf.yaml", "datasets: {prices: {allow_empty_input: true}}\n")
    assert str(run(prices)).startswith("published ")
    assert rows(store, "sku") == []
    # A dataset without rows has nothing to lose.
    write("odf.yaml", "{}\n")
    write("in/3.csv", "").write_text(empty or "\n")
    assert str(run(prices)) == "up to date"


def test_an_empty_parquet_file_is_held_back(write: Write, run: Run, tmp_path: Path) -> None:
    prices = write("prices.yaml", with_read("read: {kind: Parquet}").replace("*.csv", "*.parquet"))
    table = pa.table({"sku": ["a"], "price": [1]})
    write("in/x", "")
    pq.write_table(table, tmp_path / "in/1.parquet")
    run(prices)
    pq.write_table(table.slice(0, 0), tmp_path / "in/2.parquet")
    assert "in/2.parquet has no rows" in held(run(prices))


def test_a_share_of_retracted_rows_is_held_back(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    settings = write("odf.yaml", "defaults: {max_retracted_share: 0.5}\n")
    write("in/1.csv", "sku,price\na,1\nb,2\nc,3\nd,4\n")
    write("in/2.csv", "sku,price\na,1\nb,3\n")
    assert run(prices).error is None
    # Each input counts against what the one before it left, and another file is asked first in its own right.
    write("in/3.csv", "sku,price\na,1\n")
    write("in/4.csv", "sku,price\nz,1\n")
    message = held(run(prices))
    assert "in/4.csv retracts 1 of 1 row, more than `max_retracted_share: 0.5` in odf.yaml allows" in message
    assert "in/3.csv" not in message
    assert isinstance(run(prices, runner=NoEngine()).error, StillRejected)
    settings.write_text("{}\n")
    assert run(prices).error is None
    assert rows(store, "sku", "price") == [("z", 1)]
