"""HTTP as a poll needs it: conditional requests, redirects that do not carry secrets to strangers, validators."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, TypeVar

import httpx

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.source import states
from airflow_provider_odf.source.reach import Guard, Scope, reached

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import SourceState
    from airflow_provider_odf.source.options import Options

MOST_REDIRECTS = 10
MOST_AT_ONCE = 64
"""Sources that are asked at once in one event loop; the others take turns."""

NOT_MODIFIED, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, GONE, TOO_MANY_REQUESTS = 304, 401, 403, 404, 410, 429
_USER_AGENT = "airflow-provider-odf/0.1"
_EXCERPT = 200
_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body|h\d)\b", re.IGNORECASE)
_TIMEOUT, _CONNECT_TIMEOUT = 30.0, 10.0

Taken = TypeVar("Taken")

_is_polling: contextvars.ContextVar[bool] = contextvars.ContextVar("odf_is_polling", default=False)
# httpx logs every URL in full, and a URL may hold a key.
logging.getLogger("httpx").addFilter(lambda _record: not _is_polling.get())


@dataclass(frozen=True)
class Target:
    """A URL with its headers, ready to be sent, and the URL that may be shown. ``redact`` masks their values in what
    a server says. ``allows`` says whether a redirect may lead to a URL; it is set where others than the author of a
    manifest name the URL, and then no answer is quoted."""

    url: str
    headers: tuple[tuple[str, str], ...]
    label: str
    redact: Callable[[str], str] = str
    allows: Callable[[str], bool] | None = None
    private_redirects: bool = False

    def request(self, extra: Mapping[str, str]) -> httpx.Request:
        """:raises InvalidInput: the URL is not one."""
        standard = {"User-Agent": _USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        headers = httpx.Headers({**standard, **extra})
        headers.update(self.headers)
        try:
            request = httpx.Request("GET", self.url, headers=headers)
        except (httpx.InvalidURL, ValueError):
            raise urls.invalid(self.label) from None
        if not request.url.host:
            raise InvalidInput(f"{self.label}: the URL names no host")
        return request

    def redirected(self, response: httpx.Response, hops: int) -> httpx.Request:
        """The request that a redirect asks for. The manifest's headers stay behind when it leads to another origin.

        :raises SourceError: it leads in circles, away from HTTP, or where it may not lead.
        """
        request = response.next_request
        if request is None or request.url.scheme not in ("http", "https"):
            raise SourceError(f"{self.label}: redirected to what is not an HTTP address")
        if hops > MOST_REDIRECTS:
            raise SourceError(f"{self.label}: more than {MOST_REDIRECTS} redirects")
        if self.allows is not None and not self.allows(str(request.url)):
            raise SourceError(f"{self.label}: redirected to an address that [odf] push_paths does not allow")
        if not _is_same_origin(httpx.URL(self.url), request.url):
            for name, _ in self.headers:
                request.headers.pop(name, None)
        return request

    def guarded(self, request: httpx.Request, origin: Scope, *, is_async: bool = False) -> httpx.Request:
        """The request of a redirect, which fails rather than connect to a narrower network than ``origin``.

        :raises SourceError: its host is an address in one.
        """
        if not self.private_redirects:
            guard = Guard(request, origin, self.label)
            request.extensions = {**request.extensions, "trace": guard.atrace if is_async else guard.trace}
        return request

    def quote(self, response: httpx.Response) -> str:
        """The beginning of a refusal's body, if it may be quoted."""
        return "" if self.allows is not None else first_line(response, self.redact)


@dataclass(frozen=True)
class Validators:
    """What a response says about the version of its content."""

    etag: str | None
    last_modified: Instant | None
    is_settled: bool
    """Whether a later change would get another Last-Modified, which has seconds only: its second is over."""

    @classmethod
    def of(cls, headers: httpx.Headers) -> Validators:
        modified, date = _date(headers.get("Last-Modified")), _date(headers.get("Date"))
        is_settled = modified is None or date is None or date - modified >= timedelta(seconds=1)
        return cls(headers.get("ETag"), Instant.from_datetime(modified) if modified else None, is_settled)

    @property
    def state(self) -> SourceState | None:
        """The state they make; None where only the content can tell."""
        if self.etag:
            return states.etag(self.etag)
        return states.last_modified(self.last_modified) if self.last_modified and self.is_settled else None

    @property
    def strong(self) -> str | None:
        """What If-Range takes."""
        if self.etag:
            return None if self.etag.startswith("W/") or not is_sendable(self.etag) else self.etag
        return _http_date(self.last_modified) if self.last_modified and self.is_settled else None


