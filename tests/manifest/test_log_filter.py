"""Conditions that a node can evaluate."""

from __future__ import annotations

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.log_filter import LogFilter, parse

A, B = "aa" * 20, "bb" * 20
TOPIC = "cc" * 32


def values(**columns: set[str]) -> dict[str, frozenset[bytes]]:
    return {name: frozenset(map(bytes.fromhex, texts)) for name, texts in columns.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"address = X'{A}'", LogFilter(values(address={A}))),
        (f"X'{A}' = address AND (topic1 = x'{TOPIC}')", LogFilter(values(address={A}, topic1={TOPIC}))),
        (f"(address = X'{A}' or (address = X'{B}'))", LogFilter(values(address={A, B}))),
        (f"address in (X'{A}', X'{B}') and address = X'{B}'", LogFilter(values(address={B}))),
        ("topic0 = eth_event_selector('E(bool a)')", LogFilter({"topic0": frozenset([b"E(bool a)"])})),
        ("block_number > 5", LogFilter(first_block=6)),
        ("5 <= block_number and block_number < 9", LogFilter(first_block=5, last_block=8)),
        ("block_number between 5 and 9 and block_number <= 7", LogFilter(first_block=5, last_block=7)),
        ("block_number <= 9223372036854775807", LogFilter(last_block=9223372036854775807)),
        ("block_number = 5", LogFilter(first_block=5, last_block=5)),
    ],
)
def test_conditions(text: str, expected: LogFilter) -> None:
    assert parse(text, str.encode) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("address =", "not a condition in SQL"),
        ("block_number > 1 or block_number < 9", "a node cannot evaluate block_number > 1"),
        (f"address = X'{A}' or topic0 = X'{TOPIC}'", "a node cannot evaluate address = x'aaaa"),
        (f"address <> X'{A}'", "a node cannot evaluate address <> "),
        (f"not address = X'{A}'", "a node cannot evaluate NOT address"),
        ("block_number > 'x'", "a node cannot evaluate block_number > 'x'"),
        ("log_index = 1", "a node cannot evaluate log_index = 1"),
        (f"address = '{A}'", "a node cannot evaluate address = 'aa"),
        ("address = X'aa'", "X'aa' is not 20 bytes long, as address is"),
        (f"topic0 = X'{A}'", "is not 32 bytes long, as topic0 is"),
        ("topic0 = eth_event_selector(data)", "a node cannot evaluate topic0 = "),
    ],
)
def test_what_a_node_cannot_evaluate(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(text, str.encode)
    assert str(refused.value).startswith("filter: ")
    assert problem in str(refused.value)
