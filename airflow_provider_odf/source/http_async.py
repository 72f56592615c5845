"""Asynchronous HTTP requests of triggers: hundreds of them share an event loop and a client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TypeVar

import httpx

from airflow_provider_odf.errors import SourceUnavailable
from airflow_provider_odf.source import http
from airflow_provider_odf.source.http import Target
from airflow_provider_odf.source.http_session import is_polling, ssl_context
from airflow_provider_odf.source.redirects import Scope, scope_of_response

MAX_CONCURRENT = 64
"""Maximum number of concurrent requests in one event loop; others wait."""

_TIMEOUT, _CONNECT_TIMEOUT = 30.0, 10.0

Answer = TypeVar("Answer")


async def ask(
    target: Target,
    extra: Mapping[str, str],
    client: httpx.AsyncClient | None,
    read: Callable[[httpx.Response], Awaitable[Answer]],
) -> Answer:
    """Send one request, follow redirects and return the result of ``read``, which may read the body of the response.
    Without ``client`` the request uses a new one.

    :raises SourceError: the server redirects too often.
    :raises SourceUnavailable: the server cannot be reached, or the connection is lost.
    """
    token = is_polling.set(True)
    try:
        if client is not None:
            return await _ask(client, target, target.request(extra), read)
        async with httpx.AsyncClient(verify=ssl_context("https"), timeout=_TIMEOUT) as own:
            return await _ask(own, target, target.request(extra), read)
    except httpx.RequestError as e:
        raise SourceUnavailable(f"{target.label}: {http.reason(e)}") from None
    finally:
        is_polling.reset(token)


async def _ask(
    client: httpx.AsyncClient,
    target: Target,
    request: httpx.Request,
    read: Callable[[httpx.Response], Awaitable[Answer]],
) -> Answer:
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        if not response.has_redirect_location:
            return await read(response)
        origin = scope_of_response(response)
    finally:
        await response.aclose()
    # A new client: a pooled connection may lead to a network that this source may not reach.
    async with httpx.AsyncClient(verify=ssl_context("https"), timeout=_TIMEOUT) as own:
        return await _follow(own, target, response, origin, read)


async def _follow(
    client: httpx.AsyncClient,
    target: Target,
    response: httpx.Response,
    origin: Scope,
    read: Callable[[httpx.Response], Awaitable[Answer]],
) -> Answer:
    hops = 0
    while True:
        hops += 1
        request = target.guard(target.redirect(response, hops), origin, is_async=True)
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if not response.has_redirect_location:
                return await read(response)
        finally:
            await response.aclose()


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