class Session:
    """Connections of one poll."""

    def __init__(self, target: Target, options: Options) -> None:
        self.target = target
        self._timeout = httpx.Timeout(options.read_timeout, connect=options.connect_timeout)
        self._clients: dict[str, httpx.Client] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()

    @contextmanager
    def get(self, extra: Mapping[str, str]) -> Iterator[httpx.Response]:
        """The answer, redirects followed, its body still to be read.

        :raises SourceError: the server redirects in circles, or its certificate is not valid.
        :raises httpx.TransportError: the server could not be reached.
        """
        token = _is_polling.set(True)
        try:
            response = self._get(self.target.request(extra))
            try:
                yield response
            finally:
                response.close()
        except httpx.ConnectError as e:
            if "CERTIFICATE_VERIFY_FAILED" in str(e):
                raise SourceError(f"{self.target.label}: {e}") from None
            raise
        finally:
            _is_polling.reset(token)

    def _get(self, request: httpx.Request) -> httpx.Response:
        hops, origin = 0, Scope.PUBLIC
        while True:
            response = self._client(request.url.scheme).send(request, stream=True)
            if not response.has_redirect_location:
                return response
            origin = origin if hops else reached(response)
            response.close()
            hops += 1
            request = self.target.guarded(self.target.redirected(response, hops), origin)

    def _client(self, scheme: str) -> httpx.Client:
        if scheme not in self._clients:
            self._clients[scheme] = httpx.Client(timeout=self._timeout, verify=ssl_context(scheme))
        return self._clients[scheme]


async def ask(
    target: Target,
    extra: Mapping[str, str],
    client: httpx.AsyncClient | None,
    take: Callable[[httpx.Response], Awaitable[Taken]],
) -> Taken:
    """What is taken from the answer to one request, redirects followed: its body is there to be read, or to be left.
    Asks by a client of its own if none is given.

    :raises SourceError: the server redirects in circles.
    :raises SourceUnavailable: the server could not be reached, or broke off.
    """
    token = _is_polling.set(True)
    try:
        if client is not None:
            return await _ask(client, target, target.request(extra), take)
        async with httpx.AsyncClient(verify=ssl_context("https"), timeout=_TIMEOUT) as own:
            return await _ask(own, target, target.request(extra), take)
    except httpx.RequestError as e:
        raise SourceUnavailable(f"{target.label}: {reason(e)}") from None
    finally:
        _is_polling.reset(token)


async def _ask(
    client: httpx.AsyncClient,
    target: Target,
    request: httpx.Request,
    take: Callable[[httpx.Response], Awaitable[Taken]],
) -> Taken:
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        if not response.has_redirect_location:
            return await take(response)
        origin = reached(response)
    finally:
        await response.aclose()
    # Connections of its own: a kept one may lead where only another source's URL may lead.
    async with httpx.AsyncClient(verify=ssl_context("https"), timeout=_TIMEOUT) as own:
        return await _follow(own, target, response, origin, take)


async def _follow(
    client: httpx.AsyncClient,
    target: Target,
    response: httpx.Response,
    origin: Scope,
    take: Callable[[httpx.Response], Awaitable[Taken]],
) -> Taken:
    hops = 0
    while True:
        hops += 1
        request = target.guarded(target.redirected(response, hops), origin, is_async=True)
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if not response.has_redirect_location:
                return await take(response)
        finally:
            await response.aclose()


def conditional(state: SourceState | None) -> dict[str, str]:
    """Headers that ask for the content only if it is not the one of that state."""
    if (etag := states.value_of(state, states.ETAG)) is not None:
        # Others cannot be sent back; the answer's own tag then tells.
        return {"If-None-Match": etag} if is_sendable(etag) else {}
    if (modified := states.value_of(state, states.LAST_MODIFIED)) is not None:
        return {"If-Modified-Since": _http_date(Instant.parse(modified))}
    return {}


