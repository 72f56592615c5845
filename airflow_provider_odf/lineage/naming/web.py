"""Names of sources that the naming specification has no rule for: http(s), ftp and container images.

The namespace of a URL is ``scheme://host``, with any port but the default one. The name is the path with the literal
query parameters, sorted. Names contain no secrets: no user info, no parameter whose value comes from a template, none
with credentials, and none of a signature, which changes with each request.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import SplitResult, unquote

from airflow_provider_odf import redaction
from airflow_provider_odf.lineage.naming import DatasetNames, Identifier
from airflow_provider_odf.lineage.naming.addresses import host, without_port

PORTS = {"http": "80", "https": "443", "ftp": "21", "ftps": "990", "sftp": "22"}
"""Schemes and their default ports."""

_TEMPLATE = "${{"
_SIGNED = re.compile(r"x-(amz|goog)-|awsaccesskeyid$|googleaccessid$|expires$|key-pair-id$|policy$", re.IGNORECASE)
_SHARED_ACCESS = frozenset(
    ["sv", "ss", "srt", "sp", "se", "st", "spr", "sip", "sr", "si", "skoid", "sktid", "skt", "ske", "sks", "skv"]
)
_UNRESERVED = re.compile(r"[\w.~-]", re.ASCII)


def url(parts: SplitResult, template: str | None = None, secrets: Collection[str] = ()) -> DatasetNames:
    """Return the names of a URL with a scheme of `PORTS`.

    :param template: the URL as the user wrote it, if its templates are filled in.
    :param secrets: texts that the names must not contain.
    :raises ValueError: the URL has no host, or an invalid one.
    """
    scheme = parts.scheme.lower()
    authority = host(parts.netloc, PORTS[scheme])
    authority = without_port(authority) if authority.endswith(f":{PORTS[scheme]}") else authority
    path = redaction.parameters(redaction.without(_normalized(parts.path or "/"), secrets))
    query = _literal_query(parts.query, template, secrets)
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


def _literal_query(query: str, template: str | None, secrets: Collection[str]) -> str:
    """Return the sorted parameters that are literal in the template and have no credentials."""
    parameters = [p for p in query.split("&") if p]
    if template is not None and _TEMPLATE in template:
        literal = set(re.split(r"[?&]", re.sub(r"\$\{\{.*?\}\}", _TEMPLATE, template.partition("#")[0]))[1:])
        parameters = [p for p in parameters if p in literal]
    names = {unquote(p.partition("=")[0]).lower() for p in parameters}
    signing = _SHARED_ACCESS if "sig" in names else frozenset()
    is_signed = any(name.endswith("signature") for name in names)
    kept = (
        p
        for p in parameters
        if not _is_credential(p, secrets)
        and (name := unquote(p.partition("=")[0])).lower() not in signing
        and not (is_signed and _SIGNED.match(name))
    )
    return "&".join(sorted(kept))


def _is_credential(parameter: str, secrets: Collection[str]) -> bool:
    name, _, value = parameter.partition("=")
    if redaction.is_sensitive(unquote(name)):
        return True
    return redaction.without(value, secrets) != value or any(s in unquote(value) for s in secrets if s)
