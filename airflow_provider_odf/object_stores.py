"""Clients of object stores, by the URI of an object: ``s3://``, ``gs://``, ``az://`` and ``abfss://``.

Credentials and endpoints come from what `connect` names, from the environment of the process, such as
``AWS_ACCESS_KEY_ID`` and ``AWS_ENDPOINT_URL``, or from the role of the machine: never from a URI, so that messages,
requests and lineage may show each URI.

A process that has sent requests may fork, but the child can send none.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from airflow_provider_odf.errors import InvalidInput, OdfError, StorageError

if TYPE_CHECKING:
    from obstore import Bytes, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

SCHEMES = ("s3", "gs", "az", "abfss")

_PARAMETER = re.compile(r"\?[\w.-]+=")
_ROLES = re.compile(r"169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal")
"""Servers of clouds that know the role of a machine."""
_DENIED = re.compile(r"status code: 40[13]\b|<Code>(Expired|Invalid)Token<")
_EXPIRED = re.compile(r"<Code>ExpiredToken<")
_SKEWED = re.compile(r"<Code>RequestTimeTooSkewed<|Request date header too old")
_BUSY = re.compile(r"status code: (429|5\d\d)\b")
_CUT = re.compile(r"HTTP error: (.*)", re.DOTALL)
_RETRIES = re.compile(r" after (\d+) retries")
_REQUEST = re.compile(r"Error performing (list request|[A-Z]+)(?: https?://\S*(\?delete\b))?")
_NO_CREDENTIALS = re.compile(r"credential provider: \w+: (.*)")
"""Errors of obstore. Of a listing, it has no class for them."""

BLOCK = 8 * 1024 * 1024
"""Bytes that a sequential read asks for at once."""

_PART = 5 << 20
"""Bytes of each part of an upload. S3 takes no smaller ones."""

_MOST_COPIED = 256 << 20
"""Bytes of an object that a server copies in one request. It answers when it is done, so a larger one could take longer
than the client waits. S3 refuses more than 5 GB."""

# The time decides when it is enough. Each pause is random, from the shortest one to `base` times the one before: with a
# base of 2 they would hardly grow.
_RETRY: RetryConfig = {
    "max_retries": 1000,
    "retry_timeout": timedelta(seconds=90),
    "backoff": {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=10), "base": 3},
}
# The timeout includes the body. Plain HTTP is used only where the user sets such an endpoint.
_CLIENT: ClientConfig = {"timeout": timedelta(minutes=30), "read_timeout": timedelta(seconds=30), "allow_http": True}

_SOON = timedelta(seconds=5)
_ONCE: RetryConfig = {"max_retries": 0, "retry_timeout": _SOON}


def is_object(uri: str) -> bool:
    """Return whether a URI names an object store."""
    scheme, separator, _ = uri.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


def are_named_in(text: str) -> bool:
    """Return whether a JSON text has the URI of an object store."""
    return any(f'"{scheme}://' in text for scheme in SCHEMES)


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
            "environment of the process, the role of the machine, or a connection of [odf] object_store_connections"
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


SECRETS = "ODF_OBJECT_STORE_SECRETS"
"""Variable of a child process with its access to buckets. Spark and Airflow mask values of such a name."""

VARIABLES_FILE = "ODF_OBJECT_STORE_VARIABLES_FILE"
"""Variable of a process on another machine: a file with the variables of `passed_on`, as JSON."""

_FAMILIES = ("AWS_", "GOOGLE_", "AZURE_", SECRETS)
"""Beginnings of the variables that give access to object stores."""
_MACHINE = re.compile(r"_FILE$|_PATH$|_URI$|_DIR$|PROFILE|GOOGLE_APPLICATION_CREDENTIALS|GOOGLE_SERVICE_ACCOUNT$")
"""Names of variables that only mean something on their machine: paths, and addresses of its role."""
_PLACE = re.compile("ENDPOINT|REGION|ALLOW_HTTP")
"""Names of variables that say where a store is, not who asks."""

_VARIABLES = {
    "AWS_ACCESS_KEY_ID": "access_key_id",
    "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "token",
    "AWS_REGION": "region",
    "AWS_ENDPOINT_URL": "endpoint",
    "AWS_ALLOW_HTTP": "allow_http",
}
"""Variables of S3, and the settings of obstore that they stand for."""


@dataclass(frozen=True)
class Access:
    """How a bucket is accessed, other than by the variables of the process. ``options`` and ``client`` are settings of
    obstore's stores and of their HTTP client. ``credentials`` returns a credential of obstore, and is called again
    before that ends, by any thread. ``origin`` says in messages whose credentials they are."""

    origin: str
    options: Mapping[str, Any] = field(repr=False)
    credentials: Callable[[], Mapping[str, Any]] | None = None
    client: Mapping[str, Any] = field(default_factory=dict)


def connect(access: Callable[[str], Access | None]) -> None:
    """Let a function say how buckets are accessed from now on; None stands for the variables of the process."""
    global _access_of
    if access != _access_of:
        _access_of = access
        _accesses.clear()
        _client.cache_clear()


def environment() -> dict[str, str]:
    """Return the variable by which a child process accesses the buckets that this one has used, beside the variables of
    this process. Nobody renews the credentials in it."""
    handed_down = {
        bucket: {
            "origin": access.origin,
            "options": dict(access.options),
            "credential": access.credentials and {**access.credentials(), "expires_at": None},
            "client": dict(access.client),
        }
        for bucket, access in list(_accesses.items())
    }
    return {SECRETS: json.dumps(handed_down)} if handed_down else {}


def parameters(bucket: str) -> dict[str, str]:
    """Return how a bucket is accessed now, for libraries with clients of their own, by the names of obstore's settings.
    They include credentials, which belong in no message and no file."""
    _take_over_variables()
    if access := _access_of(bucket):
        found = {**access.options, **(access.credentials() if access.credentials else {})}
        found["allow_http"] = str(access.options.get("endpoint", "")).startswith("http:")
    else:
        found = {name: os.environ.get(variable) for variable, name in _VARIABLES.items()}
    return {name: str(value) for name, value in found.items() if value is not None}


def passed_on(environment: Mapping[str, str], known: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables of an environment that give a process on another machine the same access to object stores.

    Of a provider, it gets all variables or none, so that two identities are never mixed: none if it has one of the
    ``known`` names. If the identity is a role of this machine, by a file with a token, it gets the place alone.
    """
    names, variables = tuple(known), dict[str, str]()
    for family in _FAMILIES:
        own = {name: value for name, value in environment.items() if name.startswith(family)}
        if any(name.startswith(family) for name in names):
            continue
        is_of_machine = any(name.endswith("_TOKEN_FILE") for name in own)
        variables |= {
            name: value
            for name, value in own.items()
            if not _MACHINE.search(name) and (_PLACE.search(name) or not is_of_machine)
        }
    return variables


