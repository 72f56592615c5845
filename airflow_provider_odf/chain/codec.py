"""Metadata blocks as bytes (specification: Metadata Block Hashing, Manifests): flatbuffers in a ``Manifest`` frame.

The block hash is the SHA3-256 of all these bytes, so encoding is exact to the byte. The children of a table come first,
in the order of their declaration, then the fields in the same order. Version 3 aligns timestamps to four bytes, version
2 does not align them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_odf.chain.block_reader import BlockReader, padded
from airflow_provider_odf.chain.block_writer import BlockWriter, new_builder
from airflow_provider_odf.chain.flatbuffer import Reader
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import MetadataBlock

VERSIONS = (2, 3)
"""Supported versions of the frame."""

_KIND = 0x400000  # multicodec odf-metadata-block
_TIMESTAMP_ALIGNMENT = {2: 1, 3: 4}


def encode(block: MetadataBlock, version: int = 3) -> bytes:
    """Return the block in its frame: the content of its file in ``blocks/``.

    :raises InvalidInput: the version is unknown, or a value has no binary form, such as a number out of range.
    """
    if version not in VERSIONS:
        raise InvalidInput(f"manifest version {version} is not supported: use 2 or 3")
    try:
        return _frame(version, BlockWriter(_TIMESTAMP_ALIGNMENT[version]).write(block))
    except ValueError as e:
        raise InvalidInput(f"the block cannot be encoded: {e}") from e


def decode(data: bytes) -> MetadataBlock:
    """Return the block in a frame of version 2 or 3. Fields that newer specifications add to objects are ignored.

    :raises ChainCorrupted: the bytes are not a block, or have an object of an unknown kind.
    """
    return decode_frame(data)[1]


def decode_frame(data: bytes) -> tuple[int, MetadataBlock]:
    """Return the version of the frame, and the block in it.

    :raises ChainCorrupted: as ``decode``.
    """
    try:
        frame = Reader(data)
        version, content = _frame_fields(frame)
        number = frame.scalar("i", version) if version else 0
        if number not in VERSIONS:
            raise ValueError(f"the block has manifest version {number}, but only versions 2 and 3 are supported")
        if not content:
            raise ValueError("the block has no content")
        reader = Reader(frame.blob(content))
        return number, BlockReader(reader).table("MetadataBlock", reader.root(), 0)
    except ValueError as e:
        raise ChainCorrupted(f"not a readable metadata block: {e}") from e


def _frame_fields(frame: Reader) -> tuple[int, int]:
    """Return the positions of the version and the content of a frame, 0 for absent fields."""
    try:
        kind, version, content = padded(frame.fields(frame.root()), 3)
        is_block = bool(kind) and frame.scalar("q", kind) == _KIND
    except ValueError:
        is_block = False
    if not is_block:
        raise ChainCorrupted("not a metadata block")
    return version, content


def _frame(version: int, content: bytes) -> bytes:
    builder = new_builder()
    vector = builder.CreateByteVector(content)
    builder.StartObject(3)
    builder.PrependInt64Slot(0, _KIND, 0)
    builder.PrependInt32Slot(1, version, 0)
    builder.PrependUOffsetTRelativeSlot(2, vector, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())
