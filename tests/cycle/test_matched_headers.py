"""Headers of CSV files whose columns were matched by position."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import decisions, held_back
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.protocol import PositionalHeader

from .conftest import Run, Write
from .holding import held, rows
from .test_cycle import PRICES

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_header_by_position_stays_what_it_was(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", "id,value\na,1\n")
    outcome = run(prices)
    assert outcome.notices == (
        "in/1.csv: the names in the header differ from the schema, so columns are matched by position: "
        "'id' as sku, 'value' as price",
    )
    dataset = store.dataset("prices")
    settled = PositionalHeader("in/1.csv", ("id", "value"), ("sku", "price"))
    assert held_back.newest_header(dataset, "head", "default") == settled
    write("in/2.csv", "ID, value\na,2\n")  # case and spaces say nothing
    write("in/3.csv", "price,sku\n3,a\n")  # names of the schema need no position
    assert run(prices).error is None

    write("in/4.csv", "colour,weight\nred,70\n")
    message = held(run(prices))
    assert (
        "in/4.csv: the header changed from (id, value) to (colour, weight), "
        "but columns are matched by position to the schema (sku, price)"
    ) in message
    assert rows(store, "sku", "price") == [("a", 3)]
    bad = write("in/5.csv", "weight,colour\n70,red\n")
    message = str(run(prices).error)
    assert "'red'" in message
    assert message.endswith(
        "columns were matched by position, the header (id, value) to the schema (sku, price): "
        "if values are in the wrong columns, check whether the header changed"
    )
    bad.unlink()
    assert held_back.newest_header(dataset, "head", "default") == settled
    assert decisions.publish_anyway(store, dataset, decisions.chosen(dataset, None))
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
    assert held_back.newest_header(store.dataset("prices"), "head", "default") is None


def test_a_header_by_position_after_headers_by_name_is_held_back(write: Write, run: Run, store: Store) -> None:
    """The new columns were once published as the old ones, with a mere note."""
    by_zone = PRICES.replace("sku", "zone").replace("- zone STRING", "- id BIGINT\n          - zone STRING")
    prices = write("prices.yaml", by_zone)
    write("in/1.csv", "id,zone,price\n1,a,10\n")
    assert run(prices).notices == ()
    write("in/2.csv", "id,colour,weight\n1,red,70\n")
    changed = (
        "in/2.csv: the header changed from (id, zone, price) to (id, colour, weight), but columns are matched by "
        "position to the schema (id, zone, price): correct the read schema, or publish the input if"
    )
    assert changed in held(run(prices))
    dataset = store.dataset("prices")
    assert rows(store, "id", "zone", "price") == [(1, "a", 10)]
    assert held_back.newest_header(dataset, "head", "default") is None
    # What was published counts, and headers by name between do not.
    assert decisions.publish_anyway(store, dataset, decisions.chosen(dataset, None))
    write("in/3.csv", "price,zone,id\n71,red,1\n")
    write("in/4.csv", "id,colour,weight\n1,red,72\n")
    assert run(prices).error is None
    # An edited schema says that its author has looked at the columns; records read by it are compared with it.
    write("prices.yaml", by_zone.replace("- price BIGINT", "- price BIGINT\n          - size BIGINT"))
    write("in/5.csv", "id,zone,price,size\n1,red,72,5\n")
    assert run(prices).error is None
    write("in/6.csv", "id,colour,weight,length\n1,red,72,5\n")
    assert "the header changed from (id, zone, price, size) to (id, colour, weight, length)" in held(run(prices))


def test_a_damaged_header_file_is_no_new_beginning(store: Store, write: Write, run: Run) -> None:
    prices = write("prices.yaml", PRICES)
    write("in/1.csv", "id,value\na,1\n")
    run(prices)
    (path,) = (Path(store.dataset("prices").location) / "info/headers").iterdir()
    path.write_text(path.read_text().replace("value", "price"))
    write("in/2.csv", "colour,weight\nred,70\n")
    outcome = run(prices)
    assert isinstance(outcome.error, ChainCorrupted)
    assert f"{path} is damaged: it records the header by which columns were matched" in str(outcome)