def is_conditional(request: httpx.Request) -> bool:
    """Whether a request may be answered by 304."""
    return "If-None-Match" in request.headers or "If-Modified-Since" in request.headers


def is_sendable(value: str) -> bool:
    """Whether a header may have that value."""
    return value.isascii() and value.isprintable()


def refusal(response: httpx.Response, label: str, said: str = "") -> SourceError:
    """The error for a status that brings no data, with what the server ``said`` of it."""
    status = f"{response.status_code} {response.reason_phrase}".strip()
    if response.status_code in (NOT_FOUND, GONE):
        return SourceError(f"{label}: not found (HTTP {status})")
    if not said and response.status_code in (UNAUTHORIZED, FORBIDDEN):
        said = "are the credentials in `headers` or in the URL there and right?"
    message = f"{label}: HTTP {status}" + (f": {said}" if said else "")
    is_transient = response.status_code == TOO_MANY_REQUESTS or response.is_server_error
    return SourceUnavailable(message) if is_transient else SourceError(message)


def retry_after(headers: httpx.Headers) -> float | None:
    """Seconds that the server wants to be left alone."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    date = _date(value)
    return max(0.0, (date - datetime.now(timezone.utc)).total_seconds()) if date else None


def reason(error: httpx.RequestError) -> str:
    """What went wrong on the way, in words."""
    match error:
        case httpx.ConnectTimeout():
            return "no connection in time"
        case httpx.TimeoutException():
            return "the server fell silent"
        case httpx.LocalProtocolError():
            return "HTTP has no such request: see its headers"  # the library quotes them
        case httpx.ConnectError():
            return f"cannot connect: {error}"
    return str(error) or type(error).__name__


class Waiting:
    """What all who wait in one event loop share: a client without cookies, and turns at asking, since a client is slow
    with hundreds of requests in its queue, and time spent there counts against the server."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(MOST_AT_ONCE)
        self.client = httpx.AsyncClient(
            verify=ssl_context("https"),
            timeout=httpx.Timeout(_TIMEOUT, connect=_CONNECT_TIMEOUT),
            limits=httpx.Limits(max_connections=MOST_AT_ONCE),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )
        self.users = 0


@asynccontextmanager
async def waiting() -> AsyncIterator[Waiting]:
    """What those who wait in the running event loop share, closed with the last of them."""
    loop = asyncio.get_running_loop()
    shared = _waiting.get(loop) or _waiting.setdefault(loop, Waiting())
    shared.users += 1
    try:
        yield shared
    finally:
        shared.users -= 1
        if not shared.users:
            del _waiting[loop]
            await shared.client.aclose()


_waiting: dict[asyncio.AbstractEventLoop, Waiting] = {}


@functools.cache
def ssl_context(scheme: str) -> ssl.SSLContext:
    """How to judge certificates. Loading the authorities takes longer than a small request: http does without them, and
    so accepts no certificate at all."""
    return httpx.create_ssl_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def first_line(response: httpx.Response, redact: Callable[[str], str]) -> str:
    """The beginning of a body that was not read yet, cut after it was redacted: half a secret is one, too. Nothing of
    a page for browsers."""
    try:
        piece = next(response.iter_bytes(4 * _EXCERPT), b"")
    except httpx.HTTPError:
        return ""
    text = piece.decode("utf-8", "replace").strip()
    if not text or _HTML.match(text):
        return ""
    line = redact(text.splitlines()[0].strip())
    return line[:_EXCERPT] + "…" if len(line) > _EXCERPT else line


def _is_same_origin(one: httpx.URL, other: httpx.URL) -> bool:
    """The same server, or the same over TLS."""
    ports = {"http": 80, "https": 443}
    places = [(url.scheme, url.host, url.port or ports.get(url.scheme)) for url in (one, other)]
    is_upgrade = places[0] == ("http", one.host, 80) and places[1] == ("https", one.host, 443)
    return places[0] == places[1] or is_upgrade


def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value) if value else None
    except ValueError:
        return None
    return date.replace(tzinfo=timezone.utc) if date and date.tzinfo is None else date


def _http_date(time: Instant) -> str:
    return format_datetime(time.to_datetime().replace(microsecond=0), usegmt=True)
