"""Signatures, and values that the library's encoder wrote."""

from __future__ import annotations

import pyarrow as pa
import pytest
from eth_abi import encode

from airflow_provider_odf.datafusion import plan
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.ethereum_events import Event

REQUEST = "SendRequest(uint64 indexed requestId, address indexed consumerAddr, bytes request)"
TOPICS = [
    bytes.fromhex("41987d99f799d840cf38d453e305eb131a47bb34369b3a78d7177de3c2659af5"),
    bytes(31) + b"\x7b",
    bytes(12) + bytes.fromhex("aabbccdd" * 5),
]
DATA = encode(["bytes"], [b"\xff\x00\xbb\xaa"])


def test_selector_of_the_canonical_signature():
    transfer = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    assert Event.parse("event Transfer(address indexed, address indexed, uint);").selector.hex() == transfer
    assert Event.parse(REQUEST).selector == TOPICS[0]


def test_types_and_values():
    signature = "E(bool a, int24 b, uint64 c, int72 d, bytes4 e, string f, uint256[] g, string indexed h, address[2] i)"
    event = Event.parse(signature)
    assert str(event.type) == (
        "struct<h: binary not null, a: bool not null, b: int64 not null, c: uint64 not null, d: string not null, "
        "e: binary not null, f: string not null, g: list<item: string> not null, i: list<item: binary> not null>"
    )
    kinds = ["bool", "int24", "uint64", "int72", "bytes4", "string", "uint256[]", "address[2]"]
    accounts = ["0x" + "01" * 20, "0x" + "02" * 20]
    data = encode(kinds, [True, -5, 2**64 - 1, -(2**70), b"abcd", "é", [1, 2**255], accounts])
    assert event.decode([event.selector, b"h" * 32], data) == {
        "h": b"h" * 32,
        "a": True,
        "b": -5,
        "c": 18446744073709551615,
        "d": "-1180591620717411303424",
        "e": b"abcd",
        "f": "é",
        "g": ["1", "57896044618658097711785492504343953926634992332820282019728792003956564819968"],
        "i": [b"\x01" * 20, b"\x02" * 20],
    }


def test_functions_in_datafusion():
    """The literal values are those of the tests of datafusion-ethers."""
    columns = dict(zip(("topic0", "topic1", "topic2"), ([topic] for topic in TOPICS), strict=True))
    context = plan.session()
    rows = pa.record_batch({**columns, "topic3": pa.array([None], pa.binary()), "data": [DATA]})
    context.register_record_batches("logs", [[rows]])
    log = "topic0, topic1, topic2, topic3, data"
    (row,) = context.sql(
        f"select eth_decode_event('{REQUEST}', {log}) as event, "
        f"eth_try_decode_event('SendRequest(address indexed consumerAddr, bytes request)', {log}) as other, "
        f"eth_event_selector('{REQUEST}') = topic0 as same from logs"
    ).to_pylist()
    assert row == {
        "event": '{"name":"SendRequest","requestId":123,"consumerAddr":"aabbccddaabbccddaabbccddaabbccddaabbccdd",'
        '"request":"ff00bbaa"}',
        "other": None,
        "same": True,
    }
    with pytest.raises(Exception, match="the log is not of Other"):
        context.sql(f"select eth_decode_event('Other(bool a)', {log}) from logs").to_pylist()
    with pytest.raises(Exception, match="not the signature of an event"):
        context.sql(f"select eth_try_decode_event('Other', {log}) from logs").to_pylist()


@pytest.mark.parametrize("signature", ["", "E", "E(uint)x", "E(uint256 a b)", "E(,)", "E(uint8 a) anonymous"])
def test_invalid_signatures(signature):
    with pytest.raises(InvalidInput, match="not the signature of an event"):
        Event.parse(signature)


def test_too_many_topics():
    with pytest.raises(InvalidInput, match="an event has at most 3 indexed parameters"):
        Event.parse("E(bool indexed, bool indexed, bool indexed, bool indexed)")
