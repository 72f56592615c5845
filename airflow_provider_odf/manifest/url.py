"""URLs with templates: the part of a URL that contains a template decides which values are allowed.

A value cannot move the borders between user, password, host and path (RFC 3986, section 3.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.template import Environment, masked

_PATH = re.compile(r"[/?#]")
_BORDER = re.compile(r"[\s/\\@:?#%\x00-\x1f]")
_PORT = re.compile(r":\d+$")


@dataclass(frozen=True)
class Parts:
    """Parts of a URL with its templates; joined they are the URL. ``user`` ends with its ``@``; a URL of a file or
    without ``://`` is all ``path``."""

    scheme: str
    user: str
    host: str
    path: str

    @classmethod
    def of(cls, url: str) -> Parts:
        """Split a URL.

        >>> Parts.of("http://me:${{ env.KEY || '@/' }}@${{ env.HOST }}:80/a.csv")
        Parts(scheme='http://', user="me:${{ env.KEY || '@/' }}@", host='${{ env.HOST }}:80', path='/a.csv')
        """
        plain = masked(url)
        scheme, separator, rest = plain.partition("://")
        if not separator or scheme.lower() == "file" or _PATH.search(scheme):
            return cls("", "", "", url)
        begin = len(scheme) + len(separator)
        end = begin + len(_PATH.split(rest, maxsplit=1)[0])
        host = plain.rfind("@", begin, end) + 1 or begin
        return cls(url[:begin], url[begin:host], url[host:end], url[end:])


def public(url: str) -> str:
    """Return a manifest's URL for messages: without user and password, with literal values of sensitive parameters
    masked.

    >>> public("https://me:secret@example.org/a.csv?key=${{ env.KEY }}")
    'https://example.org/a.csv?key=${{ env.KEY }}'
    """
    parts = Parts.of(url)
    return redaction.parameters(parts.scheme + parts.host + parts.path)


def invalid(label: str) -> InvalidInput:
    """Return the error for an invalid URL. It does not quote a library's message, which may contain values of
    templates."""
    return InvalidInput(
        f"{label}: not a valid URL after its templates are filled: correct the URL, or the values of its templates"
    )


def fill(url: str, environment: Environment) -> str:
    """Return the URL with its templates filled.

    Values are percent-encoded in user and password, unchanged in the path and after it, and must be plain words in
    scheme and host.

    :raises InvalidInput: a template cannot be filled, or a value would move the borders of the host.
    """
    label = public(url)
    where, parts = f"url {label}", Parts.of(url)

    def word(value: str) -> str:
        if _BORDER.search(value):
            raise InvalidInput(
                f"{label}: a value in the host has a space or one of / \\ @ : ? # %, which would change the host"
            )
        return value

    def last(value: str) -> str:
        port = _PORT.search(value)
        return word(value[: port.start()]) + port[0] if port else word(value)

    host, end = _last_template(parts.host)
    return "".join(
        (
            environment.fill(parts.scheme, where, word),
            environment.fill(parts.user, where, lambda value: quote(value, safe="")),
            environment.fill(host, where, word),
            environment.fill(end, where, last),
            environment.fill(parts.path, where),
        )
    )


def _last_template(host: str) -> tuple[str, str]:
    """Return the text before a template at the end, and the template; only its value may include the port."""
    plain = masked(host)
    at = plain.rfind("${{") if plain.endswith("}}") else len(host)
    return host[:at], host[at:]
