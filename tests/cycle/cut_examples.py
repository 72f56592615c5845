"""Examples in the SQL of Flink and RisingWave, as their authors wrote them for these engines."""

from .cuts import Example, Root

OVERDUE = """\
kind: DatasetSnapshot
version: 1
content:
  name: com.acme.shipments.overdue
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: com.acme.orders
        - datasetRef: com.acme.shipments
      transform:
        kind: Sql
        engine: flink
        queries:
          - alias: order_shipments
            query: |
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
          - alias: order_shipments_agg
            query: |
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
          - query: |
              SELECT *
              FROM order_shipments_agg
              WHERE order_quantity <> shipped_quantity_total
    - kind: SetVocab
      eventTimeColumn: order_time
"""

OVERDUE_SHIPMENTS = Example(
    roots={
        "com.acme.orders": Root(
            ("event_time TIMESTAMP", "op INT", "order_id BIGINT", "quantity BIGINT"),
            "{kind: UpsertStream, primaryKey: [order_id]}",
        ),
        "com.acme.shipments": Root(
            ("event_time TIMESTAMP", "shipment_id BIGINT", "order_id BIGINT", "quantity BIGINT"),
            "{kind: Ledger, primaryKey: [shipment_id]}",
        ),
    },
    derivatives={"com.acme.shipments.overdue": OVERDUE},
    pieces=[
        {
            "com.acme.orders": [
                ("2020-01-01", 0, 1, 10),
                ("2020-01-01", 0, 2, 120),
                ("2020-01-05", 0, 3, 9),
                ("2020-01-06", 0, 9, 2),
                ("2020-01-07", 0, 10, 5),
                ("2020-01-10", 0, 4, 110),
            ],
            "com.acme.shipments": [
                ("2020-01-01", 1, 1, 4),
                ("2020-01-02", 2, 1, 6),
                ("2020-01-02", 3, 2, 120),
                ("2020-01-08", 4, 3, 9),
                ("2020-01-11", 5, 4, 50),
                ("2020-01-13", 6, 4, 6),
            ],
        },
        {  # late shipments of late orders; a corrected quantity; an order that is gone
            "com.acme.orders": [
                ("2020-01-03", 0, 5, 7),
                ("2020-01-14", 0, 6, 3),
                ("2020-01-06", 0, 9, 4),
                ("2020-01-07", 1, 10, 5),
            ],
            "com.acme.shipments": [("2020-01-06", 7, 3, 5), ("2020-01-04", 8, 5, 7), ("2020-01-16", 9, 6, 1)],
        },
        {  # the watermark closes the window of order 6, and not that of order 8
            "com.acme.orders": [("2020-01-20", 0, 7, 1), ("2020-01-30", 0, 8, 1)],
            "com.acme.shipments": [("2020-01-12", 10, 4, 60), ("2020-01-21", 11, 7, 1), ("2020-01-30", 12, 9, 1)],
        },
    ],
    states={
        "com.acme.shipments.overdue": [
            ("2020-01-05", 3, 1, "2020-01-06", "2020-01-06", 9, 5),
            ("2020-01-06", 9, 1, None, None, 4, 0),
            ("2020-01-14", 6, 1, "2020-01-16", "2020-01-16", 3, 1),
        ]
    },
)

CAD = """\
kind: DatasetSnapshot
version: 1
content:
  name: my.trading.transactions.cad
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: ca.bankofcanada.exchange-rates.daily
        - datasetRef: my.trading.transactions
      transform:
        kind: Sql
        engine: flink
        temporalTables:
          - name: ca.bankofcanada.exchange-rates.daily
            primaryKey:
              - currency_base
        query: |
          SELECT
            tr.`event_time`,
            tr.`symbol`,
            tr.`quantity`,
            tr.`price` as `price_usd`,
            tr.`price` * exc.`rate` as `price_cad`,
            tr.`settlement` as `settlement_usd`,
            tr.`settlement` * exc.`rate` as `settlement_cad`
          FROM `my.trading.transactions` as tr
          LEFT JOIN `ca.bankofcanada.exchange-rates.daily` FOR SYSTEM_TIME AS OF tr.`event_time` as exc
          ON tr.`currency` = exc.`currency_base` AND exc.`currency_target` = 'CAD'
"""

