"""Download one file over HTTP into the work area, with bounded memory, retries and resumption.

A download is resumed by ``Range`` with ``If-Range``, so parts of two versions never mix. A server without support for
it sends the whole file again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from airflow_provider_odf.errors import SourceError, SourceUnavailable
from airflow_provider_odf.source import http, source_state
from airflow_provider_odf.source.progress import Transfer
from airflow_provider_odf.source.retry import TryAgain, retrying

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import SourceState
    from airflow_provider_odf.source.http_session import Session
    from airflow_provider_odf.source.options import Options

_OK, _PARTIAL, _RANGE_REFUSED = 200, 206, 416
_BUFFER = 1 << 20
_SETTLING = 1.05
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class Download:
    """A download to ``path``. After `run` the file is complete, with the content encoding of the server."""

    def __init__(self, session: Session, path: Path, options: Options, tell: Callable[[str], None]) -> None:
        self.session, self.path, self.options, self.tell = session, path, options, tell
        self.label = session.target.label
        self.headers = httpx.Headers()
        self._received, self._best, self._failed_attempts = 0, 0, 0
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
        return retrying(self.options, lambda: self._failed_attempts >= self.options.attempts)(self._try, state)

    def _try(self, state: SourceState | None) -> bool:
        self._failed_attempts += 1
        try:
            with self.session.get(self._resume() or http.conditional(state)) as response:
                is_new = self._handle(response, state)
        except httpx.TransportError as e:
            raise TryAgain(
                self._broken_connection(e), None if self._failed_attempts else self.options.first_wait
            ) from None
        return is_new

    def _handle(self, response: httpx.Response, state: SourceState | None) -> bool:
        if response.status_code == http.NOT_MODIFIED and http.is_conditional(response.request):
            return False
        if response.status_code == _PARTIAL and self._continues(response):
            self._receive(response, "ab")
            return True
        if response.status_code in (_PARTIAL, _RANGE_REFUSED):
            is_resumed, self._received = bool(self._received), 0
            what = "did not resume a download" if is_resumed else "sent a part that was not requested"
            raise TryAgain(f"{self.label}: the server {what}")
        if response.status_code != _OK:
            raise self._refusal(response)
        return self._begin(response, state)

    def _begin(self, response: httpx.Response, state: SourceState | None) -> bool:
        self.headers, self._received = response.headers, 0
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
        self._receive(response, "wb")
        return True

    def _receive(self, response: httpx.Response, mode: str) -> None:
        transfer = Transfer(self.label, self.tell, self._total)
        self.options.check_download(self._total or 0, self.label)
        with self.path.open(mode, buffering=_BUFFER) as file:
            file.truncate(self._received)
            for piece in response.iter_raw():
                file.write(piece)
                self._received += len(piece)
                self._record_progress()
                self.options.check_download(self._received, self.label)
                transfer.reached(self._received)
            file.flush()
            os.fsync(file.fileno())
        if self._total is not None and self._received != self._total:
            raise TryAgain(self._broken_connection(None))

    def _record_progress(self) -> None:
        if self._received > self._best:
            self._best, self._failed_attempts = self._received, 0

    def _resume(self) -> dict[str, str]:
        if not self._received or self.validators.strong is None:
            return {}
        return {"Range": f"bytes={self._received}-", "If-Range": self.validators.strong}

    def _continues(self, response: httpx.Response) -> bool:
        """Return whether a partial response begins at the end of the file and has the same version."""
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        total = None if match is None or match[3] == "*" else int(match[3])
        is_same = response.headers.get("ETag", self.validators.etag) == self.validators.etag
        fits = match is not None and int(match[1]) == self._received and total in (None, self._total or total)
        return bool(self._received) and is_same and fits

    def _refusal(self, response: httpx.Response) -> SourceError:
        error = http.refusal(response, self.label, self.session.target.quote(response))
        if not error.is_transient:
            return error
        after = http.retry_after(response.headers)
        if after is not None and after > self.options.longest_wait:
            return SourceUnavailable(f"{error}; the server asks to retry after {after:.0f} s")
        return TryAgain(str(error), after)

    def _broken_connection(self, error: httpx.TransportError | None) -> str:
        if not self._received:
            return f"{self.label}: {http.reason(error) if error else 'the server sent nothing'}"
        of = f" of {self._total}" if self._total is not None else ""
        return f"{self.label}: the connection was lost after {self._received}{of} bytes"


def _length(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() else None
