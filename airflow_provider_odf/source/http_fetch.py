"""FetchStep::Url over http and https: one file, downloaded with bounded memory, retries and resumption.

The state is the ETag, else Last-Modified, else the hash of the content. Sources without the first two are fetched each
time and compared. A download is resumed by ``Range`` with ``If-Range``, so parts of two versions never mix. A server
without support for it sends the whole file again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import httpx

from airflow_provider_odf import multiformats
from airflow_provider_odf.errors import SourceError, SourceUnavailable
from airflow_provider_odf.source import decompress, http, source_state
from airflow_provider_odf.source.fetching import UNKNOWN, Address, Context, Fetch, SourceFiles, Watched
from airflow_provider_odf.source.http_client import Session, ask
from airflow_provider_odf.source.transfer import Transfer, TryAgain

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import SourceState
    from airflow_provider_odf.source.options import Options

LONGEST_COMPARED = 16 << 20
"""Maximum size of an HTTP response without validators that is read to compare it."""

_OK, _PARTIAL, _RANGE_REFUSED = 200, 206, 416
_SETTLING = 1.05
_LONGEST_SIZE = 18
"""Digits of a size; Python refuses to read very long numbers."""
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")


def prepare(address: Address, context: Context) -> Fetch:
    """Return how to fetch a URL. It is refused later if it is not valid."""
    target = http.Target(
        address.url, address.headers, address.label, context.environment.redact, context.allows, context.options
    )
    return Fetch(
        run=lambda context: _fetch(address, target, context),
        texts=[address.url, address.headers],
        has_savepoint=True,
        comparable_states=frozenset((source_state.ETAG, source_state.LAST_MODIFIED)),
    )


def _fetch(address: Address, target: http.Target, context: Context) -> SourceFiles:
    """Fetch the resource if it differs from the context's state."""
    with Session(target, context.options) as session:
        download = Download(session, context.directory / "download.part", context.options, context.tell)
        if not download.run(context.state):
            return context.result()
    path = decompress.decode(download.path, download.encoding, download.label, context)
    state = download.validators.state or source_state.content_hash(path)
    return address.new_input(
        context, path, state, unquote(urlsplit(target.url).path), download.validators.last_modified
    )


class Download(Transfer):
    """A download to ``path``. After `run` the file is complete, with the content encoding of the server."""

    def __init__(self, session: Session, path: Path, options: Options, tell: Callable[[str], None]) -> None:
        super().__init__(session.target.label, path, options, tell)
        self.session = session
        self.headers = httpx.Headers()
        self._total: int | None = None
        self._has_waited = False

    @property
    def validators(self) -> http.Validators:
        return http.Validators.of(self.headers)

    @property
    def encoding(self) -> str:
        return str(self.headers.get("Content-Encoding", "")).strip().lower()

    def run(self, state: SourceState | None) -> bool:
        """Download the file unless it is as in state ``state``; return whether it is new.

        :raises SourceError: the server refuses, or the file exceeds a limit.
        :raises SourceUnavailable: several attempts failed.
        """
        return self.retry(lambda: self._try(state))

    def _try(self, state: SourceState | None) -> bool:
        try:
            with self.session.get(self._resume() or http.conditional(state)) as response:
                is_new = self._handle(response, state)
        except httpx.TransportError as e:
            raise TryAgain(
                self._broken_connection(e), None if self.failed_attempts else self.options.first_wait
            ) from None
        return is_new

    def _handle(self, response: httpx.Response, state: SourceState | None) -> bool:
        if response.status_code == http.NOT_MODIFIED and http.is_conditional(response.request):
            return False
        if response.status_code == _PARTIAL and self._continues(response):
            self._receive(response)
            return True
        if response.status_code in (_PARTIAL, _RANGE_REFUSED):
            is_resumed, self.received = bool(self.received), 0
            what = "did not resume a download" if is_resumed else "sent a part that was not requested"
            raise TryAgain(f"{self.label}: the server {what}")
        if response.status_code != _OK:
            raise self._refusal(response)
        return self._begin(response, state)

    def _begin(self, response: httpx.Response, state: SourceState | None) -> bool:
        self.headers, self.received = response.headers, 0
        self._total = _length(response.headers.get("Content-Length"))
        validators = self.validators
        if source_state.is_same(validators.state, state):
            return False
        if not (
            validators.etag
            or validators.is_settled
            or self._has_waited
            or source_state.value_of(state, source_state.CONTENT_HASH)
        ):
            # The file changed within this second: a further change in it would have the same date.
            self._has_waited = True
            raise TryAgain(f"{self.label}: the source changed during the download: retry later", after=_SETTLING)
        self._receive(response)
        return True

    def _receive(self, response: httpx.Response) -> None:
        self.options.check_download(self._total or 0, self.label)
        self.receive(response.iter_raw(), self._total)
        if self._total is not None and self.received != self._total:
            raise TryAgain(self._broken_connection(None))

    def _resume(self) -> dict[str, str]:
        if not self.received or self.validators.strong is None:
            return {}
        return {"Range": f"bytes={self.received}-", "If-Range": self.validators.strong}

    def _continues(self, response: httpx.Response) -> bool:
        """Return whether a partial response begins at the end of the file and has the same version."""
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        total = None if match is None or match[3] == "*" else int(match[3])
        is_same = response.headers.get("ETag", self.validators.etag) == self.validators.etag
        fits = match is not None and int(match[1]) == self.received and total in (None, self._total or total)
        return bool(self.received) and is_same and fits

    def _refusal(self, response: httpx.Response) -> SourceError:
        error = http.refusal(response, self.label, self.session.target.quote(response))
        if not error.is_transient:
            return error
        after = http.retry_after(response.headers)
        if after is not None and after > self.options.longest_wait:
            return SourceUnavailable(f"{error}; the server asks to retry after {after:.0f} s")
        return TryAgain(str(error), after)

    def _broken_connection(self, error: httpx.TransportError | None) -> str:
        if not self.received:
            return f"{self.label}: {http.reason(error) if error else 'the server sent nothing'}"
        of = f" of {self._total}" if self._total is not None else ""
        return f"{self.label}: the connection was lost after {self.received}{of} bytes"


def _length(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() and len(value) <= _LONGEST_SIZE else None


async def check(address: Address, watched: Watched) -> str | None:
    """Return the version of new data, or None if nothing is new: one conditional request, whose body is only read
    without validators."""

    async def read(response: httpx.Response) -> str | None:
        if response.status_code == http.NOT_MODIFIED:
            return None
        if response.status_code in (http.NOT_FOUND, http.GONE):
            raise SourceUnavailable(str(http.refusal(response, address.label)))
        if response.status_code != _OK:
            raise http.refusal(response, address.label)
        current = http.Validators.of(response.headers).state or await _content(response)
        if current is None:
            return UNKNOWN
        return None if source_state.is_same(current, watched.state) else f"{current.kind} {current.value}"

    target = http.Target(address.url, address.headers, address.label, options=watched.options)
    return await ask(target, http.conditional(watched.state), watched.client, read)


async def _content(response: httpx.Response) -> SourceState | None:
    """Return the state of the content as a poll would record it, or None if it is too long to read each time."""
    if (_length(response.headers.get("Content-Length")) or 0) > LONGEST_COMPARED:
        return None
    digest, size = hashlib.sha3_256(), 0
    async for piece in response.aiter_bytes():
        digest.update(piece)
        size += len(piece)
        if size > LONGEST_COMPARED:
            return None
    return source_state.content_of(multiformats.multihash(multiformats.SHA3_256, digest.digest()))
