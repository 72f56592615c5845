"""A portfolio of tokens and what an index would have earned instead: five derivatives of Flink on three levels."""

from .cuts import Example, Root

ME, POOL = "0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f", "0xpool"

PORTFOLIO = """\
kind: DatasetSnapshot
version: 1
content:
  name: account.tokens.portfolio
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: account.tokens.transfers
        - datasetRef: account.transactions
      transform:
        kind: Sql
        engine: flink
        queries:
          - alias: token_transfers
            query: |
              select
                *,
                case
                  when `to` = '0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f' then value_fp
                  when `from` = '0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f' then -value_fp
                  else 0
                end as token_amount
              from (
                select
                  *,
                  cast(`value` as float) / power(10.0, cast(token_decimal as int)) as value_fp
                from `account.tokens.transfers`
              )
          - alias: transactions
            query: |
              select
                *,
                case
                  when `to` = '0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f' then value_fp
                  when `from` = '0xeadb3840596cabf312f2bc88a4bb0b93a4e1ff5f' then -value_fp
                  else 0
                end as eth_amount
              from (
                select
                  *,
                  cast(`value` as float) / power(10.0, 18) as value_fp
                from `account.transactions`
              )
          - alias: token_transactions
            query: |
              select
                tr.block_time,
                tr.block_number,
                tr.transaction_hash,
                tx.symbol as account_symbol,
                tr.token_symbol,
                tr.token_amount,
                tx.eth_amount
              from token_transfers as tr
              left join transactions as tx
              on
                tr.transaction_hash = tx.transaction_hash
                and tr.block_time = tx.block_time
          - query: |
              select
                *,
                sum(token_amount) over (partition by token_symbol order by block_time) as token_balance,
                sum(-eth_amount) over (partition by token_symbol order by block_time) as token_book_value_eth
              from token_transactions
    - kind: SetVocab
      eventTimeColumn: block_time
"""

USD = """\
kind: DatasetSnapshot
version: 1
content:
  name: account.tokens.portfolio.usd
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: account.tokens.portfolio
        - datasetRef: com.cryptocompare.ohlcv.eth-usd
      transform:
        kind: Sql
        engine: flink
        temporalTables:
          - name: com.cryptocompare.ohlcv.eth-usd
            primaryKey:
              - from_symbol
        queries:
          - alias: with_usd_amount
            query: |
              select
                tr.block_time,
                tr.block_number,
                tr.transaction_hash,
                tr.account_symbol,
                tr.token_symbol,
                tr.token_amount,
                tr.eth_amount,
                tr.token_balance,
                tr.token_book_value_eth,
                'usd' as account_anchor_symbol,
                (
                  tr.eth_amount * eth2usd.`close`
                ) as eth_amount_as_usd
              from `account.tokens.portfolio` as tr
              join `com.cryptocompare.ohlcv.eth-usd` for system_time as of tr.block_time as eth2usd
              on tr.account_symbol = eth2usd.from_symbol and eth2usd.to_symbol = 'usd'
          - query: |
              select
                *,
                sum(-eth_amount_as_usd) over (partition by token_symbol order by block_time)
                  as token_book_value_eth_as_usd
              from with_usd_amount
    - kind: SetVocab
      eventTimeColumn: block_time
"""

