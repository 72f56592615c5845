"""Refuse redirects to a narrower network than that of the source's own URL.

The owner of a public server could otherwise read from the worker's network: metadata services of clouds, admin pages on
``localhost``. The address of the connection counts, not the name, whose address may change between two lookups.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from typing import Any

import httpx

from airflow_provider_odf.errors import SourceError

_EMBEDDING = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96"))
"""NAT64, and IPv6 addresses that are compatible with IPv4: their last 32 bits are an IPv4 address."""

_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_METADATA = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254")))
"""Services that a cloud offers to its own machines, as 169.254.169.254 does."""

_IPV4_BITS = 0xFFFFFFFF


class Scope(IntEnum):
    """Kinds of networks, from wide to narrow."""

    PUBLIC = 0
    PRIVATE = 1
    LINK_LOCAL = 2
    LOOPBACK = 3

    @property
    def words(self) -> str:
        return self.name.lower().replace("_", "-")


def scope_of(address: str) -> Scope:
    """Return the kind of network that an IP address belongs to.

    >>> scope_of("::ffff:169.254.169.254").name
    'LINK_LOCAL'

    :raises ValueError: not an IP address.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.is_loopback or ip.is_unspecified:
        return Scope.LOOPBACK
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _LOCAL_NAT64:
            return max(Scope.PRIVATE, *(scope_of(str(inner)) for inner in _nat64_addresses(ip)))
        if (inner := _embedded(ip)) is not None:
            return scope_of(str(inner))
        if ip.is_site_local:
            return Scope.PRIVATE
    if ip.is_link_local or ip.is_multicast or ip in _METADATA:
        return Scope.LINK_LOCAL
    return Scope.PUBLIC if ip.is_global else Scope.PRIVATE


def _embedded(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if any(ip in network for network in _EMBEDDING):
        return ipaddress.IPv4Address(int(ip) & _IPV4_BITS)
    return ip.ipv4_mapped or ip.sixtofour


def _nat64_addresses(ip: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ipaddress.IPv4Address]:
    """Return the IPv4 addresses that a local NAT64 address may mean: with a prefix of 96 bits, and with one of 48,
    which skips bits 64 to 71 (RFC 6052)."""
    bits = int(ip)
    around = ((bits >> 64 & 0xFFFF) << 16) | (bits >> 40 & 0xFFFF)
    return ipaddress.IPv4Address(bits & _IPV4_BITS), ipaddress.IPv4Address(around)


def scope_of_response(response: httpx.Response) -> Scope:
    """Return the kind of network of a response; public if the connection has no address."""
    stream = response.extensions.get("network_stream")
    return _scope(stream.get_extra_info("server_addr")) if stream is not None else Scope.PUBLIC


class Guard:
    """Checks the connection of a redirected request before anything is sent.

    ``narrowest`` is the narrowest allowed kind of network, ``setting`` the place of the setting that allows all.
    """

    def __init__(self, request: httpx.Request, narrowest: Scope, label: str, setting: str = "") -> None:
        self._host, self._narrowest, self._label = request.url.raw_host.decode("ascii"), narrowest, label
        self._setting = setting
        self._is_direct = False
        with suppress(ValueError):  # a name: the check follows when it connects
            self._check(scope_of(self._host))

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Check the connections that httpcore makes for the request.

        :raises SourceError: the connection leads into a narrower network.
        """
        if (stream := self._direct_stream(event, info)) is not None:
            try:
                self._check(_scope(stream.get_extra_info("server_addr")))
            except SourceError:
                stream.close()
                raise

    async def atrace(self, event: str, info: Mapping[str, Any]) -> None:
        """Do the same for an asynchronous client."""
        if (stream := self._direct_stream(event, info)) is not None:
            try:
                self._check(_scope(stream.get_extra_info("server_addr")))
            except SourceError:
                await stream.aclose()
                raise

    def _direct_stream(self, event: str, info: Mapping[str, Any]) -> Any:
        """Return the new connection to the host; None for other events and for connections to a proxy."""
        if event == "connection.connect_tcp.started":
            self._is_direct = info["host"] == self._host
        return info["return_value"] if event == "connection.connect_tcp.complete" and self._is_direct else None

    def _check(self, scope: Scope) -> None:
        if scope > self._narrowest:
            advice = f", or set {self._setting} = follow" if self._setting else ""
            raise SourceError(
                f"{self._label}: redirected to a {scope.words} address, which is refused: use the final address as the "
                f"URL{advice}"
            )


def _scope(address: Any) -> Scope:
    return scope_of(address[0]) if isinstance(address, tuple) else Scope.PUBLIC
