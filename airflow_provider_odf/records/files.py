"""Data files: local paths, objects of an object store, or other URIs that Arrow supports (file, hdfs).

Only this module opens them, in the coordinator, in the driver and in tasks of Spark. Of an object under the hash of its
content it opens a copy on this machine, which has that hash. Other objects are read by ranges.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from airflow_provider_odf import object_stores
from airflow_provider_odf.closed_files import FILE, make_folders, user_cache
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import ChainCorrupted, StorageError
from airflow_provider_odf.file_status import touch
from airflow_provider_odf.multiformats import SHA3_256, multihash
from airflow_provider_odf.records.threads import Result, map_ahead

SMALL = 16 * 1024 * 1024
"""Maximum size in bytes of an input that the driver processes itself."""

BLOCK = 4 << 20
"""Bytes that are read at once."""

_FOOTER = 64 << 10
"""Bytes of the first request for a footer."""

_REQUESTS = 16
"""Requests for sizes and footers that are sent at once."""

_HASH = re.compile("f1620[0-9a-f]{64}")
"""Names of slices and of parts of states: hashes of their content."""

_PARQUET = b"PAR1"
"""Begin and end of Parquet."""

_NO_READER = re.compile(r"not (?:yet )?implemented|support", re.IGNORECASE)
"""In errors of Arrow about valid files that it cannot read."""

_DAYS = 7
"""Days after its last use that a copy in the user's cache is kept."""


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
    is_object = object_stores.is_object(uri)
    copy = _copy_of(uri, folder) if is_object or (read is not None and not is_path(uri)) else None
    if copy is None:
        return uri
    if not touch(copy):
        with _one_at_a_time(copy):
            if not touch(copy):
                _copy(uri, copy, object_stores.chunks(uri) if is_object or read is None else _chunks(read))
                if folder is None:
                    _drop_unused(copy.parent)
    return str(copy)


def _copy_of(uri: str, folder: Path | None = None) -> Path | None:
    """Return the path of the copy of an object under the hash of its content, None for other files."""
    name = uri.rpartition("/")[2]
    return (folder or user_cache() / "data") / name if _HASH.fullmatch(name) else None


def drop_copy(uri: str) -> bool:
    """Remove the copy of an object from the user's cache, since it is damaged. Return whether there was one."""
    copy = _copy_of(uri) if object_stores.is_object(uri) else None
    if copy is None or not copy.exists():
        return False
    copy.unlink(missing_ok=True)
    return True


@contextmanager
def _one_at_a_time(copy: Path) -> Iterator[None]:
    """Let one process of this machine make a copy: tasks of Spark want the same ones at the same time."""
    with storage_errors(copy):
        make_folders(copy.parent)
        # One for each last byte of a hash, so that not many files are left.
        lock = os.open(copy.with_name(f".lock-{copy.name[-2:]}"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE)
    try:
        with suppress(OSError):  # a file system without locks: a copy is made twice
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@cache
def _drop_unused(folder: Path) -> None:
    """Remove the copies that nobody has used for some days, once in each process. No store cleans up this folder, see
    `local`."""
    for file in folder.iterdir():
        with suppress(OSError):
            if file.name.startswith("f1620") and time.time() - file.stat().st_mtime > _DAYS * 24 * 3600:
                file.unlink()


def _chunks(read: Callable[[], AbstractContextManager[BinaryIO]]) -> Iterator[bytes]:
    with read() as stream:
        while chunk := stream.read(BLOCK):
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
    if is_path(uri := local(uri)):
        return open(uri, "rb")
    if object_stores.is_object(uri):
        return io.BufferedReader(_Object(uri), BLOCK)
    system, name = _resolve(uri)
    return io.BufferedReader(system.open_input_file(name), BLOCK)


class _Object(io.RawIOBase):
    """An object that is read by ranges. Clients repeat requests that fail."""

    def __init__(self, uri: str) -> None:
        self._uri, self._at = uri, 0

    @property
    def _size(self) -> int:
        return _size_of_object(self._uri)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence, self._size)
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        length = max(min(len(buffer), self._size - self._at), 0)
        if length:
            buffer[:length] = memoryview(object_stores.part(self._uri, self._at, length))
            self._at += length
        return length


