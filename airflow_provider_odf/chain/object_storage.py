"""`Storage` in an object store: S3, Google Cloud Storage or Azure Blob Storage, through conditional writes.

An object is seen whole or not at all. A ref moves by a write on condition of its version (If-Match on S3 and Azure, the
generation on Google), which the server decides. An answer may be lost, and the client then sends the same write again
and gets a conflict with itself: each such answer is settled by reading the object back.
"""

from __future__ import annotations

import io
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

from airflow_provider_odf import closed_files, object_stores
from airflow_provider_odf.chain.storage import PENDING, FileInfo, is_ref, ref_file
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from airflow_provider_odf.multiformats import sha3_256

if TYPE_CHECKING:
    from obstore import ObjectMeta, UpdateVersion
    from obstore.store import ObjectStore

_PROBE = ".conditions"
"""Folder of the objects that check whether the server heeds conditions."""

_CHECKED: set[str] = set()
"""Buckets whose server does."""


_HEAD, _INDEX, _BLOCKS = "head", "refs/.index", "blocks/"

_AT_ONCE = 16
"""Blocks that are copied at once, and after how many misses all are."""


class BlockCopies:
    """Blocks of a dataset in a folder of this machine, which may go at any time. Each is compared with its hash, which
    is its name, whenever it is read."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._misses = folder, 0

    def get(self, block_hash: str) -> bytes | None:
        """Return a block, or None if there is no copy, or it is damaged."""
        try:
            data = (self._folder / block_hash).read_bytes()
        except OSError:
            return None
        return data if sha3_256(data) == block_hash else None

    def has(self, block_hash: str) -> bool:
        return (self._folder / block_hash).is_file()

    def put(self, block_hash: str, data: bytes) -> None:
        """Keep a block, if this process may."""
        with suppress(OSError):
            if self._folder.parent.is_dir() and sha3_256(data) == block_hash:
                closed_files.make_folders(self._folder)
                unfinished = self._folder / f"{PENDING}{uuid4().hex}"
                unfinished.write_bytes(data)
                unfinished.replace(self._folder / block_hash)

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._misses = 0

    def are_many_missing(self) -> bool:
        """Count a miss, and return whether there were so many that all blocks should be copied, once."""
        self._misses += 1
        return self._misses == _AT_ONCE


@dataclass(frozen=True)
class _Ref:
    """A ref of the index: its block, and when it moved, in seconds since 1970."""

    target: str
    moved: float


@dataclass(frozen=True)
class ObjectStorage:
    """Objects below a prefix of a bucket or container, which is named by its URI. A copy for another process has no
    client, and so no credentials."""

    bucket: str
    prefix: str
    copies: BlockCopies | None = field(default=None, compare=False, repr=False)
    is_listed = True

    @classmethod
    def at(cls, uri: str) -> ObjectStorage:
        """Return the storage at ``s3://BUCKET/PREFIX``, ``gs://…``, ``az://CONTAINER/…`` or ``abfss://…``.

        :raises InvalidInput: the URI is not valid.
        """
        return cls(*object_stores.split(uri))

    @property
    def client(self) -> ObjectStore:
        return object_stores.client(self.bucket)

    @property
    def uri(self) -> str:
        return self.location()

    def location(self, name: str = "") -> str:
        return "/".join(filter(None, (self.bucket, self.prefix, name)))

    def exists(self) -> bool:
        with self._errors():
            return any(self.client.list(self._key("") + "/", chunk_size=1))

    def folder(self, name: str) -> ObjectStorage:
        return ObjectStorage(self.bucket, self._key(name))

    def folders(self) -> list[str]:
        with self._errors():
            prefixes = self.client.list_with_delimiter(self.prefix or None)["common_prefixes"]
        return sorted(_visible(prefix.rpartition("/")[2] for prefix in prefixes))

    def names(self, folder: str) -> list[str]:
        return list(_visible(info.name.rpartition("/")[2] for info in self.files(folder)))

    def files(self, folder: str) -> list[FileInfo]:
        with self._errors(folder):
            objects = self.client.list_with_delimiter(self._key(folder))["objects"]
        infos = [_info(f"{folder}/{meta['path'].rpartition('/')[2]}", meta) for meta in objects]
        if folder == "refs":
            infos += [
                FileInfo(ref_file(name), len(ref.target), ref.moved, ()) for name, ref in self._index()[0].items()
            ]
        return sorted(infos, key=lambda info: info.name)

    def with_copies(self, folder: Path) -> ObjectStorage:
        """Return this storage of a dataset, with copies of its blocks in a folder of this machine."""
        return replace(self, copies=BlockCopies(folder))

    def forget_copies(self) -> None:
        """Remove the copies of blocks, so that all are read from the object store again."""
        if self.copies is not None:
            self.copies.remove()

    def stat(self, name: str) -> FileInfo | None:
        if (data := self._copied(name)) is not None:
            return FileInfo(name, len(data), 0.0, ())
        with self._errors(name):
            try:
                return _info(name, self.client.head(self._key(name)))
            except FileNotFoundError:
                return None

    def versions(self, folder: str, names: Sequence[str]) -> str:
        # Nothing changes an object under the hash of its content, and asking for each costs a request.
        return ""

    def get(self, name: str) -> bytes | None:
        if (data := self._copied(name)) is not None:
            return data
        if (copies := self._copies_of(name)) is not None and copies.are_many_missing():
            self._copy_blocks(copies)
        held = self._held(name)
        return None if held is None else self._keep(name, held[0])

    def _copies_of(self, name: str) -> BlockCopies | None:
        """Return the copies on this machine that may have a file: None if it is no block."""
        return self.copies if name.startswith(_BLOCKS) else None

    def _copied(self, name: str) -> bytes | None:
        copies = self._copies_of(name)
        return copies.get(name.removeprefix(_BLOCKS)) if copies is not None else None

    def _keep(self, name: str, data: bytes) -> bytes:
        if (copies := self._copies_of(name)) is not None:
            copies.put(name.removeprefix(_BLOCKS), data)
        return data

    def _copy_blocks(self, copies: BlockCopies) -> None:
        """Copy all blocks at once, instead of one round trip for each."""
        missing = [info.name for info in self.files("blocks") if not copies.has(info.name.removeprefix(_BLOCKS))]

        def copy(name: str) -> None:
            if (held := self._held(name)) is not None:
                self._keep(name, held[0])

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(copy, missing))

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        try:
            with io.BufferedReader(Chunks(object_stores.chunks(self.location(name))), object_stores.BLOCK) as file:
                yield file
        except FileNotFoundError:
            raise StorageError(f"{self.location(name)}: no such object") from None

    def put(self, name: str, data: bytes) -> None:
        with self._errors(name):
            self.client.put(self._key(name), data)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Write a whole object unless it exists. One that has the same content is written again, so that it is as new
        as its last use, which `remove` regards."""
        from obstore import exceptions

        with self._errors(name):
            try:
                self.client.put(self._key(name), data, mode="create")
            except (exceptions.AlreadyExistsError, exceptions.GenericError) as e:
                held = None if (object_ := self._held(name)) is None else object_[0]
                if held is None:
                    raise StorageError(f"{self.location(name)}: {object_stores.reason(e)}") from e
                if held == data:
                    self.put(name, data)
                return False
        self._keep(name, data)
        return True

    def adopt(self, name: str, source: Path) -> None:
        with self._errors(name):
            self.client.put(self._key(name), source)  # in parts, if it is large; its name is that of its content

    def remove(self, name: str, modified: float) -> bool:
        info = self.stat(name)
        if info is None or info.modified > modified:
            return False
        with self._errors(name):
            self._delete(name)
        return True

    def remove_folder(self, name: str) -> None:
        with self._errors(name):
            for metas in self.client.list(f"{self._key(name)}/"):
                self.client.delete([meta["path"] for meta in metas])

    def get_ref(self, name: str) -> str | None:
        file = ref_file(name)
        if name != _HEAD:
            ref = self._index()[0].get(name)
            return ref.target if ref is not None else None
        data = self.get(file)
        return data.decode("ascii", "replace").strip() or None if data is not None else None

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> None:
        """Move a ref. A head that is removed stays as an empty object, since not every server deletes on a condition.
        All other refs are in one object, so that no listing finds them."""
        file, content = ref_file(name), (new or "").encode("ascii")
        self._check_conditions()
        if name != _HEAD:
            self._move_in_index(name, expected, new)
            return
        held = self._held(file)
        current = None if held is None else held[0].decode("ascii", "replace").strip() or None
        if current == expected and (held is None and new is None):
            return
        if current != expected or not self._write_on_condition(file, content, held and held[1]):
            raise self._conflict(name, self.get_ref(name), expected)

    def _conflict(self, name: str, current: str | None, expected: str | None) -> CommitConflict:
        return CommitConflict(
            f"{self.location(ref_file(name))} points to {current}, expected {expected}: another writer moved it; "
            "run again"
        )

    def _move_in_index(self, name: str, expected: str | None, new: str | None) -> None:
        is_sent = False
        while True:
            refs, version = self._index()
            current = refs[name].target if name in refs else None
            if current == new and (is_sent or current == expected):
                return
            if current != expected:
                raise self._conflict(name, current, expected)
            others = {other: ref for other, ref in refs.items() if other != name}
            moved = others if new is None else {**others, name: _Ref(new, time.time())}
            content = json.dumps({name: [ref.target, ref.moved] for name, ref in sorted(moved.items())}, indent=1)
            if self._write_on_condition(_INDEX, content.encode(), version):
                return
            is_sent = True

    def _index(self) -> tuple[dict[str, _Ref], UpdateVersion | None]:
        """Return all refs but the head, and the version of their object.

        :raises StorageError: it is damaged.
        """
        held = self._held(_INDEX)
        if held is None:
            return {}, None
        try:
            return {name: _Ref(str(target), float(at)) for name, (target, at) in json.loads(held[0]).items()}, held[1]
        except (ValueError, TypeError, AttributeError) as e:
            raise StorageError(
                f"{self.location(_INDEX)}: the object with the refs of candidates is damaged: restore an earlier "
                "version of it, or delete it to drop the candidates"
            ) from e

    def refs(self, beginnings: str | tuple[str, ...] = "") -> list[str]:
        heads = [_HEAD] if _HEAD.startswith(beginnings) and self.get_ref(_HEAD) is not None else []
        return sorted([*heads, *(name for name in self._index()[0] if is_ref(name) and name.startswith(beginnings))])

    def _write_on_condition(self, name: str, data: bytes, version: UpdateVersion | None) -> bool:
        """Write an object if its version is still ``version`` (None: it does not exist); return whether it has been
        written, which its content says when the answer does not.

        :raises StorageError: the server does not write it, although nobody else did.
        """
        from obstore import exceptions

        with self._errors(name):
            try:
                self.client.put(self._key(name), data, mode=version or "create")
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError, exceptions.GenericError) as e:
                held = self._held(name)
                if isinstance(e, exceptions.GenericError) and version == (held and held[1]):
                    raise
                return held is not None and held[0] == data
        return True

    def _held(self, name: str) -> tuple[bytes, UpdateVersion] | None:
        """Return the content and version of an object, None if there is none."""
        with self._errors(name):
            try:
                result = self.client.get(self._key(name))
                return bytes(result.bytes()), _version(result.meta)
            except FileNotFoundError:
                return None

    def _delete(self, name: str) -> None:
        try:
            self.client.delete(self._key(name))
        except FileNotFoundError:
            return

    def _check_conditions(self) -> None:
        """Check once in a process that the server refuses a write whose condition does not hold.

        :raises InvalidInput: it does not.
        """
        if self.bucket in _CHECKED:
            return
        name = f"{_PROBE}/{uuid4().hex}"
        with self._errors(name):
            first = self._write_on_condition(name, b"1", None)
            again = self._write_on_condition(name, b"2", None)
            version = self._held(name)
            changed = version is not None and self._write_on_condition(name, b"3", version[1])
            stale = version is not None and self._write_on_condition(name, b"4", version[1])
            self._delete(name)
        if not (first and changed) or again or stale:
            raise InvalidInput(
                f"store {self.bucket}: the server ignores conditions of writes (If-None-Match, If-Match), so that two "
                "writers could lose each other's data: switch them on, or use a server that has them"
            )
        _CHECKED.add(self.bucket)

    def _key(self, name: str) -> str:
        return "/".join(filter(None, (self.prefix, name)))

    def _errors(self, name: str = "") -> AbstractContextManager[None]:
        return object_stores.errors(self.location(name))


class Chunks(io.RawIOBase):
    """Chunks as a file for sequential reading."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _version(meta: ObjectMeta) -> UpdateVersion:
    """Return what a condition compares: the ETag, and the generation of Google Cloud Storage."""
    version: UpdateVersion = {"e_tag": meta["e_tag"]}
    # Without one obstore takes no null.
    return version if meta["version"] is None else {**version, "version": meta["version"]}


def _info(name: str, meta: ObjectMeta) -> FileInfo:
    # Listings have no generation.
    return FileInfo(name, meta["size"], meta["last_modified"].timestamp(), (object_stores.etag(meta),))


def _visible(names: Iterator[str]) -> Iterator[str]:
    return (name for name in names if not name.startswith("."))
