"""HTTP clients: those of one poll, and that of triggers, of which hundreds share an event loop.

Both follow redirects by the rules of `Target`.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import httpx

from airflow_provider_odf.errors import SourceError, SourceUnavailable
from airflow_provider_odf.source.http import Target, reason, scope_of_response

if TYPE_CHECKING:
    from airflow_provider_odf.source.options import Options

MAX_CONCURRENT = 64
"""Maximum number of concurrent requests in one event loop; others wait."""

_TIMEOUT, _CONNECT_TIMEOUT = 30.0, 10.0

_UNLIMITED = httpx.Limits(max_keepalive_connections=20)
"""For a client of threads, of which each has one connection: nobody waits for those of a server that hangs."""

Answer = TypeVar("Answer")
Exchange: TypeAlias = Generator[httpx.Request, httpx.Response, None]

_is_polling: contextvars.ContextVar[bool] = contextvars.ContextVar("odf_is_polling", default=False)
# httpx logs every URL in full, and a URL may hold a key.
logging.getLogger("httpx").addFilter(lambda _record: not _is_polling.get())


@contextmanager
def _polling() -> Iterator[None]:
    token = _is_polling.set(True)
    try:
        yield
    finally:
        _is_polling.reset(token)


@functools.cache
def ssl_context(scheme: str) -> ssl.SSLContext:
    """Return the TLS settings of a client.

    Loading the certificate authorities takes longer than a small request, so http does not load them."""
    return httpx.create_ssl_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _exchange(target: Target, extra: Mapping[str, str], *, is_async: bool = False) -> Exchange:
    """Yield a request and then those of redirects; it is sent the open response to each. It ends at the response that
    is no redirect."""
    response = yield target.guard(target.request(extra), is_async=is_async)
    origin, hops = scope_of_response(response), 0
    while response.has_redirect_location:
        hops += 1
        response = yield target.guard(target.redirect(response, hops), origin, is_async=is_async)


def _next(exchange: Exchange, response: httpx.Response) -> httpx.Request | None:
    """Return the request after a response, or None if that is the last one."""
    try:
        return exchange.send(response)
    except StopIteration:
        return None


class Session:
    """HTTP connections of one poll or store, a client per scheme."""

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
    def get(self, extra: Mapping[str, str], target: Target | None = None) -> Iterator[httpx.Response]:
        """Yield the response after redirects; its body is not read yet.

        :param target: another target than that of the session.

        :raises SourceError: the server redirects too often, or its certificate is not valid.
        :raises httpx.TransportError: the server cannot be reached.
        """
        target = target or self.target
        exchange = _exchange(target, extra)
        request: httpx.Request | None = next(exchange)
        with _polling():
            try:
                while request is not None:
                    response = self._client(request.url.scheme).send(request, stream=True)
                    try:
                        request = _next(exchange, response)
                        if request is None:
                            yield response
                    finally:
                        response.close()
            except httpx.ConnectError as e:
                if "CERTIFICATE_VERIFY_FAILED" in str(e):
                    raise SourceError(f"{target.label}: {e}") from None
                raise

    def _client(self, scheme: str) -> httpx.Client:
        if scheme not in self._clients:
            self._clients[scheme] = httpx.Client(timeout=self._timeout, verify=ssl_context(scheme), limits=_UNLIMITED)
        return self._clients[scheme]


async def ask(
    target: Target,
    extra: Mapping[str, str],
    client: httpx.AsyncClient | None,
    read: Callable[[httpx.Response], Awaitable[Answer]],
) -> Answer:
    """Send one request, follow redirects and return the result of ``read``, which may read the body of the response.
    Redirects use a new client, since a pooled connection may lead to a network that this source may not reach; without
    ``client`` the request uses one, too.

    :raises SourceError: the server redirects too often.
    :raises SourceUnavailable: the server cannot be reached, or the connection is lost.
    """
    exchange = _exchange(target, extra, is_async=True)
    request = next(exchange)
    with _polling():
        try:
            async with AsyncExitStack() as own_clients:
                sender = client if client is not None else await own_clients.enter_async_context(_async_client())
                while True:
                    response = await sender.send(request, stream=True)
                    try:
                        following = _next(exchange, response)
                        if following is None:
                            return await read(response)
                    finally:
                        await response.aclose()
                    request = following
                    if sender is client:
                        sender = await own_clients.enter_async_context(_async_client())
        except httpx.RequestError as e:
            raise SourceUnavailable(f"{target.label}: {reason(e)}") from None


def _async_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=ssl_context("https"), timeout=_TIMEOUT)


class SharedClient:
    """Shared by all triggers in one event loop: a client without cookies, and a limit of concurrent requests. With
    hundreds of requests in its queue the client is slow, and time in the queue counts as the server's."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(MAX_CONCURRENT)
        self.client = httpx.AsyncClient(
            verify=ssl_context("https"),
            timeout=httpx.Timeout(_TIMEOUT, connect=_CONNECT_TIMEOUT),
            limits=httpx.Limits(max_connections=MAX_CONCURRENT),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )
        self.users = 0


@asynccontextmanager
async def shared_client() -> AsyncIterator[SharedClient]:
    """Yield the shared client of the running event loop; the last user closes it."""
    loop = asyncio.get_running_loop()
    shared = _clients.get(loop) or _clients.setdefault(loop, SharedClient())
    shared.users += 1
    try:
        yield shared
    finally:
        shared.users -= 1
        if not shared.users:
            del _clients[loop]
            await shared.client.aclose()


_clients: dict[asyncio.AbstractEventLoop, SharedClient] = {}
