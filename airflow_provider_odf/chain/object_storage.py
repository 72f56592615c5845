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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

from airflow_provider_odf import closed_files, object_stores
from airflow_provider_odf.chain.storage import PENDING, FileInfo, is_ref, ref_file
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from airflow_provider_odf.multiformats import sha3_256

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult, UpdateVersion
    from obstore.store import ObjectStore

    from airflow_provider_odf.chain.storage import Storage

_PROBE = "refs/.conditions"
"""Empty object for the writes that show whether the server heeds conditions."""

_CHECKED: set[str] = set()
"""Buckets whose server does."""

_HEAD, _HEAD_FILE, _INDEX, _BLOCKS = "head", "refs/head", "refs/.index", "blocks/"

_NO_VERSION: UpdateVersion = {"e_tag": '"0"', "version": "1"}
"""Version that no object has."""

_ATTEMPTS = 50
"""How often a move of a ref starts over because another ref of the same object moved."""

_AT_ONCE = 16
"""Blocks that are copied at once, and after how many misses all are."""

PACK = "blocks.zip"
"""Object with copies of all blocks of a dataset up to some time, which saves a new machine one request for each."""

_LEAST_PACKED, _SHARE_PACKED = 256, 4
"""A new pack is made when so many blocks are not in the present one, and they are this part of it, one in so many."""