@cache
def _take_over_variables() -> None:
    """Add the variables that came in a file to those of this process, which win."""
    if file := os.environ.get(VARIABLES_FILE):
        with open(file, encoding="utf-8") as variables:
            os.environ.update(passed_on(json.load(variables), os.environ))


def _inherited(bucket: str) -> Access | None:
    """Return the access that the parent process has handed down."""
    if (parts := json.loads(os.environ.get(SECRETS, "{}")).get(bucket)) is None:
        return None
    credential = parts["credential"]
    return Access(parts["origin"], parts["options"], (lambda: credential) if credential else None, parts["client"])


_access_of: Callable[[str], Access | None] = _inherited
_accesses: dict[str, Access] = {}
"""The access of clients that have one."""


@cache
def _client(bucket: str) -> ObjectStore:
    return _new_client(bucket, _RETRY, _CLIENT)


def _new_client(bucket: str, retry: RetryConfig, client: ClientConfig) -> ObjectStore:
    try:
        # Not `from obstore.exceptions`: that module is seen by other threads before it has its names.
        from obstore import exceptions
        from obstore.store import from_url
    except ImportError:
        raise InvalidInput(f"{bucket}: the Python package obstore is not installed on this machine") from None
    _take_over_variables()
    own: dict[str, Any] = {"client_options": client}
    if access := _access_of(bucket):
        _accesses[bucket] = access
        own = {
            "client_options": {**client, **access.client},
            "config": dict(access.options),
            "credential_provider": access.credentials,
        }
    try:
        return from_url(bucket, retry_config=retry, **own)
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
    with _reading(uri):
        return _pieces(uri, client(bucket).get(key).stream(min_chunk_size=BLOCK))


