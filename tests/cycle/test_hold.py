"""Inputs that look wrong are held back, and somebody decides: empty ones, large retractions, changed headers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.tail import state_rows
from airflow_provider_odf.cycle import decide, headers, hold, rejected
from airflow_provider_odf.cycle.intake import Push
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Candidate, Input, Outcome
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.rejected_rows import rejected_rows
from airflow_provider_odf.cycle.run import run_push
from airflow_provider_odf.errors import ChainCorrupted, ContractRejected, InputHeldBack, InvalidInput, StillRejected
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.protocol import PositionalHeader
from airflow_provider_odf.runner.local import LocalRunner

from .conftest import NoEngine, Run, Write, cycle_of
from .test_cycle import CONTRACT, PRICES

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TWO_ROWS = "sku,price\na,1\nb,2\n"


def rows(store: Store, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in state_rows(store.dataset("prices"))]


def held(outcome: Outcome) -> str:
    assert isinstance(outcome.error, InputHeldBack), str(outcome)
    return str(outcome)


def with_read(read: str) -> str:
    start, end = PRICES.index("      read:"), PRICES.index("      merge:")
    return f"{PRICES[:start]}      {read}\n{PRICES[end:]}"


def test_an_empty_snapshot_is_held_back_until_somebody_decides(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", TWO_ROWS)
    run(prices)
    head = store.dataset("prices").head()
    write("in/2.csv", "sku,price\n")
    dataset = store.dataset("prices")
    message = held(run(prices))
    (rejection,) = rejected.rejections(dataset)
    assert message == (
        "input of prices held back: in/2.csv has no rows, which retracts all 2 rows "
        "(`allow_empty_input: true` in odf.yaml allows that); the dataset stays as it is, "
        f"see: odf rejected show prices --store {store.location}; to publish the input anyway: "
        f"odf rejected publish prices {rejection.ref} --store {store.location}"
    )
    assert (dataset.head(), rejection.records, rejection.report) == (head, 2, None)
    assert isinstance(run(prices, runner=NoEngine()).error, StillRejected)

    # Of a kill between the candidate's ref and its rejection only the candidate is left: it is not published either.
    dataset.storage.compare_and_set_ref(rejection.ref, rejection.block_hash, None)
    dataset.storage.compare_and_set_ref("candidate-x", None, rejection.block_hash)
    candidate = Candidate("prices", head, rejection.block_hash, "candidate-x", 2)
    with pytest.raises(InputHeldBack):
        hold.check(dataset, candidate)

    assert decide.publish_anyway(store, dataset, decide.find(dataset, "rejected-x"))
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
    shutil.copytree(store.work("prices"), Path(store.location) / "kept")
    with pytest.raises(InputHeldBack):
        merge(cycle, polled)
    dataset = store.dataset("prices")
    (rejection,) = rejected.rejections(dataset)
    # A kill between the candidate's ref and its rejection leaves the candidate and its input.
    dataset.storage.compare_and_set_ref(rejection.ref, rejection.block_hash, None)
    dataset.storage.compare_and_set_ref(f"candidate-{polled.key}", None, rejection.block_hash)
    shutil.copytree(Path(store.location) / "kept", store.work("prices"), dirs_exist_ok=True)
    report = Path(dataset.location) / "info" / "reports" / f"{rejection.block_hash}.json"
    report.write_bytes(report.read_bytes().replace(b"has no rows", b"has no cows"))
    with pytest.raises(InputHeldBack):
        merge(cycle, polled)
    assert [r.record.held for r in rejected.rejections(dataset)] == [rejection.record.held]


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
    assert "in/2.csv has no rows, which retracts all" in held(run(prices))
    write("odf.yaml", "datasets: {prices: {allow_empty_input: true}}\n")
    assert str(run(prices)).startswith("published ")
    assert rows(store, "sku") == []
    # A dataset without rows has nothing to lose.
    write("odf.yaml", "{}\n")
    write("in/3.csv", "").write_text(empty)
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


def test_a_header_by_position_stays_what_it_was(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", "id,value\na,1\n")
    outcome = run(prices)
    assert outcome.notices == (
        "in/1.csv: the names in the header differ from the schema, columns are matched by position: "
        "'id' as sku, 'value' as price",
    )
    dataset = store.dataset("prices")
    settled = PositionalHeader("in/1.csv", ("id", "value"), ("sku", "price"))
    assert headers.newest(dataset, "head", "default") == settled
    write("in/2.csv", "ID, value\na,2\n")  # case and spaces say nothing
    write("in/3.csv", "price,sku\n3,a\n")  # names of the schema need no position
    assert run(prices).error is None

    write("in/4.csv", "colour,weight\nred,70\n")
    message = held(run(prices))
    assert (
        "in/4.csv: the header changed, and columns are matched by position: before it was (id, value), "
        "now it is (colour, weight), the schema has (sku, price)"
    ) in message
    assert rows(store, "sku", "price") == [("a", 3)]
    bad = write("in/5.csv", "weight,colour\n70,red\n")
    message = str(run(prices).error)
    assert "'red'" in message
    assert message.endswith(
        "columns of this source were settled by position, by the header (id, value) for (sku, price): "
        "if values are in wrong columns, check whether the header changed"
    )
    bad.unlink()
    assert headers.newest(dataset, "head", "default") == settled
    assert decide.publish_anyway(store, dataset, decide.find(dataset, None))
    assert rows(store, "sku", "price") == [("red", 70)]
    write("in/5.csv", "colour,weight\nred,71\n")
    assert run(prices).error is None
    write("in/6.csv", "id,value\na,1\n")
    write("in/7.csv", "colour,weight\nred,72\n")
    assert "in/6.csv: the header changed" in held(run(prices))
    # An edited schema says that its author has looked at the columns.
    write("prices.yaml", PRICES.replace("- price BIGINT", "- price BIGINT\n          - size BIGINT"))
    for name in ("6", "7"):
        write(f"in/{name}.csv", "id,value,x\na,1,5\n")
    assert run(prices).error is None
    assert rows(store, "sku", "price", "size") == [("a", 1, 5)]


@pytest.mark.parametrize("first", ["id,value\na,1\n", "price,sku\n1,a\n"])
def test_two_headers_in_the_first_run_settle_nothing(first: str, write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", first)
    write("in/2.csv", "colour,weight\nred,1\n")
    assert "in/2.csv: the header changed" in held(run(prices))
    assert headers.newest(store.dataset("prices"), "head", "default") is None


def test_a_header_by_position_after_headers_by_name_is_held_back(write: Write, run: Run, store: Store) -> None:
    """The new columns were once published as the old ones, with a mere note."""
    by_zone = PRICES.replace("sku", "zone").replace("- zone STRING", "- id BIGINT\n          - zone STRING")
    prices = write("prices.yaml", by_zone)
    write("in/1.csv", "id,zone,price\n1,a,10\n")
    assert run(prices).notices == ()
    write("in/2.csv", "id,colour,weight\n1,red,70\n")
    changed = (
        "in/2.csv: the header changed, and columns are matched by position: before it was (id, zone, price), "
        "now it is (id, colour, weight), the schema has (id, zone, price); correct the read schema, or publish if"
    )
    assert changed in held(run(prices))
    dataset = store.dataset("prices")
    assert rows(store, "id", "zone", "price") == [(1, "a", 10)]
    assert headers.newest(dataset, "head", "default") is None
    # What was published counts, and headers by name between do not.
    assert decide.publish_anyway(store, dataset, decide.find(dataset, None))
    write("in/3.csv", "price,zone,id\n71,red,1\n")
    write("in/4.csv", "id,colour,weight\n1,red,72\n")
    assert run(prices).error is None
    # An edited schema says that its author has looked at the columns; records read by it are compared with it.
    write("prices.yaml", by_zone.replace("- price BIGINT", "- price BIGINT\n          - size BIGINT"))
    write("in/5.csv", "id,zone,price,size\n1,red,72,5\n")
    assert run(prices).error is None
    write("in/6.csv", "id,colour,weight,length\n1,red,72,5\n")
    assert "before it was (id, zone, price, size), now it is (id, colour, weight, length)" in held(run(prices))


PUSHED = """
kind: DatasetSnapshot
version: 1
content:
  name: prices
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: default
      read: {kind: Csv, header: true, schema: [sku STRING, price BIGINT]}
      merge: {kind: Snapshot, primaryKey: [sku]}
