"""FetchStep::Url over ftp and ftps.

FTP has no reliable sign of a version: the file is fetched each time and its content compared. A download that broke off
starts over, since nothing tells whether its rest would be of the same version.
"""

from __future__ import annotations

import errno
import ftplib
import os
import ssl
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.source import event_time, states
from airflow_provider_odf.source import url as urls
from airflow_provider_odf.source.context import Batch, Fetched
from airflow_provider_odf.source.progress import Transfer, megabytes
from airflow_provider_odf.source.retry import TryAgain, retrying

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.manifest.model import FetchStepUrl
    from airflow_provider_odf.source.context import Context

_MISSING = "550"
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def fetch(step: FetchStepUrl, url: str, label: str, context: Context) -> Batch:
    """The file, if its content is not what the context's state says.

    :raises InvalidInput: the URL is not one.
    :raises SourceError: the server has no such file, or does not let us in.
    :raises SourceUnavailable: the server cannot be reached or breaks off.
    """
    path = context.directory / "download"
    retrying(context.options)(_try, urlsplit(url), label, path, context)
    state = states.content_hash(path)
    if states.is_same(state, context.state):
        return Batch()
    time = event_time.of(
        step.event_time, paths=(unquote(urlsplit(url).path),), modified=None, system_time=context.system_time
    )
    return Batch((Fetched(path, time, state, label),))


def _try(url: SplitResult, label: str, path: Path, context: Context) -> None:
    try:
        _download(url, label, path, context)
    except ftplib.error_perm as e:
        if str(e).startswith(_MISSING):
            raise SourceError(f"{label}: not found (FTP {e})") from None
        raise SourceError(f"{label}: FTP {e}") from None
    except (ftplib.Error, EOFError, TimeoutError, ConnectionError) as e:
        raise TryAgain(f"{label}: {str(e) or 'the connection broke off'}") from None
    except OSError as e:
        if e.errno in _DISK:
            raise
        raise TryAgain(f"{label}: cannot connect: {e}") from None
    except ValueError:
        raise urls.invalid(label) from None


def _download(url: SplitResult, label: str, path: Path, context: Context) -> None:
    options = context.options
    with _client(url.scheme, options.read_timeout) as client:
        client.connect(url.hostname or "", url.port or 0)
        client.login(unquote(url.username or ""), unquote(url.password or ""))
        if isinstance(client, ftplib.FTP_TLS):
            client.prot_p()
        client.voidcmd("TYPE I")
        name = unquote(url.path.removeprefix("/"))
        size = _size(client, name)
        transfer = Transfer(label, context.tell, size)
        with path.open("wb") as file:

            def receive(piece: bytes) -> None:
                file.write(piece)
                transfer.reached(file.tell())
                if file.tell() > options.largest_download:
                    limit = megabytes(options.largest_download)
                    raise SourceError(f"{label}: larger than {limit}, the limit for downloads")

            client.retrbinary(f"RETR {name}", receive)
            file.flush()
            os.fsync(file.fileno())
            if size is not None and file.tell() != size:
                raise TryAgain(f"{label}: the connection broke off after {file.tell()} of {size} bytes")


def _client(scheme: str, timeout: float) -> ftplib.FTP:
    """A client in the clear, if that is what the manifest asks for."""
    if scheme == "ftps":
        return ftplib.FTP_TLS(context=ssl.create_default_context(), timeout=timeout)  # noqa: S321
    return ftplib.FTP(timeout=timeout)  # noqa: S321


def _size(client: ftplib.FTP, name: str) -> int | None:
    try:
        return client.size(name)
    except ftplib.error_perm:
        return None
