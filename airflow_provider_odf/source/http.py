"""HTTP requests of a poll: conditions, validators, refusals and redirects.

No request goes to a link-local address: metadata services of clouds give the worker's credentials to whoever asks. A
redirect sends no secrets to another server, and does not lead into a narrower network than that of the source's own
URL: the owner of a public server could otherwise read from the worker's network, such as admin pages on ``localhost``.
The address of the connection counts, not the name, whose address may change between two lookups.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import httpx

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.source import source_state

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import SourceState
    from airflow_provider_odf.source.options import Options


MAX_REDIRECTS = 10

NOT_MODIFIED, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, GONE, TOO_MANY_REQUESTS = 304, 401, 403, 404, 410, 429
_USER_AGENT = "airflow-provider-odf/0.1"
_EXCERPT = 200
_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body|h\d)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """A URL with its headers, and ``label``, the URL that messages show.

    ``redact`` masks secrets in the text of a server. ``allows`` returns whether a redirect may lead to a URL; it is set
    where others than the author of a manifest name the URL, and then no answer is quoted."""

    url: str
    headers: tuple[tuple[str, str], ...]
    label: str
    redact: Callable[[str], str] = str
    allows: Callable[[str], bool] | None = None
    options: Options | None = None
    """Settings for addresses that are refused; None for those of an installation that sets none."""

    def request(self, extra: Mapping[str, str]) -> httpx.Request:
        """Return the request with ``extra`` headers.

        :raises InvalidInput: the URL is not valid.
        """
        standard = {"User-Agent": _USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        headers = httpx.Headers({**standard, **extra})
        headers.update(self.headers)
        try:
            request = httpx.Request("GET", self.url, headers=headers)
        except (httpx.InvalidURL, ValueError):
            raise urls.invalid(self.label) from None
        if not request.url.host:
            raise InvalidInput(f"{self.label}: the URL has no host")
        return request

    def redirect(self, response: httpx.Response, hops: int) -> httpx.Request:
        """Return the request that a redirect asks for, without the manifest's headers if it leads to another origin.

        :raises SourceError: there are too many redirects, or it leads away from HTTP or to a forbidden address.
        """
        request = response.next_request
        if request is None or request.url.scheme not in ("http", "https"):
            raise SourceError(f"{self.label}: redirected to an address that is not HTTP")
        if hops > MAX_REDIRECTS:
            raise SourceError(f"{self.label}: more than {MAX_REDIRECTS} redirects")
        if self.allows is not None and not self.allows(str(request.url)):
            raise SourceError(f"{self.label}: redirected to an address that [odf] push_paths does not allow")
        if not _is_same_origin(httpx.URL(self.url), request.url):
            for name, _ in self.headers:
                request.headers.pop(name, None)
        return request

    def guard(self, request: httpx.Request, origin: Scope | None = None, *, is_async: bool = False) -> httpx.Request:
        """Return the request. It fails instead of connecting to an address that `Guard` refuses.

        :raises SourceError: its host is such an address.
        """
        guard = Guard(request, origin, self.label, self.options)
        request.extensions = {**request.extensions, "trace": guard.atrace if is_async else guard.trace}
        return request

    def quote(self, response: httpx.Response) -> str:
        """Return the beginning of a refusal's body, if it may be quoted."""
        return "" if self.allows is not None else first_line(response, self.redact)


@dataclass(frozen=True)
class Validators:
    """The headers of a response about the version of its content."""

    etag: str | None
    last_modified: Instant | None
    is_settled: bool
    """Whether the second of Last-Modified is over, so that a later change gets another Last-Modified."""

    @classmethod
    def of(cls, headers: httpx.Headers) -> Validators:
        modified, date = _date(headers.get("Last-Modified")), _date(headers.get("Date"))
        is_settled = modified is None or date is None or date - modified >= timedelta(seconds=1)
        return cls(headers.get("ETag"), Instant.from_datetime(modified) if modified else None, is_settled)

    @property
    def state(self) -> SourceState | None:
        """The source state, or None if only the content can be compared."""
        if self.etag:
            return source_state.etag(self.etag)
        return source_state.last_modified(self.last_modified) if self.last_modified and self.is_settled else None

    @property
    def strong(self) -> str | None:
        """The value for If-Range."""
        if self.etag:
            return None if self.etag.startswith("W/") or not is_sendable(self.etag) else self.etag
        return _http_date(self.last_modified) if self.last_modified and self.is_settled else None


