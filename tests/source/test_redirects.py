"""Redirects into narrower networks: real servers on this machine's own addresses."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import http, http_client
from airflow_provider_odf.source.fetchers import check
from airflow_provider_odf.source.http import Scope, scope_of
from airflow_provider_odf.source.options import Options


@pytest.mark.parametrize(
    ("address", "scope"),
    [
        ("93.184.216.34", Scope.PUBLIC),
        ("2606:2800:220:1::1", Scope.PUBLIC),
        ("10.0.0.1", Scope.PRIVATE),
        ("100.64.0.1", Scope.PRIVATE),
        ("172.16.3.4", Scope.PRIVATE),
        ("192.168.1.1", Scope.PRIVATE),
        ("fd00:ec2::1", Scope.PRIVATE),
        ("fd00:ec2::254", Scope.LINK_LOCAL),
        ("168.63.129.16", Scope.LINK_LOCAL),
        ("224.0.0.251", Scope.LINK_LOCAL),
        ("ff02::1", Scope.LINK_LOCAL),
        ("fec0::1", Scope.PRIVATE),
        ("2002:5db8:d822::1", Scope.PUBLIC),
        ("2002:0a00:0001::1", Scope.PRIVATE),
        ("2002:a9fe:a9fe::1", Scope.LINK_LOCAL),
        ("2002:7f00:0001::1", Scope.LOOPBACK),
        ("::93.184.216.34", Scope.PUBLIC),
        ("::10.0.0.1", Scope.PRIVATE),
        ("::127.0.0.1", Scope.LOOPBACK),
        ("64:ff9b:1::5db8:d822", Scope.LOOPBACK),
        ("64:ff9b:1:5db8:d8:2200:5db8:d822", Scope.PRIVATE),
        ("64:ff9b:1:5db8:d8:2200:a9fe:a9fe", Scope.LINK_LOCAL),
        ("64:ff9b:1::a9fe:a9fe", Scope.LINK_LOCAL),
        ("64:ff9b:1:a9fe:a9:fe00:5db8:d822", Scope.LINK_LOCAL),
        ("169.254.169.254", Scope.LINK_LOCAL),
        ("fe80::1%eth0", Scope.LINK_LOCAL),
        ("127.0.0.1", Scope.LOOPBACK),
        ("127.8.8.8", Scope.LOOPBACK),
        ("0.0.0.0", Scope.LOOPBACK),
        ("::1", Scope.LOOPBACK),
        ("::ffff:127.0.0.1", Scope.LOOPBACK),
        ("::ffff:a9fe:a9fe", Scope.LINK_LOCAL),
        ("64:ff9b::a9fe:a9fe", Scope.LINK_LOCAL),
    ],
)
def test_scopes(address, scope):
    assert scope_of(address) == scope


def own_address() -> str:
    """An address of this machine that is not loopback; loopback where it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return probe.getsockname()[0]
    return "127.0.0.1"


@pytest.fixture
def outer(monkeypatch):
    """A server on this machine's own address that redirects to ``location``."""
    address = own_address()
    if scope_of(address) == Scope.LOOPBACK:
        monkeypatch.setattr(http_client, "scope_of_response", lambda _: Scope.PRIVATE)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", server.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((address, 0), Handler) as server:
        server.url = f"http://{address}:{server.server_address[1]}/a.csv"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "127.1"])
def test_a_redirect_into_a_narrower_network_is_refused_before_anything_is_sent(server, outer, poller, host):
    inner = server.serve("/metadata", b"s3cr3t", etag='"v1"')
    outer.location = inner.replace("127.0.0.1", host)
    refused = "redirected to a loopback address, which is refused: use the final address as the URL, or set private_"
    with pytest.raises(SourceError, match=refused):
        poller.url(outer.url)

    async def both(**options):
        step = model.FetchStepUrl(url=outer.url)
        async with httpx.AsyncClient() as client:
            await client.get(inner)  # a kept connection, as another source's
            return await check(
                step, base=poller.base, state=None, environment={}, client=client, options=Options(**options)
            )

    with pytest.raises(SourceError, match=refused):
        asyncio.run(both())
    assert len(server.requests) == 1
    assert asyncio.run(both(private_redirects=True)) == 'odf/etag "v1"'
    poller.options = dataclasses.replace(poller.options, private_redirects=True)
    assert poller.content(poller.url(outer.url)) == [b"s3cr3t"]


def test_a_redirect_within_or_out_of_the_network_of_the_source_is_followed(server, outer, poller):
    inner, outer.location = server.serve("/a", location="/b"), server.serve("/c", b"abc")
    server.serve("/b", b"abc")
    assert poller.content(poller.url(inner)) == [b"abc"]


def test_a_name_that_changes_its_address_between_two_lookups(server, outer, poller, monkeypatch):
    """What counts is the address of the connection."""
    inner = server.serve("/metadata", b"s3cr3t")
    outer.location = inner.replace("127.0.0.1", "rebinding.test")
    resolve = socket.getaddrinfo

    def rebinding(host, *args, **kwargs):
        return resolve("127.0.0.1" if host == "rebinding.test" else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with pytest.raises(SourceError, match="redirected to a loopback address"):
        poller.url(outer.url)
    assert server.requests == []


def test_what_a_proxy_connects_to_is_its_own_matter_but_for_addresses(server, outer, poller, monkeypatch):
    """A proxy on loopback is where every connection goes."""
    monkeypatch.setenv("http_proxy", server.url)
    server.serve(outer.url, location="http://example.test/b.csv")
    server.serve("http://example.test/b.csv", b"abc")
    assert poller.content(poller.url(outer.url)) == [b"abc"]


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "168.63.129.16"]
)
def test_a_metadata_service_of_a_cloud_is_no_source(poller, host):
    with pytest.raises(SourceError) as refused:
        poller.url(f"http://{host}/latest/meta-data/iam/")
    assert str(refused.value) == (
        f"http://{host}/latest/meta-data/iam/: the host has a link-local address, as metadata services of clouds have, "
        "which is refused: use another host, or set link_local = allow"
    )


def test_a_name_of_a_link_local_address_is_refused_before_anything_is_sent(server, poller, monkeypatch):
    """The server is on loopback, which counts as link-local here: few machines have another address of the kind."""
    url = server.serve("/latest", b"s3cr3t", etag='"v1"').replace("127.0.0.1", "localhost")
    monkeypatch.setattr(http, "scope_of", lambda ip: Scope.LINK_LOCAL if ip == "127.0.0.1" else scope_of(ip))
    refused = "the host has a link-local address"

    async def changed(**options):
        step = model.FetchStepUrl(url=url)
        async with httpx.AsyncClient() as client:
            return await check(
                step, base=poller.base, state=None, environment={}, client=client, options=Options(**options)
            )

    with pytest.raises(SourceError, match=refused):
        poller.url(url)
    with pytest.raises(SourceError, match=refused):
        asyncio.run(changed())
    assert server.requests == []
    assert asyncio.run(changed(link_local=True)) == 'odf/etag "v1"'
    poller.options = dataclasses.replace(poller.options, link_local=True)
    assert poller.content(poller.url(url)) == [b"s3cr3t"]


def test_the_scope_of_a_response():
    assert http.scope_of_response(httpx.Response(200)) == Scope.PUBLIC
