"""FetchStep::Url over ftp and ftps.

FTP has no reliable version of a file: it is fetched each time and its content compared. A broken download is resumed if
the server supports size and time of files (RFC 3659) and both are unchanged; otherwise it starts over.
"""

from __future__ import annotations

import errno
import ftplib
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import SplitResult, unquote, urlsplit

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.source import source_state
from airflow_provider_odf.source.fetching import UNKNOWN, Address, Context, Fetch, SourceFiles, Watched
from airflow_provider_odf.source.transfer import Transfer, TryAgain

_MISSING = "550"
_PIECE = 1 << 18
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE)


def prepare(address: Address, context: Context) -> Fetch:
    """Return how to fetch a URL. It is refused later if it is not valid."""
    return Fetch(lambda context: _fetch(address, context), texts=address.url, has_savepoint=True)


async def check(_address: Address, _watched: Watched) -> str:
    """Return that only a poll can tell whether the content is new."""
    return UNKNOWN


def _fetch(address: Address, context: Context) -> SourceFiles:
    """Fetch the file if its content differs from the context's state."""
    url, download = urlsplit(address.url), _Download(urlsplit(address.url), address.label, context)
    download.retry(download.attempt)
    state = source_state.content_hash(download.path)
    return address.new_input(context, download.path, state, unquote(url.path), download.version.modified)


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
                moment = datetime.strptime(answer[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
                modified = Instant.from_datetime(moment)
        return cls(size, modified)


class _Download(Transfer):
    """A download. After `retry` the file is complete and has that ``version``."""

    def __init__(self, url: SplitResult, label: str, context: Context) -> None:
        super().__init__(label, context.directory / "download", context.options, context.tell)
        self.url, self.version = url, _Version()

    def attempt(self) -> None:
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
                self.received = 0
            self.version = version
            self._receive(client, name)
            if _Version.of(client, name) != version:
                self.version = _Version()
                raise TryAgain(f"{self.label}: the file changed while it was read: retry later")

    def _receive(self, client: ftplib.FTP, name: str) -> None:
        size = self.version.size
        try:
            connection = client.transfercmd(f"RETR {name}", self.received or None)
        except ftplib.error_perm:
            if not self.received:
                raise
            self.version = _Version()
            raise TryAgain(f"{self.label}: the server did not resume a download") from None
        with connection:
            self.receive(iter(lambda: connection.recv(_PIECE), b""), size)
        client.voidresp()
        if size is not None and self.received != size:
            raise TryAgain(f"{self.label}: the connection was lost after {self.received} of {size} bytes")


def _client(scheme: str, timeout: float) -> ftplib.FTP:
    """Return a client for ftp or ftps, as the manifest asks for."""
    if scheme == "ftps":
        return ftplib.FTP_TLS(context=ssl.create_default_context(), timeout=timeout)  # noqa: S321
    return ftplib.FTP(timeout=timeout)  # noqa: S321