def conditional(state: SourceState | None) -> dict[str, str]:
    """Return headers that ask for the content only if it differs from that of a state."""
    if (etag := source_state.value_of(state, source_state.ETAG)) is not None:
        # Other tags cannot be sent; then the tag of the response is compared.
        return {"If-None-Match": etag} if is_sendable(etag) else {}
    if (modified := source_state.value_of(state, source_state.LAST_MODIFIED)) is not None:
        return {"If-Modified-Since": _http_date(Instant.parse(modified))}
    return {}


def is_conditional(request: httpx.Request) -> bool:
    """Return whether the response to a request may be 304."""
    return "If-None-Match" in request.headers or "If-Modified-Since" in request.headers


def is_sendable(value: str) -> bool:
    """Return whether a value is valid in a header."""
    return value.isascii() and value.isprintable()


def refusal(response: httpx.Response, label: str, quote: str = "") -> SourceError:
    """Return the error for a status without data, with a ``quote`` of the response."""
    status = f"{response.status_code} {response.reason_phrase}".strip()
    if response.status_code in (NOT_FOUND, GONE):
        return SourceError(f"{label}: not found (HTTP {status})")
    if not quote and response.status_code in (UNAUTHORIZED, FORBIDDEN):
        quote = "check the credentials in `headers` or in the URL"
    message = f"{label}: HTTP {status}" + (f": {quote}" if quote else "")
    is_transient = response.status_code == TOO_MANY_REQUESTS or response.is_server_error
    return SourceUnavailable(message) if is_transient else SourceError(message)


def retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds of a Retry-After header, or None."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    date = _date(value)
    return max(0.0, (date - datetime.now(UTC)).total_seconds()) if date else None


def reason(error: httpx.RequestError) -> str:
    """Return the cause of a failed request in words."""
    match error:
        case httpx.ConnectTimeout():
            return "the connection timed out"
        case httpx.TimeoutException():
            return "the server stopped responding"
        case httpx.LocalProtocolError():
            return "not a valid HTTP request: check its headers"  # the library quotes them
        case httpx.ConnectError():
            return f"cannot connect: {error}"
    return str(error) or type(error).__name__


def first_line(response: httpx.Response, redact: Callable[[str], str]) -> str:
    """Return the beginning of an unread body, or an empty text if it is HTML.

    The text is redacted before it is cut: half a secret is a secret, too."""
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
    """Return whether two URLs have the same server, or the second is the same server over TLS."""
    ports = {"http": 80, "https": 443}
    places = [(url.scheme, url.host, url.port or ports.get(url.scheme)) for url in (one, other)]
    is_upgrade = places[0] == ("http", one.host, 80) and places[1] == ("https", one.host, 443)
    return places[0] == places[1] or is_upgrade


def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value) if value else None
    except ValueError:
        return None
    return date.replace(tzinfo=UTC) if date and date.tzinfo is None else date


def _http_date(time: Instant) -> str:
    return format_datetime(time.to_datetime().replace(microsecond=0), usegmt=True)


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
            scopes = [scope_of(str(inner)) for inner in _nat64_addresses(ip)]
            return Scope.LINK_LOCAL if Scope.LINK_LOCAL in scopes else max(Scope.PRIVATE, *scopes)
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
    """Checks the connection of a request before anything is sent.

    Link-local addresses are refused, and if it is a request of a redirect, all in a narrower network than ``origin``.
    """

    def __init__(
        self, request: httpx.Request, origin: Scope | None, label: str, options: Options | None = None
    ) -> None:
        self._host, self._origin, self._label = request.url.raw_host.decode("ascii"), origin, label
        self._options = options
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
        follows, may_be_local = (
            (self._options.private_redirects, self._options.link_local) if self._options else (False, False)
        )
        if self._origin is not None and scope > self._origin and not follows:
            reason, fix = f"redirected to a {scope.words} address", "use the final address as the URL"
            setting = "private_redirects", "follow"
        elif scope == Scope.LINK_LOCAL and not may_be_local:
            reason, fix = "the host has a link-local address, as metadata services of clouds have", "use another host"
            setting = "link_local", "allow"
        else:
            return
        advice = f", or set {self._options.where(setting[0])} = {setting[1]}" if self._options is not None else ""
        raise SourceError(f"{self._label}: {reason}, which is refused: {fix}{advice}")


def _scope(address: Any) -> Scope:
    return scope_of(address[0]) if isinstance(address, tuple) else Scope.PUBLIC