"""


def test_what_is_accepted_after_the_head_moved_passes_once(
    write: Write, run: Run, store: Store, engine: LocalRunner
) -> None:
    run(write("prices.yaml", PUSHED))
    cycle = cycle_of(store, "prices", engine)

    def push(name: str, content: str) -> Outcome:
        return run_push(cycle, Push((str(write(name, content)),)))

    assert push("1.csv", "id,value\na,1\n").error is None
    held(push("2.csv", "id,value\n"))
    held(push("3.csv", "colour,weight\nb,1\n"))
    assert push("4.csv", "id,value\na,2\n").error is None
    # A pushed file that was held back says nothing about a polling source, and each push is judged by itself.
    dataset = store.dataset("prices")
    empty, other = sorted(rejected.rejections(dataset), key=lambda r: "header" in r.record.held[0])
    assert [r.base == dataset.head() for r in (empty, other)] == [False, False]
    assert not decide.publish_anyway(store, dataset, empty)
    outcome = push("5.csv", "id,value\n")  # the same content under another name
    assert str(outcome) == "published 1 record (offsets 3..3): 1 removed"
    assert outcome.notices[-1].startswith("accepted once: ")
    assert push("6.csv", "id,value\na,1\n").error is None
    held(push("7.csv", "id,value\n"))
    assert [ref for ref in dataset.storage.refs() if ref.startswith("accepted-")] == []
    assert not decide.publish_anyway(store, dataset, other)
    assert push("8.csv", "colour,weight\nb,1\n").error is None
    assert headers.newest(dataset, "head", "default").names == ("colour", "weight")


def test_a_discarded_file_does_not_come_again(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    write("prices.datacontract.yaml", CONTRACT)
    write("in/1.csv", TWO_ROWS)
    run(prices)
    write("in/2.csv", "sku,price\na,-1\nb,-2\n")
    assert isinstance(run(prices).error, ContractRejected)
    dataset = store.dataset("prices")
    decide.discard(dataset, decide.find(dataset, None))
    (rejection,) = rejected.rejections(dataset)
    outcome = run(prices, runner=NoEngine())
    assert (outcome.error, str(outcome)) == (None, f"up to date: the newest input was discarded ({rejection.ref})")
    write("in/3.csv", "sku,price\na,1\nb,5\n")
    assert str(run(prices)) == "published 2 records (offsets 2..3): 1 corrected"
    assert rows(store, "sku", "price") == [("a", 1), ("b", 5)]
    with pytest.raises(InvalidInput, match="has no rejected candidate rejected-y; there are: rejected-"):
        decide.find(dataset, "rejected-y")


def test_rejected_rows_are_shown_with_their_clauses(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    fields = "sku: {type: string, pattern: '^[a-c]$', pii: true}\n      price:"
    write("prices.datacontract.yaml", CONTRACT.replace("price:", fields))
    write("in/1.csv", "sku,price\na,-1\nb,-2\nc,3\nd,-4\n")
    assert isinstance(run(prices).error, ContractRejected)
    dataset = store.dataset("prices")
    found = rejected_rows(dataset, decide.find(dataset, None), 2)
    assert found.total == 3
    assert [(row["offset"], row["sku"], row["price"], row["failed clauses"]) for row in found] == [
        (0, "***", -1, "price: >= 0"),
        (1, "***", -2, "price: >= 0"),
    ]
    last = list(rejected_rows(dataset, decide.find(dataset, None), 9))[-1]
    assert (last["offset"], last["failed clauses"]) == (3, "sku matches ^[a-c]$; price: >= 0")


def test_a_damaged_header_file_is_no_new_beginning(store: Store, write: Write, run: Run) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", "id,value\na,1\n")
    run(prices)
    (path,) = (Path(store.dataset("prices").location) / "info/headers").iterdir()
    path.write_text(path.read_text().replace("value", "price"))
    write("in/2.csv", "colour,weight\nred,70\n")
    outcome = run(prices)
    assert isinstance(outcome.error, ChainCorrupted)
    assert f"{path}: the header that settled the columns is damaged" in str(outcome)
