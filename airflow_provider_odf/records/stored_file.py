"""Compare the file of a slice or checkpoint with its block: in the coordinator, or in a task of Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from hashlib import sha3_256
from pathlib import Path
from typing import IO, BinaryIO

from airflow_provider_odf import object_stores
from airflow_provider_odf.error_conversion import storage_error, system_error
from airflow_provider_odf.errors import TypeUnsupported
from airflow_provider_odf.multiformats import SHA3_256, multihash
from airflow_provider_odf.protocol import StoredFile
from airflow_provider_odf.wording import counted

MISSING = "the file is missing"
_PIECE = 1 << 20


def fault(file: StoredFile, *, is_quick: bool) -> str | None:
    """Return what is wrong with a file, None if nothing is. An object is read once, to a temporary file.

    :param is_quick: do not read its records.
    :raises StorageError: it cannot be read.
    """
    path = Path(file.path)
    try:
        if not object_stores.is_object(file.path):
            with path.open("rb") as stream:
                found = bytes_fault(file, pieces(stream))
            return found or (None if is_quick else records_fault(file, file.path))
        with tempfile.NamedTemporaryFile(prefix="odf-verify-") as copy:
            found = bytes_fault(file, _copied(object_stores.chunks(file.path), copy.file))
            return found or (None if is_quick else records_fault(file, copy.name))
    except FileNotFoundError:
        return MISSING
    except OSError as e:
        raise storage_error(e, None if object_stores.is_object(file.path) else path) from e


def size_fault(file: StoredFile, size: int) -> str | None:
    """Return what is wrong with the size of a file in bytes."""
    return None if size == file.size else f"has {size} bytes, but its block records {file.size}"


def bytes_fault(file: StoredFile, content: Iterable[bytes]) -> str | None:
    """Return what is wrong with the bytes of a file, which come in pieces."""
    digest, size = sha3_256(), 0
    for piece in content:
        digest.update(piece)
        size += len(piece)
    if (found := size_fault(file, size)) is not None:
        return found
    actual = multihash(SHA3_256, digest.digest())
    return None if actual == file.physical_hash else f"checksum mismatch: the content has the hash {actual}"


def records_fault(file: StoredFile, path: str) -> str | None:
    """Return what is wrong with the records of a slice, whose bytes are right and lie at a path.

    :raises StorageError: the file cannot be read.
    """
    if file.offset_interval is None:
        return None
    import pyarrow as pa

    from airflow_provider_odf.records.files import is_damage, open_parquet
    from airflow_provider_odf.records.logical_hash import logical_hash

    try:
        with open_parquet(path) as parquet:
            records, offsets = parquet.metadata.num_rows, file.offset_interval
        if records != offsets.count:
            range_of_block = f"{offsets.start} to {offsets.end}"
            return f"has {counted(records, 'record')}, but its block records the offsets {range_of_block}"
        actual = logical_hash(path)
    except TypeUnsupported as e:
        return f"cannot hash the records: {e}"
    except (pa.ArrowException, MemoryError, OSError) as e:
        if (refused := system_error(e)) is not None or not is_damage(e):
            raise storage_error(refused or e, Path(path)) from e  # type: ignore[arg-type]
        return f"cannot read the slice: {e}"
    if actual != file.logical_hash:
        return f"logical hash mismatch: the rows have {actual}, but the block records {file.logical_hash}"
    return None


def pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the rest of a stream."""
    while piece := stream.read(_PIECE):
        yield piece


def _copied(content: Iterable[bytes], copy: IO[bytes]) -> Iterator[bytes]:
    for piece in content:
        copy.write(piece)
        yield piece
    copy.flush()
