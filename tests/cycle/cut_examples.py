"""Examples in the SQL of Flink and RisingWave, as their authors wrote them for these engines."""

from tests.reference_manifests import manifests

from .cuts import Example, Root

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
    derivatives=manifests("com.acme.shipments.overdue"),
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
    derivatives=manifests("my.trading.transactions.cad"),
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
    derivatives=manifests("my.trading.holdings", "my.trading.holdings.market-value"),
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

TOP_PLAYERS = Example(
    roots={
        "player-scores": Root(
            ("match_time TIMESTAMP", "op INT", "match_id BIGINT", "player_id STRING", "score BIGINT"),
            "{kind: UpsertStream, primaryKey: [match_id, player_id]}",
        )
    },
    derivatives=manifests("leaderboard"),
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
