"""Transforms of the reference's examples: the same queries over small data, with results worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dialect.derivatives import Table, rows
from tests.reference_manifests import transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_overdue_shipments(spark: SparkSession) -> None:
    orders = Table(
        "event_time TIMESTAMP, order_id BIGINT, quantity BIGINT",
        ["0, '2020-01-01 00:00:00', 1, 10", "0, '2020-01-01 12:00:00', 2, 120", "0, '2020-01-05', 3, 9"],
    )
    shipments = Table(
        "event_time TIMESTAMP, shipment_id BIGINT, order_id BIGINT, quantity BIGINT",
        [
            "0, '2020-01-01 00:00:00', 1, 1, 4",
            "0, '2020-01-02 00:00:00', 2, 1, 6",
            "0, '2020-01-02 00:00:00', 3, 2, 50",
            "0, '2020-01-03 12:00:00.001', 4, 2, 70",
        ],
    )
    overdue = transform("com.acme.shipments.overdue")
    tables = {"com.acme.orders": orders, "com.acme.shipments": shipments}
    second = "2020-01-01 00:00:00 2 1 2020-01-02 00:00:00 2020-01-02 00:00:00 120 50"
    third = "2020-01-05 00:00:00 3 1 - - 9 0"
    assert rows(spark, overdue, tables, "2020-01-03 23:00:00", "2020-01-04", "2020-01-08") == [
        [], [second], [second, third]
    ]  # fmt: skip


_TRANSACTIONS = Table(
    "event_time TIMESTAMP, symbol STRING, quantity BIGINT, price DOUBLE, settlement DOUBLE, currency STRING",
    [
        "0, '2016-01-04', 'SPY', 1, 200, -200, 'USD'",
        "0, '2016-01-06', 'SPY', 2, 201.5, -403, 'USD'",
        "0, '2016-01-05', 'GLD', 4, 100, -400, 'USD'",
    ],
)


def test_currency_conversion(spark: SparkSession) -> None:
    rates = Table(
        "date TIMESTAMP, currency_base STRING, currency_target STRING, rate DOUBLE",
        ["0, '2016-01-05', 'USD', 'CAD', 1.5", "0, '2016-01-06', 'USD', 'CAD', 2"],
        event_time="date",
    )
    converted = transform("my.trading.transactions.cad")
    tables = {"my.trading.transactions": _TRANSACTIONS, "ca.bankofcanada.exchange-rates.daily": rates}
    assert rows(spark, converted, tables, "2016-01-06") == [
        [
            "2016-01-04 00:00:00 SPY 1 200.0 - -200.0 -",
            "2016-01-05 00:00:00 GLD 4 100.0 150.0 -400.0 -600.0",
            "2016-01-06 00:00:00 SPY 2 201.5 403.0 -403.0 -806.0",
        ]
    ]


def test_holdings_and_their_market_value(spark: SparkSession) -> None:
    holdings = transform("my.trading.holdings")
    assert rows(spark, holdings, {"my.trading.transactions": _TRANSACTIONS}, None) == [
        [
            "2016-01-04 00:00:00 SPY 1 200.0 -200.0 1 -200.0",
            "2016-01-05 00:00:00 GLD 4 100.0 -400.0 4 -400.0",
            "2016-01-06 00:00:00 SPY 2 201.5 -403.0 3 -603.0",
        ]
    ]
    tickers = Table(
        "event_time TIMESTAMP, symbol STRING, close_adj DOUBLE",
        [f"0, '2016-01-0{day}', '{symbol}', {day}" for day in (3, 4, 5, 6, 7) for symbol in ("SPY", "GLD")],
    )
    records = Table(
        "event_time TIMESTAMP, symbol STRING, quantity BIGINT, cum_quantity BIGINT",
        [
            "0, '2016-01-04', 'SPY', 1, 1",
            "0, '2016-01-06', 'SPY', 2, 3",
            # A late transaction of the fifth day corrects the sixth.
            "0, '2016-01-05', 'SPY', 5, 6",
            "2, '2016-01-06', 'SPY', 2, 3",
            "3, '2016-01-06', 'SPY', 2, 8",
        ],
    )
    value = transform("my.trading.holdings.market-value")
    tables = {"com.yahoo.finance.tickers.daily": tickers, "my.trading.holdings": records}
    assert rows(spark, value, tables, "2016-01-07") == [
        [
            "2016-01-04 00:00:00 SPY 1 1 4.0",
            "2016-01-05 00:00:00 SPY 6 5 30.0",
            "2016-01-06 00:00:00 SPY 8 2 48.0",
            "2016-01-07 00:00:00 SPY 8 2 56.0",
        ]
    ]


def test_daily_cases(spark: SparkSession) -> None:
    cases = Table(
        "province STRING, id BIGINT, reported_date TIMESTAMP",
        [f"0, {row}" for row in ("'BC', 1, '2020-03-01'", "'BC', 2, '2020-03-01'", "'ON', 1, '2020-03-01'")]
        + ["0, 'BC', 3, '2020-03-02'"],
        event_time="reported_date",
    )
    daily = transform("covid19.canada.daily-cases")
    first = ["2020-03-01 23:59:59 BC 2", "2020-03-01 23:59:59 ON 1"]
    tables = {"covid19.canada.case-details": cases}
    assert rows(spark, daily, tables, "2020-03-01 23:59:59", "2020-03-02", "2020-03-03") == [
        [], first, [*first, "2020-03-02 23:59:59 BC 1"]
    ]  # fmt: skip


def test_leaderboard(spark: SparkSession) -> None:
    scores = Table(
        "match_time TIMESTAMP, match_id BIGINT, player_id STRING, score BIGINT",
        ["0, '2000-01-02', 2, 'Bob', 70", "0, '2000-01-01', 1, 'Alice', 100", "0, '2000-01-01', 1, 'Bob', 70"],
        event_time="match_time",
    )
    leaderboard = transform("leaderboard")
    assert rows(spark, leaderboard, {"player_scores": scores}, None) == [
        ["1 2000-01-01 00:00:00 1 Alice 100", "2 2000-01-01 00:00:00 1 Bob 70"]
    ]


_ACCOUNT = "0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f"


def test_portfolio_of_tokens(spark: SparkSession) -> None:
    transfers = Table(
        "block_time TIMESTAMP, block_number BIGINT, transaction_hash STRING, from STRING, to STRING, value STRING, "
        "token_symbol STRING, token_decimal STRING",
        [
            f"0, '2021-01-01', 1, '0xa', '0x1', '{_ACCOUNT}', '1500000000000000000', 'rETH', '18'",
            f"0, '2021-01-03', 3, '0xb', '{_ACCOUNT}', '0x1', '250', 'rETH', '2'",
            f"0, '2021-01-02', 2, '0xc', '0x1', '{_ACCOUNT}', '5', 'DAI', '0'",
        ],
        event_time="block_time",
    )
    transactions = Table(
        "block_time TIMESTAMP, symbol STRING, transaction_hash STRING, from STRING, to STRING, value STRING",
        [
            f"0, '2021-01-01', 'eth', '0xa', '{_ACCOUNT}', '0x1', '2000000000000000000'",
            f"0, '2021-01-03', 'eth', '0xb', '0x1', '{_ACCOUNT}', '3000000000000000000'",
        ],
        event_time="block_time",
    )
    portfolio = transform("account.tokens.portfolio")
    tables = {"account.tokens.transfers": transfers, "account.transactions": transactions}
    assert rows(spark, portfolio, tables, "2021-01-02", "2021-01-03") == [
        ["2021-01-01 00:00:00 1 0xa eth rETH 1.5 -2.0 1.5 2.0", "2021-01-02 00:00:00 2 0xc - DAI 5.0 - 5.0 -"],
        [
            "2021-01-01 00:00:00 1 0xa eth rETH 1.5 -2.0 1.5 2.0",
            "2021-01-02 00:00:00 2 0xc - DAI 5.0 - 5.0 -",
            "2021-01-03 00:00:00 3 0xb eth rETH -2.5 3.0 -1.0 -1.0",
        ],
    ]


def test_portfolio_in_dollars(spark: SparkSession) -> None:
    portfolio = Table(
        "block_time TIMESTAMP, block_number BIGINT, transaction_hash STRING, account_symbol STRING, "
        "token_symbol STRING, token_amount FLOAT, eth_amount FLOAT, token_balance FLOAT, token_book_value_eth FLOAT",
        [
            "0, '2021-01-01', 1, '0xa', 'eth', 'rETH', 1.5, -2, 1.5, 2",
            "0, '2021-01-03', 3, '0xb', 'eth', 'rETH', -2.5, 3, -1, -1",
        ],
        event_time="block_time",
    )
    prices = Table(
        "event_time TIMESTAMP, from_symbol STRING, to_symbol STRING, close DOUBLE",
        ["0, '2020-12-31', 'eth', 'usd', 100", "0, '2021-01-02', 'eth', 'usd', 200.5"],
    )
    in_dollars = transform("account.tokens.portfolio.usd")
    tables = {"account.tokens.portfolio": portfolio, "com.cryptocompare.ohlcv.eth-usd": prices}
    assert rows(spark, in_dollars, tables, "2021-01-03") == [
        [
            "2021-01-01 00:00:00 1 0xa eth rETH 1.5 -2.0 1.5 2.0 usd -200.0 200.0",
            "2021-01-03 00:00:00 3 0xb eth rETH -2.5 3.0 -1.0 -1.0 usd 601.5 -401.5",
        ]
    ]
