"""Multihash and multibase texts, as ODF writes hashes and keys.

A hash is a multihash (varint code, length, digest) in multibase text. This module writes base16 (``f1620…``) and also
reads base58btc (``z…``) and unpadded base64url (``u…``).
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import BinaryIO

SHA3_256 = bytes.fromhex("1620")
"""Code and length of a SHA3-256 multihash: blocks and files."""

ARROW0_SHA3_256 = bytes.fromhex("9680c00120")
"""Code and length of the multihash of logical data (``arrow0-sha3-256``, 0x300016)."""

ED25519_PUB = bytes.fromhex("ed01")
"""Multicodec of an Ed25519 public key: dataset ids."""

_BASE16 = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGEST_SIZE = 32
_CHUNK = 1 << 20


def encode(data: bytes) -> str:
    """Return bytes as multibase text in base16.

    >>> encode(bytes([22, 32, 255]))
    'f1620ff'
    """
    return "f" + data.hex()


def decode(text: str) -> bytes:
    """Return the bytes of a multibase text in base16, base58btc or base64url.

    :raises ValueError: the text has another base, or a character outside of it.
    """
    prefix, rest = text[:1], text[1:]
    if prefix in ("f", "F"):
        return _decode_base16(rest)
    if prefix == "z":
        return _decode_base58(rest)
    if prefix == "u":
        return _decode_base64url(rest)
    raise ValueError(f"{text!r} is not multibase text in base16 (f…), base58btc (z…) or base64url (u…)")


def multihash(prefix: bytes, digest: bytes) -> str:
    """Return the text of the multihash of a 32-byte digest with one of the prefixes above."""
    if len(digest) != _DIGEST_SIZE:
        raise ValueError(f"a digest of {len(digest)} bytes; {_DIGEST_SIZE} are expected")
    return encode(prefix + digest)


def decode_hash(text: str) -> bytes:
    """Return the binary multihash of a text; it is one of the two kinds that ODF has.

    :raises ValueError: not a SHA3-256 or arrow0-sha3-256 multihash.
    """
    data = decode(text)
    if not _is_hash(data):
        raise ValueError(f"{text!r} is not a SHA3-256 multihash (f1620… or f9680c00120… with 64 hexadecimal digits)")
    return data


def encode_hash(data: bytes) -> str:
    """Return the text of a binary multihash.

    :raises ValueError: not a SHA3-256 or arrow0-sha3-256 multihash.
    """
    if not _is_hash(data):
        raise ValueError(f"the bytes {data.hex()} are not a SHA3-256 multihash")
    return encode(data)


def sha3_256(data: bytes) -> str:
    """Return the multihash text of the SHA3-256 of ``data``."""
    return multihash(SHA3_256, hashlib.sha3_256(data).digest())


def hash_file(path: Path | str) -> str:
    """Return the multihash text of the SHA3-256 of a file."""
    with open(path, "rb") as file:
        return hash_stream(file)


def hash_stream(stream: BinaryIO) -> str:
    """Return the multihash text of the SHA3-256 of a stream's content, read in pieces."""
    digest = hashlib.sha3_256()
    while piece := stream.read(_CHUNK):
        digest.update(piece)
    return multihash(SHA3_256, digest.digest())


def _is_hash(data: bytes) -> bool:
    return data[:-_DIGEST_SIZE] in (SHA3_256, ARROW0_SHA3_256)


def _decode_base16(text: str) -> bytes:
    if not _BASE16.fullmatch(text):
        raise ValueError(f"{text!r} has characters that are not hexadecimal digits")
    if len(text) % 2:
        raise ValueError(f"{text!r} has an odd number of hexadecimal digits")
    return bytes.fromhex(text)


def _decode_base58(text: str) -> bytes:
    number = 0
    for character in text:
        digit = _BASE58.find(character)
        if digit < 0:
            raise ValueError(f"{character!r} is not a base58btc digit")
        number = number * 58 + digit
    zeros = len(text) - len(text.lstrip(_BASE58[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _decode_base64url(text: str) -> bytes:
    standard = text.replace("-", "+").replace("_", "/")
    if standard.count("+") + standard.count("/") != text.count("-") + text.count("_"):
        raise ValueError(f"{text!r} has characters of base64 that base64url does not have")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
