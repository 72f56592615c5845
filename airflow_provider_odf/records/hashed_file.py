"""A new file that is hashed while it is written."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import IO, Any

from airflow_provider_odf import closed_files, multiformats
from airflow_provider_odf.records.stage import Stage

_BLOCK = 1 << 20
"""Bytes that are hashed and written in one call."""

_PENDING_BLOCKS = 16

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class HashedFile(io.RawIOBase):
    """A new file that computes the hash and the size of its content. A thread hashes and writes."""

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] = os.fdopen(os.open(path, _NEW, closed_files.FILE), "wb")
        self._hash = hashlib.sha3_256()
        self._stage = Stage("physical-hash", _PENDING_BLOCKS)
        self._block = bytearray()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        # A copy: the caller uses its buffer again.
        self._block += view
        if len(self._block) >= _BLOCK:
            self._next_block()
        self.size += view.nbytes
        return view.nbytes

    def _next_block(self) -> None:
        block, self._block = self._block, bytearray()
        self._stage.run(self._write, block)

    def _write(self, block: bytearray) -> None:
        self._hash.update(block)
        self._file.write(block)

    def finish(self) -> str:
        """Flush the file to disk and return its hash as multihash text."""
        self._next_block()
        self._stage.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        return multiformats.multihash(multiformats.SHA3_256, self._hash.digest())

    def close(self) -> None:
        self._stage.cancel()
        self._file.close()
        super().close()
