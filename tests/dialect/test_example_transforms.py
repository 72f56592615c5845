"""Transforms of the reference's examples: the same queries over small data, with results worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dialect.derivatives import Table, rows, transform

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
    overdue = transform(
        "flink",
        """
        SELECT
          o.event_time as order_time,
          o.order_id,
          o.quantity as order_quantity,
          CAST(s.event_time as TIMESTAMP(3)) as shipped_time,
          COALESCE(s.quantity, 0) as shipped_quantity
        FROM `com.acme.orders` as o
        LEFT JOIN `com.acme.shipments` as s
        ON
          o.order_id = s.order_id
          AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '2' DAY
        """,
        """
        SELECT
          TUMBLE_START(order_time, INTERVAL '1' DAY) as order_time,
          order_id,
          count(*) as num_shipments,
          min(shipped_time) as first_shipment,
          max(shipped_time) as last_shipment,
          max(order_quantity) as order_quantity,
          sum(shipped_quantity) as shipped_quantity_total
        FROM order_shipments
        GROUP BY TUMBLE(order_time, INTERVAL '1' DAY), order_id
        """,
        "SELECT * FROM order_shipments_agg WHERE order_quantity <> shipped_quantity_total",
        aliases=("order_shipments", "order_shipments_agg"),
    )
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
    converted = transform(
        "flink",
        """
        SELECT
          tr.`event_time`,
          tr.`symbol`,
          tr.`price` as `price_usd`,
          tr.`price` * exc.`rate` as `price_cad`,
          tr.`settlement` * exc.`rate` as `settlement_cad`
        FROM `my.trading.transactions` as tr
        LEFT JOIN `ca.bankofcanada.exchange-rates.daily` FOR SYSTEM_TIME AS OF tr.`event_time` as exc
        ON tr.`currency` = exc.`currency_base` AND exc.`currency_target` = 'CAD'
        """,
        temporal={"ca.bankofcanada.exchange-rates.daily": ("currency_base",)},
    )
    tables = {"my.trading.transactions": _TRANSACTIONS, "ca.bankofcanada.exchange-rates.daily": rates}
    assert rows(spark, converted, tables, "2016-01-06") == [
        [
            "2016-01-04 00:00:00 SPY 200.0 - -",
            "2016-01-05 00:00:00 GLD 100.0 150.0 -600.0",
            "2016-01-06 00:00:00 SPY 201.5 403.0 -806.0",
        ]
    ]


def test_holdings_and_their_market_value(spark: SparkSession) -> None:
    holdings = transform(
        "flink",
        """
        SELECT
          event_time,
          symbol,
          quantity,
          sum(quantity) over(partition by symbol order by event_time rows unbounded preceding) as cum_quantity,
          sum(settlement) over(partition by symbol order by event_time rows unbounded preceding) as cum_balance
        FROM `my.trading.transactions`
        """,
    )
    assert rows(spark, holdings, {"my.trading.transactions": _TRANSACTIONS}, None) == [
        [
            "2016-01-04 00:00:00 SPY 1 1 -200.0",
            "2016-01-05 00:00:00 GLD 4 4 -400.0",
            "2016-01-06 00:00:00 SPY 2 3 -603.0",
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
    value = transform(
        "flink",
        """
        SELECT
          tickers.`event_time`,
          holdings.`symbol`,
          holdings.`cum_quantity`,
          holdings.`quantity` as `quantity`,
          tickers.`close_adj` * holdings.`cum_quantity` as `market_value`
        FROM `com.yahoo.finance.tickers.daily` as tickers
        JOIN `my.trading.holdings` FOR SYSTEM_TIME AS OF tickers.`event_time` AS holdings
        ON tickers.`symbol` = holdings.`symbol`
        """,
        temporal={"my.trading.holdings": ("symbol",)},
    )
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
    daily = transform(
        "risingwave",
        """
        select
          window_end - interval '1' second as reported_date,
          province,
          count(1) as total_daily
        from tumble(
          "covid19.canada.case-details",
          reported_date,
          interval '1' day
        )
        group by 1, 2
        emit on window close
        """,
    )
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
    leaderboard = transform(
        "risingwave",
        """
        create materialized view leaderboard as
        select
          *
        from (
          select
            row_number() over (partition by 1 order by score desc) as place,
            match_time,
            match_id,
            player_id,
            score
          from player_scores
        )
        where place <= 2
        """,
        "select * from leaderboard",
        aliases=("leaderboard",),
    )
    assert rows(spark, leaderboard, {"player_scores": scores}, None) == [
        ["1 2000-01-01 00:00:00 1 Alice 100", "2 2000-01-01 00:00:00 1 Bob 70"]
    ]


_ACCOUNT = "0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f"
_OF_ACCOUNT = f"""
    select *, case
      when `to` = '{_ACCOUNT}' then value_fp
      when `from` = '{_ACCOUNT}' then -value_fp
      else 0
    end as {{}}
    from (select *, cast(`value` as float) / power(10.0, {{}}) as value_fp from `{{}}`)
