"""`Storage` on a web server, which can only read: a folder that any server of files serves, or a repository of the
protocol for simple transfers, as the reference implementation serves it.

A web server lists no files. A folder looks empty, and files are found by their names: ``refs/head``, and all that the
chain names from there on.
"""

from __future__ import annotations

import base64
import io
import netrc
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeVar
from urllib.parse import quote, urlsplit

import httpx

from airflow_provider_odf.chain.object_storage import Chunks
from airflow_provider_odf.chain.storage import FileInfo, ref_file
from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable, StorageError
from airflow_provider_odf.manifest.names import remote_folder
from airflow_provider_odf.source import http
from airflow_provider_odf.source.http_client import Session
from airflow_provider_odf.source.options import Options

_BLOCK = 1 << 20
_SMALL = 64 << 10
"""Bytes of a body that are read so that the connection can be used again; another one is cheaper than more."""
_PAUSES = (0.5, 2.0, 5.0)
"""Seconds before further attempts, as long as there is no progress."""
_OK, _PARTIAL = 200, 206
_PLAIN = {"Accept-Encoding": "identity"}

T = TypeVar("T")


class _Unreachable(StorageError):
    """A failure that may be gone at the next attempt."""


@dataclass(frozen=True)
class HttpStorage:
    """Files below a URL, which has no credentials: those are in ``~/.netrc``."""

    url: str
    is_listed = False

    @classmethod
    def at(cls, url: str) -> HttpStorage:
        """Return the storage at a URL.

        :raises InvalidInput: the URL has no host, or has credentials or parameters, which messages would show.
        """
        try:
            return cls(remote_folder(url, "store"))
        except ValueError as e:
            raise InvalidInput(str(e)) from None

    @property
    def uri(self) -> str:
        return self.url

    def location(self, name: str = "") -> str:
        return f"{self.url}/{quote(name, safe='/+')}" if name else self.url

    def exists(self) -> bool:
        return True  # nobody can ask a web server for a folder

    def folder(self, name: str) -> HttpStorage:
        return HttpStorage(self.location(name))

    def folders(self) -> list[str]:
        return []

    def names(self, folder: str) -> list[str]:
        return []

    def files(self, folder: str) -> list[FileInfo]:
        return []

    def stat(self, name: str) -> FileInfo | None:
        # Not HEAD: a redirect may lead to a URL that is signed for GET.
        def info(response: httpx.Response) -> FileInfo:
            length = response.headers.get("Content-Length", "")
            is_large = length.isdecimal() and int(length) > _SMALL
            size = int(length) if is_large else sum(map(len, response.iter_bytes()))
            modified = http.Validators.of(response.headers).last_modified
            version = (response.headers.get("ETag", ""), str(modified or ""))
            return FileInfo(name, size, modified.to_datetime().timestamp() if modified else 0, version)

        return self._found(name, info)

    def versions(self, folder: str, names: Sequence[str]) -> str:
        # As in an object store: nothing changes a file under the hash of its content.
        return ""

    def get(self, name: str) -> bytes | None:
        return self._found(name, lambda response: response.read())

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        with closing(self._chunks(name)) as chunks, io.BufferedReader(Chunks(chunks), _BLOCK) as file:
            yield file

    def put(self, name: str, data: bytes) -> NoReturn:
        self._refuse(name)

    def put_if_absent(self, name: str, data: bytes) -> NoReturn:
        self._refuse(name)

    def adopt(self, name: str, source: Path | str) -> NoReturn:
        self._refuse(name)

    def sync(self, folder: str = "") -> NoReturn:
        self._refuse(folder)

    def remove(self, name: str, modified: float) -> NoReturn:
        self._refuse(name)

    def remove_folder(self, name: str) -> NoReturn:
        self._refuse(name)

    def get_ref(self, name: str) -> str | None:
        data = self.get(ref_file(name))
        return data.decode("ascii", "replace").strip() or None if data is not None else None

    def compare_and_set_ref(self, name: str, expected: str | None, new: str | None) -> NoReturn:
        self._refuse(ref_file(name))

    def refs(self, beginnings: str | tuple[str, ...] = "") -> list[str]:
        return list(self.targets(beginnings))

    def targets(self, beginnings: str | tuple[str, ...] = "") -> dict[str, str]:
        head = self.get_ref("head") if "head".startswith(beginnings) else None
        return {"head": head} if head is not None else {}

    def _refuse(self, name: str) -> NoReturn:
        raise InvalidInput(
            f"{self.location(name)}: a web server can only be read: copy the dataset to another store with `odf copy`"
        )

    def _found(self, name: str, read: Callable[[httpx.Response], T]) -> T | None:
        """Return what ``read`` makes of the response, or None if the server has no such file."""
        pauses = list(_PAUSES)
        while True:
            try:
                with self._response(name) as response:
                    return read(response)
            except FileNotFoundError:
                return None
            except _Unreachable:
                if not pauses:
                    raise
                time.sleep(pauses.pop(0))

    def _chunks(self, name: str) -> Generator[bytes, None, None]:
        """Yield the content of a file. After a lost connection it goes on where it was: whoever reads a file under the
        hash of its content compares it."""
        received, pauses = 0, list(_PAUSES)
        while True:
            try:
                with self._response(name, received) as response:
                    known = received if response.status_code != _PARTIAL else 0
                    for whole in response.iter_bytes():
                        piece, known = whole[known:], max(known - len(whole), 0)
                        if piece:
                            received, pauses = received + len(piece), list(_PAUSES)
                            yield piece
                    return
            except FileNotFoundError:
                raise StorageError(f"{self.location(name)}: no such file on the server") from None
            except _Unreachable:
                if not pauses:
                    raise
                time.sleep(pauses.pop(0))

    @contextmanager
    def _response(self, name: str, start: int = 0) -> Iterator[httpx.Response]:
        """Yield the response to a request, after redirects.

        :raises FileNotFoundError: the server has no such file.
        """
        url = self.location(name)
        extra = _PLAIN | ({"Range": f"bytes={start}-"} if start else {})
        target = http.Target(url, _authorization(urlsplit(url).hostname or ""), url)
        try:
            with _session(os.getpid()).get(extra, target) as response:
                if response.status_code in (http.NOT_FOUND, http.GONE):
                    raise FileNotFoundError(url)
                if response.status_code != _OK and not (start and response.status_code == _PARTIAL):
                    raise http.refusal(response, url)
                yield response
        except httpx.RequestError as e:
            raise _Unreachable(f"{url}: {http.reason(e)}") from None
        except SourceUnavailable as e:
            raise _Unreachable(str(e)) from None
        except SourceError as e:
            raise StorageError(str(e)) from None


@cache
def _session(_process: int) -> Session:
    """Return the connections of a process: those of its parent must not be used."""
    return Session(http.Target("", (), ""), Options())


@cache
def _authorization(host: str) -> tuple[tuple[str, str], ...]:
    """Return the header with the user and password that ``~/.netrc`` has for a host."""
    try:
        entry = netrc.netrc().authenticators(host)
    except FileNotFoundError:
        return ()
    except (OSError, netrc.NetrcParseError) as e:
        raise InvalidInput(f"{Path('~/.netrc').expanduser()}: {getattr(e, 'msg', e)}") from None
    if entry is None:
        return ()
    user, _, password = entry
    return (("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()),)