class BlockCopies:
    """Blocks of a dataset in a folder of this machine, and in a pack that all machines share. Both may go at any time.
    Each block is compared with its hash, which is its name, whenever it is read from the folder, and before it gets
    there."""

    def __init__(self, folder: Path, shared: Storage) -> None:
        """``shared`` is where the pack is."""
        self._folder, self._misses = folder, 0
        self._shared: Storage | None = shared

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

    def unpack(self) -> int:
        """Copy the blocks of the pack to this machine and return their number: 0 without a pack, or if it is damaged.

        :raises StorageError: it cannot be read.
        """
        data = self._shared.get(PACK) if self._shared is not None else None
        if data is None:
            return 0
        try:
            with ZipFile(io.BytesIO(data)) as pack:
                names = pack.namelist()
                for name in names:
                    if not self.has(name):
                        self.put(name, pack.read(name))
                return len(names)
        except Exception:  # what a damaged archive raises depends on the damage
            return 0

    def pack(self, hashes: Iterable[str]) -> None:
        """Make a pack of blocks that this machine has, if this process may write it."""
        if self._shared is None:
            return
        data = io.BytesIO()
        with ZipFile(data, "w", ZIP_DEFLATED) as pack:
            for block_hash in hashes:
                if (block := self.get(block_hash)) is not None:
                    pack.writestr(block_hash, block)
        with suppress(StorageError):
            self._shared.put(PACK, data.getvalue())

    def forget(self) -> None:
        """Remove the copies of this machine, and do not use the pack in this process."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._shared, self._misses = None, 0

    def are_many_missing(self) -> bool:
        """Count a miss, and return whether there were so many that all blocks should be copied, once."""
        self._misses += 1
        return self._misses == _AT_ONCE


@dataclass(frozen=True)
class _Ref:
    """A ref: its block, and when it moved, in seconds since 1970, which only the index has."""

    target: str
    moved: float


_Held: TypeAlias = "tuple[bytes, UpdateVersion] | None"
"""Content and version of an object, None if there is none."""


@dataclass(frozen=True)
class ObjectStorage:
    """Objects below a prefix of a bucket or container, which is named by its URI. A copy for another process has no
    client, and so no credentials."""

    bucket: str
    prefix: str
    copies: BlockCopies | None = field(default=None, compare=False, repr=False)
    known: dict[str, _Held] = field(default_factory=dict, compare=False, repr=False)
    """Head and index as they were read or written last. A move of a ref starts from them; the server refuses it if they
    have changed since, and then they are read."""
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
                FileInfo(ref_file(name), len(ref.target), ref.moved, ()) for name, ref in self._refs(_INDEX)[0].items()
            ]
        return sorted(infos, key=lambda info: info.name)

    def every_file(self) -> Iterator[FileInfo]:
        """Yield the files of this folder and of those below it."""
        with self._errors():
            for metas in self.client.list(f"{self.prefix}/" if self.prefix else None):
                yield from (_info(meta["path"].removeprefix(self.prefix).lstrip("/"), meta) for meta in metas)

    def with_copies(self, folder: Path, shared: Storage) -> ObjectStorage:
        """Return this storage of a dataset, with copies of its blocks in a folder of this machine and in a pack."""
        return replace(self, copies=BlockCopies(folder, shared))

    def forget_copies(self) -> None:
        """Remove the copies of blocks, so that all are read from the object store again."""
        if self.copies is not None:
            self.copies.forget()

    def stat(self, name: str) -> FileInfo | None:
        """Return the properties of an object. Whoever asks for a head or a block reads it next, so it is read."""
        if name == _HEAD_FILE or self._copies_of(name) is not None:
            data = self.get_ref(_HEAD) if name == _HEAD_FILE else self.get(name)
            return FileInfo(name, len(data), 0.0, ()) if data is not None else None
        return self._stat(name)

    def _stat(self, name: str) -> FileInfo | None:
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
            if (data := self._copied(name)) is not None:
                return data
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
        """Copy all blocks at once, instead of one round trip for each: those of the pack by one request."""
        packed = copies.unpack()
        names = [info.name for info in self.files("blocks")]
        missing = [name for name in names if not copies.has(name.removeprefix(_BLOCKS))]

        def copy(name: str) -> None:
            if (held := self._held(name)) is not None:
                self._keep(name, held[0])

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(copy, missing))
        if len(names) - packed >= max(_LEAST_PACKED, packed // _SHARE_PACKED):
            copies.pack(name.removeprefix(_BLOCKS) for name in names)

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
            except (exceptions.AlreadyExistsError, exceptions.GenericError):
                if (held := self._held(name)) is None:
                    raise
                if held[0] == data:
                    self.put(name, data)
                return False
        self._keep(name, data)
        return True

    def adopt(self, name: str, source: Path | str) -> None:
        if isinstance(source, Path):
            # Not by a URI, as names of input files may have characters with a meaning there.
            with self._errors(name):
                self.client.put(self._key(name), source, chunk_size=object_stores.part_size(source.stat().st_size))
        else:
            try:
                object_stores.copy(source, self.location(name))
            except FileNotFoundError:
                raise StorageError(f"{source}: no such object: run again") from None

    def sync(self, folder: str = "") -> None:
        """Do nothing: what was written stays."""

    def remove(self, name: str, modified: float) -> bool:
        info = self._stat(name)
        if info is None or info.modified > modified:
            return False
        with self._errors(name):
            self._delete(name)
        return True

    def remove_folder(self, name: str, modified: float = inf) -> None:
        """Remove a folder with the files below it, except those that were written after ``modified``."""
        with self._errors(name):
            for metas in self.client.list(f"{self._key(name)}/"):
                self.client.delete([meta["path"] for meta in metas if meta["last_modified"].timestamp() <= modified])

    def get_ref(self, name: str) -> str | None:
        ref = self._refs(_file(name))[0].get(name)
        return ref.target if ref is not None else None

    def targets(self, beginnings: str | tuple[str, ...] = "") -> dict[str, str]:
        head = self._refs(_HEAD_FILE)[0] if _HEAD.startswith(beginnings) else {}
        refs = sorted({**head, **self._refs(_INDEX)[0]}.items())
        return {name: ref.target for name, ref in refs if is_ref(name) and name.startswith(beginnings)}

    def refs(self, beginnings: str | tuple[str, ...] = "") -> list[str]:
        return list(self.targets(beginnings))

    def found_head(self) -> str | None:
        """Return the head as it was read last, without a request."""
        ref = self._refs(_HEAD_FILE, is_fresh=False)[0].get(_HEAD)
        return ref.target if ref is not None else None

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> None:
        """Move a ref. A head that is removed stays as an empty object, since not every server deletes on a condition.
        All other refs are in one object, so that no listing finds them."""
        file, is_sent = _file(name), False
        self._check_conditions()
        for attempt in range(_ATTEMPTS):
            refs, version = self._refs(file, is_fresh=attempt > 0)
            current = refs[name].target if name in refs else None
            if current == expected != new:
                moved = {other: ref for other, ref in refs.items() if other != name}
                if new is not None:
                    moved[name] = _Ref(new, time.time())
                if self._write_on_condition(file, _content(file, moved), version):
                    return
                is_sent = True
            elif attempt > 0:
                if current == new and (is_sent or new == expected):
                    return
                raise CommitConflict(
                    f"{self.location(ref_file(name))} points to {current}, expected {expected}: another writer moved "
                    "it; run again"
                )
        raise StorageError(
            f"{self.location(file)}: the server refused {_ATTEMPTS} writes on condition of the version that it had "
            "(If-None-Match, If-Match): use a server that supports them"
        )

    def _refs(self, file: str, *, is_fresh: bool = True) -> tuple[dict[str, _Ref], UpdateVersion | None]:
        """Return the refs in an object and its version, by default as they are now, else as this process knows them.

        :raises StorageError: the index is damaged.
        """
        if is_fresh or file not in self.known:
            self.known[file] = self._held(file)
        if (held := self.known[file]) is None:
            return {}, None
        data, version = held
        if file == _HEAD_FILE:
            target = data.decode("ascii", "replace").strip()
            return {_HEAD: _Ref(target, 0.0)} if target else {}, version
        try:
            return {name: _Ref(str(target), float(at)) for name, (target, at) in json.loads(data).items()}, version
        except (ValueError, TypeError, AttributeError) as e:
            raise StorageError(
                f"{self.location(_INDEX)}: the object with the refs of candidates is damaged: restore an earlier "
                "version of it, or delete it to drop the candidates"
            ) from e

    def _write_on_condition(self, file: str, data: bytes, version: UpdateVersion | None) -> bool:
        """Write an object of refs if its version is still ``version`` (None: it does not exist); return whether it has
        been written, which its content says when the answer does not.

        :raises StorageError: the server does not write it, although nobody else did.
        """
        from obstore import exceptions

        with self._errors(file):
            try:
                result = self.client.put(self._key(file), data, mode=version or "create")
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError, exceptions.GenericError) as e:
                held = self._held(file)
                if isinstance(e, exceptions.GenericError) and version == (held and held[1]):
                    raise
                return held is not None and held[0] == data
        self.known[file] = data, _version(result)
        return True

    def _held(self, name: str) -> _Held:
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
        # The first write makes the object if the store has none yet.
        if not ((self._is_refused("create") or self._is_refused("create")) and self._is_refused(_NO_VERSION)):
            raise InvalidInput(
                f"store {self.bucket}: the server ignores conditions of writes (If-None-Match, If-Match), so that two "
                "writers could lose each other's data: switch them on, or use a server that has them"
            )
        _CHECKED.add(self.bucket)

    def _is_refused(self, mode: Literal["create"] | UpdateVersion) -> bool:
        """Return whether the server refuses to write the object of the check in a mode."""
        from obstore import exceptions

        with self._errors(_PROBE):
            try:
                self.client.put(self._key(_PROBE), b"", mode=mode)
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
                return True
            except NotImplementedError:  # They are switched off in the environment.
                pass
        return False

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


def _file(name: str) -> str:
    """Return the object that has a ref."""
    return ref_file(name) if name == _HEAD else _INDEX


def _content(file: str, refs: Mapping[str, _Ref]) -> bytes:
    """Return the content of the object of refs."""
    if file == _HEAD_FILE:
        return "".join(ref.target for ref in refs.values()).encode("ascii")
    return json.dumps({name: [ref.target, ref.moved] for name, ref in sorted(refs.items())}, indent=1).encode()


def _version(meta: ObjectMeta | PutResult) -> UpdateVersion:
    """Return what a condition compares: the ETag, and the generation of Google Cloud Storage."""
    version: UpdateVersion = {"e_tag": meta["e_tag"]}
    # Without one obstore takes no null.
    return version if meta["version"] is None else {**version, "version": meta["version"]}


def _info(name: str, meta: ObjectMeta) -> FileInfo:
    # Listings have no generation.
    return FileInfo(name, meta["size"], meta["last_modified"].timestamp(), (object_stores.etag(meta),))


def _visible(names: Iterator[str]) -> Iterator[str]:
    return (name for name in names if not name.startswith("."))
