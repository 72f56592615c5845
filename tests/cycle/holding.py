"""Rows of the dataset `prices`, and outcomes that are held back, for tests."""

from __future__ import annotations

from typing import Any

from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.messages import Outcome
from airflow_provider_odf.errors import InputHeldBack

from .test_cycle import PRICES

TWO_ROWS = "sku,price\na,1\nb,2\n"


def rows(store: Store, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[c] for c in columns) for row in state_rows(store.dataset("prices"))]


def held(outcome: Outcome) -> str:
    assert isinstance(outcome.error, InputHeldBack), str(outcome)
    return str(outcome)


def with_read(read: str) -> str:
    start, end = PRICES.index("      read:"), PRICES.index("      merge:")
    return f"{PRICES[:start]}      {read}\n{PRICES[end:]}"