CURRENCY_CONVERSION = Example(
    roots={
        "ca.bankofcanada.exchange-rates.daily": Root(
            ("event_time TIMESTAMP", "currency_base STRING", "currency_target STRING", "rate DOUBLE"),
            "{kind: Ledger, primaryKey: [event_time]}",
        ),
        "my.trading.transactions": Root(
            (
                "event_time TIMESTAMP",
                "symbol STRING",
                "quantity BIGINT",
                "price DOUBLE",
                "settlement DOUBLE",
                "currency STRING",
            ),
            "{kind: Ledger, primaryKey: [event_time]}",
        ),
    },
    derivatives={"my.trading.transactions.cad": CAD},
    pieces=[
        {
            "my.trading.transactions": [
                ("2017-01-03", "SPY", 1, 225.0, -225.0, "USD"),
                ("2017-01-01", "SPY", 1, 200.0, -200.0, "USD"),
                ("2017-01-05", "SPY", 2, 10.0, -20.0, "CAD"),
                ("2017-01-06", "SPY", 1, 100.0, -100.0, "USD"),
            ],
            "ca.bankofcanada.exchange-rates.daily": [
                ("2017-01-02", "USD", "CAD", 1.25),
                ("2017-01-04", "USD", "CAD", 1.5),
                ("2017-01-09", "USD", "CAD", 1.75),
            ],
        },
        {  # late transactions and rates
            "my.trading.transactions": [
                ("2017-01-08", "SPY", 1, 100.0, -100.0, "USD"),
                ("2017-01-02", "SPY", 3, 100.0, -300.0, "USD"),
            ],
            "ca.bankofcanada.exchange-rates.daily": [
                ("2017-01-05", "USD", "CAD", 2.0),
                ("2016-12-31", "USD", "CAD", 0.5),
            ],
        },
        {  # the rates do not reach the transaction yet
            "my.trading.transactions": [("2017-01-12", "SPY", 1, 50.0, -50.0, "USD")],
            "ca.bankofcanada.exchange-rates.daily": [("2017-01-11", "USD", "CAD", 1.0)],
        },
    ],
    states={
        "my.trading.transactions.cad": [
            ("2017-01-01", "SPY", 1, 200.0, 100.0, -200.0, -100.0),
            ("2017-01-02", "SPY", 3, 100.0, 125.0, -300.0, -375.0),
            ("2017-01-03", "SPY", 1, 225.0, 281.25, -225.0, -281.25),
            ("2017-01-05", "SPY", 2, 10.0, None, -20.0, None),
            ("2017-01-06", "SPY", 1, 100.0, 200.0, -100.0, -200.0),
            ("2017-01-08", "SPY", 1, 100.0, 200.0, -100.0, -200.0),
        ]
    },
)

HOLDINGS = """\
kind: DatasetSnapshot
version: 1
content:
  name: my.trading.holdings
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: my.trading.transactions
      transform:
        kind: Sql
        engine: flink
        query: |
          SELECT
            event_time,
            symbol,
            quantity,
            price,
            settlement,
            sum(quantity) over(partition by symbol order by event_time rows unbounded preceding) as cum_quantity,
            sum(settlement) over(partition by symbol order by event_time rows unbounded preceding) as cum_balance
          FROM `my.trading.transactions`
"""

MARKET_VALUE = """\
kind: DatasetSnapshot
version: 1
content:
  name: my.trading.holdings.market-value
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: com.yahoo.finance.tickers.daily
        - datasetRef: my.trading.holdings
      transform:
        kind: Sql
        engine: flink
        temporalTables:
          - name: my.trading.holdings
            primaryKey:
              - symbol
        query: |
          SELECT
            tickers.`event_time`,
            holdings.`symbol`,
            holdings.`cum_quantity`,
            holdings.`quantity` as `quantity`,
            tickers.`close_adj` * holdings.`cum_quantity` as `market_value`
          FROM `com.yahoo.finance.tickers.daily` as tickers
          JOIN `my.trading.holdings` FOR SYSTEM_TIME AS OF tickers.`event_time` AS holdings
          ON tickers.`symbol` = holdings.`symbol`
"""