TOKENS_VALUE = """\
kind: DatasetSnapshot
version: 1
content:
  name: account.tokens.portfolio.market-value
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: account.tokens.portfolio.usd
        - datasetRef: net.rocketpool.reth.mint-burn
        - datasetRef: com.cryptocompare.ohlcv.eth-usd
      transform:
        kind: Sql
        engine: flink
        temporalTables:
          - name: account.tokens.portfolio.usd
            primaryKey:
              - token_symbol
          - name: com.cryptocompare.ohlcv.eth-usd
            primaryKey:
              - from_symbol
        queries:
          - alias: market_value_reth2eth
            query: |
              select
                rp.event_time,
                tr.account_symbol,
                tr.token_symbol,
                tr.token_balance,
                tr.token_book_value_eth,
                (
                  rp.eth_amount / rp.amount * tr.token_balance
                ) as token_market_value_eth,
                tr.token_book_value_eth_as_usd
              from `net.rocketpool.reth.mint-burn` as rp
              join `account.tokens.portfolio.usd` for system_time as of rp.event_time as tr
              on rp.token_symbol = tr.token_symbol
          - query: |
              select
                rp.event_time,
                rp.account_symbol,
                rp.token_symbol,
                rp.token_balance,
                rp.token_book_value_eth,
                rp.token_market_value_eth,
                rp.token_book_value_eth_as_usd,
                (
                  rp.token_market_value_eth * eth2usd.`close`
                ) as token_market_value_usd
              from market_value_reth2eth as rp
              join `com.cryptocompare.ohlcv.eth-usd` for system_time as of rp.event_time as eth2usd
              on eth2usd.from_symbol = rp.account_symbol and eth2usd.to_symbol = 'usd'
"""

WHAT_IF = """\
kind: DatasetSnapshot
version: 1
content:
  name: account.whatif.reth-vs-snp500.portfolio
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: account.tokens.portfolio.usd
        - datasetRef: co.alphavantage.tickers.daily.spy
      transform:
        kind: Sql
        engine: flink
        temporalTables:
          - name: co.alphavantage.tickers.daily.spy
            primaryKey:
              - to_symbol
        queries:
          - alias: spy_transactions
            query: |
              select
                tr.block_time,
                tr.block_number,
                tr.transaction_hash,
                tr.account_symbol,
                tr.token_symbol,
                tr.token_amount,
                tr.eth_amount,
                tr.token_balance,
                tr.token_book_value_eth,
                tr.account_anchor_symbol,
                tr.eth_amount_as_usd,
                tr.token_book_value_eth_as_usd,
                (
                  -tr.eth_amount_as_usd / spy2usd.`close`
                ) as alt_spy_amount
              from `account.tokens.portfolio.usd` as tr
              join `co.alphavantage.tickers.daily.spy` for system_time as of tr.block_time as spy2usd
              on spy2usd.to_symbol = tr.account_anchor_symbol
                and spy2usd.from_symbol = 'spy' and tr.token_symbol = 'rETH'
          - query: |
              select
                *,
                sum(alt_spy_amount) over (partition by token_symbol order by block_time) as alt_spy_balance
              from spy_transactions
    - kind: SetVocab
      eventTimeColumn: block_time
"""

WHAT_IF_VALUE = """\
kind: DatasetSnapshot
version: 1
content:
  name: account.whatif.reth-vs-snp500.market-value
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs:
        - datasetRef: account.whatif.reth-vs-snp500.portfolio
        - datasetRef: co.alphavantage.tickers.daily.spy
      transform:
        kind: Sql
        engine: flink
        temporalTables:
          - name: account.whatif.reth-vs-snp500.portfolio
            primaryKey:
              - account_anchor_symbol
        query: |
          select
            spy2usd.event_time,
            tr.account_symbol,
            spy2usd.`close` as alt_spy_price,
            tr.alt_spy_balance,
            (
              tr.alt_spy_balance * spy2usd.`close`
            ) as alt_spy_market_value_usd
          from `co.alphavantage.tickers.daily.spy` as spy2usd
          join `account.whatif.reth-vs-snp500.portfolio` for system_time as of spy2usd.event_time as tr
          on spy2usd.to_symbol = tr.account_anchor_symbol and spy2usd.from_symbol = 'spy'
"""

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
    derivatives={
        "account.tokens.portfolio": PORTFOLIO,
        "account.tokens.portfolio.usd": USD,
        "account.tokens.portfolio.market-value": TOKENS_VALUE,
        "account.whatif.reth-vs-snp500.portfolio": WHAT_IF,
        "account.whatif.reth-vs-snp500.market-value": WHAT_IF_VALUE,
    },
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
