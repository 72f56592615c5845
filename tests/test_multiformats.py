from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_odf import multiformats

DIGEST = "08c3792b2a4deed1bd7ea2328fb5de5531eccf0fbfa04a7d800cdc267137c635"


def test_sha3_256_of_known_text():
    assert multiformats.sha3_256(b"multihash") == "f1620" + DIGEST


def test_decode_reads_every_base():
    binary = bytes.fromhex("1620" + DIGEST)
    assert multiformats.decode("f1620" + DIGEST) == binary
    assert multiformats.decode("F1620" + DIGEST.upper()) == binary
    assert multiformats.decode("zW1a3CNT52HXiJNniLkWMeev3CPRy9QiNRMWGyTrVNg4hY8") == binary
    assert multiformats.decode("u__4") == b"\xff\xfe"


def test_base58_keeps_leading_zeros():
    assert multiformats.decode("z112") == b"\x00\x00\x01"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, f"'{text}' is not multibase text in base16") for text in ("", "1620", "bmultibase")),
        ("f162", "'162' has an odd number of hexadecimal digits"),
        ("f16 20", "'16 20' has characters that are not hexadecimal digits"),
        ("fxx", "'xx' has characters that are not hexadecimal digits"),
        ("f1620" + DIGEST + "g", f"'1620{DIGEST}g' has characters that are not hexadecimal digits"),
        ("z0OIl", "'0' is not a base58btc digit"),
        ("u+/4", "'+/4' has characters of base64 that base64url does not have"),
        ("u/-", "'/-' has characters of base64 that base64url does not have"),
    ],
)
def test_decode_refuses(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        multiformats.decode(text)


@pytest.mark.parametrize("text", ["f1620" + DIGEST[:-2], "f1220" + DIGEST, "f1620" + DIGEST + "00", "fed01" + DIGEST])
def test_decode_hash_refuses_what_is_not_an_odf_hash(text):
    with pytest.raises(ValueError, match=f"^'{text}' is not a SHA3-256 multihash"):
        multiformats.decode_hash(text)


def test_decode_hash():
    assert multiformats.decode_hash("f1620" + DIGEST).hex() == "1620" + DIGEST
    assert multiformats.decode_hash("f9680c00120" + DIGEST).hex() == "9680c00120" + DIGEST


def test_multihash_wants_a_whole_digest():
    assert multiformats.multihash(multiformats.ARROW0_SHA3_256, bytes.fromhex(DIGEST)) == "f9680c00120" + DIGEST
    with pytest.raises(ValueError, match="a digest of 5 bytes; 32 are expected"):
        multiformats.multihash(multiformats.SHA3_256, b"short")


def test_hash_file_equals_hash_of_its_bytes(tmp_path: Path):
    data = bytes(range(256)) * 5000
    (tmp_path / "x").write_bytes(data)
    assert multiformats.hash_file(tmp_path / "x") == multiformats.sha3_256(data)


@given(st.binary(max_size=80))
def test_encode_then_decode(data):
    assert multiformats.decode(multiformats.encode(data)) == data
