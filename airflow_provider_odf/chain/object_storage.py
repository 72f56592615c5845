"""`Storage` in an object store: S3, Google Cloud Storage or Azure Blob Storage, through conditional writes.

An object is seen whole or not at all. A ref moves by a write on condition of its version (If-Match on S3 and Azure, the
generation on Google), which the server decides. An answer may be lost, and the client then sends the same write again
and gets a conflict with itself: each such answer is settled by reading the object back.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from uuid import uuid4

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain.storage import FileInfo, is_ref, ref_file
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

_PROBE = ".conditions"
"""Folder of the objects that check whether the server heeds conditions."""

_CHECKED: set[str] = set()
"""Buckets whose server does."""


@dataclass(frozen=True)
class ObjectStorage:
    """Objects below a prefix of a bucket or container, which is named by its URI. A copy for another process has no
    client, and so no credentials."""

    bucket: str
    prefix: str
    is_listed = True

    @classmethod
    def at(cls, uri: str) -> ObjectStorage:
        """Return the storage at ``s3://BUCKET/PREFIX``, ``gs://…``, ``az://CONTAINER/…`` or ``abfss://…``.

        :raises InvalidInput: the URI is not valid.
        """
        storage = cls(*object_stores.split(uri))
        _ = storage.client
        return storage

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
        infos = (_info(f"{folder}/{meta['path'].rpartition('/')[2]}", meta) for meta in objects)
        return sorted(infos, key=lambda info: info.name)

    def stat(self, name: str) -> FileInfo | None:
        with self._errors(name):
            try:
                return _info(name, self.client.head(self._key(name)))
            except FileNotFoundError:
                return None

    def versions(self, folder: str, names: Sequence[str]) -> str:
        # Nothing changes an object under the hash of its content, and asking for each costs a request.
        return ""

    def get(self, name: str) -> bytes | None:
        return None if (held := self._held(name)) is None else held[0]

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
                held = self.get(name)
                if held is None:
                    raise StorageError(f"{self.location(name)}: {object_stores.reason(e)}") from e
                if held == data:
                    self.put(name, data)
                return False
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
        data = self.get(ref_file(name))
        return data.decode("ascii", "replace").strip() or None if data is not None else None

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> None:
        """Move a ref. One that is removed stays as an empty object, since not every server deletes on a condition."""
        file, content = ref_file(name), (new or "").encode("ascii")
        self._check_conditions()
        held = self._held(file)
        current = None if held is None else held[0].decode("ascii", "replace").strip() or None
        if current == expected and (held is None and new is None):
            return
        if current != expected or not self._write_on_condition(file, content, held and held[1]):
            raise CommitConflict(
                f"{self.location(file)} points to {self.get_ref(name)}, expected {expected}: another writer moved it; "
                "run again"
            )

    def refs(self) -> list[str]:
        infos = self.files("refs")
        return [name for info in infos if info.size and is_ref(name := info.name.rpartition("/")[2])]

    def _write_on_condition(self, name: str, data: bytes, version: str | None) -> bool:
        """Write an object if its version is still ``version`` (None: it does not exist); return whether it has been
        written, which its content says when the answer does not."""
        from obstore import exceptions

        with self._errors(name):
            try:
                self.client.put(self._key(name), data, mode="create" if version is None else {"e_tag": version})
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError, exceptions.GenericError):
                return self.get(name) == data
        return True

    def _held(self, name: str) -> tuple[bytes, str | None] | None:
        """Return the content and version of an object, None if there is none."""
        with self._errors(name):
            try:
                result = self.client.get(self._key(name))
                return bytes(result.bytes()), result.meta["e_tag"]
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

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _info(name: str, meta: ObjectMeta) -> FileInfo:
    return FileInfo(name, meta["size"], meta["last_modified"].timestamp(), (meta["e_tag"] or "", meta["version"] or ""))


def _visible(names: Iterator[str]) -> Iterator[str]:
    return (name for name in names if not name.startswith("."))