def size(uri: str) -> int:
    """Return the size of an object in bytes.

    :raises FileNotFoundError: there is no such object, or no such bucket.
    :raises StorageError: the server does not tell.
    """
    bucket, key = split(uri)
    with _reading(uri):
        return client(bucket).head(key)["size"]


def part(uri: str, start: int, length: int) -> Bytes:
    """Return a range of bytes of an object, one or more.

    :raises FileNotFoundError: there is no such object, or no such bucket.
    :raises StorageError: it cannot be read, or ends before the range does.
    """
    bucket, key = split(uri)
    with _reading(uri):
        content = client(bucket).get_range(key, start=start, length=length)
    if len(content) != length:
        raise StorageError(f"{uri}: the object ends before byte {start + length}: it has changed while it was read")
    return content


@contextmanager
def _reading(uri: str) -> Iterator[None]:
    """Raise errors as `errors` does, but that of a missing object or bucket as ``FileNotFoundError`` with the URI."""
    with errors(uri):
        try:
            yield
            return
        except FileNotFoundError:
            pass
    raise FileNotFoundError(uri)


def _pieces(uri: str, stream: Iterable[bytes]) -> Iterator[bytes]:
    pieces = iter(stream)
    while True:
        with errors(uri):  # not while somebody works with a piece
            piece = next(pieces, None)
        if piece is None:
            return
        yield bytes(piece)


def put(uri: str, content: bytes | BinaryIO, size: int) -> None:
    """Write an object of so many bytes, in parts if it is large.

    :raises StorageError: it cannot be written.
    """
    bucket, key = split(uri)
    with errors(uri):
        client(bucket).put(key, content, chunk_size=part_size(size))