TRADING = Example(
    roots={
        "com.yahoo.finance.tickers.daily": Root(
            ("event_time TIMESTAMP", "symbol STRING", "close_adj DOUBLE"),
            "{kind: Ledger, primaryKey: [event_time, symbol]}",
        ),
        "my.trading.transactions": Root(
            (
                "event_time TIMESTAMP",
                "op INT",
                "id BIGINT",
                "symbol STRING",
                "quantity BIGINT",
                "price DOUBLE",
                "settlement DOUBLE",
            ),
            "{kind: UpsertStream, primaryKey: [id]}",
        ),
    },
    derivatives={"my.trading.holdings": HOLDINGS, "my.trading.holdings.market-value": MARKET_VALUE},
    pieces=[
        {
            "my.trading.transactions": [
                ("2016-01-04", 0, 1, "SPY", 1, 201.5, -201.5),
                ("2016-01-08", 0, 2, "SPY", 9, 200.0, -1800.0),
                ("2016-01-10", 0, 3, "SPY", 2, 95.0, -190.0),
                ("2016-01-12", 0, 4, "IPO", 5, 18.0, -90.0),
            ],
            "com.yahoo.finance.tickers.daily": [
                ("2016-01-04", "IPO", 19.5),
                ("2016-01-04", "SPY", 183.5),
                ("2016-01-05", "SPY", 184.0),
                ("2016-01-09", "SPY", 180.0),
                ("2016-01-11", "SPY", 175.0),
                ("2016-01-12", "IPO", 18.5),
            ],
        },
        {  # late transactions and prices; a corrected price; a transaction that never was
            "my.trading.transactions": [
                ("2016-01-06", 0, 5, "SPY", 1, 180.0, -180.0),
                ("2016-01-05", 0, 6, "IPO", 1, 19.0, -19.0),
                ("2016-01-10", 0, 3, "SPY", 2, 190.0, -380.0),
                ("2016-01-20", 0, 8, "SPY", 1, 170.0, -170.0),
                ("2016-01-08", 1, 2, "SPY", 9, 200.0, -1800.0),
            ],
            "com.yahoo.finance.tickers.daily": [("2016-01-06", "SPY", 181.0), ("2016-01-07", "IPO", 19.0)],
        },
        {  # another transaction at the time of an earlier one; prices beyond them wait
            "my.trading.transactions": [("2016-01-20", 0, 7, "SPY", -4, 170.0, 680.0)],
            "com.yahoo.finance.tickers.daily": [("2016-01-20", "SPY", 169.0), ("2016-01-21", "SPY", 171.0)],
        },
    ],
    states={
        "my.trading.holdings": [
            ("2016-01-04", "SPY", 1, 201.5, -201.5, 1, -201.5),
            ("2016-01-05", "IPO", 1, 19.0, -19.0, 1, -19.0),
            ("2016-01-06", "SPY", 1, 180.0, -180.0, 2, -381.5),
            ("2016-01-10", "SPY", 2, 190.0, -380.0, 4, -761.5),
            ("2016-01-12", "IPO", 5, 18.0, -90.0, 6, -109.0),
            ("2016-01-20", "SPY", -4, 170.0, 680.0, 0, -81.5),
            ("2016-01-20", "SPY", 1, 170.0, -170.0, 1, -251.5),
        ],
        "my.trading.holdings.market-value": [
            ("2016-01-04", "SPY", 1, 1, 183.5),
            ("2016-01-05", "SPY", 1, 1, 184.0),
            ("2016-01-06", "SPY", 2, 1, 362.0),
            ("2016-01-07", "IPO", 1, 1, 19.0),
            ("2016-01-09", "SPY", 2, 1, 360.0),
            ("2016-01-11", "SPY", 4, 2, 700.0),
            ("2016-01-12", "IPO", 6, 5, 111.0),
            ("2016-01-20", "SPY", 1, 1, 169.0),
        ],
    },
)

LEADERBOARD = """\
kind: DatasetSnapshot
version: 1
content:
  name: leaderboard
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: player-scores
          alias: player_scores
      transform:
        kind: Sql
        engine: risingwave
        queries:
          - alias: leaderboard
            query: |
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
          - query: |
              select * from leaderboard
    - kind: SetVocab
      eventTimeColumn: match_time
"""

TOP_PLAYERS = Example(
    roots={
        "player-scores": Root(
            ("match_time TIMESTAMP", "op INT", "match_id BIGINT", "player_id STRING", "score BIGINT"),
            "{kind: UpsertStream, primaryKey: [match_id, player_id]}",
        )
    },
    derivatives={"leaderboard": LEADERBOARD},
    pieces=[
        {"player-scores": [("2000-01-01", 0, 1, "Alice", 100), ("2000-01-01", 0, 1, "Bob", 80)]},
        {"player-scores": [("2000-01-03", 0, 3, "Charlie", 110), ("2000-01-03", 0, 3, "Bob", 120)]},
        {  # late, as good as another; one corrected downwards
            "player-scores": [("2000-01-02", 0, 5, "Dora", 110), ("2000-01-03", 0, 3, "Bob", 60)]
        },
    ],
    states={"leaderboard": [("2000-01-02", 1, 5, "Dora", 110), ("2000-01-03", 2, 3, "Charlie", 110)]},
)

EXAMPLES = {
    "overdue shipments": OVERDUE_SHIPMENTS,
    "currency conversion": CURRENCY_CONVERSION,
    "trading": TRADING,
    "leaderboard": TOP_PLAYERS,
}
