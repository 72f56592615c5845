"""Data files: local paths, or URIs that Arrow supports (file, s3, gs, hdfs).

Only this module opens them. Spark reads the same names with its own file systems.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

SMALL = 16 * 1024 * 1024
"""Maximum size in bytes of an input that the driver processes itself."""

_BLOCK = 4 << 20


def open_file(uri: str) -> BinaryIO:
    if _is_path(uri):
        return open(uri, "rb")
    system, name = _resolve(uri)
    return io.BufferedReader(system.open_input_file(name), _BLOCK)


def open_parquet(uri: str, **options: Any) -> pq.ParquetFile:
    """Return an open Parquet file; ``options`` are those of pyarrow."""
    if _is_path(uri):
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


def size_or_large(uri: str) -> int:
    """Return the size of a file in bytes. If it is unknown, the file counts as large."""
    try:
        return size(uri)
    except (OSError, pa.ArrowException):
        return SMALL + 1


def are_small(uris: Iterable[str]) -> bool:
    """Whether files together are small."""
    return sum(map(size_or_large, uris)) <= SMALL


def read_parquet(uri: str, columns: Sequence[str], filters: pc.Expression | None = None) -> pa.Table:
    with open_file(uri) as file:
        return pq.read_table(file, columns=list(columns), filters=filters)


def _is_path(uri: str) -> bool:
    return "://" not in uri and not uri.startswith("file:")


def _info(uri: str) -> fs.FileInfo:
    system, name = _resolve(uri)
    return system.get_file_info(name)


def _resolve(uri: str) -> tuple[Any, str]:
    if _is_path(uri):
        return fs.LocalFileSystem(), uri
    system, name = fs.FileSystem.from_uri(uri if "://" in uri else "file://" + uri.removeprefix("file:"))
    return system, name
