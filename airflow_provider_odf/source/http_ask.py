"""Ask for something new over HTTP without blocking: hundreds of waiting triggers share an event loop and a client."""

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
from airflow_provider_odf.source.redirects import Scope, reached

MOST_AT_ONCE = 64
"""Sources that are asked at once in one event loop; the others take turns."""

_TIMEOUT, _CONNECT_TIMEOUT = 30.0, 10.0

Answer = TypeVar("Answer")


async def ask(
    target: Target,
    extra: Mapping[str, str],
    client: httpx.AsyncClient | None,
    read: Callable[[httpx.Response], Awaitable[Answer]],
) -> Answer:
    """Return what ``read`` makes of the answer to one request, after redirects; it may read the body. Without
    ``client`` the request has one of its own.

    :raises SourceError: the server redirects in circles.
    :raises SourceUnavailable: the server could not be reached, or broke off.
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
        origin = reached(response)
    finally:
        await response.aclose()
    # Connections of its own: a kept one may lead where only another source's URL may lead.
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
        request = target.guarded(target.redirected(response, hops), origin, is_async=True)
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if not response.has_redirect_location:
                return await read(response)
        finally:
            await response.aclose()


class Waiting:
    """What all triggers in one event loop share: a client without cookies, and turns at asking, since a client is slow
    with hundreds of requests in its queue, and time spent there counts as the server's."""

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
    """Yield what the triggers in the running event loop share; it is closed with the last of them."""
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
