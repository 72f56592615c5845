"""Clients of object stores, by the URI of an object: ``s3://``, ``gs://``, ``az://`` and ``abfss://``.

Credentials and endpoints come from the environment of the process, such as ``AWS_ACCESS_KEY_ID`` and
``AWS_ENDPOINT_URL``, or from the role of the machine: never from a URI, so that messages, requests and lineage may show
each URI.

A process that has sent requests may fork, but the child can send none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput, StorageError

if TYPE_CHECKING:
    from obstore import Bytes, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

SCHEMES = ("s3", "gs", "az", "abfss")

_PARAMETER = re.compile(r"\?[\w.-]+=")
_ROLES = re.compile(r"169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal")
"""Servers of clouds that know the role of a machine."""

BLOCK = 8 * 1024 * 1024
"""Bytes that a sequential read asks for at once."""

_RETRY: RetryConfig = {
    "max_retries": 8,
    "retry_timeout": timedelta(seconds=90),
    "backoff": {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=10), "base": 2},
}
# The timeout includes the body. Plain HTTP is used only where the user sets such an endpoint.
_CLIENT: ClientConfig = {"timeout": timedelta(minutes=30), "read_timeout": timedelta(seconds=30), "allow_http": True}


def is_object(uri: str) -> bool:
    """Return whether a URI names an object store."""
    scheme, separator, _ = uri.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


def split(uri: str) -> tuple[str, str]:
    """Return the URI of the bucket or container, and the key in it: ``s3://bucket``, ``a/b``. A key is taken as it is,
    without percent-decoding.

    :raises InvalidInput: the URI has no bucket, or has credentials; the message does not quote these.
    """
    scheme, _, rest = uri.partition("://")
    scheme, name = scheme.lower(), re.split(r"[/?#]", rest, maxsplit=1)[0]
    container, at, account = name.partition("@")
    if _PARAMETER.search(rest) or (at and scheme != "abfss") or ":" in container or "@" in account:
        raise InvalidInput(
            f"{scheme}://: the URI has a user, a password or parameters: leave them out; credentials come from the "
            "environment of the process or the role of the machine"
        )
    if not name:
        raise InvalidInput(f"{uri}: the bucket is missing: use {scheme}://BUCKET/PREFIX")
    return f"{scheme}://{name}", rest[len(name) :].strip("/")


_asked_by: set[int] = set()
"""The process that has sent requests, and after a fork the one that it comes from."""


def client(bucket: str) -> ObjectStore:
    """Return the client of a bucket, one for each process, for a request that is sent now.

    :raises InvalidInput: the URI is not valid, or settings are missing.
    :raises StorageError: the process is a fork of one that has sent requests: its own would wait for ever, and hold up
        those of the parent, whose connections they use.
    """
    if _asked_by and os.getpid() not in _asked_by:
        raise StorageError(
            f"{bucket}: this process was forked from one that has used an object store: of OpenLineage's events, set "
            "`[openlineage] execute_in_thread = True`"
        )
    _asked_by.add(os.getpid())
    return _client(bucket)


@cache
def _client(bucket: str) -> ObjectStore:
    try:
        # Not `from obstore.exceptions`: that module is seen by other threads before it has its names.
        from obstore import exceptions
        from obstore.store import from_url
    except ImportError:
        raise InvalidInput(f"{bucket}: the Python package obstore is not installed on this machine") from None
    try:
        return from_url(bucket, client_options=_CLIENT, retry_config=_RETRY)
    except (exceptions.BaseError, ValueError) as e:
        raise InvalidInput(f"{bucket}: {reason(e)}") from e


def etag(meta: ObjectMeta) -> str:
    """Return the ETag of an object, or an empty text. Listings of Azure leave out the quotes of its other answers."""
    tag = meta["e_tag"] or ""
    return f'"{tag}"' if tag and not tag.endswith('"') else tag


def chunks(uri: str) -> Iterator[bytes]:
    """Return the content of an object, in pieces.

    :raises FileNotFoundError: there is no such object, or no such bucket.
    :raises StorageError: it cannot be read, now or at a later piece.
    """
    bucket, key = split(uri)
    with errors(uri):
        try:
            return _pieces(uri, client(bucket).get(key).stream(min_chunk_size=BLOCK))
        except FileNotFoundError:
            pass
    raise FileNotFoundError(uri)


def size(uri: str) -> int:
    """Return the size of an object in bytes.

    :raises FileNotFoundError: there is no such object, or no such bucket.
    :raises StorageError: the server does not tell.
    """
    bucket, key = split(uri)
    with errors(uri):
        try:
            return client(bucket).head(key)["size"]
        except FileNotFoundError:
            pass
    raise FileNotFoundError(uri)


def part(uri: str, start: int, length: int) -> Bytes:
    """Return a range of bytes of an object, one or more.

    :raises FileNotFoundError: there is no such object, or no such bucket.
    :raises StorageError: it cannot be read, or ends before the range does.
    """
    bucket, key = split(uri)
    with errors(uri):
        try:
            content = client(bucket).get_range(key, start=start, length=length)
        except FileNotFoundError:
            content = None
    if content is None:
        raise FileNotFoundError(uri)
    if len(content) != length:
        raise StorageError(f"{uri}: the object ends before byte {start + length}: it has changed while it was read")
    return content


def _pieces(uri: str, stream: Iterable[bytes]) -> Iterator[bytes]:
    with errors(uri):
        yield from map(bytes, stream)


@contextmanager
def errors(uri: str) -> Iterator[None]:
    """Raise errors of a client as StorageError with the URI of the object and the next step. ``FileNotFoundError`` is
    raised for a missing bucket too."""
    from obstore import exceptions

    try:
        yield
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as e:
        raise StorageError(f"{uri}: permission denied (check the credentials and their rights to this bucket)") from e
    except (exceptions.BaseError, OSError) as e:
        raise StorageError(f"{uri}: {reason(e)}") from e


def reason(error: Exception) -> str:
    """Return the words of the server if it said some, else those of the client, without parameters of URLs, which may
    be signatures."""
    text = re.sub(r"(https?://[^\s?]*)\?\S*", r"\1", str(error).partition("\n\nDebug source")[0])
    if _ROLES.search(text):
        return "no credentials (set them in the environment of this process, or give the machine a role)"
    said = re.search(r"<Code>(\w+)</Code>(?:\s*<Message>([^<]*)</Message>)?", text)
    # Not `CODE: words`: codes such as SignatureDoesNotMatch look like names of secrets, whose values are masked.
    # Azure adds the id of the request and the time in lines of their own.
    words = said[2].partition("\n")[0].rstrip(".") if said and said[2] else ""
    return f"{words} ({said[1]})" if said and words else said[1] if said else " ".join(text.split())