"""


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
    portfolio = transform(
        "flink",
        _OF_ACCOUNT.format("token_amount", "cast(token_decimal as int)", "account.tokens.transfers"),
        _OF_ACCOUNT.format("eth_amount", "18", "account.transactions"),
        """
        select
          tr.block_time,
          tr.block_number,
          tx.symbol as account_symbol,
          tr.token_symbol,
          tr.token_amount,
          tx.eth_amount
        from token_transfers as tr
        left join transactions as tx
        on
          tr.transaction_hash = tx.transaction_hash
          and tr.block_time = tx.block_time
        """,
        """
        select
          *,
          sum(token_amount) over (partition by token_symbol order by block_time) as token_balance,
          sum(-eth_amount) over (partition by token_symbol order by block_time) as token_book_value_eth
        from token_transactions
        """,
        aliases=("token_transfers", "transactions", "token_transactions"),
    )
    tables = {"account.tokens.transfers": transfers, "account.transactions": transactions}
    assert rows(spark, portfolio, tables, "2021-01-02", "2021-01-03") == [
        ["2021-01-01 00:00:00 1 eth rETH 1.5 -2.0 1.5 2.0", "2021-01-02 00:00:00 2 - DAI 5.0 - 5.0 -"],
        [
            "2021-01-01 00:00:00 1 eth rETH 1.5 -2.0 1.5 2.0",
            "2021-01-02 00:00:00 2 - DAI 5.0 - 5.0 -",
            "2021-01-03 00:00:00 3 eth rETH -2.5 3.0 -1.0 -1.0",
        ],
    ]


def test_portfolio_in_dollars(spark: SparkSession) -> None:
    portfolio = Table(
        "block_time TIMESTAMP, account_symbol STRING, token_symbol STRING, eth_amount FLOAT",
        ["0, '2021-01-01', 'eth', 'rETH', -2", "0, '2021-01-03', 'eth', 'rETH', 3"],
        event_time="block_time",
    )
    prices = Table(
        "event_time TIMESTAMP, from_symbol STRING, to_symbol STRING, close DOUBLE",
        ["0, '2020-12-31', 'eth', 'usd', 100", "0, '2021-01-02', 'eth', 'usd', 200.5"],
    )
    in_dollars = transform(
        "flink",
        """
        select
          tr.block_time,
          tr.token_symbol,
          'usd' as account_anchor_symbol,
          (
            tr.eth_amount * eth2usd.`close`
          ) as eth_amount_as_usd
        from `account.tokens.portfolio` as tr
        join `com.cryptocompare.ohlcv.eth-usd` for system_time as of tr.block_time as eth2usd
        on tr.account_symbol = eth2usd.from_symbol and eth2usd.to_symbol = 'usd'
        """,
        """
        select
          *,
          sum(-eth_amount_as_usd) over (partition by token_symbol order by block_time) as token_book_value_eth_as_usd
        from with_usd_amount
        """,
        aliases=("with_usd_amount",),
        temporal={"com.cryptocompare.ohlcv.eth-usd": ("from_symbol",)},
    )
    tables = {"account.tokens.portfolio": portfolio, "com.cryptocompare.ohlcv.eth-usd": prices}
    assert rows(spark, in_dollars, tables, "2021-01-03") == [
        ["2021-01-01 00:00:00 rETH usd -200.0 200.0", "2021-01-03 00:00:00 rETH usd 601.5 -401.5"]
    ]
