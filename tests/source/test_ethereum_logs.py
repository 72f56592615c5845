"""Logs of a node over HTTP."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.manifest import model
from tests import ethereum_node
from tests.ethereum_node import BURNED, MINTED, token_log

from .conftest import PATIENT

TOKENS_MINTED = """
    TokensMinted(
      address indexed to,
      uint256 amount,
      uint256 ethAmount,
      uint256 time
    )
"""
ACCOUNT = "ab" * 20


@pytest.fixture
def node():
    with ethereum_node.running() as running:
        running.newest = 120
        running.logs = [
            token_log(100, 0, MINTED, ACCOUNT, 2 * 10**18, 3 * 10**18, 1700000000, blockTimestamp="0x6553f100"),
            token_log(101, 4, BURNED, ACCOUNT, 10**18, 10**18, 1700000012),
            token_log(103, 1, MINTED, ACCOUNT, 5, 6, 1700000036),
            token_log(103, 9, MINTED, ACCOUNT, 7, 8, 1700000036, removed=True),
            token_log(104, 0, MINTED, ACCOUNT, 9, 10, 1700000048, address="0x" + "cd" * 20),
        ]
        yield running


@pytest.fixture
def read(node, poller):
    def poll(state=None, chain_id=1, node_url=node.url, filter=None, signature=None, **options):
        step = model.FetchStepEthereumLogs(chain_id=chain_id, node_url=node_url, filter=filter, signature=signature)
        value = state and poller.state("odf/etag", state)
        return poller(step, state=value, options=PATIENT.__class__(**{**vars(PATIENT), **options}))

    return poll


def tables(polled) -> list[pa.Table]:
    return [pq.read_table(path) for file in polled.files for path in file.paths]


def states(polled) -> list[str]:
    return [f"{file.state.kind} {file.state.value}" for file in polled.files]


def test_decoded_logs(read, node):
    polled = read(filter=f"address = X'{ethereum_node.RETH[2:]}' and block_number > 99", signature=TOKENS_MINTED)
    (table,) = tables(polled)
    assert [f"{field.name} {field.type}" for field in table.schema if not field.nullable] == [
        "block_number int64",
        "block_hash binary",
        "transaction_index int64",
        "transaction_hash binary",
        "log_index int64",
        "address binary",
        "data binary",
        "event struct<to: binary not null, amount: string not null, ethAmount: string not null, time: string not null>",
    ]
    optional = ["block_timestamp timestamp[ms, tz=UTC]", *(f"topic{i} binary" for i in range(4))]
    assert [f"{field.name} {field.type}" for field in table.schema if field.nullable] == optional
    first, second = table.to_pylist()
    assert first["event"] == {
        "to": bytes.fromhex(ACCOUNT),
        "amount": "2000000000000000000",
        "ethAmount": "3000000000000000000",
        "time": "1700000000",
    }
    assert (first["block_number"], first["transaction_index"], first["log_index"]) == (100, 2, 0)
    assert first["block_timestamp"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert first["block_hash"] == bytes(31) + b"\x64"
    assert (first["topic0"].hex(), first["topic2"], len(first["data"])) == (MINTED[2:], None, 96)
    assert (second["block_number"], second["block_timestamp"]) == (103, None)
    assert states(polled) == [f"odf/etag 120@{120:064x}"]
    assert node.requests == [
        {"fromBlock": "0x64", "toBlock": "0x78", "address": [ethereum_node.RETH], "topics": [[MINTED]]}
    ]


def test_raw_logs_after_a_state(read, node):
    polled = read(state=f"100@{100:064x}")
    (table,) = tables(polled)
    assert table.column("block_number").to_pylist() == [101, 103, 104]
    assert "event" not in table.column_names
    assert polled.warnings == ()
    assert node.requests == [{"fromBlock": "0x65", "toBlock": "0x78"}]


def test_without_new_logs_the_state_moves_after_a_whole_stride(read, node):
    assert read(state=f"110@{110:064x}") is None
    assert read(state=f"120@{120:064x}") is None
    polled = read(state=f"110@{110:064x}", ethereum_block_stride=10)
    assert [(file.paths, file.state.value) for file in polled.files] == [((), f"120@{120:064x}")]


def test_strides_batches_and_refused_ranges(read, node):
    node.most_blocks = 4
    polled = read(filter="block_number >= 100 and block_number <= 105", batch_records=2)
    assert [t.column("block_number").to_pylist() for t in tables(polled)] == [[100, 101], [103, 104]]
    assert states(polled) == [f"odf/etag 102@{102:064x}", f"odf/etag 105@{105:064x}"]
    ranges = [(int(r["fromBlock"], 16), int(r["toBlock"], 16)) for r in node.requests]
    assert ranges == [(100, 105), (100, 102), (103, 105)]


def test_more_logs_than_one_poll_reads(read):
    polled = read(ethereum_block_stride=1, batch_records=1, batches=2, filter="block_number >= 100")
    assert states(polled) == [f"odf/etag 100@{100:064x}", f"odf/etag 101@{101:064x}"]
    assert (polled.has_more, polled.warnings) == (
        True,
        (f"{polled.files[0].label}: has more logs: the next poll continues",),
    )


def test_what_was_read_before_an_error_is_kept(read, node):
    bad = token_log(110, 0, MINTED, ACCOUNT, 1)
    node.logs.append(bad)
    scan = {"ethereum_block_stride": 5, "batch_records": 1, "signature": TOKENS_MINTED}
    polled = read(filter="block_number >= 100", **scan)
    assert states(polled) == [f"odf/etag 104@{104:064x}"]
    problem = (
        f"{polled.files[0].label}: log 0 of transaction {bad['transactionHash']}: the log does not fit TokensMinted"
    )
    assert polled.warnings[0].startswith(f"{problem}: ")
    assert polled.warnings[0].endswith("; earlier logs were kept")
    with pytest.raises(SourceError, match="the log does not fit TokensMinted"):
        read(state=polled.files[0].state.value, **scan)


def test_a_replaced_block_is_a_warning(read, node):
    node.forks = {100}
    polled = read(state=f"100@{100:064x}")
    assert polled.warnings == (
        f"{polled.files[0].label}: block 100 was replaced after its logs were read: the dataset may have logs that the "
        "chain no longer has, and lack others",
    )


def test_the_newest_block_may_be_a_final_one(read, node):
    assert states(read(ethereum_newest="finalized")) == [f"odf/etag 118@{118:064x}"]


def test_nodes_of_the_installation(read, poller, node):
    nodes = {"1": "${{ env.SCHEME }}" + node.url.removeprefix("http")}
    poller.environment = {"SCHEME": "http"}
    polled = read(node_url=None, ethereum_nodes=nodes)
    assert (polled.files[0].label, states(polled)) == ("logs of chain 1", [f"odf/etag 120@{120:064x}"])
    with pytest.raises(
        InvalidInput, match=r"^logs of chain 5: no node is known .*: set `nodeUrl`, or ethereum_nodes = 5=URL"
    ):
        read(node_url=None, chain_id=5, ethereum_nodes=nodes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"chain_id": 137}, SourceError, "the node has chain 1, not 137"),
        ({"filter": "address = X'00' and address = X'01'"}, InvalidInput, "X'00' is not 20 bytes long, as address is"),
        ({"filter": f"topic0 = X'{BURNED[2:]}'", "signature": TOKENS_MINTED}, InvalidInput,
         "no log can pass the filter, which excludes all values of topic0"),
        ({"signature": "Minted(uint257 a)"}, InvalidInput, "signature of Minted: the type uint257 is not supported"),
        ({"signature": "Minted((uint8 a) b)"}, InvalidInput, r"not the signature of an event: Minted\(\(uint8 a\) b\)"),
    ],
)  # fmt: skip
def test_what_is_refused(read, changes, error, message):
    with pytest.raises(error, match=message):
        read(**changes)


def test_a_node_that_fails_for_a_while(read, node):
    node.statuses = [503, 429]
    assert states(read()) == [f"odf/etag 120@{120:064x}"]
    node.statuses = [503] * 4
    with pytest.raises(SourceUnavailable, match="HTTP 503"):
        read()


def test_a_node_that_refuses(read, node):
    node.most_blocks = 0
    with pytest.raises(SourceError, match="eth_getLogs: the node refused the request: range of more than 0 blocks"):
        read(filter="block_number >= 100")
    assert [int(r["toBlock"], 16) for r in node.requests] == [120, 109, 104, 101, 100]
    node.statuses = [401]
    with pytest.raises(SourceError, match=r"no JSON-RPC at the address \(HTTP 401\)"):
        read()


def test_a_missing_library_is_named(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "eth_abi.grammar", None)
    text = r"^eth-abi is not installed: `pip install 'airflow-provider-odf\[ethereum\]'`$"
    with pytest.raises(InvalidInput, match=text):
        read(signature="Unseen(bool a)")
