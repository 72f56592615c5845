"""Rows that a contract rejects."""

from __future__ import annotations

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.cycle.tested import rejected_rows
from airflow_provider_odf.errors import ContractRejected

from .conftest import Run, Write
from .test_cycle import CONTRACT, PRICES

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_rejected_rows_are_shown_with_their_clauses(write: Write, run: Run, store: Store) -> None:
    prices = write("prices.yaml", PRICES)
    fields = "sku: {type: string, pattern: '^[a-c]$', pii: true}\n      price:"
    write("prices.datacontract.yaml", CONTRACT.replace("price:", fields))
    write("in/1.csv", "sku,price\na,-1\nb,-2\nc,3\nd,-4\n")
    assert isinstance(run(prices).error, ContractRejected)
    dataset = store.dataset("prices")
    found = rejected_rows(dataset, decisions.chosen(dataset, None), 2)
    assert found.total == 3
    assert [(row["offset"], row["sku"], row["price"], row["failed clauses"]) for row in found] == [
        (0, "***", -1, "price: >= 0"),
        (1, "***", -2, "price: >= 0"),
    ]
    last = list(rejected_rows(dataset, decisions.chosen(dataset, None), 9))[-1]
    assert (last["offset"], last["failed clauses"]) == (3, "sku matches ^[a-c]$; price: >= 0")