def blocks(uri: str, start: int, end: int, block: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file from ``start`` to ``end`` in blocks, by default of BLOCK bytes. Those of an object are
    requested ahead, and no others are."""
    block = block or BLOCK
    if object_stores.is_object(uri := local(uri)):
        yield from map_ahead(lambda at: _part(uri, at, min(block, end - at)), range(start, end, block))
        return
    with open_file(uri) as file:
        file.seek(start)
        while data := file.read(min(block, end - start)):
            start += len(data)
            yield data


def _part(uri: str, start: int, length: int) -> bytes:
    return object_stores.part(uri, start, length).to_bytes()


def open_parquet(uri: str, **options: Any) -> pq.ParquetFile:
    """Return an open Parquet file; ``options`` are those of pyarrow."""
    return pq.ParquetFile(uri if is_path(uri := local(uri)) else open_file(uri), **options)


def footer(uri: str) -> pq.FileMetaData:
    """Return the footer of a Parquet file. Of an object that is not on this machine, nothing else is read, unless the
    footer is damaged: then the object is compared with its hash.

    :raises ArrowInvalid: it is not Parquet, or the name of a column is not UTF-8.
    :raises ChainCorrupted: the content of an object has another hash than its name says.
    """
    with open_without_copy(uri) as file:
        try:
            return _footer(file)
        except (pa.ArrowException, OSError) as e:
            if not (is_damage(e) and object_stores.is_object(uri) and _copy_of(uri)):
                raise
    drop_copy(uri)
    with open_file(uri) as file:
        return _footer(file)


def _footer(file: BinaryIO) -> pq.FileMetaData:
    footer = pq.read_metadata(file)
    try:
        _ = footer.schema.to_arrow_schema().names  # pyarrow decodes them late
    except UnicodeDecodeError as e:
        raise pa.ArrowInvalid(str(e)) from None
    return footer


def is_damage(error: Exception) -> bool:
    """Whether an error of reading Parquet is one of the file's content. Arrow calls damaged pages an OSError too, but
    of no number."""
    if isinstance(error, OSError):
        return error.errno is None and not isinstance(error, FileNotFoundError)
    return isinstance(error, pa.ArrowException)


def is_parquet(path: str) -> bool:
    """Return whether a file begins as Parquet does; False if it cannot be read."""
    try:
        with open_without_copy(path) as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except (OSError, StorageError):
        return False


def damage(path: str) -> str:
    """Return why Arrow cannot read all rows of a Parquet file, or an empty text; what it has no reader for is valid."""
    try:
        with open_file(path) as file:
            for _ in pq.ParquetFile(file).iter_batches():
                pass
    except pa.ArrowNotImplementedError:
        return ""
    except (pa.ArrowInvalid, OSError) as e:
        return " ".join(str(e).split()) if is_damage(e) and not _NO_READER.search(str(e)) else ""
    return ""


def open_without_copy(uri: str) -> BinaryIO:
    """Return an open file of which little is read: of an object that is not on this machine, in small parts."""
    copy = _copy_of(uri)
    if object_stores.is_object(uri) and not (copy and copy.exists()):
        return io.BufferedReader(_Object(uri), _FOOTER)
    return open_file(uri)


def fragment(uri: str) -> Any:
    """Return a Parquet file whose rows pyarrow filters while it reads them."""
    import pyarrow.dataset as ds

    if object_stores.is_object(uri := local(uri)):
        return ds.ParquetFileFormat().make_fragment(open_file(uri))
    system, name = _resolve(uri)
    return ds.ParquetFileFormat().make_fragment(name, system)


def is_file(uri: str) -> bool:
    """Whether a name refers to a file, not to a directory. That of an object does."""
    return object_stores.is_object(uri) or bool(_info(uri).type == fs.FileType.File)


def size(uri: str) -> int:
    """Return the size of a file, or of all files in a directory, in bytes.

    :raises OSError: the file or directory cannot be accessed.
    :raises StorageError: an object store does not tell.
    """
    if object_stores.is_object(uri):
        return _size_of_object(uri)
    info = _info(uri)
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(uri)
    if info.type == fs.FileType.Directory:
        system, name = _resolve(uri)
        return sum(f.size or 0 for f in system.get_file_info(fs.FileSelector(name, recursive=True)))
    return int(info.size)


def sizes(uris: Sequence[str]) -> list[int]:
    """Return the sizes of files in bytes; it raises as `size`."""
    return _for_each(size, uris)


def footers(uris: Sequence[str]) -> list[pq.FileMetaData]:
    """Return the footers of Parquet files; it raises as `footer`."""
    return _for_each(footer, uris)


def _for_each(call: Callable[[str], Result], uris: Sequence[str]) -> list[Result]:
    """Return the result for each file. Object stores get several requests at once."""
    if sum(map(object_stores.is_object, uris)) < 2:
        return [*map(call, uris)]
    with ThreadPoolExecutor(min(_REQUESTS, len(uris)), thread_name_prefix="files") as pool:
        return [*pool.map(call, uris)]


_sizes: dict[str, int] = {}
"""Sizes of objects. None gets new content: slices are named by their hashes, inputs lie in folders of their own."""


def keep_sizes(sizes: Mapping[str, int]) -> None:
    """Keep the sizes of objects that are known, so that nobody asks for them."""
    _sizes.update((uri, size) for uri, size in sizes.items() if object_stores.is_object(uri))


def _size_of_object(uri: str) -> int:
    if uri not in _sizes:
        _sizes[uri] = object_stores.size(uri)
    return _sizes[uri]


def total_size(uris: Iterable[str]) -> int:
    """Return the size of files in bytes. One of unknown size counts as large."""
    try:
        return sum(sizes([*uris]))
    except (OSError, pa.ArrowException):
        return SMALL + 1


def are_small(uris: Iterable[str]) -> bool:
    """Whether files together are small."""
    return total_size(uris) <= SMALL


def read_parquet(uri: str, columns: Sequence[str], filters: pc.Expression | None = None) -> pa.Table:
    with open_file(uri) as file:
        return pq.read_table(file, columns=list(columns), filters=filters)


def is_path(uri: str) -> bool:
    """Whether a data file is one of this machine, by its path."""
    return "://" not in uri and not uri.startswith("file:")


def _info(uri: str) -> fs.FileInfo:
    system, name = _resolve(uri)
    return system.get_file_info(name)


def _resolve(uri: str) -> tuple[Any, str]:
    if is_path(uri := local(uri)):
        return fs.LocalFileSystem(), uri
    system, name = fs.FileSystem.from_uri(uri if "://" in uri else "file://" + uri.removeprefix("file:"))
    return system, name
