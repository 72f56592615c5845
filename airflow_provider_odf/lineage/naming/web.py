"""Names of sources that the naming specification has no rule for: http(s), ftp and container images.

The namespace of a URL is ``scheme://host``, with any port but the default one. The name is the path with the literal
query parameters, sorted. Names contain no secrets: no user info, no parameter with credentials, and none of a
signature, which changes with each request.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote

from airflow_provider_odf import redaction
from airflow_provider_odf.lineage.naming import DatasetNames, Identifier
from airflow_provider_odf.lineage.naming.addresses import host, without_port

PORTS = {"http": "80", "https": "443", "ftp": "21", "ftps": "990", "sftp": "22"}
"""Schemes and their default ports."""

_SIGNED = re.compile(r"x-(amz|goog)-|awsaccesskeyid$|googleaccessid$|expires$|key-pair-id$|policy$", re.IGNORECASE)
_SHARED_ACCESS = frozenset(
    ["sv", "ss", "srt", "sp", "se", "st", "spr", "sip", "sr", "si", "skoid", "sktid", "skt", "ske", "sks", "skv"]
)
_UNRESERVED = re.compile(r"[\w.~-]", re.ASCII)


def url(parts: SplitResult) -> DatasetNames:
    """Return the names of a URL with a scheme of `PORTS`.

    :raises ValueError: the URL has no host, or an invalid one.
    """
    scheme = parts.scheme.lower()
    authority = host(parts.netloc, PORTS[scheme])
    authority = without_port(authority) if authority.endswith(f":{PORTS[scheme]}") else authority
    path = redaction.parameters(_normalized(parts.path or "/"))
    query = _public_query(parts.query)
    return DatasetNames(Identifier(f"{scheme}://{authority}", f"{path}?{query}" if query else path))


def image(reference: str) -> DatasetNames:
    """Return the names of a container image, with the registry and the tag that Docker adds.

    >>> image("alpine").current
    Identifier(namespace='oci://docker.io', name='library/alpine:latest')
    """
    registry, slash, repository = reference.partition("/")
    if not slash or not re.search(r"[.:]|^localhost$", registry):
        registry, repository = "docker.io", reference
    if registry in ("docker.io", "index.docker.io") and "/" not in repository:
        repository = f"library/{repository}"
    named = repository if re.search(r"@|:[^/]*$", repository) else f"{repository}:latest"
    return DatasetNames(Identifier(f"oci://{host(registry)}", named))


def _normalized(path: str) -> str:
    """Return a path with the same bytes percent-encoded as in any other spelling of it (RFC 3986, section 6.2.2)."""

    def char(match: re.Match[str]) -> str:
        decoded = chr(int(match[1], 16))
        return decoded if _UNRESERVED.fullmatch(decoded) else match[0].upper()

    return re.sub(r"%([0-9A-Fa-f]{2})", char, path)


def _public_query(query: str) -> str:
    """Return the sorted parameters that have no credentials and belong to no signature."""
    named = [(unquote(parameter.partition("=")[0]), parameter) for parameter in query.split("&") if parameter]
    names = {name.lower() for name, _ in named}
    signing = _SHARED_ACCESS if "sig" in names else frozenset()
    is_signed = any(name.endswith("signature") for name in names)
    public = (
        parameter
        for name, parameter in named
        if not (redaction.is_sensitive(name) or name.lower() in signing or (is_signed and _SIGNED.match(name)))
    )
    return "&".join(sorted(public))
