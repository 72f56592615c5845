"""A portfolio of tokens and what an index would have earned instead: five derivatives of Flink on three levels."""

from tests.reference_manifests import manifests

from .cuts import Example, Root

ME, POOL = "0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f", "0xpool"

_PRICES = ("event_time TIMESTAMP", "from_symbol STRING", "to_symbol STRING", "close DOUBLE")
_TRANSACTION = (
    "block_time TIMESTAMP",
    "block_number BIGINT",
    "transaction_hash STRING",
    '"from" STRING',
    '"to" STRING',
    '"value" STRING',
)
_BY_TIME = "{kind: Ledger, primaryKey: [event_time]}"
_BY_HASH = "{kind: Ledger, primaryKey: [transaction_hash]}"


def _buys(day: str, block: int, number: str, ether: int, tokens: float) -> dict[str, list[tuple[object, ...]]]:
    """A transaction that pays ether for tokens and the transfer of the tokens; negative numbers sell."""
    token = "rETH", "18"
    wei, units = str(abs(ether) * 10**18), str(int(abs(tokens) * 10**18))
    out, back = (ME, POOL) if ether > 0 else (POOL, ME), (POOL, ME) if ether > 0 else (ME, POOL)
    return {
        "account.transactions": [(f"2022-01-{day}", block, number, *out, wei, "eth")],
        "account.tokens.transfers": [(f"2022-01-{day}", block, number, *back, units, *token)],
    }


REWARDS_OF_TOKENS = Example(
    roots={
        "account.transactions": Root((*_TRANSACTION, "symbol STRING"), _BY_HASH),
        "account.tokens.transfers": Root((*_TRANSACTION, "token_symbol STRING", "token_decimal STRING"), _BY_HASH),
        "com.cryptocompare.ohlcv.eth-usd": Root(_PRICES, _BY_TIME),
        "co.alphavantage.tickers.daily.spy": Root(_PRICES, _BY_TIME),
        "net.rocketpool.reth.mint-burn": Root(
            ("event_time TIMESTAMP", "token_symbol STRING", "amount DOUBLE", "eth_amount DOUBLE"), _BY_TIME
        ),
    },
    derivatives=manifests(
        "account.tokens.portfolio",
        "account.tokens.portfolio.usd",
        "account.tokens.portfolio.market-value",
        "account.whatif.reth-vs-snp500.portfolio",
        "account.whatif.reth-vs-snp500.market-value",
    ),
    pieces=[
        {
            **_buys("02", 10, "0x1", 2, 1),
            "com.cryptocompare.ohlcv.eth-usd": [
                ("2022-01-01", "eth", "usd", 1000.0),
                ("2022-01-03", "eth", "usd", 2000.0),
            ],
            "co.alphavantage.tickers.daily.spy": [
                ("2022-01-01", "spy", "usd", 100.0),
                ("2022-01-03", "spy", "usd", 200.0),
            ],
            "net.rocketpool.reth.mint-burn": [
                ("2022-01-01", "rETH", 1.0, 1.0),
                ("2022-01-02T12:00:00", "rETH", 2.0, 3.0),
            ],
        },
        {
            **_buys("04", 20, "0x2", 4, 2),
            "com.cryptocompare.ohlcv.eth-usd": [("2022-01-05", "eth", "usd", 4000.0)],
            "co.alphavantage.tickers.daily.spy": [("2022-01-05", "spy", "usd", 400.0)],
            "net.rocketpool.reth.mint-burn": [("2022-01-05", "rETH", 2.0, 4.0)],
        },
        {  # a late sale and late prices correct all levels; the newest prices are beyond the newest transaction
            **_buys("03", 15, "0x3", -1, -0.5),
            "com.cryptocompare.ohlcv.eth-usd": [("2022-01-02", "eth", "usd", 500.0), ("2022-01-10", "eth", "usd", 1.0)],
            "co.alphavantage.tickers.daily.spy": [
                ("2022-01-02", "spy", "usd", 50.0),
                ("2022-01-10", "spy", "usd", 10.0),
            ],
            "net.rocketpool.reth.mint-burn": [
                ("2022-01-03T12:00:00", "rETH", 1.0, 4.0),
                ("2022-01-10", "rETH", 1.0, 1.0),
            ],
        },
    ],
    states={
        "account.tokens.portfolio": [
            ("2022-01-02", 10, "0x1", "eth", "rETH", 1.0, -2.0, 1.0, 2.0),
            ("2022-01-03", 15, "0x3", "eth", "rETH", -0.5, 1.0, 0.5, 1.0),
            ("2022-01-04", 20, "0x2", "eth", "rETH", 2.0, -4.0, 2.5, 5.0),
        ],
        "account.tokens.portfolio.usd": [
            ("2022-01-02", 10, "0x1", "eth", "rETH", 1.0, -2.0, 1.0, 2.0, "usd", -1000.0, 1000.0),
            ("2022-01-03", 15, "0x3", "eth", "rETH", -0.5, 1.0, 0.5, 1.0, "usd", 2000.0, -1000.0),
            ("2022-01-04", 20, "0x2", "eth", "rETH", 2.0, -4.0, 2.5, 5.0, "usd", -8000.0, 7000.0),
        ],
        "account.tokens.portfolio.market-value": [
            ("2022-01-02T12:00:00", "eth", "rETH", 1.0, 2.0, 1.5, 1000.0, 750.0),
            ("2022-01-03T12:00:00", "eth", "rETH", 0.5, 1.0, 2.0, -1000.0, 4000.0),
        ],
        "account.whatif.reth-vs-snp500.portfolio": [
            ("2022-01-02", 10, "0x1", "eth", "rETH", 1.0, -2.0, 1.0, 2.0, "usd", -1000.0, 1000.0, 20.0, 20.0),
            ("2022-01-03", 15, "0x3", "eth", "rETH", -0.5, 1.0, 0.5, 1.0, "usd", 2000.0, -1000.0, -10.0, 10.0),
            ("2022-01-04", 20, "0x2", "eth", "rETH", 2.0, -4.0, 2.5, 5.0, "usd", -8000.0, 7000.0, 40.0, 50.0),
        ],
        "account.whatif.reth-vs-snp500.market-value": [
            ("2022-01-02", "eth", 50.0, 20.0, 1000.0),
            ("2022-01-03", "eth", 200.0, 10.0, 2000.0),
        ],
    },
)
