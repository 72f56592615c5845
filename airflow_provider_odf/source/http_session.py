"""HTTP connections of one poll."""

from __future__ import annotations

import contextvars
import functools
import logging
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.source.redirects import Scope, scope_of_response

if TYPE_CHECKING:
    from airflow_provider_odf.source.http import Target
    from airflow_provider_odf.source.options import Options

is_polling: contextvars.ContextVar[bool] = contextvars.ContextVar("odf_is_polling", default=False)
# httpx logs every URL in full, and a URL may hold a key.
logging.getLogger("httpx").addFilter(lambda _record: not is_polling.get())


class Session:
    """HTTP connections of one poll, a client per scheme."""

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
        """Yield the response after redirects; its body is not read yet.

        :raises SourceError: the server redirects too often, or its certificate is not valid.
        :raises httpx.TransportError: the server cannot be reached.
        """
        token = is_polling.set(True)
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
            is_polling.reset(token)

    def _get(self, request: httpx.Request) -> httpx.Response:
        hops, origin = 0, Scope.PUBLIC
        while True:
            response = self._client(request.url.scheme).send(request, stream=True)
            if not response.has_redirect_location:
                return response
            origin = origin if hops else scope_of_response(response)
            response.close()
            hops += 1
            request = self.target.guard(self.target.redirect(response, hops), origin)

    def _client(self, scheme: str) -> httpx.Client:
        if scheme not in self._clients:
            self._clients[scheme] = httpx.Client(timeout=self._timeout, verify=ssl_context(scheme))
        return self._clients[scheme]


@functools.cache
def ssl_context(scheme: str) -> ssl.SSLContext:
    """Return the TLS settings of a client.

    Loading the certificate authorities takes longer than a small request, so http does not load them."""
    return httpx.create_ssl_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
