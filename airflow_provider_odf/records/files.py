"""Data files: local paths, objects of an object store under the hash of their content, or other URIs that Arrow
supports (file, s3, gs, hdfs).

Only this module opens them. Of an object it opens a copy on this machine. Spark reads the same names with its own file
systems.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from airflow_provider_odf import object_stores
from airflow_provider_odf.closed_files import FILE, make_folders, user_cache
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.file_status import touch
from airflow_provider_odf.multiformats import SHA3_256, multihash

SMALL = 16 * 1024 * 1024
"""Maximum size in bytes of an input that the driver processes itself."""

_BLOCK = 4 << 20


def local(
    uri: str, folder: Path | None = None, read: Callable[[], AbstractContextManager[BinaryIO]] | None = None
) -> str:
    """Return the path of a data file on this machine: of an object under the hash of its content, that of a copy in a
    folder, which all processes share and which may go while none of them reads.

    :param folder: by default one of the user's cache.
    :param read: opens a file that is in no object store, such as one of a web server.
    :raises FileNotFoundError: there is no such object.
    :raises ChainCorrupted: its content has another hash.
    :raises StorageError: it cannot be read, or the copy cannot be written.
    """
    name = uri.rpartition("/")[2]
    is_object = object_stores.is_object(uri)
    if not (name.startswith("f1620") and (is_object or (read is not None and not _is_path(uri)))):
        return uri
    folder = folder or user_cache() / "data"
    copy = folder / name
    if not touch(copy):
        _copy(uri, copy, object_stores.chunks(uri) if is_object or read is None else _chunks(read))
    return str(copy)


def _chunks(read: Callable[[], AbstractContextManager[BinaryIO]]) -> Iterator[bytes]:
    with read() as stream:
        while chunk := stream.read(_BLOCK):
            yield chunk


def _copy(uri: str, target: Path, chunks: Iterable[bytes]) -> None:
    digest = hashlib.sha3_256()
    with storage_errors(target), _unfinished(target) as (path, file):
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
        if (actual := multihash(SHA3_256, digest.digest())) != target.name:
            raise ChainCorrupted(f"{uri}: checksum mismatch: the content has the hash {actual}")
        path.replace(target)


@contextmanager
def _unfinished(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield a new file beside a target and its path, and remove it if it was not moved."""
    make_folders(target.parent)
    path = target.with_name(f".pending-{secrets.token_hex(8)}")
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE), "wb") as file:
            yield path, file
    finally:
        path.unlink(missing_ok=True)


def open_file(uri: str) -> BinaryIO:
    if _is_path(uri := local(uri)):
        return open(uri, "rb")
    system, name = _resolve(uri)
    return io.BufferedReader(system.open_input_file(name), _BLOCK)


def open_parquet(uri: str, **options: Any) -> pq.ParquetFile:
    """Return an open Parquet file; ``options`` are those of pyarrow."""
    if _is_path(uri := local(uri)):
        return pq.ParquetFile(uri, **options)
    system, name = _resolve(uri)
    return pq.ParquetFile(system.open_input_file(name), **options)


def fragment(uri: str) -> Any:
    """Return a Parquet file whose rows pyarrow filters while it reads them."""
    import pyarrow.dataset as ds

    system, name = _resolve(uri)
    return ds.ParquetFileFormat().make_fragment(name, system)


def is_file(uri: str) -> bool:
    """Whether a name refers to a file, not to a directory."""
    return bool(_info(uri).type == fs.FileType.File)


def size(uri: str) -> int:
    """Return the size of a file, or of all files in a directory, in bytes.

    :raises OSError: the file or directory cannot be accessed.
    """
    info = _info(uri)
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(uri)
    if info.type == fs.FileType.Directory:
        system, name = _resolve(uri)
        return sum(f.size or 0 for f in system.get_file_info(fs.FileSelector(name, recursive=True)))
    return int(info.size)


def _size_or_large(uri: str) -> int:
    """Return the size of a file in bytes. If it is unknown, the file counts as large."""
    try:
        return size(uri)
    except (OSError, pa.ArrowException):
        return SMALL + 1


def total_size(uris: Iterable[str]) -> int:
    """Return the size of files in bytes. One of unknown size counts as large."""
    return sum(map(_size_or_large, uris))


def are_small(uris: Iterable[str]) -> bool:
    """Whether files together are small."""
    return total_size(uris) <= SMALL


def read_parquet(uri: str, columns: Sequence[str], filters: pc.Expression | None = None) -> pa.Table:
    with open_file(uri) as file:
        return pq.read_table(file, columns=list(columns), filters=filters)


def _is_path(uri: str) -> bool:
    return "://" not in uri and not uri.startswith("file:")


def _info(uri: str) -> fs.FileInfo:
    system, name = _resolve(uri)
    return system.get_file_info(name)


def _resolve(uri: str) -> tuple[Any, str]:
    if _is_path(uri := local(uri)):
        return fs.LocalFileSystem(), uri
    system, name = fs.FileSystem.from_uri(uri if "://" in uri else "file://" + uri.removeprefix("file:"))
    return system, name
