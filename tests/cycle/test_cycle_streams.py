"""Cycles of MQTT topics and of logs of a node."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.verify import verify
from tests import ethereum_node, mosquitto
from tests.ethereum_node import BURNED, MINTED, token_log
from tests.manifests import polled

READINGS = polled(
    "readings",
    "{kind: Mqtt, host: 127.0.0.1, port: PORT, username: me, password: '${{ env.MQTT_PASSWORD }}', "
    "topics: [{path: house/+/temperature, qos: AtLeastOnce}]}",
    "{kind: NdJson, schema: [event_time TIMESTAMP, celsius DOUBLE]}",
)

MINT = "TokensMinted(address indexed to, uint256 amount, uint256 ethAmount, uint256 time)"
BURN = "TokensBurned(address indexed from, uint256 amount, uint256 ethAmount, uint256 time)"
TOKEN = f"address = X'{ethereum_node.RETH[2:]}' and block_number > 13325304"
SELECTOR = "eth_event_selector"
LOG = "topic0, topic1, topic2, topic3, data"


def tokens(fetch: str, query: str) -> str:
    """The manifest of a dataset of logs."""
    sql = f"{{kind: Sql, engine: datafusion, query: {json.dumps(query)}}}"
    return polled("tokens", f"{{kind: EthereumLogs, chainId: 1, {fetch}}}", "{kind: Parquet}", preprocess=sql)


DECODED_BY_SIGNATURE = tokens(
    f'filter: "{TOKEN}", signature: "{MINT}"',
    "select coalesce(block_timestamp, to_timestamp_seconds(cast(event.time as bigint))) as event_time, block_number, "
    "transaction_hash, 'TokensMinted' as name, event.to as holder, "
    "cast(event.ethAmount as double) / pow(10.0, 18) as eth from input",
)

DECODED_IN_SQL = tokens(
    f"filter: \"{TOKEN} and (topic0 = {SELECTOR}('{MINT}') or topic0 = {SELECTOR}('{BURN}'))\"",
    "select coalesce(block_timestamp, to_timestamp_seconds(cast(json_get_str(event, 'time') as bigint))) as event_time,"
    " block_number, transaction_hash, json_get_str(event, 'name') as name, "
    "decode(coalesce(json_get_str(event, 'to'), json_get_str(event, 'from')), 'hex') as holder, "
    "cast(json_get_str(event, 'ethAmount') as double) / pow(10.0, 18) as eth from (select *, "
    f"coalesce(eth_try_decode_event('{MINT}', {LOG}), eth_try_decode_event('{BURN}', {LOG})) as event from input)",
)


def test_messages_that_failed_to_merge_are_merged_after_the_manifest_was_corrected(
    store, run, write, tmp_path, monkeypatch
):
    (tmp_path / "broker").mkdir()
    monkeypatch.setenv("MQTT_PASSWORD", "pa55")
    with mosquitto.running(tmp_path / "broker") as broker:
        text = READINGS.replace("PORT", str(broker.port))
        manifest = write("readings.yaml", text)
        assert str(run(manifest)) == "up to date"
        broker.publish("house/hall/temperature", '{"event_time": "2024-01-01T00:00:00Z", "celsius": 1.5}')
        assert str(run(manifest)) == "published 1 record (offsets 0..0)"
        assert str(run(manifest)) == "up to date"
        broker.publish("house/hall/temperature", '{"event_time": "2024-01-01T01:00:00Z", "celsius": "warm"}')
        problem = f"mqtt://127.0.0.1:{broker.port} house/+/temperature: line 1, column celsius: 'warm' is not a DOUBLE"
        assert [str(run(manifest)) for _ in range(2)] == [problem] * 2
        broker.publish("house/attic/temperature", '{"event_time": "2024-01-01T02:00:00Z", "celsius": 2.5}')
        write(
            "readings.yaml",
            text.replace("      read:", "      prepare: [{kind: Pipe, command: [sed, /warm/d]}]\n      read:"),
        )
        assert str(run(manifest)) == "published 1 record (offsets 1..1)"
    assert [(row["event_time"], row["celsius"]) for row in tail_rows(store.dataset("readings"), 10)] == [
        ("2024-01-01T00:00:00Z", 1.5),
        ("2024-01-01T02:00:00Z", 2.5),
    ]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "names"), [(DECODED_IN_SQL, ["TokensMinted", "TokensBurned"]), (DECODED_BY_SIGNATURE, ["TokensMinted"])]
)
def test_logs(store, run, write, text, names):
    manifest = write("tokens.yaml", text)
    with ethereum_node.running() as node:
        node.newest = 13_400_000
        node.logs = [
            token_log(13_325_304, 0, MINTED, "ab" * 20, 1, 1, 1_600_000_000),
            token_log(13_330_000, 3, MINTED, "ab" * 20, 15 * 10**17, 2 * 10**18, 1_633_000_000),
            token_log(13_330_001, 0, BURNED, "cd" * 20, 10**18, 10**18, 1_633_000_012, blockTimestamp="0x6155a0d9"),
        ]
        nodes = {"ethereum_nodes": {"1": node.url}}
        assert str(run(manifest, **nodes)).startswith(f"published {len(names)} record")
        assert str(run(manifest, **nodes)) == "up to date"
        node.newest = 13_400_100
        node.logs.append(token_log(13_400_050, 0, MINTED, "ef" * 20, 10**18, 10**18, 1_633_900_000))
        assert str(run(manifest, **nodes)) == f"published 1 record (offsets {len(names)}..{len(names)})"
    dataset = store.dataset("tokens")
    first, *others = tail_rows(dataset, 10)
    assert [row["name"] for row in (first, *others)] == [*names, "TokensMinted"]
    values = {key: first[key] for key in ("event_time", "block_number", "transaction_hash", "holder", "eth")}
    assert values == {
        "event_time": "2021-09-30T11:06:40Z",
        "block_number": 13_330_000,
        "transaction_hash": b64encode((133_300_003).to_bytes(32, "big")).decode(),
        "holder": b64encode(bytes.fromhex("ab" * 20)).decode(),
        "eth": 2.0,
    }
    state = replay(dataset).polling_state
    assert (state.kind, state.value) == ("odf/etag", f"13400100@{13_400_100:064x}")
    assert verify(dataset).records == len(names) + 1
