"""FetchStep::Url over ftp and ftps.

FTP has no reliable version of a file: it is fetched each time and its content compared. A broken download is resumed if
the server supports size and time of files (RFC 3659) and both are unchanged; otherwise it starts over.
"""

from __future__ import annotations

import errno
import ftplib
import os
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.manifest.model import EventTimeSourceFromMetadata
from airflow_provider_odf.source import event_time, source_state
from airflow_provider_odf.source.context import FetchedFile, FetchResult
from airflow_provider_odf.source.progress import Transfer
from airflow_provider_odf.source.retry import TryAgain, retrying

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStepUrl
    from airflow_provider_odf.source.context import Context

_MISSING = "550"
_PIECE = 1 << 18
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE)


def fetch(step: FetchStepUrl, url: str, label: str, context: Context) -> FetchResult:
    """Fetch the file if its content differs from the context's state.

    :raises InvalidInput: the URL is not valid.
    :raises SourceError: the server has no such file, or refuses the login.
    :raises SourceUnavailable: the server cannot be reached, or the connection is lost.
    """
    download = _Download(urlsplit(url), label, context)
    download.run()
    state = source_state.content_hash(download.path)
    if source_state.is_same(state, context.state):
        return FetchResult()
    time = event_time.of(
        step.event_time or EventTimeSourceFromMetadata(),
        paths=(unquote(urlsplit(url).path),),
        modified=download.version.modified,
        system_time=context.system_time,
    )
    return FetchResult((FetchedFile(download.path, time, state, label),))


@dataclass(frozen=True)
class _Version:
    """Size and modification time of a file, if the server supports them."""

    size: int | None = None
    modified: Instant | None = None

    @classmethod
    def of(cls, client: ftplib.FTP, name: str) -> _Version:
        size = modified = None
        with suppress(ftplib.error_perm):
            size = client.size(name)
            with suppress(ftplib.Error, ValueError):
                answer = client.voidcmd(f"MDTM {name}").split()[-1]
                moment = datetime.strptime(answer[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc)
                modified = Instant.from_datetime(moment)
        return cls(size, modified)


class _Download:
    """A download to ``path``. After `run` the file is complete and has that ``version``."""

    def __init__(self, url: SplitResult, label: str, context: Context) -> None:
        self.url, self.label, self.options, self.tell = url, label, context.options, context.tell
        self.path, self.version = context.directory / "download", _Version()
        self._received, self._best, self._failed_attempts = 0, 0, 0

    def run(self) -> None:
        retrying(self.options, lambda: self._failed_attempts >= self.options.attempts)(self._try)

    def _try(self) -> None:
        self._failed_attempts += 1
        try:
            self._download()
        except ftplib.error_perm as e:
            if str(e).startswith(_MISSING):
                raise SourceError(f"{self.label}: not found (FTP {e})") from None
            raise SourceError(f"{self.label}: FTP {e}") from None
        except (ftplib.Error, EOFError, TimeoutError, ConnectionError) as e:
            raise TryAgain(f"{self.label}: {str(e) or 'the connection was lost'}") from None
        except OSError as e:
            if e.errno in _DISK:
                raise
            raise TryAgain(f"{self.label}: cannot connect: {e}") from None
        except ValueError:
            raise urls.invalid(self.label) from None

    def _download(self) -> None:
        url = self.url
        with _client(url.scheme, self.options.read_timeout) as client:
            client.connect(url.hostname or "", url.port or 0)
            client.login(unquote(url.username or ""), unquote(url.password or ""))
            if isinstance(client, ftplib.FTP_TLS):
                client.prot_p()
            client.voidcmd("TYPE I")
            name = unquote(url.path.removeprefix("/"))
            version = _Version.of(client, name)
            if None in (version.size, version.modified) or version != self.version:
                self._received = 0
            self.version = version
            self._receive(client, name)
            if _Version.of(client, name) != version:
                self.version = _Version()
                raise TryAgain(f"{self.label}: the file changed while it was read: retry later")

    def _receive(self, client: ftplib.FTP, name: str) -> None:
        size = self.version.size
        transfer = Transfer(self.label, self.tell, size)
        with self.path.open("ab") as file:
            file.truncate(self._received)
            try:
                connection = client.transfercmd(f"RETR {name}", self._received or None)
            except ftplib.error_perm:
                if not self._received:
                    raise
                self.version = _Version()
                raise TryAgain(f"{self.label}: the server did not resume a download") from None
            with connection:
                while piece := connection.recv(_PIECE):
                    file.write(piece)
                    self._record_progress(len(piece))
                    transfer.reached(self._received)
            file.flush()
            os.fsync(file.fileno())
        client.voidresp()
        if size is not None and self._received != size:
            raise TryAgain(f"{self.label}: the connection was lost after {self._received} of {size} bytes")

    def _record_progress(self, size: int) -> None:
        self._received += size
        if self._received > self._best:
            self._best, self._failed_attempts = self._received, 0
        self.options.check_download(self._received, self.label)


def _client(scheme: str, timeout: float) -> ftplib.FTP:
    """Return a client for ftp or ftps, as the manifest asks for."""
    if scheme == "ftps":
        return ftplib.FTP_TLS(context=ssl.create_default_context(), timeout=timeout)  # noqa: S321
    return ftplib.FTP(timeout=timeout)  # noqa: S321
