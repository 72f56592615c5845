"""One file over HTTP into the work area: in bounded memory, tried again where that may help, resumed where it was cut.

A download is resumed by ``Range`` with ``If-Range``, so that the parts of two versions never mix; a server that cannot
do that sends everything again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from airflow_provider_odf.errors import SourceError, SourceUnavailable
from airflow_provider_odf.source import http, states
from airflow_provider_odf.source.progress import Transfer, megabytes
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
    """A download to ``path``. After `run` the file is complete, as it came over the wire."""

    def __init__(self, session: Session, path: Path, options: Options, tell: Callable[[str], None]) -> None:
        self.session, self.path, self.options, self.tell = session, path, options, tell
        self.label = session.target.label
        self.headers = httpx.Headers()
        self._received, self._best, self._barren = 0, 0, 0
        self._total: int | None = None
        self._waited = False

    @property
    def validators(self) -> http.Validators:
        return http.Validators.of(self.headers)

    @property
    def encoding(self) -> str:
        return str(self.headers.get("Content-Encoding", "")).strip().lower()

    def run(self, seen: SourceState | None) -> bool:
        """Whether the source has something else than was ``seen``.

        :raises SourceError: the server refuses, or sends more than is allowed.
        :raises SourceUnavailable: no answer, or none that is whole, in several tries.
        """
        return retrying(self.options, lambda: self._barren >= self.options.attempts)(self._try, seen)

    def _try(self, seen: SourceState | None) -> bool:
        self._barren += 1
        try:
            with self.session.get(self._resume() or http.conditional(seen)) as response:
                is_new = self._take(response, seen)
        except httpx.TransportError as e:
            raise TryAgain(self._broken(e), None if self._barren else self.options.first_wait) from None
        return is_new

    def _take(self, response: httpx.Response, seen: SourceState | None) -> bool:
        if response.status_code == http.NOT_MODIFIED and http.is_conditional(response.request):
            return False
        if response.status_code == _PARTIAL and self._continues(response):
            self._receive(response, "ab")
            return True
        if response.status_code in (_PARTIAL, _RANGE_REFUSED):
            was_asked, self._received = bool(self._received), 0
            what = "did not continue a cut download" if was_asked else "sent a part only, which was not asked for"
            raise TryAgain(f"{self.label}: the server {what}")
        if response.status_code != _OK:
            raise self._refused(response)
        return self._begin(response, seen)

    def _begin(self, response: httpx.Response, seen: SourceState | None) -> bool:
        self.headers, self._received = response.headers, 0
        self._total = _length(response.headers.get("Content-Length"))
        validators = self.validators
        if states.is_same(validators.state, seen):
            return False
        if not (validators.etag or validators.is_settled or self._waited or states.value_of(seen, states.CONTENT_HASH)):
            # Changed within this very second: what changes in the rest of it would have the same date.
            self._waited = True
            raise TryAgain(f"{self.label}: the source changes all the time", after=_SETTLING)
        self._receive(response, "wb")
        return True

    def _receive(self, response: httpx.Response, mode: str) -> None:
        transfer = Transfer(self.label, self.tell, self._total)
        self._check_size(self._total or 0)
        with self.path.open(mode, buffering=_BUFFER) as file:
            file.truncate(self._received)
            for piece in response.iter_raw():
                file.write(piece)
                self._received += len(piece)
                self._note_gain()
                self._check_size(self._received)
                transfer.reached(self._received)
            file.flush()
            os.fsync(file.fileno())
        if self._total is not None and self._received != self._total:
            raise TryAgain(self._broken(None))

    def _note_gain(self) -> None:
        if self._received > self._best:
            self._best, self._barren = self._received, 0

    def _check_size(self, size: int) -> None:
        if size > self.options.largest_download:
            raise SourceError(
                f"{self.label}: larger than {megabytes(self.options.largest_download)}, the limit for downloads"
            )

    def _resume(self) -> dict[str, str]:
        if not self._received or self.validators.strong is None:
            return {}
        return {"Range": f"bytes={self._received}-", "If-Range": self.validators.strong}

    def _continues(self, response: httpx.Response) -> bool:
        """Whether a partial answer begins where the file ends and is of the same version."""
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        total = None if match is None or match[3] == "*" else int(match[3])
        is_same = response.headers.get("ETag", self.validators.etag) == self.validators.etag
        fits = match is not None and int(match[1]) == self._received and total in (None, self._total or total)
        return bool(self._received) and is_same and fits

    def _refused(self, response: httpx.Response) -> SourceError:
        error = http.refusal(response, self.label, self.session.target.quote(response))
        if not error.is_transient:
            return error
        after = http.retry_after(response.headers)
        if after is not None and after > self.options.longest_wait:
            return SourceUnavailable(f"{error}; the server asks to come back in {after:.0f} s")
        return TryAgain(str(error), after)

    def _broken(self, error: httpx.TransportError | None) -> str:
        if not self._received:
            return f"{self.label}: {http.reason(error) if error else 'the server sent nothing'}"
        of = f" of {self._total}" if self._total is not None else ""
        return f"{self.label}: the connection broke off after {self._received}{of} bytes"


def _length(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() else None