def part_size(size: int) -> int:
    """Return the bytes of each part of an upload, of which S3 takes 10,000."""
    return max(_PART, size // 9_000)


def copy(source: str, target: str) -> None:
    """Copy an object within its bucket. The server does it, unless the object is too large for that.

    :raises FileNotFoundError: there is no such object.
    :raises StorageError: it cannot be copied.
    """
    (bucket, key), (_, name) = split(source), split(target)
    length = size(source)
    with errors(source):
        if length <= _MOST_COPIED:
            client(bucket).copy(key, name)
        else:
            client(bucket).put(name, chunks(source), chunk_size=part_size(length))


_TICK, _PATIENCE, _REMINDER = 1.0, 10.0, 20.0
"""Seconds between two looks at the requests, those after which one is told, and those between two messages."""


class _Waits:
    """Requests without an answer yet, and a thread that says so on the log, which is stderr where nobody has set one.

    The client repeats requests without a word, so one of another client asks why: a server that answers that is slow.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[object, tuple[str, float]] = {}
        self._watcher: threading.Thread | None = None
        self._told = float("-inf")

    @contextmanager
    def until_answered(self, uri: str) -> Iterator[None]:
        request = object()
        with self._lock:
            if self._watcher is None or not self._watcher.is_alive():
                self._watcher = threading.Thread(target=self._watch, name="object-stores", daemon=True)
                self._watcher.start()
            self._requests[request] = (uri, time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                del self._requests[request]

    def _watch(self) -> None:
        while True:
            time.sleep(_TICK)
            with self._lock:
                if not self._requests:
                    self._watcher = None
                    return
                uri, since = min(self._requests.values(), key=lambda request: request[1])
            now = time.monotonic()
            if now - since >= _PATIENCE and now - self._told >= _REMINDER:
                self._tell(uri, _RETRY["retry_timeout"].total_seconds() - (now - since))

    def _tell(self, uri: str, left: float) -> None:
        self._told = time.monotonic()
        if trouble := _trouble(uri):
            end = f", giving up in {left:.0f} s" if left > 0 else ""
            logging.getLogger(__name__).warning("still waiting for %s (%s)%s", uri, trouble, end)


_waits = _Waits()
waiting = _waits.until_answered
os.register_at_fork(after_in_child=lambda: _Waits.__init__(_waits))  # the lock may be held, and the thread is gone


def _trouble(uri: str) -> str | None:
    """Return why a server does not answer a request for an object, None if it does."""
    from obstore import exceptions

    try:
        bucket, key = split(uri)
        _new_client(bucket, _ONCE, {**_CLIENT, "timeout": _SOON}).head(key or "-")
    except OdfError as e:  # such as a connection that gives no credentials now
        return str(e)
    except (exceptions.BaseError, OSError) as e:
        text = str(e).partition("\n\nDebug source")[0]
        if busy := _BUSY.search(text):
            return f"HTTP {busy[1]}"
        return " ".join(cut[1].split()) if (cut := _CUT.search(text)) else None
    return None


@contextmanager
def errors(uri: str) -> Iterator[None]:
    """Raise errors of a client as StorageError with the URI of the object and the next step. ``FileNotFoundError`` is
    raised for a missing bucket too."""
    from obstore import exceptions

    try:
        with waiting(uri):
            yield
    except (exceptions.BaseError, OSError) as e:
        raise StorageError(f"{uri}: {refusal(uri, e) or reason(e)}") from e


def refusal(uri: str, error: Exception) -> str | None:
    """Return words for an error of credentials or their rights, and the next step; None for another error."""
    if no_credentials := _NO_CREDENTIALS.search(str(error)):
        return no_credentials[1]
    text = str(error)
    if _SKEWED.search(text):
        return f"the clock of this machine differs from that of the server: set it ({_said(text)})"
    if not _DENIED.search(text):
        return None
    origins = (access.origin for bucket, access in _accesses.items() if f"{uri}/".startswith(f"{bucket}/"))
    whose = "".join(f" of {origin}" for origin in origins)
    if _EXPIRED.search(text):
        return f"the credentials{whose} have expired: renew them ({_said(text)})"
    words = f": {said}" if (said := _said(text)) else ""
    return f"permission denied{_purpose(text)}{words} (check the credentials{whose} and their rights to this bucket)"


def _purpose(text: str) -> str:
    """Return what a request was for, as far as the text of its error says it."""
    if (request := _REQUEST.search(text)) is None:
        return ""
    method = "DELETE" if request[2] else request[1]
    verbs = {"list request": "list", "GET": "read", "HEAD": "read", "PUT": "write", "POST": "write", "DELETE": "delete"}
    return f" to {verbs[method]}" if method in verbs else ""


def reason(error: Exception) -> str:
    """Return the words of the server if it said some, else those of the client, and the next step where one is known;
    without parameters of URLs, which may be signatures."""
    text = re.sub(r"(https?://[^\s?]*)\?\S*", r"\1", str(error).partition("\n\nDebug source")[0])
    if _ROLES.search(text):
        return "no credentials (set them in the environment of this process, or give the machine a role)"
    said = _said(text)
    tries = f", after {retries[1]} retries" if (retries := _RETRIES.search(text)) else ""
    if busy := _BUSY.search(text):
        return f"the server cannot answer now: {said or f'HTTP {busy[1]}'}{tries}: run again later"
    if cut := _CUT.search(text):
        words = " ".join(cut[1].split())
        return f"no whole answer of the server: {words}{tries}: check its endpoint and the network, then run again"
    step = ": check the URI, or make the bucket" if re.search("<Code>(NoSuchBucket|ContainerNotFound)<", text) else ""
    return f"{said}{step}" if said else " ".join(text.split())


def _said(text: str) -> str:
    """Return the words of the server in the text of an error, or an empty text."""
    if (said := re.search(r"<Code>(\w+)</Code>(?:\s*<Message>([^<]*)</Message>)?", text)) is None:
        return ""
    # Not `CODE: words`: codes such as SignatureDoesNotMatch look like names of secrets, whose values are masked.
    # Azure adds the id of the request and the time in lines of their own.
    words = (said[2] or "").partition("\n")[0].rstrip(".")
    return f"{words} ({said[1]})" if words else said[1]
